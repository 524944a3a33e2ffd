package scenario

import (
	"fmt"
	"slices"

	"fedsim/algorithms"
	"fedsim/config"
)

// noteIdle notes keys of the file that no run uses, because the key that would turn them on
// is not set: a table [privacy] with noise alone protects nothing.
func (s *Scenario) noteIdle(root *config.Node) {
	for _, t := range []struct {
		table string
		on    func(s *Settings) bool
		by    []string // the keys that turn the others on
		keys  []string
	}{
		{"privacy", func(s *Settings) bool { return s.Privacy.Differential() }, []string{"mechanism"},
			[]string{"clip", "noise_multiplier", "delta", "accounting"}},
		{"privacy", func(s *Settings) bool { return s.Privacy.Secure() }, []string{"secure_aggregation"},
			[]string{"threshold", "value_bits", "value_range", "ring_bits", "key_bytes", "share_bytes", "cipher_bytes"}},
		{"compression", func(s *Settings) bool { return s.Compression.On() }, []string{"up", "down"},
			[]string{"levels", "coding", "share", "count", "indices", "feedback"}},
		{"federation", func(s *Settings) bool { return s.Federation.PartialShare > 0 }, []string{"partial_share"},
			[]string{"partial"}},
	} {
		table := root.Child(t.table)
		given := func(key string) bool { return table.Child(key) != nil }
		if table == nil || slices.ContainsFunc(t.by, given) || s.any(t.on) {
			continue
		}
		if i := slices.IndexFunc(t.keys, given); i >= 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("%s.%s has no effect: %s.%s is not set", t.table, t.keys[i], t.table, t.by[0]))
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
