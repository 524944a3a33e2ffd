package learning

import (
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/federation/protocols"
)

// weighed notes the factors of the updates that a method takes.
type weighed struct {
	algorithms.Algorithm
	f     *Federation
	taken func(device, staleness int, factor float64)
}

func (w *weighed) Commit(device int, factor float64) {
	w.taken(device, w.f.server.CurrentRound().Staleness(device), factor)
	w.Algorithm.Commit(device, factor)
}

// apart returns the deviation of a late update and the largest of the round; compared is false if no
// update is in time.
func (w *weighed) apart(device int) (d, largest float64, compared bool) {
	l := &w.f.late
	return l.apart[slices.Index(l.late, int32(device))], slices.Max(l.apart), len(l.fresh) > 0
}

// Late updates have the factors of the rule, those in time have 1.
func TestWeightsOfLateUpdates(t *testing.T) {
	for rule, want := range map[string]func(w *weighed, device, staleness int) float64{
		federation.Keep:       func(*weighed, int, int) float64 { return 1 },
		federation.KeepDamped: func(_ *weighed, _, s int) float64 { return 1 / float64(s+1) },
		federation.KeepREFL: func(w *weighed, device, s int) float64 {
			d, largest, compared := w.apart(device)
			if !compared { // no update is in time
				return (1 - beta) / float64(s+1)
			}
			return (1-beta)/float64(s+1) + beta*(1-math.Exp(-d/largest))
		},
	} {
		f := start(t, world(t, "fedavg", protocols.First, func(s *Setup) {
			s.Config.Clients.Count, s.Config.Over, s.Config.Late = 3, 2, rule
			s.Network.Jitter = 0.9
			s.Schedule.Rounds = 60
		}))
		w := &weighed{Algorithm: f.method.Algorithm, f: f}
		late, several := 0, false
		w.taken = func(device, staleness int, factor float64) {
			if staleness == 0 {
				if factor != 1 {
					t.Errorf("%s: factor %g of an update in time", rule, factor)
				}
				return
			}
			late++
			several = several || len(f.late.late) > 1 && len(f.late.fresh) > 0
			if x := want(w, device, staleness); !near(factor, x, 1e-12) {
				t.Errorf("%s: factor %g of an update that is %d rounds late, want %g", rule, factor, staleness, x)
			}
		}
		f.method.Algorithm = w
		finish(t, f)
		if late < 10 || rule == "refl" && !several {
			t.Errorf("%s: %d updates are late: the test shows little", rule, late)
		}
	}
}
