package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

// Thirty devices with numbers of rows and of wrong predictions, and statistics of the shares
// wrong, computed with NumPy.
var (
	rowsOf = []int32{347, 304, 344, 314, 301, 326, 306, 284, 299, 298, 321, 327, 328, 321, 334,
		366, 377, 380, 363, 359, 413, 323, 375, 387, 413, 396, 382, 384, 346, 393}
	wrongOf = []float64{3, 11, 0, 25, 8, 41, 17, 2, 30, 6, 14, 9, 0, 52, 19, 7, 23, 12, 5, 88, 16, 1, 34, 10, 21, 4, 13,
		61, 27, 18}

	wantStatistics = map[string]float64{
		"test_error_clients": 0.055216710021573, "test_error": 0.05542214964940928,
		"test_error_sd": 0.05524294540583262, "test_error_worst10": 0.1886577614421622,
		"test_error_p10": 0.0066476256922339, "test_error_p90": 0.12907560071574647,
		"test_error_jain": 0.4997624890039887,
		// Of the accuracies: the worst 10 % of errors are those of accuracies, and quantiles change places.
		"test_accuracy_clients": 1 - 0.055216710021573, "test_accuracy": 1 - 0.05542214964940928,
		"test_accuracy_sd": 0.05524294540583262, "test_accuracy_worst10": 1 - 0.1886577614421622,
		"test_accuracy_p10": 1 - 0.12907560071574647, "test_accuracy_p90": 1 - 0.0066476256922339,
		"test_accuracy_jain": 0.9965927267924649,
	}
)

// statisticsOf returns the statistics of a round with errors and accuracies of clients, in an
// order of the clients. A client that is not in it has no rows.
func statisticsOf(t *testing.T, order []int) map[string]float64 {
	t.Helper()
	declared := []NamedMetric{ClientMetricOf("test", ClientError), ClientMetricOf("test", ClientAccuracy)}
	of := make([]ClientMetric, 2)
	for i, m := range declared {
		of[i] = ClientMetric{Split: m.Split, Name: m.Name}
		for k, from := range order {
			x, n := math.NaN(), int32(0)
			if from >= 0 {
				x, n = wrongOf[from]/float64(rowsOf[from]), rowsOf[from]
			}
			if i == 1 {
				x = 1 - x
			}
			of[i].Clients, of[i].Values, of[i].Rows = append(of[i].Clients, int32(k)), append(of[i].Values, x),
				append(of[i].Rows, n)
		}
	}
	r := unknownRound()
	expect.NoError(t, r.SetClients(declared, make([]int32, len(order)), false, of))
	got := map[string]float64{}
	run := Run{Metrics: declared, Rounds: []Round{r}}
	for _, m := range ClientStatistics([]Run{run}) {
		got[m.Name] = m.Of(&r)
	}
	expect.That(t, len(r.Metrics) == len(got),
		"the round has %d values, the run %d statistics", len(r.Metrics), len(got))
	return got
}

func TestStatisticsOverClients(t *testing.T) {
	var forward, backward, gaps []int
	for k := range rowsOf {
		forward, backward, gaps = append(forward, k), append(backward, len(rowsOf)-1-k), append(gaps, -1, (7*k)%30)
	}
	for name, order := range map[string][]int{"forward": forward, "backward": backward,
		"with clients without rows": gaps} {
		got := statisticsOf(t, order)
		expect.That(t, len(got) == len(wantStatistics),
			"%s: %d statistics, want %d", name, len(got), len(wantStatistics))
		for metric, want := range wantStatistics {
			expect.That(t, math.Abs(got[metric]-want) <= 1e-12,
				"%s: %s is %v, want %v", name, metric, got[metric], want)
		}
	}
	if got := statisticsOf(t, []int{-1, -1}); len(got) != 0 {
		t.Errorf("clients without rows have statistics: %v", got)
	}
	// Of a single client, 2 in a unit of 3/304: all are its value.
	got := statisticsOf(t, []int{1})
	for name, want := range map[string]float64{"": 1, "_clients": 1, "_sd": 0, "_worst10": 1, "_p10": 1, "_p90": 1} {
		x := got["test_error"+name]
		expect.That(t, math.Abs(x-want*11/304) <= 1e-15, "%s of one client is %v", name, x)
	}
	expect.That(t, got["test_error_jain"] == 1, "Jain's index of one client is %v", got["test_error_jain"])
}

// Values whose sums exceed the largest number have no mean, and no statistic that is not finite.
func TestHugeValuesHaveFiniteStatistics(t *testing.T) {
	r := Round{}
	values := []ClientMetric{
		{Split: "test", Name: "x", Clients: []int32{0, 1, 2}, Values: []float64{1e308, -1e308, 1.5e308}},
	}
	expect.NoError(t, r.SetClients([]NamedMetric{{Split: "test", Name: "x"}}, make([]int32, 3), false, values))
	known := map[string]bool{}
	for _, v := range r.Metrics {
		known[v.Name] = true
		expect.That(t, !math.IsInf(v.Value, 0) && !math.IsNaN(v.Value), "%s is %v", v.Name, v.Value)
	}
	expect.That(t, !known["x_sd"] && known["x_p90"], "known: %v", known)
}

func TestWorstTenthIsRoundedUp(t *testing.T) {
	v := clientValues{sorted: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}
	low := (clientValues{sorted: v.sorted, higher: true}).worst()
	expect.That(t, v.worst() == 10.5 && low == 1.5, "the worst two of eleven have mean %v, %v", v.worst(), low)
	if v.sorted = v.sorted[:10]; v.worst() != 10 {
		t.Errorf("the worst one of ten is %v", v.worst())
	}
}

