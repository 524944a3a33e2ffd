package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"fedsim/internal/tools/expect"
)

// path is a run that reaches sub-optimality 10^-k in round rounds[k] at one
// virtual second per round and given pace. A row takes 100 J for each round so far.
func path(experiment, method, algorithm string, seed uint64, pace float64, rounds []int, point ...Setting) Run {
	r := Run{Experiment: experiment, Method: method, Algorithm: algorithm, Seed: seed, Point: point, Status: Done}
	for k, h := range rounds {
		r.Rounds = append(r.Rounds,
			Round{Round: h, TimeS: pace * float64(h), EnergyJ: 100 * float64(h), Primal: 1,
				Suboptimality: math.Pow10(-k), TestError: 0.3 - 0.05*float64(k), ValidationError: math.NaN(),
				BytesDown: 1000, BytesUp: 500})
	}
	return r
}

func exampleRuns() []Run {
	lte, wifi := Setting{"network", "lte"}, Setting{"network", "wifi"}
	p := func(v string) Setting { return Setting{"faults.drop_probability", v} }
	runs := []Run{
		path("methods", "CoCoA", "cocoa", 1, 60, []int{0, 20, 40, 60}, lte),
		path("methods", "CoCoA", "cocoa", 2, 60, []int{0, 22, 42, 63}, lte),
		path("methods", "MOCHA", "mocha", 1, 6, []int{0, 10, 20, 30}, lte),
		path("methods", "MOCHA", "mocha", 2, 6, []int{0, 11, 20, 32}, lte),
		path("methods", "Mb-SGD", "mb-sgd", 1, 6, []int{0, 100, 900}, lte),
		path("methods", "Mb-SGD", "mb-sgd", 2, 6, []int{0, 110}, lte),
		path("methods", "CoCoA", "cocoa", 1, 0.5, []int{0, 20, 40, 60}, wifi),
		path("methods", "MOCHA", "mocha", 1, 0.05, []int{0, 10, 20, 30}, wifi),
		path("faults", "MOCHA", "mocha", 1, 3600, []int{0, 10, 20, 30}, Setting{"rounds", "1"}, p("0")),
		path("faults", "MOCHA", "mocha", 1, 3600, []int{0, 100, 200, 300}, Setting{"rounds", "1"}, p("0.9")),
		path("faults", "MOCHA", "mocha", 1, 3600, []int{0, 11, 22}, Setting{"rounds", "1"}, p("never")),
	}
	for _, i := range []int{4, 5} { // far from the optimum, and best at what users see
		for h := range runs[i].Rounds {
			runs[i].Rounds[h].TestError = 0.04
		}
	}
	runs[5].Status = Interrupted
	runs[10].Status, runs[10].Reason = Stalled, "device 3 never responds"
	return runs
}

