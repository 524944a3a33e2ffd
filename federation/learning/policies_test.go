package learning

import (
	"math"
	"slices"
	"testing"

	"fedsim/federation/protocols"
	"fedsim/federation/servertest"
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

// Power-of-choice with all devices as candidates asks those with the highest loss.
func TestPowerOfChoice(t *testing.T) {
	f := start(t, world(t, "mocha", protocols.Charged, func(s *Setup) {
		servertest.SelectBy(&s.Config, "power-of-choice", 3, len(sizes))
	}))
	f.clients.Begin()
	for range 5 {
		w := f.method.Model().W
		losses := make([]float64, len(sizes))
		for k := range losses {
			losses[k] = f.setup.Problem.LocalLoss(k, w.Row(k))
		}
		asked := f.server.Select()
		least := math.Inf(1)
		for _, k := range asked {
			least = min(least, losses[k])
		}
		for k, loss := range losses {
			if loss > least && !slices.Contains(asked, int32(k)) {
				t.Errorf("round %d asks %v, whose losses go down to %g, and not device %d with %g", f.server.Rounds()+1,
					asked, least, k, loss)
			}
		}
		f.runRound()
	}
}
