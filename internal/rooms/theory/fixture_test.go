package theory

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

var testPool = parallel.NewPool(2)

// newProblem makes a small classification problem with the given rows by device,
// labels in part along a direction of all; change may be nil.
func newProblem(t testing.TB, seed uint64, features int, rows []int, change func(*mtl.Config, *data.Set)) *mtl.Problem {
	t.Helper()
	set := &data.Set{Name: "random", Features: features, Generated: true}
	shared := rng.New(seed, rng.Skew, -1, 0)
	w := make([]float64, features)
	for j := range w {
		w[j] = shared.Normal()
	}
	for k, n := range rows {
		draw := rng.New(seed, rng.Synthetic, k, 0)
		task := data.Client{Name: fmt.Sprint(k), X: data.NewMatrix(n, features), Y: make([]float64, n)}
		for i := range n {
			z := 0.0
			for j, x := 0, task.X.Row(i); j < features; j++ {
				x[j] = draw.Normal()
				z += x[j] * w[j]
			}
			task.Y[i] = math.Copysign(1, z+draw.Normal())
		}
		set.Clients = append(set.Clients, task)
	}
	set.Clients[0].Y[0] = -set.Clients[len(rows)-1].Y[0] // both classes
	cfg := mtl.Defaults()
	cfg.Regularizer, cfg.Lambda1, cfg.Lambda2 = mtl.RegMean, 0.5, 0.1
	if change != nil {
		change(&cfg, set)
	}
	p := expect.Value(mtl.NewProblem(cfg, data.Split{Train: set, Test: &data.Set{}}))(t)
	return p
}

func start(t testing.TB, p *mtl.Problem) mtl.Coupling {
	t.Helper()
	c := expect.Value(p.Regularizer.Start(nil, p.Tasks()))(t)
	return c
}

func constants(t testing.TB, p *mtl.Problem) *Constants {
	t.Helper()
	k := expect.Value(Of(p, start(t, p)))(t)
	return k
}

// diagonal is a coupling with given M_tt and no sharing.
func diagonal(t testing.TB, m ...float64) mtl.Coupling {
	t.Helper()
	M := mat.NewSymDense(len(m), nil)
	for i, x := range m {
		M.SetSym(i, i, x)
	}
	c := expect.Value(mtl.NewDense(M))(t)
	return c
}

// update is a W update under drops.
type update struct {
	method *algorithms.Method
	p      *mtl.Problem
	c      mtl.Coupling
	seed   uint64
	round  int
	drop   func(round int) float64 // probability
	epochs float64
}

func newUpdate(t testing.TB, p *mtl.Problem, seed uint64, epochs float64, drop func(round int) float64) *update {
	t.Helper()
	factory, _ := algorithms.Lookup("mocha")
	options := factory.Options().(*algorithms.MOCHAOptions)
	options.Epochs = epochs
	c := start(t, p)
	method := expect.Value(factory.Start(algorithms.Setup{Problem: p, Shape: p.Shape, Coupling: c, Workers: 1},
		options))(t)
	return &update{method: method, p: p, c: c, seed: seed, drop: drop, epochs: epochs}
}

// next runs a round and returns its thetas.
func (u *update) next() []float64 {
	thetas := make([]float64, u.p.Clients())
	u.method.Begin()
	for k := range thetas {
		u.method.Solve(
			algorithms.Request{Device: k, Steps: algorithms.NoLimit, Stream: rng.New(u.seed, rng.Solve, k, u.round)})
	}
	for k := range thetas {
		s := rng.New(u.seed, rng.Drop, k, u.round)
		if s.Float64() < u.drop(u.round) {
			thetas[k] = 1
			u.method.Discard(k)
			continue
		}
		work := u.method.Inspected.Update(k)
		thetas[k] = work.Theta(u.p, k)
		u.method.Commit(k, 1)
	}
	u.method.End()
	u.round++
	return thetas
}

// dual returns D(alpha) of dual variables, and their duality gap.
func dual(p *mtl.Problem, c mtl.Coupling, alpha [][]float64) (d, gap float64) {
	duals := p.NewDuals()
	for k := range alpha {
		copy(duals.Alpha[k], alpha[k])
	}
	p.RecomputeV(nil, duals)
	w := p.NewWeights()
	c.Primal(&w, &duals.V)
	o := p.Evaluate(testPool, c, &w, &duals.V, duals.Alpha)
	return o.Dual, o.Gap
}

// at returns D of the present model.
func (u *update) at() float64 {
	d, _ := dual(u.p, u.c, u.method.Model().Duals)
	return d
}

// least returns D* from below, certified.
func least(t testing.TB, p *mtl.Problem) float64 {
	t.Helper()
	o := p.Solver(testPool, 1e-9, 20_000).Optimize(t.Context(), start(t, p), nil)
	expect.Must(t, o.RelativeGap <= 1e-9, "the optimum is known to %g only", o.RelativeGap)
	return o.Dual - o.Gap
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))
}
