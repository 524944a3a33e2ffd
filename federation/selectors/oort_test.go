package selectors

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// oortTurn is a client in a round of the trace.
type oortTurn struct{ u, seconds, loss float64 } // a loss of 0: no response

// oortTrace is the trace of the twins.
type oortTrace struct {
	rows      []int32
	expected  []float64
	turns     map[[2]int]oortTurn // by round and client
	available map[int][]int32
}

func readOortTrace(t *testing.T) oortTrace {
	t.Helper()
	trace := oortTrace{turns: map[[2]int]oortTurn{}, available: map[int][]int32{}}
	for _, r := range filetest.Rows(t, "testdata/oort/clients.csv")[1:] {
		trace.rows = append(trace.rows, int32(filetest.Number(t, r[1])))
		trace.expected = append(trace.expected, filetest.Number(t, r[2]))
	}
	for _, r := range filetest.Rows(t, "testdata/oort/trace.csv")[1:] {
		round, client := int(filetest.Number(t, r[0])), int(filetest.Number(t, r[1]))
		x := oortTurn{u: filetest.Number(t, r[2]), seconds: filetest.Number(t, r[3])}
		if r[4] != "" {
			x.loss = filetest.Number(t, r[4])
		}
		trace.turns[[2]int{round, client}] = x
		trace.available[round] = append(trace.available[round], int32(client))
	}
	return trace
}

// weighted is Selection.Weighted with the numbers of the trace.
func (o *oortTrace) weighted(s *federation.Selection, k int, from []int32, weight func(int32) float64) []int32 {
	return s.Lowest(k, from, func(client int32) float64 {
		return -elementary.Log(o.turns[[2]int{s.Round + 1, int(client)}].u) / weight(client)
	})
}

// respond notes what the clients of a round do, whose losses are so many times those of
// the trace.
func (o *oortTrace) respond(r *rehearsal, round int, clients []int32, times float64) {
	for _, client := range clients {
		if x := o.turns[[2]int{round, int(client)}]; x.loss > 0 {
			r.respond(client, federation.History{Round: int32(round - 1), Time: engine.FromSeconds(x.seconds),
				RMS: x.loss * times})
		} else {
			r.past[client].Asked++
			r.past[client].LastAsked = int32(round - 1)
		}
	}
}

// clientsOf reads the last field of a line of picks.
func clientsOf(t *testing.T, line []string) []int32 {
	t.Helper()
	var clients []int32
	for _, client := range strings.Fields(line[len(line)-1]) {
		clients = append(clients, int32(filetest.Number(t, client)))
	}
	return clients
}

// The picks on the trace by the convention of the paper are those of the slow twin, which was
// written from the paper alone: testdata/oort/twin.py.
func TestOortPicksWhatTheTwinDoes(t *testing.T) {
	trace := readOortTrace(t)
	factory, _ := federation.LookupSelector("oort")
	opts := factory.Options().(*oortOptions)
	opts.Convention = oortPaper
	opts.PacerStepS, opts.PacerWindow, opts.Participations = 2, 5, 6
	r := rehearse(t, "oort", opts, federation.SelectorSetup{}, rows(trace.rows))
	o := r.Selector.(*oort)
	expect.That(t, o.decay == 0.98, "epsilon decays by %g", o.decay) // testdata/oort/twin.py
	o.decay = 0.85
	for _, seconds := range trace.expected {
		o.speed.weights = append(o.speed.weights, 1/seconds)
	}
	o.weighted = trace.weighted
	picks := filetest.Rows(t, "testdata/oort/picks.csv")[1:]
	if len(trace.rows) != 200 || len(picks) != 50 {
		t.Fatalf("%d clients and %d rounds", len(trace.rows), len(picks))
	}
	for i, want := range picks {
		round := i + 1
		if epsilon := filetest.Number(t, want[1]); !servertest.Near(o.epsilon, epsilon, 1e-8*epsilon) {
			t.Errorf("round %d: exploration %g, want %g", round, o.epsilon, epsilon)
		}
		got := slices.Clone(r.pick(i, 20, trace.available[round]))
		if preferred := filetest.Number(t, want[2]); !servertest.Near(o.preferred, preferred, 1e-8*preferred) {
			t.Errorf("round %d: preferred duration %g, want %g", round, o.preferred, preferred)
		}
		clients := clientsOf(t, want)
		if !slices.Equal(got, clients) {
			t.Errorf("round %d: picks %v, want %v", round, got, clients)
		}
		trace.respond(r, round, clients, 1)
	}
}

