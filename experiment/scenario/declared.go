package scenario

import (
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/internal/rooms"
	"fedsim/results"
)

// traitOf returns the trait of the key with which runs declare a metric.
func traitOf(metric string) (of trait, ok bool) {
	all := allTraits()
	i := slices.IndexFunc(all, func(t trait) bool { return t.Metric != "" && t.Metric == metric })
	if i < 0 {
		return trait{}, false
	}
	return all[i], true
}

// isOfRooms reports whether a metric is one that runs declare by a key of a room.
func isOfRooms(metric string) bool {
	_, is := traitOf(metric)
	return is
}

// mayDeclare reports whether a key of a room may declare a metric in a run of some methods under
// the settings, or under those of a method.
func (s *Settings) mayDeclare(metric string) bool {
	of, ok := traitOf(metric)
	if !ok {
		return false
	}
	if _, used := of.used(s); used {
		return true
	}
	return slices.ContainsFunc(s.labels(), func(label string) bool {
		return slices.ContainsFunc(s.Methods[label].Set,
			func(a config.Assignment) bool { return a.Path.String() == of.Key })
	})
}

// checkDeclared reports figures and a tuning target of metrics that no run has.
func (d *design) checkDeclared(e *Experiment, problems *config.Errors) {
	missing := func(key, name string) {
		want := e.missing(name)
		if of, ok := traitOf(name); ok && !slices.ContainsFunc(e.Jobs,
			func(j Job) bool { return j.Candidates[0].Settings.mayDeclare(name) }) {
			want = fmt.Sprintf("%s must not be %s", of.Key, of.Off)
		} else if !ok && name == results.Epsilon {
			want = "no part of this program counts it"
		}
		if want != "" {
			problems.Add(d.at, fmt.Sprintf("experiment %s: %s = %q has no values: %s", d.name, key, name, want))
		}
	}
	for i := range d.figures {
		missing("figure.x", d.figures[i].X)
		missing("figure.y", d.figures[i].Y)
	}
	missing("tuning.target", d.tuning.Target.Metric)
}

// noteStop notes a run.stop_at that is not where runs end, since they end at the target of run.certain.
func (d *design) noteStop(tree *config.Node, s *Settings) {
	run := tree.Child("run")
	if run == nil || !s.Run.Seeds.UntilCertain() {
		return
	}
	n := run.Child("stop_at")
	if n == nil || n.IsAbsent() {
		return
	}
	var given results.Target
	if wrong := config.Decode(n, "run.stop_at", &given); len(wrong) > 0 || !given.IsSet() || given == s.Run.StopAt {
		return
	}
	note := fmt.Sprintf("experiment %s: run.stop_at = %s has no effect: runs end at the target of run.certain, %s",
		d.name, config.Literal(given), config.Literal(s.Run.StopAt))
	if !slices.Contains(d.notes, note) {
		d.notes = append(d.notes, note)
	}
}

// noteRooms notes what users should know of the results under the settings.
func (d *design) noteRooms(s *Settings) {
	for _, room := range rooms.All() {
		if room.Note == nil {
			continue
		}
		if note := room.Note(s.ForRooms()); note != "" {
			if note = fmt.Sprintf("experiment %s: %s", d.name, note); !slices.Contains(d.notes, note) {
				d.notes = append(d.notes, note)
			}
		}
	}
}
