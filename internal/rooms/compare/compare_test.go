package compare

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fedsim/internal/tools/expect"
	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
)

// point returns the point of a link profile and a drop probability.
func point(link, p string) []results.Setting {
	return []results.Setting{{Key: "network.profile", Value: link}, {Key: "faults.drop_probability", Value: p}}
}

func compare(t *testing.T, targets results.Targets, dirs ...*rundir.Results) *Comparison {
	t.Helper()
	c := expect.Value(Compare(dirs, targets))(t)
	return c
}

// Cases do not depend on the order of the runs or of the keys of a point.
func TestCases(t *testing.T) {
	swapped := point("3g", "0.5")
	swapped[0], swapped[1] = swapped[1], swapped[0]
	one := times{1: 2}
	c := compare(t, results.ToSuboptimalities(0.1),
		directory("a", "", runsOf("x", "MOCHA", point("3g", "0.5"), one), runsOf("x", "CoCoA", point("3g", "0.5"), one),
			runsOf("x", "MOCHA", point("3g", "0"), one)),
		directory("b", "", runsOf("x", "Mb", nil, one), runsOf("y", "MOCHA", point("3g", "0.5"), one),
			runsOf("x", "CoCoA", swapped, one)),
		directory("c", "", runsOf("x", "Mb", nil, one), runsOf("x", "MOCHA", swapped, one)),
	)
	type found struct {
		Label string
		In    []string
	}
	var cases []found
	for _, x := range c.Cases {
		f := found{Label: x.String()}
		for _, r := range x.Rows {
			f.In = append(f.In, r.Directory)
		}
		cases = append(cases, f)
	}
	want := []found{
		{"x: MOCHA, network.profile = 3g, faults.drop_probability = 0.5", []string{"a", "c"}},
		{"x: CoCoA, network.profile = 3g, faults.drop_probability = 0.5", []string{"a", "b"}},
		{"x: Mb", []string{"b", "c"}},
	}
	if d := cmp.Diff(want, cases); d != "" {
		t.Error(d)
	}
	unmatched := []Unmatched{{"a", Label{"x", "MOCHA", point("3g", "0")}},
		{"b", Label{"y", "MOCHA", point("3g", "0.5")}}}
	if d := cmp.Diff(unmatched, c.Unmatched); d != "" {
		t.Error(d)
	}
	// Two labels with the same text have different keys.
	a, b := Label{Experiment: "x", Method: "a, k = v"},
		Label{Experiment: "x", Method: "a", Point: []results.Setting{{Key: "k", Value: "v"}}}
	expect.That(t, a.String() == b.String() && a.key() != b.key(), "%s and %s: must differ", a.key(), b.key())
}

// Pairs use the common seeds; means use all seeds.
func TestCells(t *testing.T) {
	nan := math.NaN()
	base := runsOf("x", "MOCHA", nil, times{1: 2, 2: 4, 3: 90})
	c := compare(t, results.ToSuboptimalities(0.1, 0.5),
		directory("a", "", base),
		directory("fewer", "", runsOf("x", "MOCHA", nil, times{1: 6, 2: 12})),
		directory("others", "", runsOf("x", "MOCHA", nil, times{7: 96, 8: 96})),
		directory("one common seed", "", runsOf("x", "MOCHA", nil, times{1: 5, 9: 7})),
		directory("one not reached", "", runsOf("x", "MOCHA", nil, times{1: 2, 2: nan})),
		directory("only an unpaired seed not reached", "", runsOf("x", "MOCHA", nil, times{1: 3, 2: 6, 9: nan})),
	)
	want := []struct {
		rounds, time, bytes float64
		reached, ended      int
		ratio               Ratio
	}{
		{2, 32, 200, 3, 0, Ratio{1, 1, 1, 3, true, false, nan, nan}},
		{2, 9, 200, 2, 0, Ratio{3, 3, 3, 2, true, false, nan, nan}},
		{2, 96, 200, 2, 0, Ratio{3, 96.0 / 90, 48, 2, false, false, nan, nan}},
		{2, 6, 200, 2, 0, Ratio{2.5, nan, nan, 1, true, false, nan, nan}},
		// The run of seed 2 ended after 100 s: ratios of 1, and of at least 25.
		{2, 51, 200, 1, 1, Ratio{nan, nan, nan, 2, true, true, 13, math.Inf(1)}},
		{2, 109.0 / 3, 200, 2, 1, Ratio{1.5, 1.5, 1.5, 2, true, false, nan, nan}},
	}
	for i, row := range c.Cases[0].Rows {
		x, w := row.Cells[0], want[i]
		same := func(a, b float64) bool { return cmp.Equal(a, b, cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-12, 0)) }
		if at := x.AtLeast; !same(at.Rounds, w.rounds) || !same(at.TimeS, w.time) || at.Bytes != w.bytes ||
			x.ReachedSeeds != w.reached || x.EndedSeeds != w.ended {
			t.Errorf("row %d: %+v, want %+v", i, x, w)
		}
		d := cmp.Diff(w.ratio, x.Ratio, cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-12, 0))
		expect.That(t, d == "", "row %d: %s", i, d)
	}
	// The first round of all runs reaches 0.5.
	if x := c.Cases[0].Rows[4].Cells[1]; x.ReachedSeeds != 2 || x.Rounds != 1 || x.EnergyJ != 1 ||
		x.TimeS != (1+50)/2.0 || x.Ratio.Value != 51.0/3 {
		t.Errorf("to 0.5: %+v", x)
	}
}