func ExampleSummary_Sections() {
	fmt.Print(Summarize(exampleRuns(), Targets{{"suboptimality", 1e-1}, {"test_error", 0.16}}).Sections().Text(80))
	// Output:
	// methods: how the runs ended, and virtual time, bytes and energy to each target,
	// mean over 2 seeds
	//
	//   network = lte
	//             at the end, by rows           in all
	//   method    test error  sub-optimality    rounds      time     sent   energy
	//   --------------------------------------------------------------------------
	//   CoCoA        15.00 %         1.0e-03      61.5  61.5 min  4.50 kB  12.3 kJ
	//   MOCHA        15.00 %         1.0e-03        31  3.10 min  4.50 kB  6.15 kJ
	//   Mb-SGD        4.00 %         5.5e-02       505  50.5 min  2.25 kB  55.5 kJ
	//
	//             to primal sub-optimality 1e-01
	//   method    rounds      time  ratio     sent   energy
	//   ---------------------------------------------------
	//   CoCoA         21  21.0 min  20.0x  3.00 kB  2.10 kJ
	//   MOCHA       10.5  1.05 min  1.00x  3.00 kB  1.05 kJ
	//   Mb-SGD       105  10.5 min  10.0x  3.00 kB  10.5 kJ
	//
	//             to test error by rows 16 %
	//   method    rounds      time  ratio     sent   energy
	//   -------------------------------------------------------------------------
	//   CoCoA       61.5  61.5 min  19.8x  6.00 kB  12.3 kJ
	//   MOCHA         31  3.10 min  1.00x  6.00 kB  6.15 kJ
	//   Mb-SGD         0     0 min     0x  1.50 kB     0 kJ    1 of 2 interrupted
	//
	//   network = wifi
	//             at the end, by rows           in all
	//   method    test error  sub-optimality    rounds      time     sent   energy
	//   --------------------------------------------------------------------------
	//   CoCoA        15.00 %         1.0e-03        60    30.0 s  4.50 kB  12.0 kJ
	//   MOCHA        15.00 %         1.0e-03        30    1.50 s  4.50 kB  6.00 kJ
	//
	//             to primal sub-optimality 1e-01
	//   method    rounds      time  ratio     sent   energy
	//   ---------------------------------------------------
	//   CoCoA         20    10.0 s  20.0x  3.00 kB  2.00 kJ
	//   MOCHA         10    0.50 s  1.00x  3.00 kB  1.00 kJ
	//
	//             to test error by rows 16 %
	//   method    rounds      time  ratio     sent   energy
	//   -------------------------------------------------------------------------
	//   CoCoA         60    30.0 s  20.0x  6.00 kB  12.0 kJ
	//   MOCHA         30    1.50 s  1.00x  6.00 kB  6.00 kJ
	//   first to primal sub-optimality 1e-01: MOCHA in 2 of 2 (not certain)
	//   first to test error by rows 16 %: Mb-SGD in 1 of 2 (not certain), MOCHA in 1
	//   of 2
	//   ratio: time relative to the fastest
	//
	// faults: how the runs ended, and virtual time, bytes and energy to each target
	//
	//   rounds = 1
	//                              at the end, by rows
	//   faults.drop_probability    test error  sub-optimality
	//   -----------------------------------------------------
	//   0                             15.00 %         1.0e-03
	//   0.9                           15.00 %         1.0e-03
	//   never                         20.00 %         1.0e-02
	//
	//                              in all
	//   faults.drop_probability    rounds    time     sent   energy
	//   -----------------------------------------------------------
	//   0                              30  1.25 d  4.50 kB  6.00 kJ
	//   0.9                           300  12.5 d  4.50 kB  60.0 kJ
	//   never                          22  0.92 d  3.00 kB  3.30 kJ
	//
	//                              to primal sub-optimality 1e-01
	//   faults.drop_probability    rounds    time  ratio     sent   energy
	//   ------------------------------------------------------------------
	//   0                              10  0.42 d  1.00x  3.00 kB  1.00 kJ
	//   0.9                           100  4.17 d  10.0x  3.00 kB  10.0 kJ
	//   never                          11  0.46 d  1.10x  3.00 kB  1.10 kJ
	//
	//                              to test error by rows 16 %
	//   faults.drop_probability    rounds    time  ratio     sent   energy
	//   -----------------------------------------------------------------------------
	//   0                              30  1.25 d  1.00x  6.00 kB  6.00 kJ
	//   0.9                           300  12.5 d  10.0x  6.00 kB  60.0 kJ
	//   never                       never   never      -    never    never    stalled
	//   never: no client could ever respond again
	//   ratio: time relative to the fastest
	//
	//   warning: methods: primal sub-optimality 1e-01 compares nothing: every method
	//   has it at the earliest evaluation
	//   warning: faults: faults.drop_probability = never: stalled after round 22:
	//   device 3 never responds
	//   warning: faults: primal sub-optimality 1e-01 compares nothing: every
	//   faults.drop_probability has it at the earliest evaluation
	//   note: methods: runs end at 1.50 s (MOCHA) to 30.0 s (CoCoA): errors at the end
	//   do not compare; run.max_time_s gives all the same time
	//   note: faults: runs end at 22.0 h (faults.drop_probability = never) to 12.5 d
	//   (faults.drop_probability = 0.9): errors at the end do not compare;
	//   run.max_time_s gives all the same time
}

