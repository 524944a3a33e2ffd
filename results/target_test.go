package results

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/config"
	"fedsim/internal/tools/expect"
)

// A list means sub-optimalities; a table names its metrics, which come in the order
// of Metrics, and unknown ones behind them.
func TestTargetsInEveryForm(t *testing.T) {
	type table struct {
		Targets Targets `toml:"targets"`
		StopAt  Target  `toml:"stop_at"`
	}
	for _, c := range []struct {
		text, json string
		targets    Targets
		stop       Target
	}{
		{"targets = { suboptimality = [0.1, 1] }\nstop_at = { suboptimality = 1e-3 }",
			`{"suboptimality":[0.1,1]}`, ToSuboptimalities(0.1, 1),
			ToSuboptimality(1e-3)},
		{"targets = {}\nstop_at = {}", `{}`, Targets{}, Target{}},
		{"targets = { zeta = [3], test_error = [0.08, 0.07], suboptimality = [1e-2], alpha = [1] }\n" +
			"stop_at = { test_error = 0.07 }",
			`{"alpha":[1],"suboptimality":[0.01],"test_error":[0.08,0.07],"zeta":[3]}`,
			Targets{{"suboptimality", 0.01}, {"test_error", 0.08}, {"test_error", 0.07}, {"alpha", 1}, {"zeta", 3}},
			Target{"test_error", 0.07}},
		{"targets = { test_error = [0.5] }\nstop_at = { primal = -2 }", `{"test_error":[0.5]}`,
			Targets{{"test_error", 0.5}}, Target{"primal", -2}},
	} {
		root, err := config.Parse("x.toml", []byte(c.text))
		expect.NoError(t, err)
		var got table
		if problems := config.Decode(root, "", &got); len(problems) > 0 {
			t.Fatalf("%s: %v", c.text, problems)
		}
		d := cmp.Diff(table{c.targets, c.stop}, got)
		expect.That(t, d == "", "%s: %s", c.text, d)
		written, err := config.Encode(got)
		expect.NoError(t, err)
		var again table
		if root, err = config.Parse("x.toml", written); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if problems := config.Decode(root, "", &again); len(problems) > 0 || !cmp.Equal(got, again) {
			t.Errorf("written as %s it is %v: %v", written, again, problems)
		}
		text, err := json.Marshal(got.Targets)
		expect.That(t, err == nil && string(text) == c.json, "%s: JSON %s, %v", c.text, text, err)
		var back Targets
		if err := json.Unmarshal(text, &back); err != nil || !cmp.Equal(back, c.targets) {
			t.Errorf("%s comes back as %v: %v", text, back, err)
		}
	}
}

func TestTargetsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`targets = "x"`: `run.targets: must be a table with a list for each metric`,
		`targets = [{ test_error = 0.1 }, 1e-2, { test_error = 0.2 }]`: "run.targets: " +
			"must be a table with a list for each metric: write {suboptimality = [0.01], test_error = [0.1, 0.2]}",
		`targets = [{ test_error = [0.1] }]`: "run.targets: " +
			"must be a table with a list for each metric",
		`targets = { test_error = 0.1 }`: `run.targets.test_error = 0.1: ` +
			`must be a list of floats`,
		`targets = { test_eror = [0.1] }`: `run.targets = "test_eror": ` +
			`must be one of suboptimality, primal, gap, train_error, test_error, validation_error, ` +
			`train_error_clients, test_error_clients, validation_error_clients, train_accuracy, ` +
			`train_accuracy_clients, test_accuracy, test_accuracy_clients, validation_accuracy, ` +
			`validation_accuracy_clients (did you mean "test_error"?)`,
		`targets = { test_error = [0.1, 0.1] }`: `run.targets.test_error = 0.1: ` +
			`must be there once`,
		`targets = { suboptimality = [0.1, -1] }`: `run.targets.suboptimality = -1: must be positive`,
		`targets = [0.1, 1]`: `run.targets: must be a table with a list for each metric: ` +
			`write {suboptimality = [0.1, 1.0]}`,
		`stop_at = { test_error = 0.1, train_error = 1}`: `run.stop_at: must hold one metric, ` +
			`as in { test_error = 0.07 }`,
		`stop_at = "x"`: `run.stop_at: must hold one metric`,
		`stop_at = 1`:   `run.stop_at = 1: must be a table: write {suboptimality = 1.0}`,
	} {
		root := expect.Value(config.Parse("x.toml", []byte(text)))(t)
		var got struct {
			Targets Targets `toml:"targets"`
			StopAt  Target  `toml:"stop_at"`
		}
		problems := config.Decode(root, "run", &got)
		c := config.NewChecker()
		got.Targets.Check(c.In("run"), "targets")
		for _, x := range got.Targets {
			x.CheckColumn(c.In("run"), "targets")
		}
		problems.AddFound(root, c)
		expect.That(t, len(problems) != 0 && strings.Contains(problems.Error(), want),
			"%s: %v\nwant %s", text, problems, want)
	}
}

