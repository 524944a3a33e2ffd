package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/racetest"
	"fedsim/mtl"
	"fedsim/results"
)

// folded takes milliseconds: five related tasks with a few rows each, whose solvers end at gaps that are too
// small to change the sign of a score.
const folded = `
[data]
bias = true
standardize = true
[data.synthetic]
clients = 5
features = 6
factors = 4
rows_min = 14
rows_max = 26
noise = 0.05
[problem]
loss = "hinge"
optimum.when = "never"
[run]
metric = "test_error_clients"
rounds = 1
seeds = [1, 2, 3]
vary = "split"
[methods.global]
algorithm = "central"
options = { gap = 1e-9, trial_gap = 1e-9, sweeps = 100_000 }
set = { "problem.regularizer" = "independent", "data.pool" = true }
[methods.local]
algorithm = "central"
options = { gap = 1e-9, trial_gap = 1e-9, sweeps = 100_000, path = [1, 1e-3] }
set = { "problem.regularizer" = "independent" }
[[experiment]]
name = "folded"
tuning.folds = 3
tune.global = { "problem.lambda" = [1, 0.1, 1e-2, 1e-3] }
tune.local = { "problem.lambda" = [1, 0.1, 1e-2, 1e-3] }
`

// ofFolds returns the runs of experiments by ID without tuned options, and their tunings by method and seed.
func ofFolds(t *testing.T, s *scenario.Scenario) (runs map[string]results.Run, grids map[string]Grid) {
	t.Helper()
	runs, grids = map[string]results.Run{}, map[string]Grid{}
	for _, r := range mustGather(t, s.Experiments, Options{Workers: 2}) {
		runs[fmt.Sprintf("%s %d", r.Method, r.Seed)] = r
	}
	for _, g := range tune(t, s.Experiments, Options{Workers: 2, Clock: time.Now}) {
		grids[g.Method+" "+g.Point[len(g.Point)-1].Value] = g
	}
	return runs, grids
}

// The slow twin solves every fold and lambda from zero, one after the other. It counts errors with its own code.
func TestFoldsAgainstASlowTwin(t *testing.T) {
	racetest.Skip(t, "compares numbers; TestFoldsAreResumedAndShared solves folds in parallel")
	for _, c := range [][]string{
		nil,
		{`run.metric="test_error"`, "run.seeds=[2]"},
		{`data.target="classes"`, "data.synthetic.classes=3", `problem.loss="smoothed-hinge"`, "run.seeds=[1]"},
		{`data.target="classes"`, "data.synthetic.classes=3", `problem.loss="softmax"`, "run.seeds=[1]"},
	} {
		s := scenarioOf(t, folded, c...)
		runs, grids := ofFolds(t, s)
		expect.Must(t, len(runs) == 2*len(s.Settings.Run.Seeds) && len(grids) == len(runs),
			"%d runs, %d tunings", len(runs), len(grids))
		for name, run := range runs {
			twin := foldTwin{s: s, pool: strings.HasPrefix(name, "global"), seed: run.Seed}
			twin.check(t, name, &run, grids[name])
		}
	}
}

type foldTwin struct {
	s    *scenario.Scenario
	pool bool
	seed uint64
}

