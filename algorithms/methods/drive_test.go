package methods

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/data"
	_ "fedsim/data/formats"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

var testPool = parallel.NewPool(2)

// start builds a run of a registered method; set changes its options.
func start(t testing.TB, name string, p *mtl.Problem, c mtl.Coupling,
	set func(algorithms.Options)) algorithms.Algorithm {
	t.Helper()
	return startWith(t, name, algorithms.Setup{Problem: p, Coupling: c}, set)
}

// startWith is start on a setup without workers.
func startWith(t testing.TB, name string, s algorithms.Setup, set func(algorithms.Options)) algorithms.Algorithm {
	t.Helper()
	f, ok := algorithms.Lookup(name)
	expect.Must(t, ok, "%q is not registered", name)
	o := f.Options()
	if o, ok := o.(*FedCompassOptions); ok {
		o.Epochs = 1 // requests have no limit
	}
	if set != nil {
		set(o)
	}
	if o, ok := o.(kit.LocalOptions); ok && o.Local().Schedule == "" {
		o.Local().Schedule = kit.Constant
	}
	if o, ok := o.(personalOptions); ok && s.Problem.Clients() != s.Problem.Tasks() {
		o.personal().Evaluate = globalModels
	}
	switch o := o.(type) {
	case *pFedMeOptions:
		if s.Problem.Clients() != s.Problem.Tasks() {
			o.Evaluate = globalModels
		}
	case *fedEMOptions:
		o.Components = min(o.Components, s.Problem.Clients())
	}
	check := config.NewChecker()
	o.Validate(check)
	problems := check.Problems()
	expect.Must(t, len(problems) == 0, "%v", problems)
	s.Workers, s.Shape = testPool.Size(), s.Problem.Shape
	m := expect.Value(f.Start(s, o))(t)
	return m.Algorithm
}

// round runs one round with responses of the devices for which takesPart is true; nil
// means all.
func round(a algorithms.Algorithm, p *mtl.Problem, h, steps int, takesPart func(device int) bool) {
	a.Begin()
	testPool.For(p.Clients(), func(t, worker int) {
		a.Solve(algorithms.Request{Device: t, Round: h, Steps: steps, Worker: worker,
			Stream: rng.New(1, rng.Solve, t, h)})
	})
	for t := range p.Clients() {
		if takesPart == nil || takesPart(t) {
			a.Commit(t, 1)
		} else {
			a.Discard(t)
		}
	}
	a.End()
}

func evaluate(a algorithms.Algorithm, p *mtl.Problem, c mtl.Coupling) mtl.Objective {
	m := a.Model()
	return p.Evaluate(testPool, c, m.Evaluated(), m.V, m.Duals)
}

// evaluated returns the models that are evaluated.
func evaluated(a algorithms.Algorithm) *data.Matrix {
	m := a.Model()
	return m.Evaluated()
}

// linkOf returns the codes of the messages of a method.
func linkOf(a algorithms.Algorithm) *algorithms.Link {
	if d := dualOf(a); d != nil {
		return d.Link()
	}
	return reflect.Indirect(reflect.ValueOf(a)).FieldByName("Link").Interface().(*algorithms.Link)
}

// theta returns theta_t^h of the tentative work of a device.
func theta(p *mtl.Problem, a algorithms.Inspected, k int) float64 {
	u := a.Update(k)
	return u.Theta(p, k)
}

// describe describes a registered method with its default options.
func describe(name string, shape mtl.Shape) algorithms.Description {
	f, _ := algorithms.Lookup(name)
	return f.Describe(f.Options(), shape)
}

// oracle is a row of testdata/optima.csv: an optimum computed by another program.
type oracle struct {
	data, scaling, regularizer string
	lambda, optimum, gap       float64
}

func oracles(t testing.TB) []oracle {
	t.Helper()
	var all []oracle
	for _, row := range filetest.Rows(t, "testdata/optima.csv")[1:] {
		number := func(i int) float64 { return filetest.Number(t, row[i]) }
		all = append(all, oracle{row[0], row[3], row[4], number(6), number(7), number(8)})
	}
	return all
}

func (o oracle) problem(t testing.TB) (*mtl.Problem, mtl.Coupling) {
	t.Helper()
	cfg := data.Defaults()
	cfg.Path, cfg.TestFraction = filetest.Real(t, o.data), 0
	cfg.Source = map[string]string{"landmine.csv": "csv", "har.zip": "uci-har"}[o.data]
	if cfg.Source == "csv" {
		cfg.ClientColumn = "task"
	}
	split := expect.Value(data.Prepare(cfg))(t)
	problem := mtl.Defaults()
	problem.LossScaling, problem.Regularizer, problem.Lambda = o.scaling, o.regularizer, o.lambda
	p := mustProblem(t, problem, *split)
	c := expect.Value(p.Regularizer.Start(testPool, p.Tasks()))(t)
	return p, c
}

// TestOptima runs every method on every problem whose optimum another program
// has certified. The dual methods must come within 1e-5, the mini-batch methods
// within 1e-2, relative.
func TestOptima(t *testing.T) {
	methods := []struct {
		name      string
		set       func(algorithms.Options)
		rounds    int // on landmine
		tolerance float64
	}{
		{"mocha", func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 10 }, 4000, 1e-5},
		{"cocoa", func(o algorithms.Options) { o.(*algorithms.CoCoAOptions).Theta = 0.1 }, 4000, 1e-5},
		{"async-mocha", func(o algorithms.Options) { o.(*AsyncMOCHAOptions).Epochs = 10 }, 4000, 1e-5},
		{"mb-sdca", func(o algorithms.Options) {
			*o.(*algorithms.MbSDCAOptions) = algorithms.MbSDCAOptions{Batch: 64, Beta: 3}
		}, 20000, 1e-2},
		// The step 1/(mu (h+1)) with mu = lambda m is the default step.
		{"mb-sgd", func(o algorithms.Options) { o.(*algorithms.MbSGDOptions).Batch = 64 }, 20000, 1e-2},
	}
	for _, o := range oracles(t) {
		var p *mtl.Problem
		var c mtl.Coupling
		for _, m := range methods {
			t.Run(fmt.Sprintf("%s/%g/%s", o.data, o.lambda, m.name), func(t *testing.T) {
				if testing.Short() && o.data == "har.zip" {
					t.Skip("takes a second for each method")
				}
				if p == nil {
					p, c = o.problem(t)
				}
				a := start(t, m.name, p, c, m.set)
				best := math.Inf(1)
				for h := range m.rounds {
					round(a, p, h, algorithms.NoLimit, nil)
					if h&(h+1) == 0 || h%50 == 49 {
						v := evaluate(a, p, c)
						expect.Must(t, !(v.Gap < -1e-9*math.Abs(v.Primal)), "round %d: duality gap %g", h, v.Gap)
						if best = math.Abs(v.Primal-o.optimum) / o.optimum; best <= m.tolerance {
							t.Logf("within %.2g after %d rounds", best, h+1)
							return
						}
					}
				}
				t.Errorf("P is %.3g away from %g (relative) after %d rounds, want %g", best, o.optimum, m.rounds,
					m.tolerance)
			})
		}
	}
}