// The direction of a metric is its own, and NaN is neither good enough nor better.
func TestDirectionOfAMetric(t *testing.T) {
	nan := math.NaN()
	down, up := Metric{Name: "loss"}, Metric{Name: "accuracy", Higher: true}
	expect.That(t, down.Reached(1, 1) && down.Reached(0.5, 1) && !down.Reached(1.5, 1) && !down.Reached(nan, 1),
		"a metric of which less is better")
	expect.That(t, up.Reached(1, 1) && up.Reached(1.5, 1) && !up.Reached(0.5, 1) && !up.Reached(nan, 1),
		"a metric of which more is better")
	for _, m := range []Metric{down, up} {
		if m.Better(1, 2) == m.Higher || m.Better(2, 1) != m.Higher || m.Better(1, 1) || m.Better(nan, 1) ||
			m.Better(nan, nan) || !m.Better(1, nan) {
			t.Errorf("%+v", m)
		}
	}
}

// Every metric has its column in rounds.parquet; any other name has no value.
func TestMetricsOfARound(t *testing.T) {
	r := Round{Suboptimality: 1, Primal: 2, Gap: 3, TrainError: 4, TestError: 5, ValidationError: 6,
		TrainErrorClients: 7, TestErrorClients: 8, ValidationErrorClients: 9, Round: 10}
	for i, m := range Metrics() {
		got := m.Of(&r)
		expect.That(t, got == float64(i+1), "%s is %g, want %d", m.Name, got, i+1)
	}
	for _, name := range []string{"perplexity", "round", ""} {
		m, known := MetricNamed(name)
		expect.That(t, !known && math.IsNaN(m.Of(&r)), "%q: known %t, value %g", name, known, m.Of(&r))
	}
	run := Run{Rounds: []Round{r}}
	for _, none := range []Target{{}, {"perplexity", 1e9}} {
		_, ok := run.Reached(none)
		expect.That(t, !ok, "a round reaches a target that there is not")
	}
}

