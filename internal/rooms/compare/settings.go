package compare

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"fedsim/config"
	"fedsim/results/rundir"
)

// Difference is a setting that differs between directories.
type Difference struct {
	Key    string    `json:"key"`    // dotted; elements of lists of tables are keyed by name
	Values []*string `json:"values"` // by directory, as TOML; nil: not set
}

// differing returns the versions, platforms and settings that differ. It ignores names,
// descriptions and figures, which do not affect a run.
func differing(dirs []*rundir.Results) ([]Difference, error) {
	var keys []string
	values := map[string][]*string{}
	for d := range dirs {
		put := func(key, value string) {
			if values[key] == nil {
				values[key] = make([]*string, len(dirs))
				keys = append(keys, key)
			}
			values[key][d] = &value
		}
		m := &dirs[d].Manifest
		put("(version of fedsim)", m.Version)
		put("(version of Go)", m.Go)
		put("(numeric version)", strconv.Itoa(m.Numerics))
		put("(platform)", m.Platform.OS+"/"+m.Platform.Arch)
		root, err := config.Parse(filepath.Join(dirs[d].Dir, "scenario.toml"), dirs[d].Scenario)
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
		first := values[key][0]
		differs := func(v *string) bool { return (v == nil) != (first == nil) || v != nil && *v != *first }
		if slices.ContainsFunc(values[key], differs) {
			found = append(found, Difference{Key: key, Values: values[key]})
		}
	}
	return found, nil
}

// flatten calls put for every value below a node. Tables in lists are keyed by name.
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

// nameOf returns the name or label of a table in a list, or its index.
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
