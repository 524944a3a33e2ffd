package results

import (
	"io"
	"math"
	"os"
	"strings"
	"testing"
)

// path is a run that reaches sub-optimality 10^-k in round rounds[k] at one
// virtual second per round and given pace. A row takes 100 J for each round so far.
func path(experiment, method, algorithm string, seed uint64, pace float64, rounds []int, point ...Setting) Run {
	r := Run{Experiment: experiment, Method: method, Algorithm: algorithm, Seed: seed, Point: point, Status: Done}
	for k, h := range rounds {
		r.Rounds = append(r.Rounds, Round{Round: h, TimeS: pace * float64(h), EnergyJ: 100 * float64(h), Primal: 1, Suboptimality: math.Pow10(-k)})
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
	runs[5].Status = Interrupted
	runs[10].Status = Stalled
	return runs
}

func ExampleTable_WriteText() {
	if err := Summary(exampleRuns(), ToSuboptimalities(1e-1, 1e-3)).WriteText(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// methods: virtual time and energy to a relative sub-optimality, mean over 2 seeds
	//
	//   network = lte                1e-01                               1e-03
	//   method            rounds      time  ratio   energy    rounds      time  ratio   energy     at end
	//   -------------------------------------------------------------------------------------------------
	//   CoCoA                 21  21.0 min  20.0x  2.10 kJ      61.5  61.5 min  19.8x  12.3 kJ    1.0e-03
	//   MOCHA               10.5    63.0 s  1.00x  1.05 kJ        31  3.10 min  1.00x  6.15 kJ    1.0e-03
	//   Mb-SGD               105  10.5 min  10.0x  10.5 kJ         -         -      -        -    5.5e-02  1 of 2 interrupted
	//
	//   network = wifi               1e-01                               1e-03
	//   method            rounds      time  ratio   energy    rounds      time  ratio   energy     at end
	//   -------------------------------------------------------------------------------------------------
	//   CoCoA                 20    10.0 s  20.0x  2.00 kJ        60    30.0 s  20.0x  12.0 kJ    1.0e-03
	//   MOCHA                 10    500 ms  1.00x  1.00 kJ        30    1.50 s  1.00x  6.00 kJ    1.0e-03
	//
	// faults: virtual time and energy to a relative sub-optimality
	//
	//   rounds = 1                          1e-01                             1e-03
	//   faults.drop_probability    rounds    time  ratio   energy    rounds    time  ratio   energy     at end
	//   ------------------------------------------------------------------------------------------------------
	//   0                              10  10.0 h  1.00x  1.00 kJ        30  30.0 h  1.00x  6.00 kJ    1.0e-03
	//   0.9                           100  4.17 d  10.0x  10.0 kJ       300  12.5 d  10.0x  60.0 kJ    1.0e-03
	//   never                          11  11.0 h  1.10x  1.10 kJ         -       -      -        -    1.0e-02  stalled
}

func ExampleTable_WriteMarkdown() {
	if err := Summary(exampleRuns()[8:], ToSuboptimalities(1e-2)).WriteMarkdown(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// ### faults: virtual time and energy to a relative sub-optimality
	//
	// **rounds = 1**
	//
	// | faults.drop\_probability | rounds to 1e-02 | time | ratio | energy | at end | |
	// | :-- | --: | --: | --: | --: | --: | :-- |
	// | 0 | 20 | 20.0 h | 1.00x | 3.00 kJ | 1.0e-03 |  |
	// | 0.9 | 200 | 8.33 d | 10.0x | 30.0 kJ | 1.0e-03 |  |
	// | never | 22 | 22.0 h | 1.10x | 3.30 kJ | 1.0e-02 | stalled |
}

func TestSummaryRatios(t *testing.T) {
	s := Summary(exampleRuns(), ToSuboptimalities(1e-1, 1e-2, 1e-3))
	if len(s.Experiments) != 2 || len(s.Experiments[0].Blocks) != 2 || len(s.Experiments[1].Blocks) != 1 {
		t.Fatalf("table %+v", s)
	}
	lte := s.Experiments[0].Blocks[0].Rows
	// MOCHA is compared with although it is not the first: 42 rounds of a minute over 20 of 6 s.
	if got, want := lte[0].Cells[1], (Cell{true, 41, 2460, 0, 6200, 20.5}); got != want {
		t.Errorf("CoCoA %+v, want %+v", got, want)
	}
	if got := lte[1].Cells[1].Ratio; got != 1 {
		t.Errorf("MOCHA over MOCHA = %v", got)
	}
	// One of two seeds got to 1e-2: that is not reached.
	if c := lte[2].Cells[1]; c.Reached || !math.IsNaN(c.TimeS) || !math.IsNaN(c.Ratio) {
		t.Errorf("Mb-SGD %+v", c)
	}
	if got := lte[2].Last; math.Abs(got-0.055) > 1e-15 { // mean of 0.1 and 0.01
		t.Errorf("Mb-SGD at the end %v", got)
	}
	faults := s.Experiments[1]
	if faults.RowKey != "faults.drop_probability" || faults.Blocks[0].Rows[1].Label != "0.9" || faults.Blocks[0].Rows[1].Cells[2].Ratio != 10 {
		t.Errorf("faults %+v", faults)
	}
}

// A mean says what it is over.
func TestMeansSayWhatTheyAreOver(t *testing.T) {
	for vary, want := range map[Vary]string{"": "3 seeds", VarySystem: "3 seeds", VarySplit: "3 splits of the data", VaryAll: "3 seeds of system and data"} {
		runs := []Run{{Method: "m", Vary: vary}, {Method: "m", Vary: vary}, {Method: "m", Vary: vary}}
		table := Summary(runs, nil)
		if caption := table.Experiments[0].Caption(); !strings.HasSuffix(caption, ", mean over "+want) {
			t.Errorf("%q: %s", vary, caption)
		}
	}
}

func TestSummaryOfNothing(t *testing.T) {
	var b strings.Builder
	nan := math.NaN()
	for _, runs := range [][]Run{
		nil,
		{{Experiment: "x", Method: "m", Status: Done}},                                                         // no rounds
		{{Experiment: "", Method: "m", Status: Interrupted, Rounds: []Round{{Primal: 1, Suboptimality: nan}}}}, // no optimum
		{path("x", "at once", "mocha", 1, 0, []int{0, 0, 0})},                                                  // in no time
	} {
		b.Reset()
		if err := Summary(runs, testTargets).WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if err := Summary(runs, nil).WriteMarkdown(&b); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || runs == nil && s != "" {
			t.Errorf("%+v: %s", runs, s)
		}
	}
}

func TestHumanTime(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0.00 µs", 1.234e-6: "1.23 µs", 0.9996e-3: "1.00 ms", 0.0123: "12.3 ms", 0.9994: "999 ms", 0.9995: "1.00 s",
		1: "1.00 s", 9.994: "9.99 s", 9.996: "10.0 s", 99.94: "99.9 s", 99.96: "1.67 min", 3600: "60.0 min",
		99.94 * 60: "99.9 min", 6000: "1.67 h", 47.9 * 3600: "47.9 h", 48 * 3600: "2.00 d", 86400 * 1234: "1234 d",
		math.Inf(1): "+Inf s",
	} {
		if got := HumanTime(s); got != want {
			t.Errorf("HumanTime(%v) = %q, want %q", s, got, want)
		}
	}
	if got := HumanTime(math.NaN()); got != "NaN s" {
		t.Errorf("HumanTime(NaN) = %q", got)
	}
}

// Runs that were not measured against an optimum are told by what they took.
func TestTotalsWithoutASuboptimality(t *testing.T) {
	nan := math.NaN()
	run := func(seed uint64, pace float64, testError float64) Run {
		r := Run{Experiment: "load", Method: "mocha", Algorithm: "mocha", Seed: seed, Status: Done,
			Rounds: []Round{{Primal: 2, Suboptimality: nan, TestError: 0.5}}}
		for h := 1; h <= 4; h++ {
			r.Rounds = append(r.Rounds, Round{Round: h, TimeS: pace * float64(h), Participants: 10 * h,
				BytesDown: 1000, BytesUp: 500, EnergyJ: 3000, Primal: 1 / float64(h), Suboptimality: nan, TestError: testError})
		}
		return r
	}
	table := Summary([]Run{run(1, 1, 0.01), run(2, 3, 0.03)}, ToSuboptimalities(0.1))
	var b strings.Builder
	if err := table.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	// Answers: (10+20+30+40)/4; bytes 4 x 1500; energy 4 x 3 kJ; time (4+12)/2.
	const want = `load: what the runs took, mean over 2 seeds

  method    rounds    time  answers a round       sent   energy  P at end    test error
  -------------------------------------------------------------------------------------
  mocha          4  8.00 s               25    6.00 kB  12.0 kJ      0.25        2.00 %
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := table.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	if row := "| mocha | 4 | 8.00 s | 25 | 6.00 kB | 12.0 kJ | 0.25 | 2.00 % |"; !strings.Contains(b.String(), row) {
		t.Errorf("got\n%s\nwithout\n%s", b.String(), row)
	}
}

// Methods that were short of their accuracy say so below their block, in text and in
// Markdown, over all seeds.
func TestSummaryTellsOfCappedWork(t *testing.T) {
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
	table := Summary(runs, ToSuboptimalities(1e-1))
	for _, c := range []struct {
		write func(io.Writer) error
		want  string
	}{
		{table.WriteText, "\n  CoCoA: 9 of 60 local solves ended at max_epochs, short of their accuracy\n\n  network = wifi"},
		{table.WriteMarkdown, "\n\nCoCoA: 9 of 60 local solves ended at max\\_epochs, short of their accuracy\n"},
	} {
		var b strings.Builder
		if err := c.write(&b); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, c.want) || strings.Count(got, "max") != 1 {
			t.Errorf("want once\n%s\nin\n%s", c.want, got)
		}
	}
}

// Times under another cost model than the physical one are no seconds, and say so.
func TestRelativeUnits(t *testing.T) {
	runs := exampleRuns()[:2]
	for i := range runs {
		runs[i].Relative = true
	}
	table := Summary(runs, ToSuboptimalities(1e-1))
	for name, write := range map[string]func(io.Writer) error{"text": table.WriteText, "Markdown": table.WriteMarkdown} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		// 20 and 22 rounds of a minute.
		if text := b.String(); !strings.Contains(text, "1.26e+03 ru") || strings.Contains(text, " min ") || !strings.Contains(text, "relative units of time (federation.cost), not seconds") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	if got := TimeText(2.5e-5, true); got != "2.5e-05 ru" {
		t.Errorf("got %q", got)
	}
}
