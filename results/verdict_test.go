package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// A solution takes no time: it is first to no target, and the fastest method is.
func TestSolutionsAreNotFirst(t *testing.T) {
	runs := exampleRuns()[:4]
	solved := path("methods", "solved", "optimum", 1, 0, []int{0, 10, 20, 30}, Setting{"network", "lte"})
	want := []string{"first to primal sub-optimality 1e-01: MOCHA (not certain)"}
	got := Summarize(append(runs, solved), ToSuboptimalities(1e-1)).Experiments[0].Verdicts()
	expect.That(t, slices.Equal(got, want), "got %q, want %q", got, want)
}

// until is a run with a test error of 50 % that reaches 10 % at a time, or ends, stalls or is interrupted there.
func until(method string, seed uint64, time float64, status Status, point ...Setting) Run {
	last := Round{Round: 20, TimeS: time, TestError: 0.1, BytesUp: 10, EnergyJ: 2 * time}
	if status == "ended" {
		status, last.TestError = Done, 0.4
	} else if status != Done {
		last.TestError = 0.4
	}
	first := Round{TestError: 0.5}
	for _, r := range []*Round{&first, &last} {
		r.Primal, r.Suboptimality, r.ValidationError, r.TrainError = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	}
	return Run{Experiment: "e", Method: method, Algorithm: "a", Seed: seed, Point: point, Status: status,
		Rounds: []Round{first, last}}
}

// seedsOf returns runs of a method, one for each time.
func seedsOf(method string, status Status, times ...float64) (runs []Run) {
	for i, s := range times {
		runs = append(runs, until(method, uint64(i+1), s, status))
	}
	return runs
}

