package results

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"fedsim/internal/tools/expect"
)

// ended returns a run with evaluations of the test error and of that of its worst clients.
func ended(method string, seed uint64, last int, errors ...float64) Run {
	r := Run{Experiment: "e", Method: method, Algorithm: method, Seed: seed, Vary: VarySplit,
		Reporting: Reporting{ReportLast: last},
		Metrics:   []NamedMetric{{Split: "test", Name: "error"}}}
	for h, x := range errors {
		round := Round{Round: 2 * h, TestError: x, TrainError: x / 2,
			Metrics: []NamedValue{{Split: "test", Name: "error_worst10", Value: 2 * x}}}
		r.Rounds = append(r.Rounds, round, Round{Round: 2*h + 1, TestError: math.NaN(), TrainError: math.NaN()})
	}
	return r
}

func withLimit(r Run, limit float64) Run {
	r.AtOptimum = &Round{TestError: limit,
		Metrics: []NamedValue{{Split: "test", Name: "error_worst10", Value: 3 * limit}}}
	r.Trials = 7 + int(r.Seed)
	return r
}

// Means, standard errors and paired differences against those computed by hand: the errors of the
// splits are 10, 14, 18 and 11, 16, 18 %, their differences 1, 2, 0.
func TestErrorTable(t *testing.T) {
	runs := []Run{
		ended("good", 1, 2, 0.5, 0.12, 0.08), ended("good", 2, 2, 0.5, 0.15, 0.13),
		ended("good", 3, 2, 0.5, 0.18, 0.18), withLimit(ended("other", 1, 2, 0.5, 0.11, 0.11), 0.02),
		withLimit(ended("other", 2, 2, 0.5, 0.16, 0.16), 0.03), withLimit(ended("other", 3, 2, 0.5, 0.18, 0.18), 0.04),
	}
	tables := ErrorTables(runs)
	expect.Must(t, len(tables) == 1 && len(tables[0].Blocks) == 1 && len(tables[0].Blocks[0].Rows) == 2,
		"tables %+v", tables)
	rows := tables[0].Blocks[0].Rows
	sd := func(n, sum float64) float64 { return math.Sqrt(sum / (n - 1)) }
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"mean", rows[0].Error.Mean, 0.14},
		{"standard error", rows[0].Error.SE, sd(3, 2*0.04*0.04) / math.Sqrt(3)},
		{"spread of the last two evaluations", rows[0].Spread, (math.Sqrt2*0.02 + math.Sqrt2*0.01) / 3},
		{"mean of the other", rows[1].Error.Mean, 0.15},
		{"difference", rows[1].Difference.Mean, 0.01},
		{"its standard error", rows[1].Difference.SE, sd(3, 2*0.01*0.01) / math.Sqrt(3)},
		{"worst", rows[1].Worst.Mean, 0.30},
		{"limit", rows[1].Limit.Mean, 0.03},
		{"its worst", rows[1].LimitWorst.Mean, 0.09},
	} {
		expect.That(t, math.Abs(c.got-c.want) < 1e-12, "%s: %v, want %v", c.name, c.got, c.want)
	}
	if !rows[0].Best || rows[1].Best || !math.IsNaN(rows[0].Limit.Mean) || rows[0].Trials != nil ||
		rows[1].trials() != "8-10" {
		t.Errorf("rows %+v", rows)
	}
	text := Details(runs, true).Text(80)
	for _, want := range []string{
		"mean of the last 2 evaluations", "3 splits of the data (standard error)",
		"  good      14.00 (2.31)*    1.41             -  28.00      -      -       -\n",
		"  other     15.00 (2.08)     0.00  +1.00 (0.58)  30.00   3.00   9.00    8-10\n",
	} {
		expect.That(t, strings.Contains(text, want), "lacks %q:\n%s", want, text)
	}
	for line := range strings.Lines(text) {
		expect.That(t, utf8.RuneCountInString(line) <= 81, "a line is too wide: %s", line)
	}
}