func TestCostToATarget(t *testing.T) {
	nan := math.NaN()
	run := Run{Rounds: []Round{
		tolled(Round{TestError: 0.5, Suboptimality: 9}, 0),
		tolled(Round{Round: 1, TimeS: 2, TestError: nan, Suboptimality: nan, BytesDown: 10, BytesUp: 1, EnergyJ: 3},
			0.5),
		tolled(Round{Round: 2, TimeS: 4, TestError: 0.25, Suboptimality: 8, BytesDown: 20, BytesUp: 2, EnergyJ: 4}, 1),
		tolled(Round{Round: 3, TimeS: 8, TestError: 0.125, Suboptimality: 7, BytesDown: 40, BytesUp: 4, EnergyJ: 5}, 2),
	}}
	if c := run.CostTo(Target{"test_error", 0.3}); !reflect.DeepEqual(c,
		Cost{true, Amounts{2, 4, 33, 7, map[string]float64{"toll_g": 1.5}}}) {
		t.Errorf("%+v", c)
	}
	if c := run.CostTo(ToSuboptimality(7)); !reflect.DeepEqual(c,
		Cost{true, Amounts{3, 8, 77, 12, map[string]float64{"toll_g": 3.5}}}) {
		t.Errorf("%+v", c)
	}
	run.Rounds = append(run.Rounds, Round{Round: 4, TimeS: 16, TestError: nan, Suboptimality: nan})
	if spent, state := run.Spent(Target{"test_error", 0.1}); !reflect.DeepEqual(spent,
		Amounts{3, 8, 77, 12, map[string]float64{"toll_g": 3.5}}) || state != Ended {
		t.Errorf("%+v up to the last evaluation, %s", spent, state)
	}
	if c := run.CostTo(Target{"test_error", 0.1}); c.Reached || !math.IsNaN(c.Rounds) || !math.IsNaN(c.TimeS) ||
		!math.IsNaN(c.Bytes) || !math.IsNaN(c.EnergyJ) {
		t.Errorf("%+v", c)
	}
}

// Without a target it is the highest whole percent that all reached before the first run ended. The second run of a
// is at 79.6 % when that of b ends after 4 s, at 92 %.
func TestChosenTarget(t *testing.T) {
	run := func(method string, seed uint64, errors ...float64) Run {
		r := Run{Experiment: "e", Method: method, Seed: seed, Status: Done, Rounds: []Round{{TestError: 0.9}}}
		for h, x := range errors {
			r.Rounds = append(r.Rounds, Round{Round: h + 1, TimeS: 2 * float64(h+1), TestError: x})
		}
		return r
	}
	runs := []Run{run("a", 1, 0.3, 0.1, 0.08, 0.07), run("a", 2, 0.204, 0.21, 0.05), run("b", 1, 0.2, 0.15, 0.1),
		run("b", 2, 0.1, 0.08)}
	e := Summarize(runs, nil).Experiments[0]
	if len(e.Targets) != 1 || e.Targets[0] != (Target{"test_accuracy", 0.79}) ||
		e.Texts[0] != "test accuracy by rows 79 %, chosen: all reached it" || e.ByP && e.showsP() {
		t.Errorf("chosen: %v, %q", e.Targets, e.Texts)
	}
	for i := range e.Blocks[0].Rows {
		expect.That(t, e.Blocks[0].Rows[i].Cells[0].Reached, "%s has not reached it", e.Blocks[0].Rows[i].Label)
	}
	solved := run("optimum", 1)
	solved.Rounds = append(solved.Rounds, Round{Round: 1, TestError: 0.5})
	for name, c := range map[string]struct {
		runs []Run
		want int
	}{"a whole percent": {[]Run{run("a", 1, 0.21)}, 1}, "without time": {[]Run{solved}, 0},
		"beside one without time": {append([]Run{solved}, runs...), 1},
		"all end as they began":   {[]Run{run("a", 1, 1)}, 0}} {
		e := Summarize(c.runs, nil).Experiments[0]
		expect.That(t, len(e.Targets) == c.want, "%s: %v", name, e.Targets)
	}
	late := append(slices.Clone(runs), run("b", 3, 0.9, 0.9, 0.9, 0.4)) // no better than at the start when b ends
	if e := Summarize(late, nil).Experiments[0]; len(e.Targets) != 1 || e.Targets[0].Value != 0.6 {
		t.Errorf("one is late: %v", e.Targets)
	}
	real := run("a", 1, 0.2)
	real.Real = true
	if e := Summarize([]Run{real}, nil).Experiments[0]; len(e.Targets) != 0 {
		t.Errorf("real targets: %v", e.Targets)
	}
}
