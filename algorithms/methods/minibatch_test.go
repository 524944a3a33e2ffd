package methods

import (
	"math"
	"reflect"
	"testing"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// The gradient step by hand: W <- W - eta_h (c_t X_t^T s + W M^-1) with all rows
// of the tasks that responded, eta_h = eta_0/(1 + h/delay).
func TestMbSGDIsAGradientStep(t *testing.T) {
	problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
		const eta, delay = 0.07, 3.0
		a := start(t, "mb-sgd", p, c, func(o algorithms.Options) {
			*o.(*algorithms.MbSGDOptions) = algorithms.MbSGDOptions{Batch: 1000, Step: eta, Delay: delay}
		})
		w, z := p.NewWeights(), p.NewWeights()
		s := rng.New(4, rng.Synthetic, 0, 0)
		for t := range p.Tasks() {
			for j := range p.Features {
				w.Row(t)[j] = s.Normal()
			}
		}
		copy(a.Model().W.Data, w.Data) // no gradient is zero
		a.SetCoupling(c)
		for h := range 6 {
			responses := func(k int) bool { return h < 3 || chance(k, h, 0.5) }
			c.Gradient(&z, &w)
			next := data.NewMatrix(p.Tasks(), p.Features)
			copy(next.Data, w.Data)
			step := eta / (1 + float64(h)/delay)
			heard := make([]bool, p.Tasks())
			for k, task := range p.Train.Clients {
				if !responses(k) {
					continue
				}
				heard[p.TaskOf(k)] = true
				for i := range task.X.Rows {
					margin := 0.0
					for j, x := range task.X.Row(i) {
						margin += x * w.Row(p.TaskOf(k))[j]
					}
					if margin*task.Y[i] < 1 {
						for j, x := range task.X.Row(i) {
							next.Row(p.TaskOf(k))[j] += step * p.Scale[k] * task.Y[i] * x
						}
					}
				}
			}
			for t, ok := range heard {
				for j := range p.Features {
					if ok {
						next.Row(t)[j] -= step * z.Row(t)[j]
					}
				}
			}
			w = next
			round(a, p, h, algorithms.NoLimit, responses)
			nearMatrix(t, "W against a gradient step by hand", a.Model().W, &w, 1e-12)
		}
	})
}

// The mini-batch gradient is that of all rows on average: n/b times the sum over
// b rows drawn without replacement.
func TestMbSGDIsUnbiased(t *testing.T) {
	p, c := randomProblem(t, untied, nil, 3, 7)
	whole := start(t, "mb-sgd", p, c, func(o algorithms.Options) { o.(*algorithms.MbSGDOptions).Batch = 7 })
	whole.Begin()
	whole.Solve(request(0, 0, algorithms.NoLimit, 0))
	part := start(t, "mb-sgd", p, c, func(o algorithms.Options) { o.(*algorithms.MbSGDOptions).Batch = 2 })
	const draws = 20_000
	mean, square := make([]float64, 3), make([]float64, 3)
	for h := range draws {
		part.Begin()
		part.Solve(request(0, h, algorithms.NoLimit, 0))
		for j, g := range part.(algorithms.Inspected).Update(0).Values {
			mean[j] += g / draws
			square[j] += g * g / draws
		}
	}
	for j, want := range whole.(algorithms.Inspected).Update(0).Values {
		deviation := math.Sqrt((square[j] - mean[j]*mean[j]) / draws)
		expect.That(t, deviation != 0 && math.Abs(mean[j]-want) <= 5*deviation,
			"component %d: mean %g over %d batches, want %g +- %g", j, mean[j], draws, want, deviation)
	}
}

// R(W) never exceeds P(0) with the projection, whatever the step, and a step
// that stays within is not touched.
func TestMbSGDProjection(t *testing.T) {
	problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
		zero := p.NewWeights()
		atZero := p.Evaluate(testPool, c, &zero, nil, nil).Primal
		scene := func(step float64, project bool) algorithms.Algorithm {
			return start(t, "mb-sgd", p, c, func(o algorithms.Options) {
				*o.(*algorithms.MbSGDOptions) = algorithms.MbSGDOptions{Batch: 5, Step: step, Delay: 1,
					Project: project}
			})
		}
		wild, small, free := scene(1e4, true), scene(1e-5, true), scene(1e-5, false)
		touched := false
		for h := range 20 {
			round(wild, p, h, algorithms.NoLimit, nil)
			round(small, p, h, algorithms.NoLimit, nil)
			round(free, p, h, algorithms.NoLimit, nil)
			r := c.Value(wild.Model().W, nil)
			expect.That(t, r <= atZero*(1+1e-9), "round %d: R(W) = %g, P(0) = %g", h, r, atZero)
			touched = touched || near(r, atZero, 1e-9)
			z := p.NewWeights()
			c.Gradient(&z, wild.Model().W)
			stored := reflect.ValueOf(wild).Elem().FieldByName("z").FieldByName("Data")
			for j, want := range z.Data {
				if got := stored.Index(j).Float(); !near(got, want, 1e-9) {
					t.Errorf("round %d: value %d of the stored gradient of R is %g, want %g", h, j, got, want)
				}
			}
			err := same(snapshot(small), snapshot(free))
			expect.That(t, err == nil, "round %d: a small step with and without projection: %v", h, err)
		}
		expect.That(t, touched, "nothing was projected")
	})
}

// stepOf returns eta_0 of mb-sgd.
func stepOf(a algorithms.Algorithm) float64 {
	return reflect.ValueOf(a).Elem().FieldByName("step").Float()
}

