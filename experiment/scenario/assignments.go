package scenario

import (
	"fmt"
	"slices"

	"fedsim/config"
)

// assignmentsOf returns the assignments of a table of settings, or nil. A key that is set
// twice, in quotes and as nested tables, is a problem. An override replaces the value of
// the file.
func assignmentsOf(table *config.Node, problems *config.Errors) []config.Assignment {
	if table == nil {
		return nil
	}
	if !table.IsTable() {
		problems.Add(table.Place, "must be a table of settings")
		return nil
	}
	all, wrong := table.Assignments()
	problems.Merge(wrong)
	var found []config.Assignment
	for _, a := range wholes(all) {
		i := index(found, a.Path)
		switch {
		case i < 0:
			found = append(found, a)
		case a.Value.Place.Override != "":
			found[i] = a
		default:
			problems.Add(a.Value.Key, fmt.Sprintf("key %s is set twice", a.Path))
		}
	}
	return found
}

// eitherKeys are the settings whose value is a table or another, not a table of keys.
var eitherKeys = []config.Path{{"faults", "drop_probability"}, {"run", "stop_at"}, {"run", "targets"}}

// wholes combines the assignments below each of eitherKeys, and below the target of a tuning, into one, since a
// table replaces the whole value.
func wholes(all []config.Assignment) []config.Assignment {
	var found []config.Assignment
	for _, a := range all {
		keys := eitherKeys
		if a.Path[0] == "experiment" && len(a.Path) > 1 {
			keys = []config.Path{{"experiment", a.Path[1], "tuning", "target"}}
		}
		for _, key := range keys {
			if len(a.Path) <= len(key) || !key.Equal(a.Path[:len(key)]) {
				continue
			}
			table := config.NewTable(a.Value.Place)
			table.Key = a.Value.Key
			if i := index(found, key); i >= 0 && found[i].Value.IsTable() {
				table = found[i].Value
				found = slices.Delete(found, i, i+1)
			}
			if err := table.Set(a.Path[len(key):], a.Value); err != nil {
				panic(err) // the path is not empty
			}
			a = config.Assignment{Path: key, Value: table}
		}
		found = append(found, a)
	}
	return found
}

// index returns the index of the assignment of a path, -1 if there is none.
func index(assignments []config.Assignment, path config.Path) int {
	return slices.IndexFunc(assignments, func(a config.Assignment) bool { return a.Path.Equal(path) })
}

// except returns the assignments without that of a path.
func except(assignments []config.Assignment, path config.Path) []config.Assignment {
	return slices.DeleteFunc(slices.Clone(assignments), func(a config.Assignment) bool { return a.Path.Equal(path) })
}
