package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Path is a dotted key taken apart: run.rounds is {"run", "rounds"}.
type Path []string

// String writes the path as a dotted key, quoting what TOML wants quoted.
func (p Path) String() string { return toml.Key(p).String() }

// Equal reports whether both paths are the same.
func (p Path) Equal(other Path) bool { return slices.Equal(p, other) }

// ParsePath takes a dotted key apart. Segments may be quoted as in TOML;
// unquoted ones may hold an index in brackets ("never[2]"), which stays part of
// the segment.
func ParsePath(key string) (Path, error) {
	s := scanner{source: key}
	path, err := s.path(isPathByte)
	if err != nil {
		return nil, err
	}
	if s.offset < len(key) {
		return nil, fmt.Errorf("%q at column %d does not belong in a dotted key", key[s.offset:], s.offset+1)
	}
	return path, nil
}

// isPathByte is what a segment without quotes may consist of outside a file.
func isPathByte(c byte) bool { return isBareByte(c) || c == '[' || c == ']' }

// isBareByte is what TOML allows in a key without quotes.
func isBareByte(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// cutIndex splits "never[2]" into "never" and 2; without an index it is -1.
func cutIndex(segment string) (name string, index int) {
	name, rest, ok := strings.Cut(segment, "[")
	if !ok || !strings.HasSuffix(rest, "]") {
		return segment, -1
	}
	index, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
	if err != nil {
		return segment, -1
	}
	return name, index
}