func ExampleSummary_Short() {
	fmt.Print(Summarize(exampleRuns(), Targets{{"suboptimality", 1e-1}, {"test_error", 0.16}}).Short().Text(80))
	// Output:
	// methods: time in s to a test error of 16 %, mean ± standard error of 2 seeds
	//
	//             network
	//   method          lte   wifi
	//   --------------------------
	//   CoCoA     3690 ± 90  30.00
	//   MOCHA       186 ± 6   1.50
	//   Mb-SGD        0 ± 0      -
	//   first: Mb-SGD in 1 of 2 (not certain), MOCHA in 1 of 2
	//   sent, kB: CoCoA 6.00, MOCHA 6.00, Mb-SGD 1.50 at every value
	//   1 run interrupted
	//
	// faults: to a test error of 16 %
	//
	//   faults.drop_probability     time  ratio   sent  energy  error at the end
	//                                  h            kB      kJ                 %
	//   ------------------------------------------------------------------------
	//   0                           30.0   1.00   6.00    6.00              15.0
	//   0.9                        300.0  10.00   6.00   60.00              15.0
	//   never                      never      -  never   never              20.0
	//   never: no client could ever respond again
	//   error: each row counts the same
	//   1 run stalled
	//
	//   warning: methods: primal sub-optimality 1e-01 compares nothing: every method
	//   has it at the earliest evaluation
	//   warning: faults: faults.drop_probability = never: stalled after round 22:
	//   device 3 never responds
	//   warning: faults: primal sub-optimality 1e-01 compares nothing: every
	//   faults.drop_probability has it at the earliest evaluation
	//   note: methods: runs end at 1.50 s (MOCHA) to 30.0 s (CoCoA): errors at the end
	//   do not compare; run.max_time_s gives all the same time
	//   note: faults: runs end at 22.0 h (faults.drop_probability = never) to 12.5 d
	//   (faults.drop_probability = 0.9): errors at the end do not compare;
	//   run.max_time_s gives all the same time
}

// Means of a column have the same decimals: two digits of the largest standard error, but two to three of the least
// mean. A bound that is whole has none.
func TestTextsOfAColumn(t *testing.T) {
	nan, second := math.NaN(), timeUnits.column(1)
	of := func(mean, se float64) known { return known{Estimate: Estimate{Mean: mean, SE: se}} }
	above := func(mean float64) known { return known{Estimate: Estimate{Mean: mean, SE: nan}, above: true} }
	for _, c := range []struct {
		values []known
		want   []string
	}{
		{[]known{of(15.84, 1.34), of(79.4, 9.04), above(180)}, []string{"15.8 ± 1.3", "79.4 ± 9.0", "> 180"}},
		{[]known{of(82.2, 12.4), of(146.4, 14.1)}, []string{"82 ± 12", "146 ± 14"}},
		{[]known{of(0.178, 0.0012), above(2.7761)}, []string{"0.178 ± 0.001", "> 2.776"}},
		{[]known{of(0.131, 0.01), of(794, 90)}, []string{"0.13 ± 0.01", "794.00 ± 90.00"}},
		{[]known{of(1, nan), of(nan, nan), {text: "1 of 5"}}, []string{"1.00", "-", "1 of 5"}},
		{[]known{of(2.5e-8, nan)}, []string{"2.5e-08"}},
	} {
		got := second.texts(c.values)
		expect.That(t, slices.Equal(got, c.want), "%q, want %q", got, c.want)
	}
	for _, c := range []struct {
		values []float64
		want   string
	}{{[]float64{15.8, 350}, "s"}, {[]float64{43, 4300}, "s"}, {[]float64{43, 43e4}, "min"}, {[]float64{0.3, 4}, "ms"},
		{[]float64{0, nan}, "s"}} {
		got := timeUnits.column(c.values...).name
		expect.That(t, got == c.want, "%v in %s, want %s", c.values, got, c.want)
	}
	expect.That(t, shares.column(0).name == "%", "shares without a unit of 1 have none for zeros")
}

// A wide terminal has all targets beside each other, a narrow one breaks a group of
// columns; no line is longer than asked for.
func TestSummaryFitsItsWidth(t *testing.T) {
	runs := exampleRuns()
	for i := range runs {
		runs[i].Method = strings.Repeat(runs[i].Method, 1+i%12)
	}
	table := Summarize(runs, ToSuboptimalities(1e-1, 1e-3))
	for _, width := range []int{60, 80, 120, 300} {
		b := table.Sections().Text(width)
		for line := range strings.Lines(b) {
			n := utf8.RuneCountInString(line) - 1
			expect.That(t, n <= width, "%d characters of %d: %s", n, width, line)
		}
		if beside := strings.Contains(b,
			"to primal sub-optimality 1e-01               to primal sub-optimality 1e-03"); beside != (width == 300) {
			t.Errorf("at %d characters targets are beside each other: %t\n%s", width, beside, b)
		}
	}
}

