package fleets

import (
	"embed"
	"fmt"

	"fedsim/config"
)

//go:embed builtin/*.toml
var builtin embed.FS

// names lists the built-in fleets.
var names = []string{"phones-2010", "phones-2017", "phones-2020", "sensors", "mixed"}

// Names returns the names of the built-in fleets.
func Names() []string { return append([]string(nil), names...) }

// Unknown says that no built-in fleet has a name, and which may have been meant.
func Unknown(name string) string { return config.UnknownName("fleet", name, name, names) }

// Source returns the file of a built-in fleet, in which the sources of its figures
// are named.
func Source(name string) (source []byte, ok bool) {
	source, err := builtin.ReadFile("builtin/" + name + ".toml")
	return source, err == nil
}

// BuiltIn returns the built-in fleet of that name; ok is false when there is none.
func BuiltIn(name string) (f *Fleet, ok bool) {
	source, ok := Source(name)
	if !ok {
		return nil, false
	}
	f, err := parseTOML(name+".toml", source)
	if err != nil {
		panic(fmt.Sprintf("fleets: a built-in fleet is wrong: %v", err)) // a test reads all of them
	}
	return f, true
}
