package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Path is a dotted key in parts: run.rounds is {"run", "rounds"}.
type Path []string

// String returns the path as a dotted key, with quotes where TOML needs them.
func (p Path) String() string { return toml.Key(p).String() }

// Equal reports whether two paths are equal.
func (p Path) Equal(other Path) bool { return slices.Equal(p, other) }

// ParsePath splits a dotted key. A part may have quotes as in TOML. A part without
// quotes may end in an index in brackets ("never[2]"), which stays in the part.
func ParsePath(key string) (Path, error) {
	s := scanner{source: key, lines: []int{0}}
	path, err := s.path(isPathByte, maxDepth+1)
	if err != nil {
		return nil, err
	}
	if s.offset < len(key) {
		return nil, fmt.Errorf("%q at column %d does not belong in a dotted key", key[s.offset:], s.offset+1)
	}
	return path, nil
}

// isPathByte reports whether a part without quotes may have the byte in ParsePath.
func isPathByte(c byte) bool { return isBareByte(c) || c == '[' || c == ']' }

// isBareByte reports whether TOML allows the byte in a key without quotes.
func isBareByte(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// cutIndex splits "never[2]" into "never" and 2. The index is -1 if there is none.
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
