package methods

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// randomProblem makes a small classification problem of devices with the given numbers
// of rows. Each has a separate task, or that of owner. Labels follow a direction that
// all share in part, one in ten is flipped. change may be nil.
func randomProblem(t testing.TB, change func(*mtl.Config), owner []int, features int,
	sizes ...int) (*mtl.Problem, mtl.Coupling) {
	t.Helper()
	train := &data.Set{Name: "random", Features: features, Generated: true}
	test := &data.Set{Name: "random", Features: features, Generated: true}
	shared := rng.New(2, rng.Skew, -1, 0)
	common := make([]float64, features)
	for j := range common {
		common[j] = shared.Normal()
	}
	for k, n := range sizes {
		own := rng.New(2, rng.Skew, k, 0)
		w := make([]float64, features)
		for j := range w {
			w[j] = common[j] + own.Normal()
		}
		draw := rng.New(2, rng.Synthetic, k, 0)
		task := data.Client{Name: fmt.Sprint(k), X: data.NewMatrix(n, features), Y: make([]float64, n)}
		for i := range n {
			z := 0.0
			for j, x := 0, task.X.Row(i); j < features; j++ {
				x[j] = draw.Normal()
				z += x[j] * w[j]
			}
			task.Y[i] = math.Copysign(1, z)
			if draw.Float64() < 0.1 {
				task.Y[i] = -task.Y[i]
			}
		}
		train.Clients = append(train.Clients, task)
		test.Clients = append(test.Clients, data.Client{Name: task.Name, X: data.NewMatrix(0, features)})
	}
	train.Owner = owner
	tasks := len(sizes)
	if owner != nil {
		tasks = slices.Max(owner) + 1
	}
	test.Clients = test.Clients[:tasks]
	cfg := mtl.Defaults()
	cfg.Lambda, cfg.Lambda1, cfg.Lambda2 = 0.05, 0.2, 0.02
	if change != nil {
		change(&cfg)
	}
	p := mustProblem(t, cfg, data.Split{Train: train, Test: test})
	return p, warmed(t, p)
}

// warmed returns the coupling of a problem after its warm_omega.
func warmed(t testing.TB, p *mtl.Problem) mtl.Coupling {
	t.Helper()
	c := expect.Value(p.Solver(testPool, 1e-3, 1000).LearnCoupling(t.Context(), p.Config.WarmOmega,
		0.1))(t)
	return c
}

func mustProblem(t testing.TB, cfg mtl.Config, split data.Split) *mtl.Problem {
	t.Helper()
	p := expect.Value(mtl.NewProblem(cfg, split))(t)
	return p
}

func tiedToMean(c *mtl.Config)   { c.Regularizer = mtl.RegMean }
func untied(c *mtl.Config)       { c.Regularizer = mtl.RegIndependent }
func learnt(c *mtl.Config)       { c.WarmOmega = 2 }
func summed(c *mtl.Config)       { c.LossScaling, c.WarmOmega = mtl.Sum, 2 }
func perTask(c *mtl.Config)      { c.SigmaPrime, c.WarmOmega = mtl.SigmaPerTask, 2 }
func damped(c *mtl.Config)       { c.Gamma, c.Regularizer = 0.6, mtl.RegMean }
func dampedLearnt(c *mtl.Config) { c.Gamma, c.WarmOmega, c.SigmaPrime = 0.3, 1, mtl.SigmaLemma9 }

// problems calls f for each test problem: tasks tied to their mean, tied by a learned
// coupling, not tied; both scalings of the loss; the rules for sigma' and gamma; devices
// that share tasks.
func problems(t *testing.T, f func(t *testing.T, p *mtl.Problem, c mtl.Coupling)) {
	for _, v := range []struct {
		name   string
		change func(*mtl.Config)
		owner  []int
	}{
		{"mean", tiedToMean, nil},
		{"independent", untied, nil},
		{"learnt", learnt, nil},
		{"sum", summed, nil},
		{"per-task", perTask, nil},
		{"gamma", damped, nil},
		{"shared", tiedToMean, []int{0, 1, 0, 2, 0}},
		{"shared independent", untied, []int{1, 1, 0, 0, 1}},
		{"shared per-task gamma", dampedLearnt, []int{1, 1, 0, 2, 2}},
	} {
		t.Run(v.name, func(t *testing.T) {
			p, c := randomProblem(t, v.change, v.owner, 9, 14, 5, 30, 8, 21)
			f(t, p, c)
		})
	}
}

// shown is a copy of a model.
type shown struct {
	w, v  []float64
	duals [][]float64
}

func snapshot(a algorithms.Algorithm) shown {
	m := a.Model()
	s := shown{w: slices.Clone(m.W.Data)}
	if m.V != nil {
		s.v = slices.Clone(m.V.Data)
	}
	for _, block := range m.Duals {
		s.duals = append(s.duals, slices.Clone(block))
	}
	return s
}

// same compares states bit by bit.
func same(a, b shown) error {
	compare := func(what string, x, y []float64) error {
		if len(x) != len(y) {
			return fmt.Errorf("%s: %d values against %d", what, len(x), len(y))
		}
		for i := range x {
			if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
				return fmt.Errorf("%s[%d]: %v against %v", what, i, x[i], y[i])
			}
		}
		return nil
	}
	if err := compare("W", a.w, b.w); err != nil {
		return err
	}
	if err := compare("V", a.v, b.v); err != nil {
		return err
	}
	if len(a.duals) != len(b.duals) {
		return fmt.Errorf("%d blocks of dual variables against %d", len(a.duals), len(b.duals))
	}
	for t := range a.duals {
		if err := compare(fmt.Sprintf("alpha_%d", t), a.duals[t], b.duals[t]); err != nil {
			return err
		}
	}
	return nil
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))
}

// request asks a device in round h, like round.
func request(device, h, steps, worker int) algorithms.Request {
	return algorithms.Request{Device: device, Round: h, Steps: steps, Worker: worker,
		Stream: rng.New(1, rng.Solve, device, h)}
}
