package federation

import (
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/engine"
	"fedsim/internal/parallel"
)

func poolOf(workers int) *parallel.Pool { return parallel.NewPool(workers) }

// answers returns the response times of a round without failures, in which devices do
// two passes over their rows.
func answers() []float64 {
	times := make([]float64, len(sizes))
	for k, n := range sizes {
		times[k] = 2*transferS + float64(2*n)*stepFLOPs/rate
	}
	return times
}

// passes is a timed world whose devices do two passes over their rows.
func passes(t testing.TB, protocol string, change func(*Setup)) Setup {
	return timed(t, world(t, "mocha", protocol, func(s *Setup) {
		s.Options = &algorithms.MOCHAOptions{Epochs: 2}
		s.Plan.Rounds = 6
		change(s)
	}))
}

func TestTheFirstResponsesEndARound(t *testing.T) {
	sorted := slices.Sorted(slices.Values(answers()))
	for k := 1; k <= len(sizes); k++ {
		out := run(t, passes(t, First, func(s *Setup) {
			s.Config.Clients, s.Config.Over = k, float64(len(sizes))/float64(k)
		}))
		for h, r := range out.Rounds[1:] {
			if r.Participants != k || r.Late != len(sizes)-k || r.Dropped != 0 {
				t.Errorf("the first %d: %d took part, %d late, %d dropped", k, r.Participants, r.Late, r.Dropped)
			}
			if want := float64(h+1) * sorted[k-1]; math.Abs(r.TimeS-want) > 1e-8 {
				t.Errorf("the first %d: round %d ends at %.9f s, want %.9f", k, h+1, r.TimeS, want)
			}
		}
	}
}

// Under late = "keep" a response is taken in the round in which it arrives. Each round
// of two devices ends with the first response, and the slow one counts when it arrives.
func TestLateResponsesAreApplied(t *testing.T) {
	out := run(t, passes(t, First, func(s *Setup) {
		s.Config.Clients, s.Config.Over, s.Config.Late = 1, float64(len(sizes)), Keep
		s.Plan.Rounds = 60
	}))
	// Each device answers again and again without interruption, except that one
	// that has answered waits for the end of the round, which is the same instant.
	var expected []float64
	for _, once := range answers() {
		for at := once; at < out.Rounds[60].TimeS+1e-9; at += once {
			expected = append(expected, at)
		}
	}
	slices.Sort(expected)
	taken := 0
	for _, r := range out.Rounds[1:] {
		taken += r.Participants
		if at := expected[taken-1]; math.Abs(at-r.TimeS) > 1e-6 {
			t.Fatalf("answer %d comes at %.6f s, want %.6f", taken, r.TimeS, at)
		}
	}
}

