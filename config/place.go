package config

import (
	"fmt"
	"strings"

	"fedsim/internal/quote"
)

// Place is where a value was written: a line and column of a file (both from
// 1, columns in bytes as the Go tools count them), or an override given on the
// command line. A file without a line stands for the file as a whole. The zero
// Place is nowhere: the value is a default.
type Place struct {
	File         string
	Line, Column int
	Override     string // the argument of --set, "key=value"; empty for a place in a file
}

// String renders the place as it opens an error message: "x.toml:14:20",
// "x.toml" or "--set key=value".
func (p Place) String() string {
	switch {
	case p.Override != "":
		return "--set " + quote.Cut(p.Override)
	case p.Line > 0:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	default:
		return p.File
	}
}

// known reports whether the place is more precise than a whole file.
func (p Place) known() bool { return p.Override != "" || p.Line > 0 }

// overrides reports whether the place is an override of exactly this key, so
// that a message need not repeat key and value.
func (p Place) overrides(key string) bool {
	name, _, ok := strings.Cut(p.Override, "=")
	return ok && strings.TrimSpace(name) == key
}
