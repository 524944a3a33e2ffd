package fairness

import (
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/results"

	"pgregory.net/rapid"
)

// Values of a Python program that follows the definition.
func TestSpearman(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4, 5}, []float64{5, 6, 7, 8, 7}, 0.8207826816681233},
		{[]float64{1, 1, 2, 2, 3, 3}, []float64{2, 2, 2, 5, 1, 9}, 0.1270001270001905},
		{[]float64{3, 1, 2}, []float64{-3, -1, -2}, -1},
		{[]float64{0, 0, 1, 1}, []float64{1, 2, 3, 4}, 0.8944271909999159},
		{[]float64{1, 2, nan, 3}, []float64{1, 2, -9, 3}, 1},
		{[]float64{1, 1, 1}, []float64{1, 2, 3}, nan},
		{nil, nil, nan},
	} {
		if got := spearman(c.x, c.y); math.Abs(got-c.want) > 1e-14 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("spearman(%v, %v) = %.17g, want %.17g", c.x, c.y, got, c.want)
		}
	}
}

// The ranks are those of a slow definition: one more than the smaller values, and half a rank
// for each other equal value.
func TestRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var values []float64
		for _, n := range rapid.SliceOf(rapid.IntRange(-4, 4)).Draw(t, "values") {
			values = append(values, float64(n))
		}
		got := ranks(values)
		for i, v := range values {
			want := 0.5
			for _, other := range values {
				if other < v {
					want++
				} else if other == v {
					want += 0.5
				}
			}
			expect.Must(t, got[i] == want, "rank of %v in %v is %v, want %v", v, values, got[i], want)
		}
	})
}

// Critical values of Pearson's correlation at the two-sided level of 1 % from a table (Fisher
// and Yates, Statistical Tables, table VII): n - 2 = 8, 28 and 60.
func TestThreshold(t *testing.T) {
	for n, want := range map[int]float64{10: 0.7646, 30: 0.4629, 62: 0.3248, 1000: leastRho} {
		got := threshold(n)
		expect.That(t, math.Abs(got-want) <= 5e-5, "threshold of %d clients is %.5f, want %.4f", n, got, want)
	}
	if got := threshold(4); !math.IsNaN(got) {
		t.Errorf("threshold of 4 clients is %v", got)
	}
}

// runOf returns a run of clients with traits: value, rows, compute_s, transfer_s, updates and
// class of each.
func runOf(method string, seed uint64, clients ...results.ClientRow) results.Run {
	r := results.Run{Experiment: "e", Method: method, Seed: seed}
	for client, c := range clients {
		c.Client, c.Round, c.Split, c.Name = client, 7, "test", "error"
		r.ByClient = append(r.ByClient, c)
		c.Split, c.Rows, c.Value = "train", 3*c.Rows, 0
		r.ByClient = append(r.ByClient, c)
	}
	return r
}

func clientOf(value float64, rows int, computeS, transferS float64, updates int, class string) results.ClientRow {
	return results.ClientRow{Value: value, Rows: rows,
		ClientFacts: results.ClientFacts{ComputeS: computeS, TransferS: transferS, Updates: updates, Class: class}}
}

// Twelve clients: the slower, the worse; the class "old" has the slow ones. Rows and transfers
// do not matter.
func slowRun(method string, seed uint64) results.Run {
	var list []results.ClientRow
	for i := range 12 {
		class := "new"
		if i >= 8 {
			class = "old"
		}
		list = append(list, clientOf(0.01*float64(i), 10+i%3, float64(1+i), float64(1+(i*5)%12), 40-i/6, class))
	}
	return runOf(method, seed, list...)
}

func TestSlowClientsAreLeftBehind(t *testing.T) {
	r := Of([]results.Run{slowRun("a", 1), slowRun("a", 2), {Experiment: "e", Method: "b"}}, "test_error")
	expect.Must(t, len(r.Methods) == 1 && r.Label == "test error" && r.Share && !r.Higher, "report %+v", r)
	m := r.Methods[0]
	expect.That(t, m.Clients == 12 && m.Seeds == 2 && m.Rounds == [2]int{7, 7} && m.Unknown == 0, "method %+v", m)
	close := func(got, want float64) bool { return math.Abs(got-want) < 1e-12 }
	// The worst two of twelve: clients 11 and 10, with 3 (10+2) and 3 (10+1) training rows.
	if w := m.Worst; w.Clients != 2 || !close(w.Value, 0.105) || w.Rows != 34.5 || w.ComputeS != 11.5 ||
		w.Updates != 39 {
		t.Errorf("worst %+v", w)
	}
	if w := m.Rest; w.Clients != 10 || !close(w.Value, 0.045) || w.ComputeS != 5.5 {
		t.Errorf("rest %+v", w)
	}
	if len(m.Classes) != 2 || m.Classes[0].Name != "new" || m.Classes[0].Worst != 0 || m.Classes[1].Worst != 4 ||
		m.Classes[1].Clients != 4 || !close(m.Classes[1].Value, 0.095) {
		t.Errorf("classes %+v", m.Classes)
	}
	c := m.Traits[0]
	expect.That(t, c.Name == compute && close(c.Rho, 1), "traits %+v", m.Traits)
	want := "test error of the worst 10 %: 10.50 %, of the others: 4.50 %; left behind are the slow (compute +1.00), " +
		"those with fewer updates (updates -0.87), class old (+0.82)"
	expect.That(t, m.Verdict == want, "verdict %q,\nwant    %q", m.Verdict, want)
}