func TestSummaryRatios(t *testing.T) {
	s := Summarize(exampleRuns(), ToSuboptimalities(1e-1, 1e-2, 1e-3))
	expect.Must(t, len(s.Experiments) == 2 && len(s.Experiments[0].Blocks) == 2 && len(s.Experiments[1].Blocks) == 1,
		"table %+v", s)
	lte := s.Experiments[0].Blocks[0].Rows
	// MOCHA is compared with although it is not the first: 42 rounds of a minute over 20 of 6 s.
	if got, want := lte[0].Cells[1],
		(Amounts{41, 2460, 4500, 6200, map[string]float64{"toll_g": math.NaN()}}); !got.Reached ||
		fmt.Sprint(got.Amounts) != fmt.Sprint(want) || got.Ratio != 20.5 {
		t.Errorf("CoCoA %+v, want %+v", got, want)
	}
	if got := lte[1].Cells[1].Ratio; got != 1 {
		t.Errorf("MOCHA over MOCHA = %v", got)
	}
	// One of two seeds got to 1e-2, the other was interrupted, which says nothing; to 1e-3 the first has ended.
	c := lte[2].Cells[1]
	expect.That(t, c.Reached && c.TimeS == 5400 && c.Seeds() == 1 && c.Ratio == 45, "Mb-SGD %+v", c)
	c = lte[2].Cells[2]
	expect.That(t, !c.Reached && math.IsNaN(c.TimeS) && math.IsNaN(c.Ratio) && c.AtLeast.TimeS == 5400, "Mb-SGD %+v", c)
	if got := lte[2].Last; math.Abs(got-0.055) > 1e-15 { // mean of 0.1 and 0.01
		t.Errorf("Mb-SGD at the end %v", got)
	}
	faults := s.Experiments[1]
	if faults.RowKey != "faults.drop_probability" || faults.Blocks[0].Rows[1].Label != "0.9" ||
		faults.Blocks[0].Rows[1].Cells[2].Ratio != 10 {
		t.Errorf("faults %+v", faults)
	}
}

// A caption names the runs of a mean.
func TestCaptionsNameTheRunsOfAMean(t *testing.T) {
	for vary, want := range map[Vary]string{"": "3 seeds", VarySystem: "3 seeds", VarySplit: "3 splits of the data",
		VaryAll: "3 seeds of system and data"} {
		runs := []Run{{Method: "m", Vary: vary}, {Method: "m", Vary: vary}, {Method: "m", Vary: vary}}
		table := Summarize(runs, nil)
		caption := table.Experiments[0].Caption()
		expect.That(t, strings.HasSuffix(caption, ", mean over "+want), "%q: %s", vary, caption)
	}
}

func TestSummaryOfNothing(t *testing.T) {
	nan := math.NaN()
	for _, runs := range [][]Run{
		nil,
		// no rounds
		{{Experiment: "x", Method: "m", Status: Done}},
		// no optimum
		{{Experiment: "", Method: "m", Status: Interrupted, Rounds: []Round{{Primal: 1, Suboptimality: nan}}}},
		// in no time
		{path("x", "at once", "mocha", 1, 0, []int{0, 0, 0})},
	} {
		if s := Summarize(runs, ToSuboptimalities(1e-1, 1e-2, 1e-3)).Sections().Text(80); strings.Contains(s, "NaN") ||
			strings.Contains(s, "Inf") || runs == nil && s != "" {
			t.Errorf("%+v: %s", runs, s)
		}
	}
}

