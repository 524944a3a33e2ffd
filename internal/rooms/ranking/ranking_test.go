package ranking

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// run returns a run with the given test errors after 10 s each, from round 0 on.
func run(method string, seed uint64, errors ...float64) results.Run {
	r := results.Run{Experiment: "e", Method: method, Seed: seed}
	for i, e := range errors {
		x := results.NewRound()
		x.Round, x.TimeS, x.TestError = i, 10*float64(i), e
		if i > 0 {
			x.EnergyJ, x.BytesUp, x.BytesDown = 2, 30, 70
		}
		r.Rounds = append(r.Rounds, x)
	}
	return r
}

// ends returns runs of a method whose last errors are the given ones.
func ends(method string, errors ...float64) (runs []results.Run) {
	for i, e := range errors {
		runs = append(runs, run(method, uint64(i+1), 1, e))
	}
	return runs
}

// methods returns runs of methods a, b and so on with the given last errors.
func methods(all ...[]float64) (runs []results.Run) {
	for i, e := range all {
		runs = append(runs, ends(string(rune('a'+i)), e...)...)
	}
	return runs
}

// independent is the overlap of repetitions that share no rows.
func independent(*results.Run) float64 { return 0 }

// ranks returns the ranks of a measure, by row.
func ranks(t *testing.T, table *Table, measure string) (all []string) {
	t.Helper()
	for m := range table.measures {
		if table.measures[m].Name == measure {
			for _, r := range table.blocks[0].Rows {
				all = append(all, r.Cells[m].Rank())
			}
		}
	}
	return all
}

func wantRanks(t *testing.T, table *Table, measure, want string) {
	t.Helper()
	got := strings.Join(ranks(t, table, measure), " ")
	expect.That(t, got == want, "%s: ranks %s, want %s", measure, got, want)
}

// By hand: the differences 2, 1, 3, 1, 3 have mean 2 and standard deviation 1. With five seeds t is 2 sqrt(5) = 4.47
// and p = 0.011. Splits that hold out a quarter of the rows have t = 2/sqrt(1/5 + 1/3) = 2.74 and p = 0.052. In a block
// of four methods Holm's first step needs p <= 0.05/6.
func TestRanksAreCertain(t *testing.T) {
	quarter := func(*results.Run) float64 { return 1. / 3 }
	base, more := []float64{.1, .2, .3, .4, .5}, []float64{.12, .21, .33, .41, .53}
	wantRanks(t, New(methods(base, more), nil, independent), "test_error", "1 2")
	wantRanks(t, New(methods(base, more), nil, quarter), "test_error", "1-2 1-2")
	wantRanks(t, New(methods(base, more, base, more), nil, independent), "test_error", "1-4 1-4 1-4 1-4")
	// Differences that are the same in every seed are certain, and so is that nothing differs.
	far := []float64{.6, .7, .8, .9, 1}
	wantRanks(t, New(methods(far, base, base), nil, quarter), "test_error", "3 1-2 1-2")
}

// Differences .02, .01, .03, .01, .05 have t = 3.207, so that p is .0327: for four degrees of freedom it is
// 1 - sin u (1 + cos^2 u / 2) with u = atan(t/2). The pairs with a third row are certain. So Holm's last step needs
// p <= .05, and Bonferroni's correction .05/3.
func TestHolmStepsDown(t *testing.T) {
	base, far := []float64{.1, .2, .3, .4, .5}, []float64{.7, .8, .9, 1, 1.1}
	p := func(last float64) float64 {
		_, p := test(samples(base), samples([]float64{.12, .21, .33, .41, last}), 0)
		return p
	}
	got := p(.55)
	expect.Must(t, math.Abs(got-.0327) <= 1e-4, "p is %g", got)
	wantRanks(t, New(methods(base, []float64{.12, .21, .33, .41, .55}, far), nil, independent), "test_error", "1 2 3")
	got = p(.58)
	expect.Must(t, got >= .05, "p is %g", got)
	wantRanks(t, New(methods(base, []float64{.12, .21, .33, .41, .58}, far), nil, independent), "test_error",
		"1-2 1-2 3")
}

// samples returns values under the seeds 1, 2 and so on.
func samples(values []float64) (all []sample) {
	for i, v := range values {
		all = append(all, sample{seed: uint64(i + 1), value: v, bound: math.NaN()})
	}
	return all
}

// A row with runs that did not reach the target may be behind, and is never certainly ahead: its costs are
// bounds from below. A cost is known up to its step, whose variance is step^2/12: steps of .1 in five seeds
// have a standard error of sqrt(.01/12/5) = .0129, and a difference of .035 has t = 2.71 and p = .0535.
func TestBoundsAndSteps(t *testing.T) {
	a, b := samples([]float64{1, 1, 1, 1, 1}), samples([]float64{3, 3, 3, 3, 3})
	for i := range b {
		a[i].step, b[i].step = .1, 0
	}
	if mean, p := test(a, b, 0); mean != 2 || p > 1e-6 {
		t.Errorf("known costs: mean %g, p %g", mean, p)
	}
	low := samples([]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()})
	for i := range low {
		low[i].bound = 1
	}
	if mean, p := test(b, low, 0); mean != -2 || p != 1 {
		t.Errorf("a bound below a known cost: mean %g, p %g, want 1", mean, p)
	}
	if mean, p := test(low, b, 0); p != 1 {
		t.Errorf("a known cost above a bound: mean %g, p %g, want 1", mean, p)
	}
	if mean, p := test(a, low, 0); mean != 0 || p != 1 {
		t.Errorf("a bound equal to a known cost: mean %g, p %g, want 1", mean, p)
	}
	for i := range b {
		b[i].value = 1.035
	}
	if _, p := test(a, b, 0); math.Abs(p-.0535) > 5e-4 {
		t.Errorf("within a step: p %g", p)
	}
}