// The sentence names no trait whose correlation is below the threshold.
func TestVerdicts(t *testing.T) {
	row := func(value, x float64) results.ClientRow { return clientOf(value, 5, x, math.NaN(), 3, "") }
	noise := func(n int) (list []results.ClientRow) {
		for i := range n {
			list = append(list, row(float64((i*7)%n), float64((i*3)%n)))
		}
		return list
	}
	unknown := noise(11)
	unknown[2].Value = math.NaN()
	for _, c := range []struct {
		name    string
		clients []results.ClientRow
		want    string
	}{
		{"few", noise(4), "; too few clients to say who is left behind"},
		{"equal", []results.ClientRow{row(1, 1), row(1, 2), row(1, 3), row(1, 4), row(1, 5)},
			"nobody is left behind: all clients have the same test error"},
		{"noise", noise(11), "; none of these traits explains it: each rank correlation is below 0.73"},
		{"unknown", unknown,
			"(1 value not known); none of these traits explains it: each rank correlation is below 0.76"},
		{"none", []results.ClientRow{row(math.NaN(), 1)}, "no client of a run has a known test error"},
	} {
		r := Of([]results.Run{runOf("a", 1, c.clients...)}, "test_error")
		got := r.Methods[0].Verdict
		expect.That(t, strings.HasSuffix(got, c.want), "%s: %q, want ... %q", c.name, got, c.want)
	}
	// The same orders with the opposite sign: the small and the near.
	var list []results.ClientRow
	for i := range 20 {
		list = append(list, clientOf(float64(20-i), 1+i, 1, float64(1+i), 3, ""))
	}
	got := Of([]results.Run{runOf("a", 1, list...)}, "test_error").Methods[0].Verdict
	want := "left behind are the small (rows -1.00), the near (transfer -1.00)"
	expect.That(t, strings.HasSuffix(got, want), "%q, want ... %q", got, want)
	// A higher accuracy is better.
	run := runOf("a", 1, list...)
	for i := range run.ByClient {
		run.ByClient[i].Name = "accuracy"
	}
	run.Metrics = []results.NamedMetric{{Split: "test", Name: "accuracy"}}
	got = Of([]results.Run{run}, "test_accuracy").Methods[0].Verdict
	want = "left behind are the large (rows +1.00), the far away (transfer +1.00)"
	expect.That(t, strings.HasSuffix(got, want), "%q, want ... %q", got, want)
}

// Points of a sweep are methods of their own; their seeds belong together.
func TestPointsOfASweep(t *testing.T) {
	var runs []results.Run
	for _, p := range []string{"0", "1"} {
		for seed := range uint64(2) {
			r := slowRun("a", seed)
			r.Point = []results.Setting{{Key: "p", Value: p}}
			runs = append(runs, r)
		}
	}
	r := Of(runs, "test_error")
	expect.That(t, len(r.Methods) == 2 && r.Methods[0].Seeds == 2 && r.Methods[1].Point[0].Value == "1",
		"methods %+v", r.Methods)
}

// TestWorstTenthOfTheReference compares the worst tenth with values computed elsewhere: see
// section H of models.md beside models.csv.
func TestWorstTenthOfTheReference(t *testing.T) {
	n := []int{347, 304, 344, 314, 301, 326, 306, 284, 299, 298, 321, 327, 328, 321, 334, 366, 377, 380, 363, 359, 413,
		323, 375, 387, 413, 396, 382, 384, 346, 393}
	c := []int{3, 11, 0, 25, 8, 41, 17, 2, 30, 6, 14, 9, 0, 52, 19, 7, 23, 12, 5, 88, 16, 1, 34, 10, 21, 4, 13, 61, 27,
		18}
	var list []results.ClientRow
	for k := range n {
		list = append(list, clientOf(float64(c[k])/float64(n[k]), n[k], 1, 1, 1, ""))
	}
	m := Of([]results.Run{runOf("a", 1, list...)}, "test_error").Methods[0]
	got := m.Worst.Value
	expect.That(t, m.Worst.Clients == 3 && math.Abs(got/0.188657761442162-1) <= 1e-12, "worst %v", got)
}