// The best cells of a block are marked if rows differ; unknown values never are.
func TestBestCells(t *testing.T) {
	nan := math.NaN()
	row := func(i, time, energy, last, test float64) Row {
		// No run records the metric of the second target.
		cell := func(time, energy float64) Cell {
			return Cell{MeanCost: MeanCost{Cost: Cost{Amounts: Amounts{TimeS: time, EnergyJ: energy}}},
				bound: all(math.Inf(1))}
		}
		cells := []Cell{cell(1, energy), cell(i, 0), cell(time, nan)}
		return Row{Cells: cells, Last: last, End: test, Totals: Totals{ValidationError: nan},
			Metrics: []MetricValue{{Name: "auc", Value: i}, {Name: "norm", Value: i}}}
	}
	block := Block{Rows: []Row{row(0, 3, 7, 0.1, nan), row(1, 2, 5, 0.1, 0.4), row(2, nan, 5, 0.2, 0.3)}}
	table := &ExperimentSummary{
		RowKey: "method", Metric: Main(nil), ByP: true, Targets: ToSuboptimalities(0.1, 0.05, 0.01),
		Known: []bool{true, false, true}, Texts: []string{"0.1", "0.05", "0.01"},
		Named:  []Metric{{Name: "auc", Label: "test auc", Higher: true}, {Name: "norm", Label: "norm"}},
		Blocks: []Block{block},
	}
	costs := []string{"rounds", "time", "ratio", "sent", "energy"}
	want := slices.Concat([]string{"test error", "sub-optimality", "test auc", "norm", "rounds", "time", "sent",
		"energy"}, costs, costs)
	var heads []string
	section := table.section()
	for _, g := range section.Table.Groups {
		heads = append(heads, g.Heads...)
	}
	if !slices.Equal(heads, want) {
		t.Fatalf("columns %q, must be %q", heads, want)
	}
	got := section.Table.Blocks[0].Best
	if want := [][2]int{{2, 1}, {0, 2}, {1, 2}, {2, 3}, {0, 4}, {1, 13}, {2, 13}, {1, 15}}; !slices.Equal(got, want) {
		t.Errorf("marked are %v, must be %v", got, want)
	}
}

func TestHumanTime(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0 µs", 1.234e-6: "1.23 µs", 0.9996e-3: "1.00 ms", 0.0123: "12.3 ms", 0.9994: "999 ms", 0.9995: "1.00 s",
		1: "1.00 s", 9.994: "9.99 s", 9.996: "10.0 s", 99.94: "99.9 s", 99.96: "1.67 min", 3600: "60.0 min",
		99.94 * 60: "99.9 min", 6000: "1.67 h", 47.9 * 3600: "47.9 h", 48 * 3600: "2.00 d", 86400 * 1234: "1234 d",
		math.Inf(1): "+Inf s",
	} {
		got := HumanTime(s)
		expect.That(t, got == want, "HumanTime(%v) = %q, want %q", s, got, want)
	}
	if got := HumanTime(math.NaN()); got != "NaN s" {
		t.Errorf("HumanTime(NaN) = %q", got)
	}
}

// Runs without a reference optimum are summarized by their cost.
func TestTotalsWithoutASuboptimality(t *testing.T) {
	nan := math.NaN()
	run := func(seed uint64, pace float64, testError float64) Run {
		r := Run{Experiment: "load", Method: "mocha", Algorithm: "mocha", Seed: seed, Status: Done,
			Rounds: []Round{{Primal: 2, Suboptimality: nan, TestError: 0.5, ValidationError: nan}}}
		for h := 1; h <= 4; h++ {
			r.Rounds = append(r.Rounds, Round{Round: h, TimeS: pace * float64(h), Participants: 10 * h,
				BytesDown: 1000, BytesUp: 500, EnergyJ: 3000, Primal: 1 / float64(h), Suboptimality: nan,
				TestError: testError, ValidationError: nan})
		}
		return r
	}
	runs := []Run{run(1, 1, 0.01), run(2, 3, 0.03)}
	table := Summarize(runs, ToSuboptimalities(0.1))
	b := table.Sections().Text(80)
	// Bytes 4 x 1500; energy 4 x 3 kJ; time (4+12)/2.
	const want = `load: how the runs ended, mean over 2 seeds

            at the end, by rows     in all
  method    test error  P at end    rounds    time     sent   energy
  ------------------------------------------------------------------
  mocha         2.00 %      0.25         4  8.00 s  6.00 kB  12.0 kJ
  P at end: the objective P, loss of the training rows and regularizer; lower is
  better
`
	expect.That(t, b == want, "got\n%s\nwant\n%s", b, want)
	// Where nothing is learnt there are answers instead: (10+20+30+40)/4.
	for i := range runs {
		for h := range runs[i].Rounds {
			runs[i].Rounds[h].Primal, runs[i].Rounds[h].TestError = nan, nan
		}
	}
	b = Summarize(runs, nil).Sections().Text(80)
	const timing = `
            in all
  method    rounds    time  answers a round     sent   energy
  -----------------------------------------------------------
  mocha          4  8.00 s               25  6.00 kB  12.0 kJ
`
	expect.That(t, strings.HasSuffix(b, timing), "got\n%s\nwant\n%s", b, timing)
}

