package results

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// errorsOf returns a run that was evaluated after each round, with these test errors from round 0 on.
func errorsOf(method string, seed uint64, testErrors ...float64) Run {
	r := Run{Method: method, Algorithm: "fedavg", Seed: seed, Status: Done}
	for i, x := range testErrors {
		round := NewRound()
		round.Round, round.TimeS, round.TestError, round.TrainError = i, float64(i), x, x
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

// stars returns the rows that have a star, in the summary and in the table of errors.
func stars(runs []Run) (labels []string) {
	e := summarize(runs, nil)
	for _, r := range e.Blocks[0].Rows {
		if r.Best {
			labels = append(labels, r.Label)
		}
	}
	for _, r := range errorTable(runs).Blocks[0].Rows {
		if r.Best != slices.Contains(labels, r.Label) {
			labels = append(labels, "not in both: "+r.Label)
		}
	}
	return labels
}

// The end of a run that is far above its best evaluation is a matter of when it ends. Jumps of curves,
// small losses and losses within the standard error are not.
func TestEndWorseThanBest(t *testing.T) {
	smooth := []float64{.5, .3, .2, .13, .135, .14, .145, .15, .155, .16, .165, .17, .18}
	jumps := []float64{.5, .3, .2, .12, .25, .13, .26, .14, .27, .12, .25, .13, .26}
	level := []float64{.5, .3, .21, .2, .2, .2, .2, .2, .2, .2, .2, .2, .2}
	scaled := func(of []float64, by float64) (list []float64) {
		for _, x := range of {
			list = append(list, by*x)
		}
		return list
	}
	for name, c := range map[string]struct {
		runs  []Run
		want  string
		stars []string
	}{
		"smooth": {[]Run{errorsOf("a", 1, smooth...), errorsOf("b", 1, level...)},
			"a: ends at a test error by rows of 18.0 %, its best was 13.0 % after 3.00 s", nil},
		"seeds": {[]Run{errorsOf("a", 1, smooth...), errorsOf("a", 2, scaled(smooth, 1.05)...),
			errorsOf("b", 1, level...), errorsOf("b", 2, level...)},
			"a: ends at a test error by rows of 18.4 %, its best was 13.3 % after 3.00 s", nil},
		"best": {[]Run{errorsOf("a", 1, smooth...), errorsOf("b", 1, scaled(level, .8)...)},
			"a: ends at a test error by rows of 18.0 %, its best was 13.0 % after 3.00 s", []string{"b"}},
		"small": {[]Run{errorsOf("a", 1, scaled(smooth, .5)...), errorsOf("b", 1, level...)}, "", []string{"a"}},
		"jumps": {[]Run{errorsOf("a", 1, jumps...), errorsOf("b", 1, level...)}, "", []string{"b"}},
		"level": {[]Run{errorsOf("a", 1, level...), errorsOf("b", 1, scaled(level, .9)...)}, "", []string{"b"}},
		"apart": {[]Run{errorsOf("a", 1, .5, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .28),
			errorsOf("a", 2, .5, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1), errorsOf("b", 1, level...),
			errorsOf("b", 2, level...)}, "", []string{"a"}},
	} {
		got := told(c.runs, nil, "end")
		if c.want == "" && got != nil ||
			c.want != "" && (len(got) != 1 || got[0] != "warning: "+c.want+": the result depends on when it ends") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := stars(c.runs); !slices.Equal(got, c.stars) {
			t.Errorf("%s: stars at %q, want %q", name, got, c.stars)
		}
	}
}

// Errors at the ends of runs that take other times do not compare: no star, a note on the shortest and the
// longest. Runs that take no time, such as the solution of a problem, are no matter.
func TestEndsApart(t *testing.T) {
	until := func(method string, timeS float64) Run {
		r := errorsOf(method, 1, .5, .4, .3)
		r.Rounds[2].TimeS, r.Rounds[2].TestError = timeS, .3+timeS/100
		return r
	}
	runs := []Run{until("a", 5.2), until("b", 5.7), until("central", 0)}
	got := told(runs, nil, "ends")
	expect.That(t, got == nil && slices.Equal(stars(runs), []string{"central"}), "%q, stars at %q", got, stars(runs))
	runs[1] = until("b", 5.8)
	want := "note: runs end at 5.20 s (a) to 5.80 s (b): errors at the end do not compare; " +
		"run.max_time_s gives all the same time"
	got = told(runs, nil, "ends")
	expect.That(t, slices.Equal(got, []string{want}) && stars(runs) == nil, "%q, stars at %q", got, stars(runs))
	for i := range runs {
		for k := range runs[i].Rounds { // timing mode
			runs[i].Rounds[k].TestError, runs[i].Rounds[k].TrainError = math.NaN(), math.NaN()
		}
	}
	got = told(runs, nil, "ends")
	expect.That(t, got == nil, "%q", got)
}

// Runs are the same if bytes, times and errors are equal in all rounds of all seeds; without errors, as in
// timing mode, they are the same by design.
func TestSameRuns(t *testing.T) {
	a, b := []float64{.5, .3, .2}, []float64{.5, .31, .2}
	pair := func(change func(*Run)) []Run {
		runs := []Run{errorsOf("a", 1, a...), errorsOf("a", 2, b...), errorsOf("b", 1, a...), errorsOf("b", 2, b...),
			errorsOf("c", 1, .5, .5, .4), errorsOf("c", 2, .5, .5, .4)}
		change(&runs[3])
		return runs
	}
	for name, c := range map[string]struct {
		runs []Run
		same bool
	}{
		"equal":  {pair(func(*Run) {}), true},
		"bytes":  {pair(func(r *Run) { r.Rounds[1].BytesUp = 1 }), false},
		"down":   {pair(func(r *Run) { r.Rounds[1].BytesDown = 1 }), false},
		"times":  {pair(func(r *Run) { r.Rounds[1].TimeS = 1.5 }), false},
		"errors": {pair(func(r *Run) { r.Rounds[1].TestError = .3 }), false},
		"rounds": {pair(func(r *Run) { r.Rounds = r.Rounds[:2] }), false},
		"seeds":  {pair(func(r *Run) { r.Seed = 3 }), false},
		"timing": {[]Run{errorsOf("a", 1, math.NaN(), math.NaN()), errorsOf("b", 1, math.NaN(), math.NaN())}, false},
	} {
		got := told(c.runs, nil, "same")
		if c.same != slices.Equal(got,
			[]string{"warning: a and b are the same run: nothing that differs in their settings had an effect"}) ||
			!c.same && got != nil {
			t.Errorf("%s: %q", name, got)
		}
		s := stars(c.runs)
		expect.That(t, !c.same || s == nil, "%s: stars at %q", name, s)
	}
}

// A target that every seed of every method has at its first evaluation compares nothing; one that a seed
// has later does.
func TestTargetAtTheFirstEvaluation(t *testing.T) {
	runs := []Run{errorsOf("a", 1, 1, .3, .2), errorsOf("a", 2, 1, .3, .2), errorsOf("b", 1, 1, .2, .1),
		errorsOf("b", 2, 1, .25, .1)}
	targets := Targets{{"test_error", .3}, {"test_error", .2}}
	if got := told(runs, targets, "target"); !slices.Equal(got,
		[]string{"warning: test error by rows 30 % compares nothing: every method has it after one round"}) {
		t.Errorf("%q", got)
	}
	for i := range runs {
		runs[i].Rounds[1].TestError = math.NaN() // evaluated every second round
	}
	if got := told(runs, targets, "target"); len(got) != 1 ||
		!strings.HasSuffix(got[0],
			"30 % and test error by rows 20 % compare nothing: every method has it at the earliest evaluation") {
		t.Errorf("%q", got)
	}
	runs[1].Rounds[2].TestError = .4
	if got := told(runs, targets, "target"); got != nil {
		t.Errorf("%q", got)
	}
}

// A method diverges if its loss ends at more than ten times that of the first model, in any seed.
func TestDivergedLoss(t *testing.T) {
	with := func(method string, seed uint64, losses ...float64) Run {
		r := errorsOf(method, seed, .5, .4, .3)
		for i, x := range losses {
			r.Rounds[i].Primal = x
		}
		return r
	}
	runs := []Run{with("a", 1, 1, 2, 3e39), with("a", 2, 1, 1, 9), with("b", 1, 1, 50, 9.9), with("b", 2, 1, 1, 1)}
	want := "warning: a: diverged: the training loss ends at 3e+39, 3e+39 times where it began (1 of 2 runs); " +
		"lower the step, or scale the features of a file (data.standardize)"
	got := told(runs, nil, "diverged")
	expect.That(t, slices.Equal(got, []string{want}), "%q", got)
	for _, r := range runs[:2] {
		r.Rounds[2].TestError = .1
	}
	s := stars(runs)
	expect.That(t, s == nil, "stars at %q", s)
	got = told(runs[1:], nil, "diverged")
	expect.That(t, got == nil, "%q", got)
	apart := with("a", 1, 1, 2, 50) // P of a method that minimizes its loss alone: the regularizer grows
	apart.Objective = OwnObjective
	got = told([]Run{apart}, nil, "diverged")
	expect.That(t, got == nil, "%q", got)
	apart.Rounds[2].Primal = 1e7
	got = told([]Run{apart}, nil, "diverged")
	expect.That(t, len(got) == 1, "%q", got)
	apart.Rounds[2].TrainError, apart.Rounds[2].Primal = .9, 50
	got = told([]Run{apart}, nil, "diverged")
	expect.That(t, len(got) == 1, "%q", got)
	own := errorsOf("own", 1, .5, .4, .3) // of a learner that declares its loss
	own.Metrics = []NamedMetric{{Split: "train", Name: "loss"}}
	for i, x := range []float64{2, 3, 30} {
		own.Rounds[i].Metrics = []NamedValue{{Split: "train", Name: "loss", Value: x}}
	}
	got = told([]Run{own}, nil, "diverged")
	expect.That(t, len(got) == 1, "%q", got)
}

// Clients with few test rows count as much as the others in a mean over clients, and by rows they do not.
func TestFewTestRows(t *testing.T) {
	for metric, want := range map[string]string{
		"":                      "",
		"test_error":            "",
		"test_error_clients":    "4 of 30 clients have under 10 test rows and count as much as the others",
		"test_accuracy_clients": "4 of 30 clients have under 10 test rows and count as much as the others",
	} {
		runs := []Run{errorsOf("a", 1, .5, .4), errorsOf("b", 1, .5, .3)}
		for i := range runs {
			runs[i].MainMetric = metric
			runs[i].TestRows = &TestRows{Constant: .9, Clients: 30, Few: 4}
			for k := range runs[i].Rounds {
				runs[i].Rounds[k].TestErrorClients = runs[i].Rounds[k].TestError
			}
		}
		for _, few := range []int{4, 0} {
			runs[0].TestRows.Few, runs[1].TestRows.Few = few, few
			text := ""
			summary := Summarize(runs, nil)
			for _, m := range summary.Messages() {
				if m.About == "few rows" {
					text = m.Text
				}
			}
			expect.That(t, (few != 0 || text == "") && (few == 0 || text == want),
				"%s: %d clients with few rows: %q, want %q", metric, few, text, want)
		}
	}
}

// A target of sub-optimality below the gap of the reference optimum says that the optimum may be the reason.
func TestTargetBelowTheGapOfTheOptimum(t *testing.T) {
	r := errorsOf("a", 1, .5, .4)
	for i := range r.Rounds {
		r.Rounds[i].Suboptimality = .2
	}
	missed := "note: no method reached primal sub-optimality 1e-01, 1e-02; the best was a, 2.0e-01"
	for gap, rest := range map[float64]string{.009: "", math.NaN(): "",
		.03: "; the reference optimum is solved to a gap of 0.03 only (problem.optimum.sweeps)"} {
		r.OptimumGap = gap
		got := told([]Run{r}, ToSuboptimalities(.1, .01), "not reached")
		expect.That(t, slices.Equal(got, []string{missed + rest}), "%g: %q", gap, got)
	}
}