// A run that does not reach a target counts with its cost at the end, as a bound from below: it can be certain that
// another is faster, and never that it is.
func TestTargetsThatAreNotReached(t *testing.T) {
	var runs []results.Run
	for seed := range uint64(5) {
		quick, slow, late := []float64{1, .5, .5, .05}, []float64{1, .5, .5, .5, .5, .05},
			[]float64{1, .5, .5, .5, .5, .5}
		brief := []float64{1, .5}
		if seed == 4 {
			slow = late
		}
		for i, errors := range [][]float64{quick, slow, late, brief} {
			runs = append(runs, run(string(rune('a'+i)), seed, errors...))
		}
	}
	runs[0].Data = &results.DataSet{Name: "generated in place of x.zip"}
	target := results.Target{Metric: "test_error", Value: 0.1}
	table := New(runs, results.Targets{target}, independent)
	// d ends after 10 s, before a has reached the target: nothing is known of the two.
	for _, measure := range []string{"time_s_to_test_error_0.1", "energy_j_to_test_error_0.1",
		"bytes_to_test_error_0.1"} {
		wantRanks(t, table, measure, "1-2 2-4 2-4 1-4")
	}
	text := strings.ReplaceAll(results.Sections{table.Section()}.Text(80), "\n", " ")
	for _, want := range []string{"30.0 s (0 %)", "6.00 J (0 %)", "300 B (0 %)", "> 50.0 s (4 of 5)",
		"> 50.0 s (0 of 5)", "> 2.00 J (0 of 5)", "(1 of 5): runs that reached the target",
		"data: generated in place of x.zip"} {
		expect.That(t, strings.Contains(text, want), "no %q in\n%s", want, text)
	}
}

// Costs are known up to the last evaluation: times of 50 and 60 s with evaluations every 10 s differ for certain,
// and with one every 50 or 60 s they do not.
func TestStepsOfEvaluations(t *testing.T) {
	for every, want := range map[int]string{1: "1 2", 5: "1-2 1-2"} {
		var runs []results.Run
		for seed := range uint64(5) {
			for i, length := range []int{5, 6} {
				errors := make([]float64, length+1)
				for k := range errors {
					if errors[k] = math.NaN(); k%every == 0 {
						errors[k] = 1
					}
				}
				errors[length] = .05
				runs = append(runs, run(string(rune('a'+i)), seed, errors...))
			}
		}
		wantRanks(t, New(runs, results.Targets{{Metric: "test_error", Value: 0.1}}, independent),
			"time_s_to_test_error_0.1", want)
	}
}

// Of methods that do not differ, one order or more is called certain in at most 5 % of the tables.
func TestLevelHolds(t *testing.T) {
	stream, wrong := rand.New(rand.NewPCG(1, 2)), 0
	const trials = 1000
	for range trials {
		var runs []results.Run
		for i := range 6 {
			var errors []float64
			for range 5 {
				errors = append(errors, 0.5+0.01*stream.NormFloat64())
			}
			runs = append(runs, ends(string(rune('a'+i)), errors...)...)
		}
		if strings.Join(ranks(t, New(runs, nil, independent), "test_error"), " ") != "1-6 1-6 1-6 1-6 1-6 1-6" {
			wrong++
		}
	}
	// Three standard errors of a share of 5 % are 2 %.
	share := float64(wrong) / trials
	expect.That(t, share <= 0.07 && share != 0, "%.1f %% of the tables have a wrong order", 100*share)
}

// The csv has a row for each method and measure, with paired differences to the lowest.
func TestCSV(t *testing.T) {
	runs := append(ends("a", .125, .375), ends("b", .25, .75)...)
	rows := New(runs, nil, independent).exact()
	expect.Must(t, len(rows) == 3, "%d rows", len(rows))
	got, want := strings.Join(rows[2], ","), "e,,b,test_error,2,2,0.5,0.25,0.25,0.125,1,2,0.5"
	expect.That(t, got == want, "%s, want %s", got, want)
}

// Errors of new clients are ranked, for each number of their rows.
func TestErrorsOfNewClientsAreRanked(t *testing.T) {
	all := methods([]float64{0.1, 0.1, 0.1}, []float64{0.3, 0.3, 0.3})
	for i := range all {
		r := &all[i]
		r.Metrics = []results.NamedMetric{{Name: "new_error_5", Better: "lower"},
			{Name: "new_short_5", Better: "lower"}}
		at := &r.Rounds[len(r.Rounds)-1]
		at.Metrics = []results.NamedValue{{Name: "new_error_5", Value: 0.5 - at.TestError + 1e-3*float64(r.Seed)},
			{Name: "new_short_5", Value: 1}}
	}
	table := New(all, nil, independent)
	wantRanks(t, table, "test_error", "1 2")
	wantRanks(t, table, "new_error_5", "2 1")
	for _, m := range table.measures {
		expect.That(t, m.Name != "new_short_5", "a count of clients is ranked")
	}
}