// Without seeds, limits and last evaluations the table says nothing new, and is absent.
func TestErrorTableIsAbsent(t *testing.T) {
	tables := ErrorTables([]Run{ended("a", 1, 0, 0.5, 0.1), ended("b", 1, 0, 0.5, 0.2)})
	expect.That(t, len(tables) == 0, "tables %+v", tables)
}

// The last evaluation of a jumping curve may be its best one by luck: a note says so, unless
// it falls all the time. Rows with the same errors name their tuned options.
func TestNotesOnErrors(t *testing.T) {
	jumps := []float64{0.5, 0.12, 0.16, 0.11, 0.17, 0.12}
	runs := []Run{
		ended("jumps", 1, 0, jumps...), ended("jumps", 2, 0, jumps...),
		ended("equal", 1, 0, jumps...), ended("equal", 2, 0, jumps...),
		ended("falls", 1, 0, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05), ended("falls", 2, 0, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05),
	}
	for i := 2; i < 4; i++ {
		runs[i].Tuned = []Setting{{"options.mu", "0.001"}}
	}
	notes := strings.Join(ErrorTables(runs)[0].Blocks[0].Notes, "\n")
	for _, want := range []string{"jumps jumps from 11.00 to 17.00 in its last 5 evaluations",
		"jumps and equal have the same errors in every run; equal: options.mu = 0.001"} {
		expect.That(t, strings.Contains(notes, want), "lacks %q:\n%s", want, notes)
	}
	expect.That(t, !strings.Contains(notes, "falls"), "a falling curve jumps:\n%s", notes)
	for i := range runs {
		runs[i].ReportLast = 5
		if runs[i].Method == "falls" {
			runs[i] = withLimit(runs[i], 0.04)
			runs[i].OptimumGap = 0.005 * float64(2*runs[i].Seed-1)
		}
	}
	if notes := strings.Join(ErrorTables(runs)[0].Blocks[0].Notes, "\n"); !strings.Contains(notes,
		"falls: its optimum is solved to a gap of 1.5 % only") {
		t.Errorf("no note on an optimum that is not solved:\n%s", notes)
	}
	if notes := strings.Join(ErrorTables(runs)[0].Blocks[0].Notes, "\n"); strings.Contains(notes, "jumps from") {
		t.Errorf("means do not jump:\n%s", notes)
	}
}

// The mean is of errors alone, and not of the state before the first round.
func TestLastEvaluations(t *testing.T) {
	r := ended("x", 1, 5, 0.9, 0.2, 0.1)
	for i := range r.Rounds {
		r.Rounds[i].Suboptimality, r.Rounds[i].Primal = float64(10-i), float64(20-i)
	}
	for name, want := range map[string]float64{"test_error": 0.15, "test_error_worst10": 0.3, "train_error": 0.075,
		Suboptimality: 5, "primal": 15} {
		m, _ := r.Metric(name)
		got := r.AtEnd(&m).Mean
		expect.That(t, math.Abs(got-want) < 1e-15, "%s ends at %v, want %v", name, got, want)
	}
	start, m := ended("x", 1, 5, 0.9), testError()
	if got := start.AtEnd(m).Mean; got != 0.9 {
		t.Errorf("a run without rounds ends at %v", got)
	}
	stopped := ended("x", 2, 1, 0.9, 0.2, 0.1)
	for want, runs := range map[string][]Run{
		"mean of the last 5 evaluations":                                              {r, start},
		"mean of the last 5 evaluations, or the last where run.stop_at ended the run": {r, stopped},
		"last evaluation": {stopped},
	} {
		if table := errorTable(runs); !strings.Contains(table.caption(), want) ||
			strings.Contains(want, "mean") != strings.Contains(Summarize(runs, nil).Sections().Text(200),
				"errors at the end: "+want) {
			t.Errorf("%q is not in %q, or the summary\n%s", want, table.caption(),
				Summarize(runs, nil).Sections().Text(200))
		}
	}
}

func testError() *Metric {
	m, _ := MetricNamed("test_error")
	return &m
}
