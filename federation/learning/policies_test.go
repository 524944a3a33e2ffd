package learning

import (
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/engine"
	"fedsim/federation"
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

// passes is a timed world whose devices do two passes over their rows.
func passes(t testing.TB, protocol string, change func(*Setup)) Setup {
	return timed(t, world(t, "mocha", protocol, func(s *Setup) {
		s.Options = &algorithms.MOCHAOptions{Epochs: 2}
		s.Schedule.Rounds = 6
		change(s)
	}))
}

func TestTheFirstResponsesEndARound(t *testing.T) {
	sorted := slices.Sorted(slices.Values(answers()))
	for k := 1; k <= len(sizes); k++ {
		out := run(t, passes(t, federation.First, func(s *Setup) {
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
	out := run(t, passes(t, federation.First, func(s *Setup) {
		s.Config.Clients, s.Config.Over, s.Config.Late = 1, float64(len(sizes)), federation.Keep
		s.Schedule.Rounds = 60
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

// With too few responses a round changes nothing.
func TestTooFewReportsAreForgotten(t *testing.T) {
	for least, changes := range map[int]bool{len(sizes): true, len(sizes) + 1: false} {
		s := world(t, "mocha", federation.Deadline, func(s *Setup) { s.Config.MinReports, s.Schedule.Rounds = least, 3 })
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

// A device that drops at the start of an attempt with probability p takes part in
// a round with probability 1 - p^(1+retries). The share over 7 x 400 draws has a
// standard deviation below 0.0095; five of them are allowed.
func TestRetries(t *testing.T) {
	for _, retries := range []int{0, 1, 3} {
		out := run(t, passes(t, federation.Deadline, func(s *Setup) {
			s.Config.DeadlineS, s.Config.Fit, s.Config.Retries = 100, false, retries
			s.Faults.DropProbability = 0.5
			s.Schedule.Rounds = 400
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

// Power-of-choice with all devices as candidates asks those with the highest loss.
func TestPowerOfChoice(t *testing.T) {
	f := start(t, world(t, "mocha", federation.Charged, func(s *Setup) {
		s.Config.Selection, s.Config.Clients, s.Config.Candidates = "power-of-choice", 3, len(sizes)
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
				t.Errorf("round %d asks %v, whose losses go down to %g, and not device %d with %g", f.server.Rounds()+1, asked, least, k, loss)
			}
		}
		f.runRound()
	}
}

// The devices of a sample are drawn from those that are available.
func TestASampleIsDrawnFromThoseThatAreThere(t *testing.T) {
	f := start(t, passes(t, federation.Charged, func(s *Setup) {
		s.Config.Clients = 2
		s.Availability = windows{from: 0, to: engine.FromSeconds(1e6)}
	}))
	f.clients.Begin()
	for range 200 {
		if r := f.runRound(); r.Participants != 2 || r.Dropped != 0 {
			t.Fatalf("%+v", r)
		}
		if slices.Contains(f.server.CurrentRound().Asked(), 0) {
			t.Fatal("device 0, which is away, was asked")
		}
	}
}
