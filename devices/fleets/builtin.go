package fleets

import (
	"embed"
	"fmt"
	"slices"
	"sync"

	"fedsim/config"
)

//go:embed builtin/*.toml
var builtin embed.FS

// names lists the built-in fleets.
var names = []string{"phones-2010", "phones-2017", "phones-2020", "sensors", "mixed"}

// Names returns the names of the built-in fleets.
func Names() []string { return append([]string(nil), names...) }

// Unknown returns an error text: no built-in fleet has this name, and a similar name.
func Unknown(name string) string { return config.UnknownName("fleet", name, name, names) }

// Source returns the file of a built-in fleet. It names the source of each value.
func Source(name string) (source []byte, ok bool) {
	source, err := builtin.ReadFile("builtin/" + name + ".toml")
	return source, err == nil
}

// BuiltIn returns the built-in fleet with a name; ok is false if there is none.
func BuiltIn(name string) (f *Fleet, ok bool) {
	known, ok := read.Load(name)
	if !ok {
		source, ok := Source(name)
		if !ok {
			return nil, false
		}
		fleet, err := parseTOML(name+".toml", source)
		if err != nil {
			panic(fmt.Sprintf("fleets: a built-in fleet is invalid: %v", err)) // a test reads all of them
		}
		known, _ = read.LoadOrStore(name, fleet)
	}
	fleet := *known.(*Fleet)
	fleet.Classes = slices.Clone(fleet.Classes)
	return &fleet, true
}

// read has the built-in fleets that were read, by name: a scenario validates its fleet for each of its runs.
var read sync.Map