func TestTargets(t *testing.T) {
	runs := runsOf("x", "MOCHA", nil, times{1: 2})
	a, b := directory("a", "", runs), directory("b", "", runs)
	b.Manifest.Targets = results.ToSuboptimalities(0.1, 0.2, 0.5)
	if c := compare(t, nil, a, b); !cmp.Equal(c.Targets, results.ToSuboptimalities(0.5, 0.1)) {
		t.Errorf("targets %v, want those of both, in the order of the first", c.Targets)
	}
	if c := compare(t, results.ToSuboptimalities(0.3), a, b); c.Cases[0].Rows[0].Cells[0].TimeS != 2 {
		t.Errorf("to 0.3, which no directory reports: %+v", c.Cases[0])
	}
}

// Targets can have any metric: the test error is 0.25 after one round and 0.21 after
// two, and the runs record no sub-optimality.
func TestTestErrorTargets(t *testing.T) {
	slow, fast := runsOf("x", "MOCHA", nil, times{1: 6}), runsOf("x", "MOCHA", nil, times{1: 2})
	for _, runs := range [][]results.Run{slow, fast} {
		for i := range runs[0].Rounds {
			runs[0].Rounds[i].Suboptimality = math.NaN()
		}
	}
	c := compare(t, results.Targets{{Metric: "test_error", Value: 0.25}, {Metric: "test_error", Value: 0.2}},
		directory("a", "", slow), directory("b", "", fast))
	cells := c.Cases[0].Rows[1].Cells
	if x := cells[0]; !x.Reached || x.Rounds != 1 || x.TimeS != 1 || x.Bytes != 100 || x.Ratio.Value != 1.0/3 {
		t.Errorf("to 0.25: %+v", x)
	}
	if x := cells[1]; x.ReachedSeeds != 0 || !math.IsNaN(x.Bytes) {
		t.Errorf("to 0.2: %+v", x)
	}
}