func (f *foldTwin) check(t *testing.T, name string, run *results.Run, g Grid) {
	t.Helper()
	cfg := f.s.Settings.Data
	set := expect.Value(data.Load(cfg))(t)
	divide := func() *data.Split {
		split := expect.Value(cfg.Divide(set, cfg.Seed+f.seed-1))(t)
		return split
	}
	overClients := f.s.Settings.Run.Metric == "test_error_clients"
	best, lowest := math.NaN(), math.Inf(1)
	for l, lambda := range []float64{1, 0.1, 1e-2, 1e-3} {
		wrong, rows := make([]float64, len(set.Clients)), make([]float64, len(set.Clients))
		for k := range 3 {
			fold := expect.Value(data.Fold(divide().Train, 3, k, cfg.Seed+f.seed-1))(t)
			f.count(t, fold, lambda, wrong, rows)
		}
		e := slowMean(wrong, rows, overClients)
		if math.Abs(e-g.Trials[l].Last) > 1e-12 {
			t.Errorf("%s, seed %d, lambda %g: error on held-out rows %v, the twin has %v", name, f.seed, lambda,
				g.Trials[l].Last, e)
		}
		if e < lowest {
			best, lowest = lambda, e
		}
	}
	chosen, _ := strconv.ParseFloat(run.Tuned[0].Value, 64)
	expect.That(t, chosen == best, "%s: lambda %g, the twin has %g", name, chosen, best)
	wrong, rows := make([]float64, len(set.Clients)), make([]float64, len(set.Clients))
	f.count(t, divide(), best, wrong, rows)
	last, _ := run.Last()
	if e := slowMean(wrong, rows, true); math.Abs(e-last.TestErrorClients) > 1e-12 {
		t.Errorf("%s: test error %v, the twin has %v", name, last.TestErrorClients, e)
	}
}

// count trains on copies and adds the wrong answers and the rows of each task.
func (f *foldTwin) count(t *testing.T, split *data.Split, lambda float64, wrong, rows []float64) {
	t.Helper()
	for _, set := range []*data.Set{split.Train, split.Test} {
		for k := range set.Clients {
			set.Clients[k].X.Data = slices.Clone(set.Clients[k].X.Data)
		}
	}
	scaling := data.FitScaling(split.Train)
	for _, set := range []*data.Set{split.Train, split.Test} {
		for k := range set.Clients {
			for i := range set.Clients[k].X.Rows {
				for j, v := range set.Clients[k].X.Row(i) {
					set.Clients[k].X.Row(i)[j] = (v - scaling.Mean[j]) / scaling.Deviation[j]
				}
			}
		}
	}
	expect.NoError(t, (data.Config{Bias: true}).Transform(split))
	train := split.Train
	if f.pool {
		train = data.Merge(train)
	}
	cfg := f.s.Settings.Problem
	cfg.Regularizer, cfg.Lambda = mtl.RegIndependent, lambda
	p := expect.Value(mtl.NewProblem(cfg, data.Split{Train: train, Test: &data.Set{}}))(t)
	coupling := expect.Value(p.Regularizer.Start(nil, p.Tasks()))(t)
	o := p.Solver(parallel.NewPool(1), 1e-10, 100_000).Optimize(t.Context(), coupling, nil)
	for k := range split.Test.Clients {
		w := o.W.Row(0)
		if !f.pool {
			w = o.W.Row(k)
		}
		for i, y := range split.Test.Clients[k].Y {
			z := make([]float64, split.Test.Outputs())
			for j, v := range split.Test.Clients[k].X.Row(i) {
				for c := range z {
					z[c] += v * w[c*train.Features+j]
				}
			}
			rows[k]++
			if split.Test.Classes == nil && z[0]*y <= 0 || split.Test.Classes != nil && z[int(y)] < slices.Max(z) {
				wrong[k]++
			}
		}
	}
}

func slowMean(wrong, rows []float64, overClients bool) float64 {
	sum, n, all, total := 0.0, 0.0, 0.0, 0.0
	for k := range wrong {
		if rows[k] > 0 {
			sum += wrong[k] / rows[k]
			n++
		}
		all, total = all+wrong[k], total+rows[k]
	}
	if overClients {
		return sum / n
	}
	return all / total
}

