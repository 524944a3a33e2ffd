package federation

import (
	"math"
	"slices"
	"testing"

	"fedsim/engine"
)

// answers returns the response times of a round without failures, in which devices do
// two passes over their rows.
func answers() []float64 {
	times := make([]float64, len(sizes))
	for k, n := range sizes {
		times[k] = 2*transferS + float64(2*n)*stepFLOPs/rate
	}
	return times
}

// The cycle becomes the quantile of the response times: of seven different ones 0.7
// leaves out two, since five are at least 0.7 of seven.
func TestDeadlineFollowsTheResponses(t *testing.T) {
	sorted := slices.Sorted(slices.Values(answers()))
	f := start(t, world(Deadline, func(s *Setup) {
		s.Config.DeadlineS, s.Config.Quantile, s.Config.Window, s.Config.Fit = 100, 0.7, 1, false
	}), 2)
	f.clients.Begin()
	for range 4 {
		f.runRound()
		if got := f.protocol.(*deadline).cycle.Seconds(); math.Abs(got-sorted[4]) > 1e-8 {
			t.Fatalf("the cycle is %g s, want %g", got, sorted[4])
		}
	}
	// Too short for anybody, it grows by half until it is not.
	f = start(t, world(Deadline, func(s *Setup) {
		s.Config.DeadlineS, s.Config.Quantile, s.Config.Window, s.Config.Fit = 0.05, 1, 1, false
	}), 2)
	f.clients.Begin()
	grown := 0.05
	for grown < sorted[6] {
		f.runRound()
		grown *= 1.5
		if got := f.protocol.(*deadline).cycle.Seconds(); math.Abs(got-grown) > 1e-6 {
			t.Fatalf("the cycle is %g s, want %g", got, grown)
		}
	}
	f.runRound()
	if got := f.protocol.(*deadline).cycle.Seconds(); math.Abs(got-sorted[6]) > 1e-8 {
		t.Errorf("the cycle is %g s in the end, want %g", got, sorted[6])
	}
}

// A response to an earlier round does not count for the cycle. At a cycle of 2 s the client of 40 rows is late; its
// response arrives 0.57 s after the second round begins. Without it five of six responses are 0.7 of them, up to
// the client of 20 rows.
func TestDeadlineIgnoresLateResponses(t *testing.T) {
	f := start(t, world(Deadline, func(s *Setup) {
		s.Config.DeadlineS, s.Config.Quantile, s.Config.Window, s.Config.Fit, s.Config.Late = 2, 0.7, 1, false, Keep
	}), 2)
	f.clients.Begin()
	for h := range 2 {
		r := f.runRound()
		if got, want := f.protocol.(*deadline).cycle.Seconds(), answers()[3]; math.Abs(got-want) > 1e-8 || r.Late != 1 {
			t.Fatalf("round %d: the cycle is %g s, want %g; %d are late", h+1, got, want, r.Late)
		}
	}
}

// Late responses count as long as those of their round do: for the rounds of the window.
func TestLateResponsesLeaveTheWindow(t *testing.T) {
	r := newResponses(2)
	for h, want := range []engine.Time{engine.Never, engine.Never, 3} {
		r.late[0] = 0
		if h == 0 {
			r.late[0] = 1
		}
		r.add(engine.Time(h + 1))
		if got := r.quantile(1); got != want {
			t.Errorf("round %d: %v, want %v", h+1, got, want)
		}
		r.shift()
	}
}

// Clients that fail do not lengthen the cycle, and it stays when all fail. Clients that
// are late lengthen one that is too short for them by half.
func TestDeadlineOfDropouts(t *testing.T) {
	for _, p := range []float64{0.5, 1} {
		f := start(t, world(Deadline, func(s *Setup) {
			s.Config.DeadlineS, s.Config.Quantile, s.Config.Window, s.Config.Fit = 100, 1, 1, false
			s.Faults.DropProbability = p
		}), 2)
		f.clients.Begin()
		slowest := slices.Max(answers())
		for h := range 20 {
			r := f.runRound()
			cycle := f.protocol.(*deadline).cycle.Seconds()
			switch {
			case p == 1 && cycle != 100:
				t.Errorf("round %d: nobody responds, and the cycle is %g s, want 100", h+1, cycle)
			case p < 1 && r.Participants > 0 && cycle > 1.5*slowest:
				t.Errorf("round %d: the cycle is %g s, and the slowest response takes %g s", h+1, cycle, slowest)
			}
		}
	}
}

// One device is drawn in proportion to its weight; over 20,000 rounds a share has a
// standard deviation of at most 0.0036, five of which are allowed.
func TestSelectionByWeights(t *testing.T) {
	weights := map[string]func(k int) float64{
		"data":  func(k int) float64 { return float64(sizes[k]) },
		"speed": func(k int) float64 { return 1 / (2*transferS + float64(sizes[k])*stepFLOPs/rate) },
	}
	for selection, weight := range weights {
		f := start(t, world(Charged, func(s *Setup) { s.Config.Selection, s.Config.Clients = selection, 1 }), 2)
		total := 0.0
		for k := range sizes {
			total += weight(k)
		}
		drawn := make([]int, len(sizes))
		const rounds = 20_000
		for f.round = range rounds {
			drawn[f.Select()[0]]++
		}
		for k, times := range drawn {
			if share, want := float64(times)/rounds, weight(k)/total; math.Abs(share-want) > 5*0.0036 {
				t.Errorf("%s: device %d is drawn in a share of %.4f of the rounds, want %.4f", selection, k, share, want)
			}
		}
	}
}

// Under a protocol that waits for all, min_reports is that of other methods' protocols.
func TestMinReportsIsOfItsProtocols(t *testing.T) {
	for protocol, want := range map[string]int{WaitForAll: len(sizes), Charged: 0} {
		f := start(t, world(protocol, func(s *Setup) { s.Config.MinReports = len(sizes) + 1 }), 1)
		f.clients.Begin()
		if r := f.runRound(); r.Participants != want {
			t.Errorf("%s: the server took %d updates, want %d", protocol, r.Participants, want)
		}
	}
}
