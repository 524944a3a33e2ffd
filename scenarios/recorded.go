package scenarios

import (
	"path/filepath"
	"slices"

	"fedsim/config"
)

// ParseRecorded reads the scenario.toml of a run directory. If an earlier version of
// fedsim wrote it with keys that have since been renamed, the only error says to run
// the scenario again.
func ParseRecorded(dir string, source []byte) (*Scenario, error) {
	s, err := Parse(filepath.Join(dir, "scenario.toml"), source, nil)
	problems, _ := err.(config.Errors)
	if i := slices.IndexFunc(problems, func(l config.Located) bool { return l.Renamed }); i >= 0 {
		former := problems[i]
		former.Text += " (an earlier version wrote this directory): run the scenario again"
		return nil, config.Errors{former}
	}
	return s, err
}
