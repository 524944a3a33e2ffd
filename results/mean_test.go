package results

import (
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// meansRun has values of a metric of three clients with 2, 8 and 0 test rows, at the end of a run.
func meansRun(t *testing.T, method, metric string, real bool, small, large float64) Run {
	t.Helper()
	r := Run{ID: method, Experiment: "e", Method: method, Status: Done, Real: real,
		Metrics: []NamedMetric{ClientMetricOf("test", metric)}}
	r.Rounds = []Round{unknownRound(), unknownRound()}
	last := &r.Rounds[1]
	last.Round, last.TimeS = 1, 1
	expect.NoError(t,
		last.SetClients(r.Metrics, make([]int32, 3), real,
			[]ClientMetric{
				{Split: "test", Name: metric, Clients: []int32{0, 1, 2}, Values: []float64{small, large, math.NaN()},
					Rows: []int32{2, 8, 0}},
			}))
	return r
}

// Both means by hand: 1 of 2 and 1 of 8 rows are wrong, and root mean square errors of 3 and 1.
func TestErrorsByRowsAndOverClients(t *testing.T) {
	for _, c := range []struct {
		metric          string
		real            bool
		small, large    float64
		byRows, clients float64
	}{
		{ClientError, false, 1.0 / 2, 1.0 / 8, 2.0 / 10, (1.0/2 + 1.0/8) / 2},
		{ClientAccuracy, false, 1.0 / 2, 7.0 / 8, 2.0 / 10, (1.0/2 + 1.0/8) / 2},
		{ClientError, true, 3, 1, math.Sqrt((2*9 + 8*1.0) / 10), 2},
	} {
		r := meansRun(t, "a", c.metric, c.real, c.small, c.large)
		want := map[string]float64{"test_error": c.byRows, "test_error_clients": c.clients}
		if !c.real {
			want["test_accuracy"], want["test_accuracy_clients"] = 1-c.byRows, 1-c.clients
		}
		for name, value := range want {
			m, _ := r.Metric(name)
			if got := m.Of(&r.Rounds[1]); math.Abs(got-value) > 1e-15 {
				t.Errorf("%s, real %t: %s is %v, want %v", c.metric, c.real, name, got, value)
			}
		}
	}
}

// Another mean puts other methods first: the summary marks those of Run.MainMetric, and names it.
func TestTheMeanDecidesWhoIsFirst(t *testing.T) {
	runs := []Run{meansRun(t, "even", ClientError, false, 1.0/2, 1.0/8),
		meansRun(t, "large", ClientError, false, 0, 3.0/8)}
	for metric, want := range map[string][]string{
		"": {"at the end, by rows", "  even        20.00 %*", "  large       30.00 % ",
			"* lowest test error by rows"},
		"test_error_clients": {"at the end, mean over clients", "  even        31.25 % ", "  large       18.75 %*",
			"* lowest test error, mean over clients"},
		"test_accuracy_clients": {"at the end, mean over clients", "  method    test accuracy",
			"  large          81.25 %*", "* highest test accuracy, mean over clients"},
	} {
		for i := range runs {
			runs[i].MainMetric = metric
		}
		text := Summarize(runs, nil).Sections().Text(160)
		for _, line := range want {
			expect.That(t, strings.Contains(text, line), "%q: the summary lacks %q:\n%s", metric, line, text)
		}
		if table := errorTable(runs); table.Metric.Name != Main(runs).Name ||
			table.Blocks[0].Rows[0].Best == (metric != "") {
			t.Errorf("%q: errors at the end by %s: %+v", metric, table.Metric.Name, table.Blocks[0].Rows)
		}
	}
}
