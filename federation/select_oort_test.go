package federation

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedsim/engine"
	"fedsim/internal/elementary"
	"fedsim/internal/parallel"
)

// rowsOf reads a file of the twin without its header.
func rowsOf(t *testing.T, name string) [][]string {
	t.Helper()
	file, err := os.Open("testdata/oort/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

// figure reads a number.
func figure(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// seen returns the selection of a run with so many clients, without events: a test writes
// the reports.
func seen(rows []int32, declared SelectorFactory) *Selection {
	declared.History = true
	f := &Federation{setup: Setup{Size: Size{Devices: len(rows), Rows: rows}, Pool: parallel.NewPool(2)}}
	f.reports = newReports(len(rows), declared)
	f.selection = newSelection(f, testSeed, len(rows), len(rows))
	f.selection.declared = declared
	return &f.selection
}

// The picks on the trace are those of the slow twin, which was written from the paper
// alone: testdata/oort/twin.py.
func TestOortPicksWhatTheTwinDoes(t *testing.T) {
	var rows []int32
	weights := []float64(nil)
	for _, r := range rowsOf(t, "clients.csv") {
		rows = append(rows, int32(figure(t, r[1])))
		weights = append(weights, 1/figure(t, r[2]))
	}
	type turn struct{ u, seconds, loss float64 }
	trace := map[[2]int]turn{} // by round and client; a loss of 0: no response
	available := map[int][]int32{}
	for _, r := range rowsOf(t, "trace.csv") {
		round, client, x := int(figure(t, r[0])), int(figure(t, r[1])), turn{u: figure(t, r[2]), seconds: figure(t, r[3])}
		if r[4] != "" {
			x.loss = figure(t, r[4])
		}
		trace[[2]int{round, client}] = x
		available[round] = append(available[round], int32(client))
	}
	factory, _ := LookupSelector("oort")
	opts := factory.Options().(*oortOptions)
	opts.ExploreDecay, opts.PacerStepS, opts.PacerWindow, opts.Participations = 0.85, 2, 5, 6
	selector, err := factory.New(SelectorSetup{}, opts)
	if err != nil {
		t.Fatal(err)
	}
	o := selector.(*oort)
	o.weights = weights
	o.weighted = func(s *Selection, k int, from []int32, weight func(int32) float64) []int32 {
		return s.Lowest(k, from, func(client int32) float64 {
			return -elementary.Log(trace[[2]int{s.Round + 1, int(client)}].u) / weight(client)
		})
	}
	s := seen(rows, factory)
	picks := rowsOf(t, "picks.csv")
	if len(rows) != 200 || len(picks) != 50 {
		t.Fatalf("%d clients and %d rounds", len(rows), len(picks))
	}
	for i, want := range picks {
		round := i + 1
		s.asked = 20
		s.open(i, true, available[round])
		if epsilon := figure(t, want[1]); !near(o.epsilon, epsilon, 1e-8*epsilon) {
			t.Errorf("round %d: exploration %g, want %g", round, o.epsilon, epsilon)
		}
		got := slices.Clone(o.Select(s))
		if preferred := figure(t, want[2]); !near(o.preferred, preferred, 1e-8*preferred) {
			t.Errorf("round %d: preferred duration %g, want %g", round, o.preferred, preferred)
		}
		var clients []int32
		for _, client := range strings.Fields(want[len(want)-1]) {
			clients = append(clients, int32(figure(t, client)))
		}
		if !slices.Equal(got, clients) {
			t.Errorf("round %d: picks %v, want %v", round, got, clients)
		}
		began := engine.FromSeconds(float64(1000 * round))
		s.f.reports.ask(clients, i, began)
		for _, client := range clients {
			if x := trace[[2]int{round, int(client)}]; x.loss > 0 {
				s.f.reports.clients[client].rms = x.loss
				s.f.reports.respond(int(client), began+engine.FromSeconds(x.seconds))
			}
		}
	}
}

// The pacer moves when the utility of a window falls, not when it stays.
func TestThePacerOfOort(t *testing.T) {
	factory, _ := LookupSelector("oort")
	s := seen(make([]int32, 1), factory)
	for last, want := range map[float64]float64{1.5: 6, 2: 3, 2.5: 3, 1: 6} {
		o := &oort{oortOptions: oortOptions{PacerStepS: 3, PacerWindow: 2}, preferred: 3, gains: []float64{9, 1, 2, 1, last}}
		s.open(0, true, nil) // no feedback: the windows are 1, 2 and 1, last
		if o.feedBack(s, 0); o.preferred != want {
			t.Errorf("utilities end with %g: preferred duration %g s, want %g", last, o.preferred, want)
		}
	}
}
