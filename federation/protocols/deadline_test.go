package protocols

import (
	"math"
	"slices"
	"testing"

	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/servertest"
)

// cycled plays rounds of a clock cycle that follows a quantile of the responses to the round before, and returns
// them with their lengths.
func cycled(t *testing.T, rounds int, cycle, quantile float64, change func(*federation.Setup)) (
	lengths []float64, of servertest.Outcome) {
	t.Helper()
	window = 1
	defer func() { window = 5 }()
	f := servertest.Start(t, servertest.World(Deadline, func(s *federation.Setup) {
		s.Config.DeadlineS, s.Config.Quantile, s.Config.Fit = cycle, quantile, false
		change(s)
	}), 2)
	of, before := f.Play(rounds), 0.0
	for _, r := range of.Rounds {
		lengths, before = append(lengths, r.TimeS-before), r.TimeS
	}
	return lengths, of
}

// The cycle becomes the quantile of the response times: of seven different ones 0.7
// leaves out two, since five are at least 0.7 of seven. One that is too short for anybody grows by half until it
// is not.
func TestDeadlineFollowsTheResponses(t *testing.T) {
	sorted := slices.Sorted(slices.Values(servertest.Responses(2)))
	for _, c := range []struct {
		first, quantile float64
		want            func(before float64) float64
	}{
		{100, 0.7, func(float64) float64 { return sorted[4] }},
		{0.05, 1, func(before float64) float64 {
			if before < sorted[6] {
				return 1.5 * before
			}
			return sorted[6]
		}},
	} {
		lengths, _ := cycled(t, 14, c.first, c.quantile, func(*federation.Setup) {})
		want := c.first
		for h, got := range lengths {
			if math.Abs(got-want) > 1e-6 {
				t.Fatalf("round %d: the cycle is %g s, want %g", h+1, got, want)
			}
			want = c.want(want)
		}
		if last := lengths[len(lengths)-1]; math.Abs(last-c.want(last)) > 1e-6 {
			t.Errorf("the cycle is %g s in the end", last)
		}
	}
}

// A response to an earlier round does not count for the cycle. At a cycle of 2 s the client of 40 rows is late; its
// response arrives 0.57 s after the second round begins. Without it five of six responses are 0.7 of them, up to
// the client of 20 rows.
func TestDeadlineIgnoresLateResponses(t *testing.T) {
	lengths, of := cycled(t, 3, 2, 0.7, func(s *federation.Setup) { s.Config.Late = federation.Keep })
	for h, want := range []float64{2, servertest.Responses(2)[3], servertest.Responses(2)[3]} {
		if got := lengths[h]; math.Abs(got-want) > 1e-8 || h < 2 && of.Rounds[h].Late != 1 {
			t.Fatalf("round %d: the cycle is %g s, want %g; %d are late", h+1, got, want, of.Rounds[h].Late)
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
	slowest := slices.Max(servertest.Responses(2))
	for _, p := range []float64{0.5, 1} {
		lengths, of := cycled(t, 21, 100, 1, func(s *federation.Setup) { s.Faults.DropProbability.All = p })
		for h, cycle := range lengths[1:] {
			switch {
			case p == 1 && cycle != 100:
				t.Errorf("round %d: nobody responds, and the cycle is %g s, want 100", h+1, cycle)
			case p < 1 && of.Rounds[h].Participants > 0 && cycle > 1.5*slowest:
				t.Errorf("round %d: the cycle is %g s, and the slowest response takes %g s", h+1, cycle, slowest)
			}
		}
	}
}