// The values of test rows do not affect the choice: another share of test rows would, but with the same training
// rows in a file, wrong test labels change the test error alone.
func TestFoldsDoNotUseTestRows(t *testing.T) {
	s := scenarioOf(t, folded, "run.seeds=[1]")
	cfg := s.Settings.Data
	set := expect.Value(data.Load(cfg))(t)
	choose := func(change func(y float64) float64) (validation []float64, test float64) {
		o := Options{Workers: 1, Clock: time.Now, shared: Shared{Preparation: &Preparation{}}}
		changed := *set
		changed.Clients = slices.Clone(set.Clients)
		held := expect.Value(cfg.Divide(marked(set), cfg.SplitSeed()))(t)
		for k := range changed.Clients {
			changed.Clients[k].Y = slices.Clone(changed.Clients[k].Y)
			for i := range held.Test.Clients[k].Y {
				row := int(held.Test.Clients[k].X.Row(i)[0])
				changed.Clients[k].Y[row] = change(changed.Clients[k].Y[row])
			}
		}
		expect.Value(o.shared.Preparation.loaded.get(whole(cfg), func() (*data.Set, error) { return &changed, nil }))(t)
		runs := mustGather(t, s.Experiments[:1], o)
		for _, g := range tune(t, s.Experiments, o) {
			for _, trial := range g.Trials {
				validation = append(validation, trial.Last)
			}
		}
		last, _ := (&results.Run{Rounds: runs[1].Rounds}).Last()
		return validation, last.TestErrorClients
	}
	same, right := choose(func(y float64) float64 { return y })
	got, wrong := choose(func(y float64) float64 { return -y })
	diff := cmp.Diff(same, got)
	expect.That(t, diff == "", "changed test rows change the errors on folds: %s", diff)
	expect.That(t, math.Abs(wrong-(1-right)) <= 1e-12, "test errors %g and, with other labels, %g", right, wrong)
}

// marked returns a copy of a set whose first feature is the number of the row.
func marked(set *data.Set) *data.Set {
	m := *set
	m.Clients = slices.Clone(set.Clients)
	for k := range m.Clients {
		m.Clients[k].X.Data = slices.Clone(m.Clients[k].X.Data)
		for i := range m.Clients[k].Y {
			m.Clients[k].X.Row(i)[0] = float64(i)
		}
	}
	return &m
}

// Of real targets, squares of errors are added up.
func TestFoldsOfRealTargets(t *testing.T) {
	_, grids := ofFolds(t,
		scenarioOf(t, folded, `data.target="real"`, "data.synthetic.noise=", `problem.loss="squared"`,
			"run.seeds=[1]"))
	for name, g := range grids {
		// The targets have standard deviation 1: a constant model has error 1.
		best := g.Trials[g.Winner].Last
		expect.That(t, best > 0 && best < 1, "%s: %g", name, best)
	}
	w := wrongRows{[]float64{8, 0, 3}, []int{2, 0, 3}}
	w.add(&wrongRows{[]float64{0, 0, 1}, []int{0, 0, 1}})
	mean, all := w.error(true, true), w.error(true, false)
	expect.That(t, mean == (2+1)/2. && all == math.Sqrt(2), "errors %g and %g", mean, all)
	none := wrongRows{[]float64{0}, []int{0}}
	expect.That(t, math.IsNaN(none.error(false, true)) && math.IsNaN(none.error(false, false)),
		"errors without rows are known")
}