// The picks by the convention of the authors are those of the slow twin that was written after
// their code: testdata/oort/authors.py. On its trace the pacer rises and falls, exploration
// ends, clients are excluded, and those that are missing are filled up.
func TestOortOfItsAuthorsPicksWhatTheTwinDoes(t *testing.T) {
	trace := readOortTrace(t)
	factory, _ := federation.LookupSelector("oort")
	opts := factory.Options().(*oortOptions)
	opts.ExploreMin, opts.PacerWindow, opts.Cutoff, opts.Participations = 0.2, 5, 0.7, 7
	r := rehearse(t, "oort", opts, federation.SelectorSetup{}, rows(trace.rows))
	o := r.Selector.(*authorsOort)
	expect.That(t, o.decay == 0.98, "epsilon decays by %g", o.decay) // testdata/oort/authors.py
	o.decay, o.pool, o.window = 0.85, 2, 1.5
	o.duration = slices.Clone(trace.expected)
	o.weighted = trace.weighted
	o.uniform = func(s *federation.Selection, k int, from []int32) []int32 {
		return s.Lowest(k, from, func(client int32) float64 {
			u := int(math.Round(1e6 * trace.turns[[2]int{s.Round + 1, int(client)}].u))
			return float64(u * 7919 % 1000003)
		})
	}
	shares := map[string]bool{}
	for i, want := range filetest.Rows(t, "testdata/oort/picks-authors.csv")[1:] {
		round := i + 1
		got := slices.Clone(r.pick(i, 20, trace.available[round]))
		if round > 1 {
			share, preferred := filetest.Number(t, want[2]), filetest.Number(t, want[3])
			if !servertest.Near(o.share, share, 1e-8) || !servertest.Near(o.preferred(), preferred, 1e-8*preferred) {
				t.Errorf("round %d: share %g and preferred duration %g, want %g and %g", round, o.share, o.preferred(),
					share, preferred)
			}
			if exploited := int(filetest.Number(t, want[5])); len(o.exploited) != exploited {
				t.Errorf("round %d: %d clients are exploited, want %d", round, len(o.exploited), exploited)
			}
			shares[want[2]] = true
		}
		clients := clientsOf(t, want)
		if !slices.Equal(got, clients) {
			t.Errorf("round %d: picks %v, want %v", round, got, clients)
		}
		times := 1.0
		if round >= 26 && round <= 30 {
			times = 40
		}
		trace.respond(r, round, clients, times)
	}
	if len(shares) != 2 {
		t.Errorf("the pacer takes the shares %v", shares)
	}
}

// The options of a convention are those of its source, and options of the other are refused.
func TestConventionsOfOort(t *testing.T) {
	factory, _ := federation.LookupSelector("oort")
	authors := factory.Options().(*oortOptions)
	paper := *authors
	paper.Convention = oortPaper
	a, p := authors.resolved(), paper.resolved()
	if a.ExploreMin != 0.3 || a.Clip != 0.9 || a.Cutoff != 0.05 || a.Participations != 0 {
		t.Errorf("by the authors %+v", a)
	}
	if p.ExploreMin != 0.2 || p.Clip != 0.95 || p.Cutoff != 0.95 || p.Participations != 10 || p.PacerStepS != 5 {
		t.Errorf("by the paper %+v", p)
	}
	authors.PacerStepS, paper.PacerStepS = 3, 3
	for o, want := range map[*oortOptions]int{authors: 1, &paper: 0} {
		c := config.NewChecker()
		o.Validate(c)
		if len(c.Problems()) != want {
			t.Errorf("%s: %v", o.Convention, c.Problems())
		}
	}
}

// The pacer moves when the utility of a window falls, not when it stays.
func TestThePacerOfOort(t *testing.T) {
	for last, want := range map[float64]float64{1.5: 6, 2: 3, 2.5: 3, 1: 6} {
		o := &oort{oortOptions: oortOptions{PacerStepS: 3, PacerWindow: 2}, preferred: 3,
			gains: []float64{9, 1, 2, 1, last}}
		// Round 0 has no feedback: the windows are 1, 2 and 1, last.
		if o.feedBack(&federation.Selection{}, 0); o.preferred != want {
			t.Errorf("utilities end with %g: preferred duration %g s, want %g", last, o.preferred, want)
		}
	}
}
