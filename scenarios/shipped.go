// Package scenarios embeds the shipped scenarios. It must not know the meaning of a scenario:
// package scenario reads them.
package scenarios

import (
	"embed"
	"strings"

	"fedsim/config"
)

//go:embed *.toml
var files embed.FS

// Extension is the extension of a scenario file.
const Extension = ".toml"

// Info names a scenario that is shipped within the program.
type Info struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Shipped lists the shipped scenarios by name.
func Shipped() []Info {
	var list []Info
	for _, name := range Names() {
		source, _ := Source(name)
		list = append(list, Info{Name: name, Description: describe(source)})
	}
	return list
}

// Source returns the text of a shipped scenario.
func Source(name string) (source []byte, ok bool) {
	source, err := files.ReadFile(name + Extension)
	return source, err == nil
}

// describe returns the description in a scenario, which need not be valid.
func describe(source []byte) string {
	root, err := config.Parse("", source)
	if err != nil || root.Child("description") == nil {
		return ""
	}
	return config.Label(root.Child("description").Value())
}

// Names returns the names of the shipped scenarios in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // an embedded folder can be read
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), Extension)
	}
	return names
}