func TestDiffering(t *testing.T) {
	runs := runsOf("x", "MOCHA", nil, times{1: 2})
	a := directory("a", `
name = "a"
description = "one"
[network]
profile = "3g"
uplink_mbps = 0.5
[run]
seeds = [1, 2]
[methods.mocha]
options.epochs = 5
[[experiment]]
name = "x"
description = "this"
methods = ["mocha"]
sweep = { "faults.drop_probability" = [0.0, 0.5] }
figure = { title = "a" }
[[experiment.axis]]
name = "link"
points = [{ label = "far", set = { "network.rtt_ms" = 5 } }, { label = "near", set = { "network.rtt_ms" = 1 } }]
[[experiment]]
name = "y"
`, runs)
	b := directory("b", `
name = "b"
description = "two"
[run]
seeds = [1, 2, 3]
[network]
uplink_mbps = 0.5
profile = "lte"
new_key = true
[methods.mocha]
options.epochs = 7
[[experiment]]
name = "y"
[[experiment]]
name = "x"
description = "that"
methods = ["mocha"]
sweep = { "faults.drop_probability" = [0.0, 0.75] }
figure = { title = "b" }
[[experiment.axis]]
name = "link"
points = [{ label = "near", set = { "network.rtt_ms" = 2 } }, { label = "far", set = { "network.rtt_ms" = 5 } }]
`, runs)
	b.Manifest.Version = "v1.1.0"
	values := func(texts ...string) (list []*string) {
		for _, text := range texts {
			list = append(list, &text)
		}
		return list
	}
	want := []Difference{
		{"(version of fedsim)", values("v1.0.0", "v1.1.0")},
		{"network.profile", values(`"3g"`, `"lte"`)},
		{"run.seeds", values("[1, 2]", "[1, 2, 3]")},
		{"methods.mocha.options.epochs", values("5", "7")},
		{"experiment.x.sweep.faults.drop_probability", values("[0.0, 0.5]", "[0.0, 0.75]")},
		{"experiment.x.axis.link.points.near.set.network.rtt_ms", values("1", "2")},
		{"network.new_key", append([]*string{nil}, values("true")...)},
	}
	d := cmp.Diff(want, compare(t, nil, a, b).Differing)
	expect.That(t, d == "", "%v", d)
	c := compare(t, nil, a, directory("again", string(a.Scenario), runs))
	expect.That(t, len(c.Differing) == 0, "the same settings differ in %v", c.Differing)
	b.Scenario = []byte("[network\n")
	if _, err := Compare([]*rundir.Results{a, b}, nil); err == nil ||
		!strings.HasPrefix(err.Error(), filepath.Join("b", "scenario.toml")+":1:") {
		t.Errorf("error %v, must begin with the place", err)
	}
}

func TestIncomparable(t *testing.T) {
	one := times{1: 2}
	a := directory("a", "", runsOf("x", "MOCHA", nil, one))
	other := directory("b", "", runsOf("y", "MOCHA", nil, one))
	targets := directory("b", "", runsOf("x", "MOCHA", nil, one))
	targets.Manifest.Targets = results.ToSuboptimalities(0.2)
	unmeasured := directory("b", "", runsOf("x", "MOCHA", nil, one))
	for i := range unmeasured.Runs[0].Rounds {
		unmeasured.Runs[0].Rounds[i].Suboptimality = math.NaN()
	}
	none := directory("b", "")
	for _, c := range []struct {
		a, b *rundir.Results
		want string
	}{
		{a, other, "nothing to compare: no two directories have the same experiment, method and point; a has x: " +
			"MOCHA, b has y: MOCHA: use the same names"},
		{a, none, "a has x: MOCHA, b has no runs"},
		{a, targets, "a, b have no target in common: set one"},
		{unmeasured, unmeasured, `no run of b, b records suboptimality: set run.mode = "learning", ` +
			`and for suboptimality problem.optimum.when = "auto"`},
	} {
		if _, err := Compare([]*rundir.Results{c.a, c.b}, nil); !errors.Is(err, errNothing) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("error  %v\nwanted %s", err, c.want)
		}
	}
	// One side records the metric: the other has no ratio.
	c := compare(t, nil, a, unmeasured)
	x := c.Cases[0].Rows[1].Cells[0]
	expect.That(t, !x.Reached && math.IsNaN(x.Ratio.Value), "%+v", x)
	if _, err := plots.Draw(c.Figure()); err != nil {
		t.Errorf("its figure: %v", err)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	expect.NoError(t, os.Mkdir(empty, 0o777))
	runs := runsOf("x", "MOCHA", nil, times{1: 2})
	for i := range runs {
		runs[i].WallS, runs[i].Optimum, runs[i].OptimumGap = 1, 1, 0
	}
	for state, want := range map[rundir.State]error{rundir.Complete: nil, rundir.Incomplete: errUnfinished} {
		at := filepath.Join(dir, string(state))
		w, err := rundir.Create(at, false,
			rundir.About{Version: "v1", Seeds: []uint64{1}, Targets: results.ToSuboptimalities(0.5),
				Scenario: []byte("name = \"x\"\n")})
		expect.NoError(t, err)
		for i := range runs {
			rows, err := w.Begin(i, runs[i])
			expect.Must(t, err == nil && rows.End(runs[i]) == nil, "%v", err)
		}
		// there is no checkpoint
		if _, err := Open(at); err == nil || !strings.HasPrefix(err.Error(), at+": its run is unfinished") ||
			strings.Contains(err.Error(), "--resume") {
			t.Errorf("before the end: %v", err)
		}
		expect.NoError(t, w.Finish(state, rundir.End{At: time.Unix(0, 0)}))
		d, err := Open(at)
		if !errors.Is(err, want) ||
			want != nil &&
				!strings.Contains(err.Error(),
					at+": is not finished (incomplete): resume it first with: fedsim run --resume "+at) {
			t.Errorf("%s: %v", state, err)
		}
		expect.That(t, want != nil || d.Dir == at && len(d.Runs) == 1, "%s: %+v", state, d)
	}
	for _, name := range []string{empty, filepath.Join(dir, "missing")} {
		_, err := Open(name)
		expect.That(t, errors.Is(err, rundir.ErrForeign) && strings.HasPrefix(err.Error(), name), "%s: %v", name, err)
	}
}

