package compare

import (
	"fmt"
	"path/filepath"
	"strconv"

	"fedsim/config"
)

// Difference is a setting that the directories do not agree on.
type Difference struct {
	Key    string   // dotted; experiments, tables, axes and their points go by their names
	Values []string // by directory, as written in TOML; empty where there is none
}

// differing returns the settings that differ, after the versions and machines.
// What a scenario or an experiment is called, how it is described and how it is
// drawn has no part in what is run and is left out.
func differing(dirs []Directory) ([]Difference, error) {
	var keys []string
	values := map[string][]string{}
	for d := range dirs {
		put := func(key, value string) {
			if values[key] == nil {
				values[key] = make([]string, len(dirs))
				keys = append(keys, key)
			}
			values[key][d] = value
		}
		m := &dirs[d].Manifest
		put("(version of fedsim)", m.Version)
		put("(version of Go)", m.Go)
		put("(numeric version)", strconv.Itoa(m.Numerics))
		put("(platform)", m.Platform.OS+"/"+m.Platform.Arch)
		root, err := config.Parse(filepath.Join(dirs[d].Name, "scenario.toml"), dirs[d].Scenario)
		if err != nil {
			return nil, err
		}
		for _, key := range root.Keys() {
			if key != "name" && key != "description" {
				flatten(root.Child(key), key, put)
			}
		}
	}
	var found []Difference
	for _, key := range keys {
		for _, v := range values[key] {
			if v != values[key][0] {
				found = append(found, Difference{Key: key, Values: values[key]})
				break
			}
		}
	}
	return found, nil
}

// flatten puts all values below a node, tables in lists under their names.
func flatten(n *config.Node, at string, put func(key, value string)) {
	switch {
	case n.IsTable():
		for _, key := range n.Keys() {
			flatten(n.Child(key), at+"."+key, put)
		}
	case n.IsList() && len(n.Items()) > 0 && n.Items()[0].IsTable():
		for i, item := range n.Items() {
			name := nameOf(item, i)
			for _, key := range item.Keys() {
				if at == "experiment" && (key == "figure" || key == "description") {
					continue
				}
				flatten(item.Child(key), fmt.Sprintf("%s.%s.%s", at, name, key), put)
			}
		}
	default:
		put(at, config.Literal(n.Value()))
	}
}

// nameOf returns what a table in a list goes by, and its index when it has no
// name.
func nameOf(table *config.Node, index int) string {
	for _, key := range []string{"name", "label"} {
		if table.IsTable() && table.Child(key) != nil {
			if name, ok := table.Child(key).Value().(string); ok {
				return name
			}
		}
	}
	return strconv.Itoa(index)
}
