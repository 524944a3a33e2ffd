package learning

import (
	"testing"

	"fedsim/federation/protocols"
)

// With too few responses a round changes nothing.
func TestTooFewReportsAreForgotten(t *testing.T) {
	for least, changes := range map[int]bool{len(sizes): true, len(sizes) + 1: false} {
		s := world(t, "mocha", protocols.Deadline,
			func(s *Setup) { s.Config.MinReports, s.Schedule.Rounds = least, 3 })
		f := start(t, s)
		before := f.evaluation.modelHash()
		out := finish(t, f)
		if changed := out.ModelHash != before; changed != changes {
			t.Errorf("at least %d reports of %d: the model has changed: %t", least, len(sizes), changed)
		}
		if p := out.Rounds[1].Participants; (p > 0) != changes {
			t.Errorf("at least %d reports: %d took part", least, p)
		}
	}
}