func TestStatisticsAreMetrics(t *testing.T) {
	run := Run{Metrics: []NamedMetric{ClientMetricOf("test", ClientError), ClientMetricOf("test", ClientAUC),
		{Name: "lag", Unit: "ms"}, {Split: "test", Name: "accuracy"}}}
	type traits struct {
		Label, Value string
		Higher       bool
	}
	want := map[string]traits{
		"test_error_worst10":  {"test error, worst 10 % of clients", "25.00 %", false},
		"test_error_sd":       {"test error, client sd", "25.00 %", false},
		"test_error_jain":     {"test error, Jain's index", "0.25", true},
		"test_auc_p10":        {"test AUC, client p10", "0.25", true},
		"test_auc_sd":         {"test AUC, client sd", "0.25", false},
		"lag_clients":         {"lag, mean over clients", "0.25 ms", false},
		"test_accuracy_p90":   {"test accuracy, client p90", "25.00 %", true},
		"test_accuracy_sd":    {"test accuracy, client sd", "25.00 %", false},
		"test_accuracy_jain":  {"test accuracy, Jain's index", "0.25", true},
		"test_error_worst10x": {"test error worst10x", "0.25", false},
	}
	for name, x := range want {
		m, ok := run.Metric(name)
		if got := (traits{m.Label, m.Format(0.25, false), m.Higher}); got != x || m.Name != name ||
			ok == strings.HasSuffix(name, "x") {
			t.Errorf("%s is %+v, %t, want %+v", name, got, ok, x)
		}
	}
	if text := (Target{"test_error_worst10", 0.2}).Text(run); text != "test error, worst 10 % of clients: 20 %" {
		t.Errorf("a target is %q", text)
	}
	m, _ := run.Metric("test_error_worst10")
	if text := m.Format(0.25, true); text != "0.25" || m.LabelFor(true) != "test RMSE, worst 10 % of clients" {
		t.Errorf("of real targets: %s, %s", text, m.LabelFor(true))
	}
	if _, ok := run.Metric("train_loss_clients"); ok {
		t.Error("a statistic of a metric that the run does not declare is its metric")
	}
	// A declared metric has precedence over a statistic of its name.
	run.Metrics = append(run.Metrics, NamedMetric{Name: "lag_clients", Better: "higher"})
	if m, _ := run.Metric("lag_clients"); !m.Higher || m.Unit != "" {
		t.Errorf("a declared metric is the statistic %+v", m)
	}
	var r Round
	expect.NoError(t, r.SetNamed(run.Metrics, []NamedValue{{Name: "lag_clients", Value: 7}, {Name: "lag", Value: 5}}))
	expect.NoError(t,
		r.SetClients(run.Metrics, []int32{1, 3}, false,
			[]ClientMetric{{Name: "lag", Clients: []int32{0, 1}, Values: []float64{2, 4}}}))
	got := []NamedValue{{"", "lag", 5}, {"", "lag_sd", 1}, {"", "lag_worst10", 4}, {"", "lag_p10", 2.2},
		{"", "lag_p90", 3.8}, {"", "lag_jain", 0.9}, {"", "lag_clients", 7}}
	d := cmp.Diff(got, r.Metrics)
	expect.That(t, d == "", "%v", d)
	all := WithStatistics(run.Metrics)
	for i, v := range r.Metrics[1:] {
		at := func(v NamedValue) int {
			return slices.IndexFunc(all, func(m NamedMetric) bool { return m.Split == v.Split && m.Name == v.Name })
		}
		expect.That(t, at(v) > at(r.Metrics[i]), "%s is not in the order of WithStatistics", v.Name)
	}
}

// The summary has the statistics of the first metric on test rows, the mean over seeds, within
// 80 columns.
func TestSummaryShowsStatistics(t *testing.T) {
	var runs []Run
	for seed, scale := range []float64{1, 3} {
		r := Run{ID: fmt.Sprint(seed), Experiment: "e", Method: "mocha", Algorithm: "mocha", Seed: uint64(seed),
			Status: Done, Rounds: []Round{unknownRound(), unknownRound()},
			Metrics: []NamedMetric{ClientMetricOf("train", ClientLoss), ClientMetricOf("test", ClientLoss),
				ClientMetricOf("test", ClientError)}}
		for h := range r.Rounds {
			r.Rounds[h].Round = h
			var all []ClientMetric
			for i, m := range r.Metrics {
				all = append(all,
					ClientMetric{Split: m.Split, Name: m.Name, Clients: []int32{0, 1},
						Values: []float64{scale * float64(i+h), scale * float64(i+h+2)}, Rows: []int32{1, 3}})
			}
			expect.NoError(t, r.Rounds[h].SetClients(r.Metrics, []int32{5, 5}, false, all))
		}
		runs = append(runs, r)
	}
	table := Summarize(runs, nil)
	text := table.Sections().Text(80)
	// Values 2 and 4, and three times as much; four rows, three of them of the second client.
	want := []string{"test loss over clients at the end", "by rows", "mean", "sd", "worst 10 %", "p10", "p90", "Jain",
		" 6 ", " 7 ", " 2 ", " 8 ", " 4.4 ", " 7.6 ", "0.9\n"}
	for _, x := range want {
		expect.That(t, strings.Contains(text, x), "the summary lacks %q:\n%s", x, text)
	}
	for line := range strings.Lines(text) {
		expect.That(t, len(line) <= 81, "a line of %d characters: %s", len(line)-1, line)
	}
	if e := table.Experiments[0]; len(e.Clients) != 21 || len(e.Named) != 0 || len(e.Main) != 7 ||
		e.Blocks[0].Rows[0].Metrics[0].Value != 5 {
		t.Errorf("%d statistics, %d named metrics, %d shown: %v", len(e.Clients), len(e.Named), len(e.Main),
			e.Blocks[0].Rows[0].Metrics)
	}
}