// First is a method whose mean is known and below those of all others, or their bounds; otherwise it is shared, or
// not known for a reason. Certain means ahead in the interval of every pair, for which seven seeds are the fewest.
func TestFirst(t *testing.T) {
	ten := Targets{{"test_error", 0.1}}
	slow, fast := []float64{4, 5, 6, 7, 8, 9, 10, 11}, []float64{2, 3, 4, 5, 6, 7, 8, 9}
	mixed := []float64{1, 3, 4, 5, 6, 7, 8, 12}
	chosen := seedsOf("a", Done, fast...)
	chosen[0].Chosen, chosen[1].Chosen = true, true
	stopped := seedsOf("b", "ended", 1)
	stopped[0].StopAt = Target{"test_error", 0.4}
	for _, c := range []struct {
		name string
		runs []Run
		want string
	}{
		{"tuned under two of eight seeds", slices.Concat(chosen, seedsOf("b", Done, slow...)), "a (not certain)"},
		{"tuned under one of eight seeds",
			slices.Concat(chosen[1:], seedsOf("a", Done, fast[:1]...), seedsOf("b", Done, slow...)),
			"a (certain at 95 %)"},
		{"stopped at another target", slices.Concat(seedsOf("a", Done, 2), stopped),
			"not known: b ended at 1.00 s, before 2.00 s of a; the runs ended at run.stop_at, before this target"},
		{"one seed", slices.Concat(seedsOf("a", Done, 2), seedsOf("b", Done, 3)), "a"},
		{"all seeds ahead", slices.Concat(seedsOf("b", Done, slow...), seedsOf("a", Done, fast...)),
			"a (certain at 95 %)"},
		{"six seeds", slices.Concat(seedsOf("b", Done, slow[:6]...), seedsOf("a", Done, fast[:6]...)),
			"a (not certain)"},
		{"one seed behind",
			slices.Concat(seedsOf("b", Done, slow...), seedsOf("a", Done, append([]float64{4.5}, fast[1:]...)...)),
			"a (not certain)"},
		{"ahead of one of two",
			slices.Concat(seedsOf("a", Done, fast...), seedsOf("b", Done, slow...), seedsOf("c", Done, mixed...)),
			"a (not certain)"},
		{"the other ended later", slices.Concat(seedsOf("a", Done, fast...), seedsOf("b", "ended", slow...)),
			"a (certain at 95 %)"},
		{"the other stalled", slices.Concat(seedsOf("a", Done, 2), seedsOf("b", Stalled, 1)), "a"},
		{"the other ended earlier", slices.Concat(seedsOf("a", Done, 1.5, 1.56), seedsOf("b", "ended", 1.13, 1.3)),
			"not known: b ended at 1.13 to 1.30 s, before 1.53 s of a; give all methods the same time: " +
				"run.max_time_s = 2 without run.rounds"},
		{"both ended with the budget", slices.Concat(seedsOf("a", Done, 5), seedsOf("b", "ended", 5)),
			"not known: b ended without it in some runs, so that a mean below 5.00 s of a is possible; " +
				"give all methods more time: run.max_time_s = 10 without run.rounds"},
		{"reached by a part",
			slices.Concat(seedsOf("a", Done, 4, 5), seedsOf("b", Done, 1), []Run{until("b", 2, 6, "ended")}),
			"not known: b ended without it in some runs, so that a mean below 4.50 s of a is possible; " +
				"give all methods more time: run.max_time_s = 20 without run.rounds"},
		{"no mean is known",
			slices.Concat(seedsOf("a", Done, 4), []Run{until("a", 2, 6, "ended")}, seedsOf("b", "ended", 1, 1)),
			"not known: no method reached it in every run"},
		{"none", slices.Concat(seedsOf("a", "ended", 4), seedsOf("b", Stalled, 1)), "none"},
		{"the same time", slices.Concat(seedsOf("a", Done, 4), seedsOf("b", Done, 4), seedsOf("c", Done, 5)),
			"a or b, not certain"},
		{"interrupted", slices.Concat(seedsOf("a", Done, 4), seedsOf("b", Interrupted, 1)),
			"not known: b was interrupted"},
		{"another seed interrupted",
			slices.Concat(seedsOf("a", Done, fast...), seedsOf("b", Done, slow[:7]...),
				[]Run{until("b", 8, 1, Interrupted)}), "a (certain at 95 %)"},
	} {
		e := Summarize(c.runs, ten).Experiments[0]
		if got := e.Verdicts(); !slices.Equal(got, []string{"first to test error by rows 10 %: " + c.want}) {
			t.Errorf("%s: %q\nwant %q", c.name, got, c.want)
		}
		f := e.Firsts()[0]
		known := strings.HasPrefix(c.want, "a") && !strings.Contains(c.want, " or ")
		if (f.Row != nil) != known || known && (*f.Row != "a" || f.Reason != "") || !known && f.Reason == "" ||
			f.Certain != strings.Contains(c.want, "(certain") {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// The methods of several blocks are counted, with those that are not known last.
func TestFirstOfBlocks(t *testing.T) {
	var runs []Run
	at := func(link string, list []Run) {
		for _, r := range list {
			r.Point = []Setting{{"link", link}}
			runs = append(runs, r)
		}
	}
	fast, slow := []float64{1, 1, 1, 1, 1, 1, 1}, []float64{2, 2, 2, 2, 2, 2, 2}
	at("3g", slices.Concat(seedsOf("a", Done, 3), seedsOf("b", "ended", 2)))
	at("lte", slices.Concat(seedsOf("a", Done, fast...), seedsOf("b", Done, slow...)))
	at("wifi", slices.Concat(seedsOf("a", Done, fast[:2]...), seedsOf("b", Done, slow[:2]...)))
	e := Summarize(runs, Targets{{"test_error", 0.1}}).Experiments[0]
	want := "first to test error by rows 10 %: a in 2 of 3 (certain at 95 % in 1), not known in 1 of 3: link = 3g: " +
		"b ended at 2.00 s, before 3.00 s of a; " +
		"give all methods the same time: run.max_time_s = 3 without run.rounds"
	got := e.Verdicts()
	expect.That(t, slices.Equal(got, []string{want}), "%q\nwant %q", got, want)
}

// A swept setting is no competitor: no value of it is first, in no table.
func TestSettingsAreNotFirst(t *testing.T) {
	var runs []Run
	for i, p := range []string{"0", "0.5"} {
		for _, link := range []string{"3g", "lte"} {
			runs = append(runs,
				until("a", 1, float64(1+i), Done, Setting{"faults.drop_probability", p},
					Setting{"network.profile", link}))
		}
	}
	s := Summarize(runs, Targets{{"test_error", 0.1}})
	if e := s.Experiments[0]; e.RowKey == "method" || e.Firsts() != nil || len(e.Verdicts()) > 0 {
		t.Errorf("rows of %s: %q", e.RowKey, e.Verdicts())
	}
	for _, text := range []string{s.Sections().Text(80), s.Short().Text(80)} {
		if strings.Contains(text, "first") || strings.Contains(text, "*") {
			t.Error(text)
		}
	}
}

// Cells of costs that are not known are bounds. The short summary has no mean over some of the seeds.
func TestCellsOfCensoredCosts(t *testing.T) {
	runs := slices.Concat(seedsOf("a", Done, 1.5, 1.56), seedsOf("b", Done, 1), []Run{until("b", 2, 1.3, "ended")},
		seedsOf("c", Stalled, 1), []Run{until("c", 2, 1, Done)})
	s := Summarize(runs, Targets{{"test_error", 0.1}})
	has := func(text string, wanted ...string) {
		for _, want := range wanted {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
	has(s.Sections().Text(80),
		"  a              20          1.53 s      -", "  b            > 20        > 1.15 s      -",
		"  c   never (1 of 2)  never (1 of 2)      -",
		"\n  >: mean, unknown times taken at the end of the run; b: 1 of 2 reached it\n  never: no client")
	has(s.Short().Text(80), "\n  a  1.53 ± 0.03  10.0",
		"\n  b  1 of 2  1 of 2", "\n  c  never (1 of 2)  never (1 of 2)",
		"\n  n of m: so many seeds reached it; never: no client")
	ended := Summarize(slices.Concat(seedsOf("a", Done, 1.5), seedsOf("b", "ended", 2)), Targets{{"test_error", 0.1}})
	has(ended.Short().Text(80), "\n  a     1.50", "\n  b      > 2 ", "\n  > T: not reached when the runs ended at T")
	cells := func(row int) Cell { return s.Experiments[0].Blocks[0].Rows[row].Cells[0] }
	a, b, c := cells(0), cells(1), cells(2)
	// The horizon is 1.3 s. The median of 1 s and more than 1.3 s is at least 1.15 s.
	for i, x := range []struct{ got, want float64 }{
		{a.HorizonS, 1.3}, {a.RestrictedMeanS, 1.3}, {b.RestrictedMeanS, 1.15}, {c.RestrictedMeanS, 1.15},
		{a.MedianLowS, 1.53}, {a.MedianHighS, 1.53}, {b.MedianLowS, 1.15}, {b.MedianHighS, math.Inf(1)},
		{c.AtLeast.TimeS, math.Inf(1)}, {b.AtLeast.EnergyJ, 2.3},
	} {
		expect.That(t, x.got == x.want || math.Abs(x.got-x.want) <= 1e-12, "number %d is %g, want %g", i, x.got, x.want)
	}
	got := fmt.Sprint(b.ReachedSeeds, b.EndedSeeds, b.NeverSeeds, c.ReachedSeeds, c.EndedSeeds, c.NeverSeeds)
	expect.That(t, got == "1 1 0 1 0 1", "seeds %s", got)
	expect.That(t, math.IsNaN(b.TimeS) && math.IsNaN(b.Ratio) && !b.Reached, "%+v", b)
}

// The short table has the first method in bold only where it is certain.
func TestCertainIsBold(t *testing.T) {
	for n, want := range map[int]int{6: 0, 7: 1} {
		fast, slow := slices.Repeat([]float64{1}, n), slices.Repeat([]float64{2}, n)
		s := Summarize(slices.Concat(seedsOf("b", Done, slow...), seedsOf("a", Done, fast...)),
			Targets{{"test_error", 0.1}})
		block := s.Short()[0].Table.Blocks[0]
		expect.That(t, block.Rows[0][0] == "a" && len(block.Best) == want, "%d seeds: %+v", n, block)
		if want > 0 {
			expect.That(t, block.Best[0] == [2]int{0, 1}, "bold is %v", block.Best)
		}
	}
}

// Where another row may have been faster, no cell is the best of its column. A star needs runs that end together.
func TestNothingIsBestWhereEndsDiffer(t *testing.T) {
	ten := Targets{{"test_error", 0.1}}
	best := func(end float64, status Status) (marked int, star bool) {
		e := Summarize(slices.Concat(seedsOf("a", Done, 4), seedsOf("b", Done, 5), seedsOf("c", status, end)), ten).
			Experiments[0]
		column := 0
		table := e.section().Table
		for _, g := range table.Groups {
			if strings.HasPrefix(g.Title, "to ") {
				for _, cell := range table.Blocks[0].Best {
					if cell[1] == column+2 {
						marked++
					}
				}
			}
			column += len(g.Heads)
		}
		return marked, e.marksBest()
	}
	n, _ := best(3, "ended")
	expect.That(t, n == 0, "%d times are the best, and c ended earlier", n)
	n, _ = best(4.5, "ended")
	expect.That(t, n == 1, "%d times are the best, want that of a", n)
	runs := slices.Concat(seedsOf("a", Done, 5), seedsOf("b", "ended", 4.6))
	if e := Summarize(runs, ten).Experiments[0]; !e.marksBest() {
		t.Error("ends 8 % apart compare")
	}
	runs = slices.Concat(seedsOf("a", Done, 5), seedsOf("b", "ended", 4.5))
	without := summarize(runs, nil)
	if e := Summarize(runs, ten).Experiments[0]; e.marksBest() || len(without.Verdicts()) > 0 {
		t.Error("ends 11 % apart do not compare")
	}
	for b, want := range map[float64]bool{4.6: true, 4.5: false} {
		rows := errorTable(slices.Concat(seedsOf("a", Done, 5, 5), seedsOf("b", "ended", b, b))).Blocks[0].Rows
		expect.That(t, rows[0].Best == want && math.IsNaN(rows[1].Difference.Mean) != want,
			"ends at 5 and %g s: %+v", b, rows)
	}
}

// Where a method is first, and another had less time, the summary says so; not if the other had more.
func TestUnequalEnds(t *testing.T) {
	ten := Targets{{"test_error", 0.1}}
	later := seedsOf("a", Done, 2)
	later[0].Rounds = append(later[0].Rounds, later[0].Rounds[1])
	later[0].Rounds[2].Round, later[0].Rounds[2].TimeS = 40, 4
	const want = "warning: b ended at 2.50 s without a target, a at 4.00 s; run.max_time_s gives all methods the " +
		"same time"
	s := Summarize(slices.Concat(later, seedsOf("b", "ended", 2.5)), ten)
	has := func(s Summary) bool {
		return slices.ContainsFunc(s.Messages(), func(m Message) bool { return m.About == "unequal-ends" })
	}
	if e := s.Experiments[0]; !has(s) || s.Messages()[0].String() != want ||
		e.Verdicts()[0] != "first to test error by rows 10 %: a" {
		t.Errorf("%q, %q", e.Verdicts(), s.Messages())
	}
	stopped := seedsOf("b", "ended", 2.5)
	stopped[0].StopAt = Target{"test_error", 0.4}
	for _, b := range [][]Run{stopped, seedsOf("b", "ended", 3.9), seedsOf("b", "ended", 9), seedsOf("b", Done, 2.5),
		seedsOf("b", Stalled, 2.5)} {
		s := Summarize(slices.Concat(later, b), ten)
		expect.That(t, !has(s), "%s ended at %g s: %q", b[0].Status, b[0].Rounds[1].TimeS, s.Messages())
	}
}

// The full tables have medians and restricted means of several seeds; the short ones do not.
func TestMedians(t *testing.T) {
	runs := slices.Concat(seedsOf("a", Done, 1, 2, 3), seedsOf("b", "ended", 1.5, 2.5, 3.5), seedsOf("c", Done, 1, 2),
		[]Run{until("c", 3, 9, Stalled)})
	s := Summarize(runs, Targets{{"test_error", 0.1}})
	full := s.Sections().Text(200)
	for _, want := range []string{
		"20 2.00 s 1.00x 10.0 B 4.00 J 2.00 s 1.33 s",
		"> 2.50 s      1.50 s", "  2.00 s      1.33 s    1 of 3 stalled",
		"restricted: mean of the times up to the earliest end of a run without the target",
	} {
		if !strings.Contains(strings.Join(strings.Fields(full), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%q is not in\n%s", want, full)
		}
	}
	if text := s.Short().Text(80); strings.Contains(text, "median") || strings.Contains(text, "restricted") {
		t.Error(text)
	}
}

func TestUpward(t *testing.T) {
	for x, want := range map[float64]string{0.21: "0.3", 0.3: "0.3", 2.65: "3", 3: "3", 9.5: "10", 31.6: "40",
		81234: "90000", 1e-4: "0.0001"} {
		got := Upward(x)
		expect.That(t, got == want, "%g: %s, want %s", x, got, want)
	}
}