// Methods that were short of their accuracy say so below their block, over all seeds.
func TestSummaryRemarksOnCappedWork(t *testing.T) {
	runs := exampleRuns()
	for i := range runs {
		if runs[i].Algorithm == "cocoa" {
			runs[i].Limit = "max_epochs"
			for h := range runs[i].Rounds[1:] {
				runs[i].Rounds[1+h].Participants = 10
			}
		}
	}
	runs[0].Capped, runs[1].Capped = 7, 2
	b := Summarize(runs, ToSuboptimalities(1e-1)).Sections().Text(80)
	const want = "\n  CoCoA: 9 of 60 local solves ended at max_epochs, short of their accuracy\n\n  network = wifi"
	if got := b; !strings.Contains(got, want) || strings.Count(got, "max_epochs") != 1 {
		t.Errorf("want once\n%s\nin\n%s", want, got)
	}
}

// Lost rounds are a column, and their cause is below the block, as the mean over seeds.
func TestSummaryRemarksOnLostRounds(t *testing.T) {
	runs := exampleRuns()
	for i := range runs {
		if runs[i].Algorithm == "cocoa" {
			runs[i].Metrics = []NamedMetric{{Name: LostRounds, Better: "lower"}}
			for h := range runs[i].Rounds {
				runs[i].Rounds[h].Metrics = []NamedValue{{Name: LostRounds, Value: float64(h)}}
			}
		}
	}
	b := Summarize(runs, ToSuboptimalities(1e-1)).Sections().Text(200)
	const want = "rounds were lost: too few clients responded to unmask their sum (privacy.secure_aggregation)"
	if got := b; !strings.Contains(got, "  CoCoA: 3 of 60 "+want) || strings.Contains(got, "MOCHA: ") ||
		!strings.Contains(got, "lost rounds") {
		t.Errorf("want\n%s\nin\n%s", want, got)
	}
}

// Times under another cost model than the physical one are no seconds, and say so.
func TestRelativeUnits(t *testing.T) {
	runs := exampleRuns()[:2]
	for i := range runs {
		runs[i].Relative = true
	}
	table := Summarize(runs, ToSuboptimalities(1e-1))
	b := table.Sections().Text(200)
	// 20 and 22 rounds of a minute.
	if text := b; !strings.Contains(text, "1.26e+03 ru") || strings.Contains(text, " min ") ||
		!strings.Contains(text, "relative units of time (federation.cost), not seconds") {
		t.Error(text)
	}
	got := TimeText(2.5e-5, true)
	expect.That(t, got == "2.5e-05 ru", "got %q", got)
}

// One method over a sample has a row for each point, with its values, in the blocks of the other
// axes.
func TestSummaryOfASample(t *testing.T) {
	var runs []Run
	for _, link := range []string{"lte", "wifi"} {
		for _, v := range [][2]string{{"1", "0.5"}, {"2", "0.25"}, {"3", "0.25"}} {
			runs = append(runs,
				Run{Experiment: "e", Method: "m", Status: Done, Rounds: []Round{{}},
					Point: []Setting{{"sample", v[0]}, {"problem.lambda", v[1]}, {"network.profile", link}}})
		}
	}
	e := Summarize(runs, nil).Experiments[0]
	if e.RowHead() != "sample: lambda" || len(e.Blocks) != 2 ||
		SettingsText(e.Blocks[1].Point) != "network.profile = wifi" {
		t.Errorf("head %q, blocks %+v", e.RowHead(), e.Blocks)
	}
	for i, want := range []string{"1: 0.5", "2: 0.25", "3: 0.25"} {
		r := &e.Blocks[1].Rows[i]
		if r.Text() != want || r.Label != want[:1] || SettingsText(r.Sampled) != "problem.lambda = "+want[3:] {
			t.Errorf("row %d is %+v, want %s", i, r, want)
		}
	}
}
