package scenario

import (
	"path/filepath"
	"slices"
	"strings"

	"fedsim/config"
)

// ParseRecorded reads the scenario.toml of a run directory. If an earlier version of
// fedsim wrote it with keys that have since been renamed, the only error says to run
// the scenario again. If the scenario names a plugin that is not linked in, the only
// error says to use another program.
func ParseRecorded(dir string, source []byte) (*Scenario, error) {
	s, err := Parse(filepath.Join(dir, "scenario.toml"), source, nil)
	problems, _ := err.(config.Errors)
	if i := slices.IndexFunc(problems, func(l config.Located) bool { return l.Renamed }); i >= 0 {
		former := problems[i]
		former.Text += " (an earlier version wrote this directory): run the scenario again"
		return nil, config.Errors{former}
	}
	const choice = ": must be one of "
	if i := slices.IndexFunc(problems, func(l config.Located) bool { return strings.Contains(l.Text, choice) }); i >= 0 {
		missing := problems[i]
		named, _, _ := strings.Cut(missing.Text, choice)
		missing.Text = named + " is not in this program: use the program that made the run (docs/plugins.md)"
		return nil, config.Errors{missing}
	}
	return s, err
}