// The cycle becomes the quantile of the response times: of seven different ones 0.7
// leaves out two, since five are at least 0.7 of seven.
func TestDeadlineFollowsTheResponses(t *testing.T) {
	sorted := slices.Sorted(slices.Values(answers()))
	f := start(t, passes(t, Deadline, func(s *Setup) {
		s.Config.DeadlineS, s.Config.Quantile, s.Config.Window, s.Config.Fit = 100, 0.7, 1, false
	}))
	f.clients.Begin()
	for range 4 {
		f.runRound()
		if got := f.protocol.(*deadline).cycle.Seconds(); math.Abs(got-sorted[4]) > 1e-8 {
			t.Fatalf("the cycle is %g s, want %g", got, sorted[4])
		}
	}
	// Too short for anybody, it grows by half until it is not.
	f = start(t, passes(t, Deadline, func(s *Setup) {
		s.Config.DeadlineS, s.Config.Quantile, s.Config.Window, s.Config.Fit = 0.05, 1, 1, false
	}))
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

// Clients that fail do not lengthen the cycle, and it stays when all fail. Clients that
// are late lengthen one that is too short for them by half.
func TestDeadlineOfDropouts(t *testing.T) {
	for _, p := range []float64{0.5, 1} {
		f := start(t, passes(t, Deadline, func(s *Setup) {
			s.Config.DeadlineS, s.Config.Quantile, s.Config.Window, s.Config.Fit = 100, 1, 1, false
			s.Faults.DropProbability = p
		}))
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

// With too few responses a round changes nothing.
func TestTooFewReportsAreForgotten(t *testing.T) {
	for least, changes := range map[int]bool{len(sizes): true, len(sizes) + 1: false} {
		s := world(t, "mocha", Deadline, func(s *Setup) { s.Config.MinReports, s.Plan.Rounds = least, 3 })
		f := start(t, s)
		before := f.modelHash()
		out, err := f.Run(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if changed := out.ModelHash != before; changed != changes {
			t.Errorf("at least %d reports of %d: the model has changed: %t", least, len(sizes), changed)
		}
		if p := out.Rounds[1].Participants; (p > 0) != changes {
			t.Errorf("at least %d reports: %d took part", least, p)
		}
	}
}

// A device that drops at the start of an attempt with probability p takes part in
// a round with probability 1 - p^(1+retries). The share over 7 x 400 draws has a
// standard deviation below 0.0095; five of them are allowed.
func TestRetries(t *testing.T) {
	for _, retries := range []int{0, 1, 3} {
		out := run(t, passes(t, Deadline, func(s *Setup) {
			s.Config.DeadlineS, s.Config.Fit, s.Config.Retries = 100, false, retries
			s.Faults.DropProbability = 0.5
			s.Plan.Rounds = 400
		}))
		taken := 0
		for _, r := range out.Rounds {
			taken += r.Participants
		}
		share, want := float64(taken)/float64(400*len(sizes)), 1-math.Pow(0.5, float64(1+retries))
		if math.Abs(share-want) > 5*0.0095 {
			t.Errorf("%d retries: a share of %.4f takes part, want %.4f", retries, share, want)
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
		f := start(t, passes(t, Charged, func(s *Setup) { s.Config.Selection, s.Config.Clients = selection, 1 }))
		total := 0.0
		for k := range sizes {
			total += weight(k)
		}
		drawn := make([]int, len(sizes))
		const rounds = 20_000
		for f.round = range rounds {
			f.choose()
			drawn[f.open.asked[0]]++
		}
		for k, times := range drawn {
			if share, want := float64(times)/rounds, weight(k)/total; math.Abs(share-want) > 5*0.0036 {
				t.Errorf("%s: device %d is drawn in a share of %.4f of the rounds, want %.4f", selection, k, share, want)
			}
		}
	}
}

// Power-of-choice with all devices as candidates asks those with the highest loss.
func TestPowerOfChoice(t *testing.T) {
	f := start(t, world(t, "mocha", Charged, func(s *Setup) {
		s.Config.Selection, s.Config.Clients, s.Config.Candidates = "power-of-choice", 3, len(sizes)
	}))
	f.clients.Begin()
	for range 5 {
		w := f.method.Model().W
		losses := make([]float64, len(sizes))
		for k := range losses {
			losses[k] = f.setup.Problem.LocalLoss(k, w.Row(k))
		}
		f.choose()
		least := math.Inf(1)
		for _, k := range f.open.asked {
			least = min(least, losses[k])
		}
		for k, loss := range losses {
			if loss > least && !slices.Contains(f.open.asked, int32(k)) {
				t.Errorf("round %d asks %v, whose losses go down to %g, and not device %d with %g", f.round+1, f.open.asked, least, k, loss)
			}
		}
		f.runRound()
	}
}

// The devices of a sample are drawn from those that are available.
func TestASampleIsDrawnFromThoseThatAreThere(t *testing.T) {
	f := start(t, passes(t, Charged, func(s *Setup) {
		s.Config.Clients = 2
		s.Availability = windows{from: 0, to: engine.FromSeconds(1e6)}
	}))
	f.clients.Begin()
	for range 200 {
		if r := f.runRound(); r.Participants != 2 || r.Dropped != 0 {
			t.Fatalf("%+v", r)
		}
		if slices.Contains(f.open.asked, 0) {
			t.Fatal("device 0, which is away, was asked")
		}
	}
}