// The figure has a panel per case and lists the directories in their order.
func TestFigure(t *testing.T) {
	one := times{1: 2, 2: 3}
	c := compare(t, nil,
		directory("a", "", runsOf("x", "CoCoA", nil, one)),
		directory("b", "", runsOf("y", "MOCHA", nil, one), runsOf("x", "CoCoA", nil, one)),
		directory("c", "", runsOf("y", "MOCHA", nil, one)),
	)
	fig, runs := c.Figure()
	expect.That(t, fig.File == "compare" && fig.Panel == "case" && fig.Series == "directory", "figure %+v", fig)
	var got []string
	for _, r := range runs {
		panel, _ := r.Value("case")
		line, _ := r.Value("directory")
		got = append(got, line+" "+panel)
	}
	want := []string{"a x: CoCoA", "a x: CoCoA", "b x: CoCoA", "b x: CoCoA", "b y: MOCHA", "b y: MOCHA", "c y: MOCHA",
		"c y: MOCHA"}
	d := cmp.Diff(want, got)
	expect.That(t, d == "", "%v", d)
}

func TestFigureOfManyCases(t *testing.T) {
	var runs [][]results.Run
	for i := range maxPanels + 1 {
		runs = append(runs, runsOf("x", "MOCHA", []results.Setting{{Key: "p", Value: strconv.Itoa(i)}}, times{1: 2}))
	}
	c := compare(t, nil, directory("a", "", runs...), directory("b", "", runs...))
	fig, shown := c.Figure()
	expect.That(t, strings.HasSuffix(fig.Title, ": the first 60 of 61 cases") && len(shown) == 2*maxPanels,
		"%q of %d runs", fig.Title, len(shown))
}

func TestCSV(t *testing.T) {
	c := compare(t, nil,
		directory("a", "", runsOf("x", "MOCHA", point("3g", "0"), times{1: 0.1, 2: 0.2})),
		directory("b", "", runsOf("x", "MOCHA", point("3g", "0"), times{2: 0.3, 3: math.NaN()})),
	)
	rows := c.exact()
	want := [][]string{
		{"x", "MOCHA", "network.profile = 3g, faults.drop_probability = 0", "a", "a", "suboptimality_0.5", "2", "2",
			"1",
			"0.07500000000000001", "1", "1", "1", "1", "2", "true", "suboptimality", "0.5", "100", "0", "0",
			"0.07500000000000001", "false", "", ""},
		{"x", "MOCHA", "network.profile = 3g, faults.drop_probability = 0", "a", "a", "suboptimality_0.1", "2", "2",
			"2",
			"0.15000000000000002", "2", "1", "1", "1", "2", "true", "suboptimality", "0.1", "200", "0", "0",
			"0.15000000000000002", "false", "", ""},
		{"x", "MOCHA", "network.profile = 3g, faults.drop_probability = 0", "b", "a", "suboptimality_0.5", "2", "2",
			"1", "25.075",
			"1", "1.4999999999999998", "", "", "1", "true", "suboptimality", "0.5", "100", "0", "0", "25.075", "false",
			"", ""},
		{"x", "MOCHA", "network.profile = 3g, faults.drop_probability = 0", "b", "a", "suboptimality_0.1", "2", "1",
			"", "", "",
			"1.4999999999999998", "", "", "1", "true", "suboptimality", "0.1", "", "1", "0", "50.15", "false", "", ""},
	}
	d := cmp.Diff(want, rows[1:])
	expect.That(t, d == "", "%v", d)
	expect.That(t, len(rows[0]) == len(want[0]), "%d heads for %d columns", len(rows[0]), len(want[0]))
}