// A tuning on folds that is interrupted after each of its runs in turn makes only the runs that are left. Items
// made one by one give the same runs, and those of several workers, too.
func TestFoldsAreResumedAndShared(t *testing.T) {
	s := scenarioOf(t, folded, "run.seeds=[2, 1]", `experiment.folded.tune.global."problem.lambda"=[0.1, 0.01]`)
	want := map[string]results.Run{}
	all, err := interruptible(t, s.Experiments, Options{Workers: 1}, want, nil)
	if err != nil || len(want) != 4 || len(all.ended) == 0 {
		t.Fatal(err, len(want))
	}
	trials := 2 * (2 + 4) * 3 // seeds, candidates, folds
	for left := 1; left < trials; left += 5 {
		store, got, n := &checkpointtest.Store{}, map[string]results.Run{}, 0
		store.Saved = func(name string, _ []byte) {
			if strings.HasPrefix(name, "tuning ") { // resumed at its end, it would measure nothing
				t.Errorf("%s is saved: a run on a fold is repeated", name)
			}
		}
		o := Options{Workers: 1, Checkpoints: CheckpointPolicy{Store: store, Clock: time.Now}}
		names := map[string]bool{}
		count := func(_ int, p Progress) bool {
			if p.Phase == "tuning" && math.IsNaN(p.TimeS) {
				n++
				expect.That(t, !names[p.Run], "%s is run twice, or folds have one name", p.Run)
				names[p.Run] = true
			}
			return n == left
		}
		_, err := interruptible(t, s.Experiments, o, got, count)
		expect.Must(t, Interrupted(err), "%v", err)
		n = 0
		expect.Value(
			interruptible(t, s.Experiments, o, got, func(_ int, p Progress) bool { count(0, p); return false }))(t)
		expect.That(t, n == trials-left, "interrupted after %d of %d runs, %d more", left, trials, n)
		sameRuns(t, want, got)
	}

	items, err := Items(t.Context(), s, 0, nil)
	expect.NoError(t, err)
	shared, got := &checkpointtest.Store{}, map[string]results.Run{}
	var mu sync.Mutex
	for _, it := range items {
		o := Options{Workers: 2, Clock: time.Now}
		runs := expect.Value(gatherBy(o, func(o Options) error {
			if len(it.Needs) > 0 {
				o.Progress = func(p Progress) {
					expect.That(t, p.Phase != "tuning", "%v is tuned again: %+v", it.Of, p)
				}
			}
			return Do(t.Context(), s, it.Kind, it.Of, o, Shared{Store: shared})
		}))(t)
		mu.Lock()
		for _, r := range runs {
			got[r.ID] = r
		}
		mu.Unlock()
	}
	sameRuns(t, want, got)
}

// sameRuns compares the events, the models and the last rounds of runs.
func sameRuns(t *testing.T, want, got map[string]results.Run) {
	t.Helper()
	expect.That(t, len(got) == len(want), "%d runs, want %d", len(got), len(want))
	for id, w := range want {
		if g := got[id]; g.EventHash != w.EventHash || g.ModelHash != w.ModelHash || g.ID != w.ID {
			t.Errorf("%s: other results", id)
		}
	}
}

// Rows and problems of folds are dropped when the tuning is over.
func TestFoldsAreForgotten(t *testing.T) {
	s := scenarioOf(t, folded)
	o := Options{Workers: 1, shared: Shared{Preparation: &Preparation{}}}
	mustGather(t, s.Experiments, o)
	n, m := len(o.shared.Preparation.splits.known), len(o.shared.Preparation.problems.known)
	expect.That(t, n == 6 && m <= 6, "%d splits and %d problems are held for 6 runs", n, m)
}

func TestFoldsAreRefused(t *testing.T) {
	for set, want := range map[string]string{
		"experiment.folded.tuning.folds=1": "must be 0 or in [2, 1000]",
		"experiment.folded.tuning.seeds=2": "must be left out with " +
			"experiment.tuning.folds",
		"experiment.folded.tuning.refit=true": "must be left out with " +
			"experiment.tuning.folds",
		"experiment.folded.tuning.target.suboptimality=0.1": "must be left out with " +
			"experiment.tuning.folds",
		"data.validation_fraction=0.1": "must be 0 with " +
			"experiment.tuning.folds",
		"data.clients_per_task=2": "must be 1 with " +
			"experiment.tuning.folds",
		"data.resident=false": "must be true",
		"run.eval_clients=2": "must be 0 with " +
			"experiment.tuning.folds",
		`methods.local.set={ "problem.model" = "mlp", "problem.model_options.hidden" = [2] }`: "a central solver " +
			"has no other",
		`methods.local.options.trial_gap=0`: "must be in [1e-9, 1]",
		`methods.local.options.path=[0]`: "must have values " +
			"in [1e-12, 1e12]",
		`experiment.folded.tuning.nonsense="x"`:  "unknown key",
		`methods.local.options.omega_updates=-1`: "must be in [0, 1000]",
	} {
		_, err := scenario.Parse("x.toml", []byte(folded), []string{set})
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: %v, want %s", set, err, want)
	}
}
