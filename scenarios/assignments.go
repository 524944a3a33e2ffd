package scenarios

import (
	"fmt"
	"slices"

	"fedsim/config"
)

// assignmentsOf flattens a table of settings, or nil, into assignments. A key
// given twice (once in quotes, once as nested tables) is a problem, except that
// an override replaces what the file says.
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
	for _, a := range all {
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

// index returns where the path is assigned, -1 when it is not.
func index(assignments []config.Assignment, path config.Path) int {
	return slices.IndexFunc(assignments, func(a config.Assignment) bool { return a.Path.Equal(path) })
}

// without returns the assignments but that of the path.
func without(assignments []config.Assignment, path config.Path) []config.Assignment {
	return slices.DeleteFunc(slices.Clone(assignments), func(a config.Assignment) bool { return a.Path.Equal(path) })
}