// The classical step: eta_0 is the inverse of the strong convexity of R.
func TestMbSGDDefaultStep(t *testing.T) {
	p, c := randomProblem(t, untied, nil, 3, 7, 9)
	// R(W) = lambda m/2 |W|^2 with lambda = 0.05, m = 2.
	if got, want := stepOf(start(t, "mb-sgd", p, c, nil)), 1/(0.05*2); !near(got, want, 1e-12) {
		t.Errorf("eta_0 = %g, want %g", got, want)
	}
	if got :=
		stepOf(
			start(t, "mb-sgd", p, c, func(o algorithms.Options) { o.(*algorithms.MbSGDOptions).Step = 0.3 })); got !=
		0.3 {
		t.Errorf("eta_0 = %g, want 0.3", got)
	}
}

// After an Omega update the steps start over.
func TestMbSGDStepsStartOver(t *testing.T) {
	p, c := randomProblem(t, learnt, nil, 4, 8, 9)
	a := start(t, "mb-sgd", p, c, func(o algorithms.Options) { o.(*algorithms.MbSGDOptions).Step = 0.5 })
	for h := range 5 {
		round(a, p, h, algorithms.NoLimit, nil)
	}
	b := start(t, "mb-sgd", p, c, func(o algorithms.Options) { o.(*algorithms.MbSGDOptions).Step = 0.5 })
	copy(b.Model().W.Data, a.Model().W.Data)
	a.SetCoupling(c)
	b.SetCoupling(c)
	round(a, p, 5, algorithms.NoLimit, nil)
	round(b, p, 5, algorithms.NoLimit, nil)
	err := same(snapshot(a), snapshot(b))
	expect.That(t, err == nil, "%v", err)
}

// Mini-batch SDCA by hand: b coordinates drawn without replacement, each solved
// at the same w, moved a share beta/b of the way.
func TestMbSDCAAgainstSlowTwin(t *testing.T) {
	problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
		for _, o := range []algorithms.MbSDCAOptions{{Batch: 1, Beta: 1}, {Batch: 4, Beta: 1}, {Batch: 4, Beta: 3},
			{Batch: 4, Beta: 4}, {Batch: 100, Beta: 2}, {Batch: 100, Beta: 50}} {
			a := startDual(t, "mb-sdca", p, c, func(x algorithms.Options) { *x.(*algorithms.MbSDCAOptions) = o })
			for h := range 5 {
				a.Begin()
				for k := range p.Clients() {
					response := a.Solve(request(k, h, algorithms.NoLimit, 0))
					task := &p.Train.Clients[k]
					n := task.X.Rows
					b := min(o.Batch, n)
					share := min(1, o.Beta/float64(b))
					var order mtl.Order
					order.Reset(n, rng.New(1, rng.Solve, k, h))
					want := append([]float64(nil), a.Duals.Alpha[k]...)
					dv := make([]float64, p.Features)
					seen := map[int]bool{}
					for range b {
						i := order.Next()
						expect.Must(t, !seen[i], "row %d was drawn twice", i)
						seen[i] = true
						z, norm := 0.0, 0.0
						for j, x := range task.X.Row(i) {
							z += x * a.Weights(k)[j]
							norm += x * x
						}
						y := task.Y[i]
						best := y * math.Min(1, math.Max(0, y*want[i]+(1-y*z)/(a.Curvature(k)*p.Scale[k]*norm)))
						change := share * (best - want[i])
						want[i] += change
						for j, x := range task.X.Row(i) {
							dv[j] += p.Scale[k] * change * x
						}
					}
					expect.That(t, response.Steps == b && response.FLOPs == float64(b)*(4*float64(p.Features)+8),
						"device %d: %+v, want %d coordinates", k, response, b)
					for i := range want {
						if !near(a.Next[k][i], want[i], 1e-12) {
							t.Fatalf("b = %d, beta = %g, round %d: alpha_%d[%d] = %v, by hand %v", o.Batch, o.Beta, h,
								k, i, a.Next[k][i], want[i])
						}
					}
					for j := range dv {
						if !near(a.Delta.Row(k)[j], dv[j], 1e-12) {
							t.Fatalf("b = %d, beta = %g, round %d: dv_%d[%d] = %v, by hand %v", o.Batch, o.Beta, h, k,
								j, a.Delta.Row(k)[j], dv[j])
						}
					}
				}
				for k := range p.Clients() {
					a.Commit(k, 1)
				}
				a.End()
			}
		}
	})
}

func TestBatchSize(t *testing.T) {
	for _, x := range []struct{ configured, allowed, rows, want int }{
		{8, algorithms.NoLimit, 20, 8}, {8, algorithms.NoLimit, 5, 5}, {8, 3, 20, 3}, {0, 3, 20, 3}, {0, 30, 20, 20},
		{1, 1, 1, 1},
	} {
		f, _ := algorithms.Lookup("mb-sgd")
		if got := f.Describe(&algorithms.MbSGDOptions{Batch: x.configured}, mtl.Shape{}).Work.Steps(x.rows,
			x.allowed); got != x.want {
			t.Errorf("a batch of %d, %d allowed, %d rows: %d, want %d", x.configured, x.allowed, x.rows, got, x.want)
		}
	}
	for _, name := range []string{"mb-sdca", "mb-sgd"} {
		for _, batch := range []int{0, 5} {
			factory, _ := algorithms.Lookup(name)
			o := factory.Options()
			switch o := o.(type) {
			case *algorithms.MbSDCAOptions:
				o.Batch = batch
			case *algorithms.MbSGDOptions:
				o.Batch = batch
			}
			if needs := factory.Describe(o, mtl.Shape{}).
				Needs; needs != (algorithms.Needs{Budget: batch == 0, Dual: name == "mb-sdca"}) {
				t.Errorf("%s with a batch of %d needs %+v", name, batch, needs)
			}
		}
	}
}
