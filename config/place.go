package config

import (
	"fmt"
	"strings"

	"fedsim/internal/tools/quote"
)

// Place is the place of a value: a line and column of a file (both from 1, columns in
// bytes), or an override on the command line. Line 0 stands for the whole file. The zero
// Place is that of a default.
type Place struct {
	File         string
	Line, Column int
	Override     string // the argument of --set, "key=value"; empty for a place in a file
}

// String returns the place as errors begin with it: "x.toml:14:20", "x.toml" or
// "--set key=value".
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

// known reports whether the place is a line or an override.
func (p Place) known() bool { return p.Override != "" || p.Line > 0 }

// overrides reports whether the place is an override of this key.
func (p Place) overrides(key string) bool {
	name, _, ok := strings.Cut(p.Override, "=")
	return ok && strings.TrimSpace(name) == key
}
