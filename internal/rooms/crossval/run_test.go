package crossval

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fedsim/data"
	"fedsim/internal/tools/parallel"
	"fedsim/mtl"
)

// The slow twin solves every fold and lambda from zero, one after the other, to a gap that
// is too small to change the sign of a score. It counts errors with its own code.
func TestCrossValidationAgainstASlowTwin(t *testing.T) {
	t.Run("two classes", func(t *testing.T) { testAgainstASlowTwin(t, tiny(), mtl.LossHinge) })
	several := tiny()
	several.Shuffles, several.Lambdas = 1, []float64{0.01, 0.1}
	cfg := &several.Sets[0].Data
	cfg.Target, cfg.Synthetic.Classes = data.TargetClasses, 3
	t.Run("one against the rest", func(t *testing.T) { testAgainstASlowTwin(t, several, mtl.LossSmoothedHinge) })
	t.Run("softmax", func(t *testing.T) { testAgainstASlowTwin(t, several, mtl.LossSoftmax) })
}

func testAgainstASlowTwin(t *testing.T, table TableSpec, loss string) {
	table.Gap, table.FoldGap, table.Sweeps = 1e-9, 1e-9, 100_000
	table.OmegaUpdates = 0 // TestLooseStepsLearnTheSameCoupling covers Omega updates
	problem := mtl.Defaults()
	problem.Loss = loss
	column := run(t, table, problem, 2).Columns[0]
	cfg := table.Sets[0].Data
	set, err := data.Load(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range table.Models {
		for s, got := range column.Models[i].Shuffles {
			seed := cfg.Seed + uint64(s)
			split, err := cfg.Divide(set, seed)
			if err != nil {
				t.Fatal(err)
			}
			best, lowest := math.NaN(), math.Inf(1)
			for l, lambda := range got.Lambdas {
				wrong, rows := make([]float64, len(set.Clients)), make([]float64, len(set.Clients))
				for k := range table.Folds {
					fold, err := data.Fold(split.Train, table.Folds, k, seed)
					if err != nil {
						t.Fatal(err)
					}
					slowCount(t, name, problem, lambda, cfg, fold, wrong, rows)
				}
				e := slowMean(wrong, rows)
				if math.Abs(e-got.Validation[l]) > 1e-10 {
					t.Errorf("%s, shuffle %d, lambda %g: cross-validated error %v, the twin has %v", name, s, lambda, got.Validation[l], e)
				}
				if e < lowest { // lambdas descend: the largest wins a tie
					best, lowest = lambda, e
				}
			}
			if got.Lambda != best {
				t.Errorf("%s, shuffle %d: lambda %g, the twin has %g", name, s, got.Lambda, best)
			}
			wrong, rows := make([]float64, len(set.Clients)), make([]float64, len(set.Clients))
			slowCount(t, name, problem, best, cfg, split, wrong, rows)
			if e := slowMean(wrong, rows); math.Abs(e-got.Error) > 1e-10 {
				t.Errorf("%s, shuffle %d: test error %v, the twin has %v", name, s, got.Error, e)
			}
		}
	}
}

// slowCount trains on copies and adds the wrong signs and the rows of each task.
func slowCount(t *testing.T, model string, problem mtl.Config, lambda float64, cfg data.Config, split *data.Split, wrong, rows []float64) {
	t.Helper()
	fresh := &data.Split{Train: copySet(split.Train), Test: copySet(split.Test)}
	scaling := data.FitScaling(fresh.Train)
	for _, set := range []*data.Set{fresh.Train, fresh.Test} {
		for k := range set.Clients {
			for i := range set.Clients[k].X.Rows {
				for j, x := range set.Clients[k].X.Row(i) {
					set.Clients[k].X.Row(i)[j] = (x - scaling.Mean[j]) / scaling.Deviation[j]
				}
			}
		}
	}
	if err := (data.Config{Bias: true}).Transform(fresh); err != nil {
		t.Fatal(err)
	}
	train := fresh.Train
	if model == Global {
		one := data.Client{X: data.NewMatrix(train.Rows(), train.Features)}
		for k := range train.Clients {
			for i, y := range train.Clients[k].Y {
				copy(one.X.Row(len(one.Y)), train.Clients[k].X.Row(i))
				one.Y = append(one.Y, y)
			}
		}
		train = &data.Set{Features: train.Features, Classes: train.Classes, Clients: []data.Client{one}}
	}
	problem.Regularizer = mtl.RegIndependent // without an Omega update "mtl" is Omega = I/m
	problem.Lambda = lambda
	p, err := mtl.NewProblem(problem, data.Split{Train: train, Test: &data.Set{}})
	if err != nil {
		t.Fatal(err)
	}
	coupling, err := p.Regularizer.Start(nil, p.Tasks())
	if err != nil {
		t.Fatal(err)
	}
	o := p.Solver(parallel.NewPool(1), 1e-10, 100_000).Optimize(t.Context(), coupling, nil)
	set := fresh.Test
	for k := range fresh.Test.Clients {
		w := o.W.Row(0)
		if model != Global {
			w = o.W.Row(k)
		}
		for i, y := range fresh.Test.Clients[k].Y {
			z := make([]float64, set.Outputs())
			for j, x := range fresh.Test.Clients[k].X.Row(i) {
				for c := range z {
					z[c] += x * w[c*train.Features+j]
				}
			}
			rows[k]++
			if set.Classes == nil && z[0]*y <= 0 || set.Classes != nil && z[int(y)] < slices.Max(z) {
				wrong[k]++
			}
		}
	}
}

func slowMean(wrong, rows []float64) float64 {
	sum, n := 0.0, 0.0
	for k := range wrong {
		if rows[k] > 0 {
			sum += wrong[k] / rows[k]
			n++
		}
	}
	return 100 * sum / n
}

func copySet(s *data.Set) *data.Set {
	c := *s
	c.Clients = make([]data.Client, len(s.Clients))
	for k := range s.Clients {
		c.Clients[k] = s.Clients[k]
		c.Clients[k].X.Data = append([]float64(nil), s.Clients[k].X.Data...)
		c.Clients[k].Y = append([]float64(nil), s.Clients[k].Y...)
	}
	return &c
}

// Alternation with W steps of a large gap learns the same coupling as LearnCoupling, whose W
// steps have a small gap.
func TestLooseStepsLearnTheSameCoupling(t *testing.T) {
	table := tiny()
	cfg := table.Sets[0].Data
	split, err := data.Prepare(cfg)
	if err != nil {
		t.Fatal(err)
	}
	problem := mtl.Defaults()
	problem.Lambda = 0.01
	workers := parallel.NewPool(1)
	config := Defaults()
	config.Sweeps = 100_000
	w, err := newPath(&config, MTL, 1e-6, problem, split.Train, workers).solve(t.Context(), problem.Lambda)
	if err != nil {
		t.Fatal(err)
	}
	p, err := mtl.NewProblem(problem, *split)
	if err != nil {
		t.Fatal(err)
	}
	coupling, err := p.Solver(workers, 1e-6, 100_000).LearnCoupling(t.Context(), config.OmegaUpdates, problem.OmegaFloor)
	if err != nil {
		t.Fatal(err)
	}
	o := p.Solver(workers, 1e-6, 100_000).Optimize(t.Context(), coupling, nil)
	independent, err := newPath(&config, Local, 1e-6, problem, split.Train, workers).solve(t.Context(), problem.Lambda)
	if err != nil {
		t.Fatal(err)
	}
	// Measured: 0.010 and 0.38.
	if far := distance(w, &o.W); far > 0.02 {
		t.Errorf("W is %.2g of its length away from that of accurate steps, want at most 0.02", far)
	}
	if far := distance(independent, &o.W); far < 0.1 {
		t.Errorf("W is %.2g of its length away from that of independent tasks: the test is too weak", far)
	}
}

// distance returns |a - b| / |b|.
func distance(a, b *data.Matrix) float64 {
	far, length := 0.0, 0.0
	for i, x := range b.Data {
		far += (x - a.Data[i]) * (x - a.Data[i])
		length += x * x
	}
	return math.Sqrt(far / length)
}

// Warm starts do not change the solution.
func TestPathDoesNotDependOnItsStart(t *testing.T) {
	split, err := data.Prepare(tiny().Sets[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	config := Defaults()
	config.Sweeps = 100_000
	for _, model := range []string{Global, Local} {
		warm := newPath(&config, model, 1e-10, mtl.Defaults(), split.Train, parallel.NewPool(1))
		for _, lambda := range []float64{1, 0.1, 1e-3, 1e-2} { // the last is larger than the one before
			got, err := warm.solve(t.Context(), lambda)
			if err != nil {
				t.Fatal(err)
			}
			want, err := newPath(&config, model, 1e-10, mtl.Defaults(), split.Train, parallel.NewPool(1)).solve(t.Context(), lambda)
			if err != nil {
				t.Fatal(err)
			}
			// A gap of 1e-10 P leaves |dW|^2 at most 2e-10 P/convexity, and P is below m.
			if diff := cmp.Diff(want.Data, got.Data, cmpopts.EquateApprox(0, math.Sqrt(1e-9/lambda))); diff != "" {
				t.Errorf("%s, lambda %g: warm and cold start differ: %s", model, lambda, diff)
			}
		}
	}
}

// The values of test rows do not affect the choice of lambda.
func TestFoldsDoNotUseTestRows(t *testing.T) {
	table := tiny()
	cfg := table.Sets[0].Data
	set, err := data.Load(cfg)
	if err != nil {
		t.Fatal(err)
	}
	choose := func(set *data.Set) []Shuffle {
		trial := newTrial(&table.Config, Set{}, Source{Config: cfg}, mtl.Defaults(), set, parallel.NewPool(2))
		if err := trainAll(t.Context(), trial, 2); err != nil {
			t.Fatal(err)
		}
		var first []Shuffle // of each model
		for _, m := range trial.Column().Models {
			first = append(first, m.Shuffles[0])
		}
		return first
	}
	clean := choose(set)

	// A feature of the copy holds the row's index, which shows what rows the first shuffle
	// tests on.
	marked := copySet(set)
	for k := range marked.Clients {
		for i := range marked.Clients[k].Y {
			marked.Clients[k].X.Row(i)[0] = float64(i)
		}
	}
	split, err := cfg.Divide(marked, cfg.Seed)
	if err != nil {
		t.Fatal(err)
	}
	changed := copySet(set)
	for k := range split.Test.Clients {
		for i := range split.Test.Clients[k].Y {
			row := int(split.Test.Clients[k].X.Row(i)[0])
			changed.Clients[k].Y[row] *= -1
			for j := range changed.Clients[k].X.Row(row) {
				changed.Clients[k].X.Row(row)[j] *= 1e3
			}
		}
	}
	for i, got := range choose(changed) {
		if diff := cmp.Diff(clean[i].Validation, got.Validation); diff != "" || got.Lambda != clean[i].Lambda {
			t.Errorf("%s: changed test rows change the cross-validation: %s", table.Models[i], diff)
		}
		if got.Error == clean[i].Error {
			t.Errorf("%s: changed test rows do not change the test error %v", table.Models[i], got.Error)
		}
	}
}

func TestWorkersChangeNothing(t *testing.T) {
	table := tiny()
	table.Sets = append(table.Sets, table.Sets[0])
	table.Sets[1].Data.Skew, table.Sets[1].Data.SkewMin = true, 2
	want := run(t, table, mtl.Defaults(), 1)
	for _, workers := range []int{2, 8} {
		if diff := cmp.Diff(want, run(t, table, mtl.Defaults(), workers), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%d workers change the table (-one +many):\n%s", workers, diff)
		}
	}
}

// Tasks with real targets have root mean square errors.
func TestRealTargets(t *testing.T) {
	table := tiny()
	table.Sets[0].Data.Target = data.TargetReal
	table.Sets[0].Data.Synthetic.Noise = -1
	problem := mtl.Defaults()
	problem.Loss = mtl.LossSquared
	c := run(t, table, problem, 2).Columns[0]
	if !c.Real {
		t.Fatal("Real is false for a column of real targets")
	}
	for _, m := range c.Models {
		// The targets have standard deviation 1: a constant model has error 1.
		if !(m.Mean > 0 && m.Mean < 1) {
			t.Errorf("%s: root mean square error %v, want it in (0, 1)", m.Name, m.Mean)
		}
	}
}

// The error for a fold with a single class names the fold.
func TestTrainNamesWhatFailed(t *testing.T) {
	table := tiny()
	table.Sets[0].Data.Synthetic.Clients, table.Sets[0].Data.Synthetic.Clusters = 1, 1
	table.Sets[0].Data.Synthetic.RowsMin, table.Sets[0].Data.Synthetic.RowsMax = 3, 3
	trial, err := NewTrial(&table, &table.Sets[0], Source{Config: table.Sets[0].Data}, mtl.Defaults(), parallel.NewPool(1))
	if err != nil {
		t.Fatal(err)
	}
	err = trial.Train(t.Context(), 2, nil)
	const want = `shuffle 0, fold 2, model "global": data set`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want it to start with %s", err, want)
	}
}

// The global model of a table equals that of a federation whose devices share one task. The
// local models equal those of a federation with independent tasks.
func TestBaselinesEqualThoseOfAFederation(t *testing.T) {
	config := Defaults()
	config.Sweeps = 100_000
	workers := parallel.NewPool(1)
	for _, model := range []string{Global, Local} {
		cfg := tiny().Sets[0].Data
		unpooled, err := data.Prepare(cfg)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Pool = model == Global
		split, err := data.Prepare(cfg)
		if err != nil {
			t.Fatal(err)
		}
		problem := mtl.Defaults()
		problem.Regularizer, problem.Lambda = mtl.RegIndependent, 0.03
		p, err := mtl.NewProblem(problem, *split)
		if err != nil {
			t.Fatal(err)
		}
		coupling, err := p.Regularizer.Start(nil, p.Tasks())
		if err != nil {
			t.Fatal(err)
		}
		o := p.Solver(workers, 1e-10, 100_000).Optimize(t.Context(), coupling, nil)
		w, err := newPath(&config, model, 1e-10, mtl.Defaults(), unpooled.Train, workers).solve(t.Context(), problem.Lambda)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Evaluate(workers, coupling, w, nil, nil).Primal; math.Abs(got-o.Primal) > 1e-6*o.Primal {
			t.Errorf("%s: P = %.9g for the W of the table, the optimum is %.9g", model, got, o.Primal)
		}
		// Both errors are means over the original tasks; taskErrors has percentages.
		errors := newTaskErrors(len(split.Test.Clients))
		errors.count(split.Test, &o.W)
		if got := errors.error(false); math.Abs(got-100*o.TestErrorClients) > 1e-9 {
			t.Errorf("%s: test error %g %%, want %g %%", model, 100*o.TestErrorClients, got)
		}
	}
}
