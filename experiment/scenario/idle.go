package scenario

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
)

// noteIdle notes keys of the file that no run uses, because the key that would turn them on
// is not set: a table [privacy] with noise alone protects nothing.
func (s *Scenario) noteIdle(root *config.Node) {
	given := func(key string) bool {
		n := root
		for _, name := range strings.Split(key, ".") {
			if n = n.Child(name); n == nil {
				return false
			}
		}
		return true
	}
	all := allTraits()
	for i, t := range all {
		if len(t.With) == 0 || i > 0 && slices.Equal(t.With, all[i-1].With) {
			continue
		}
		k := slices.IndexFunc(t.With, given)
		if k >= 0 && !slices.ContainsFunc(all, func(other trait) bool {
			return slices.Equal(other.With, t.With) &&
				(given(other.Key) || s.any(func(s *Settings) bool { _, used := other.used(s); return used }))
		}) {
			s.Notes = append(s.Notes, fmt.Sprintf("%s has no effect: %s is not set", t.With[k], t.Key))
		}
	}
}

// noteDeprecated notes deprecated keys that have another value than their default in any run.
func (s *Scenario) noteDeprecated() {
	standard, defaults := defaultSettings(), map[string]algorithms.Options{}
	var notes []string
	for j := range Jobs(s.Experiments) {
		run := &j.Candidates[0]
		notes = append(notes, config.Deprecated(&run.Settings, &standard)...)
		if _, known := defaults[run.Algorithm]; !known {
			if f, ok := lookup(run.Algorithm); ok {
				defaults[run.Algorithm] = f.Options()
			}
		}
		if d := defaults[run.Algorithm]; d != nil {
			for _, note := range config.Deprecated(run.Options, d) {
				notes = append(notes, "methods."+config.Path{run.Method}.String()+".options."+note)
			}
		}
	}
	slices.Sort(notes)
	s.Notes = append(s.Notes, slices.Compact(notes)...)
}

// any reports whether a setting is on in any run.
func (s *Scenario) any(on func(*Settings) bool) bool {
	for j := range Jobs(s.Experiments) {
		if on(&j.Candidates[0].Settings) {
			return true
		}
	}
	return false
}
