package scenario

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"fedsim/config"
)

// ParseRecorded reads the scenario.toml of a run directory. If an earlier version of
// fedsim wrote it with keys that have since been renamed, the only error says to run
// the scenario again. If the scenario names a plugin that is not linked in, the only
// error says to use another program. [Scenario.Resolved] returns the source as long as it means the
// same to this version.
func ParseRecorded(dir string, source []byte) (*Scenario, error) {
	s, err := Parse(filepath.Join(dir, "scenario.toml"), source, nil)
	problems, _ := err.(config.Errors)
	if i := slices.IndexFunc(problems, func(l config.Located) bool { return l.Renamed }); i >= 0 {
		former := problems[i]
		former.Text += " (an earlier version wrote this directory): run the scenario again"
		return nil, config.Errors{former}
	}
	const choice = ": must be one of "
	if i := slices.IndexFunc(problems,
		func(l config.Located) bool { return strings.Contains(l.Text, choice) }); i >= 0 {
		missing := problems[i]
		named, _, _ := strings.Cut(missing.Text, choice)
		missing.Text = named + " is not in this program: use the program that made the run (docs/extend.md)"
		return nil, config.Errors{missing}
	}
	if s != nil {
		s.recorded = source
	}
	return s, err
}

// extends reports whether a resolved scenario is a recorded one, with the keys that this version has
// and the one that recorded it did not have.
func extends(resolved, recorded []byte) bool {
	if bytes.Equal(resolved, recorded) {
		return true
	}
	now, err := config.Parse("", resolved)
	if err != nil {
		return false
	}
	then, err := config.Parse("", recorded)
	return err == nil && contains(now, then)
}

// contains reports whether a value has all keys of another one, with the same values.
func contains(n, other *config.Node) bool {
	switch {
	case n.IsTable() && other.IsTable():
		return !slices.ContainsFunc(other.Keys(), func(key string) bool {
			return n.Child(key) == nil || !contains(n.Child(key), other.Child(key))
		})
	case n.IsList() && other.IsList():
		return slices.EqualFunc(n.Items(), other.Items(), contains)
	case n.IsTable(), n.IsList(), other.IsTable(), other.IsList():
		return false
	default:
		return n.Value() == other.Value()
	}
}
