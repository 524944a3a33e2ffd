package mtl

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// TestSDCAAgainstSlowTwin replays the same coordinates with every quantity
// computed from scratch.
func TestSDCAAgainstSlowTwin(t *testing.T) {
	cfg := Defaults()
	p := mustProblem(t, cfg, randomSplit(5, 11, 17, 9))
	const curvature = 0.8
	for task := range 2 {
		n := p.Train.Clients[task].X.Rows
		w := randomMatrix(8, 2, 11)
		fast := make([]float64, n)
		u := append([]float64(nil), w.Row(task)...)
		var order, twin Order
		order.Reset(n, rng.New(1, rng.Solve, task, 0))
		twin.Reset(n, rng.New(1, rng.Solve, task, 0))
		const steps = 60
		p.Subproblem(task, curvature).SDCA(fast, u, &order, steps)

		slow := make([]float64, n)
		dv := make([]float64, 11)
		for range steps {
			i := twin.Next()
			clear(dv)
			p.AddV(task, dv, slow)
			x, y := p.Train.Clients[task].X.Row(i), p.Train.Clients[task].Y[i]
			z, norm := 0.0, 0.0
			for j := range x {
				z += x[j] * (w.Row(task)[j] + curvature*dv[j])
				norm += x[j] * x[j]
			}
			slow[i] = y * math.Min(1, math.Max(0, y*slow[i]+(1-y*z)/(curvature*p.Scale[task]*norm)))
		}
		for i := range fast {
			expect.Must(t, near(fast[i], slow[i], 1e-11), "task %d: a[%d] = %g, twin has %g", task, i, fast[i], slow[i])
		}
		clear(dv)
		p.AddV(task, dv, slow)
		for j := range u {
			if want := w.Row(task)[j] + curvature*dv[j]; !near(u[j], want, 1e-11) {
				t.Fatalf("task %d: u[%d] = %g, want w + curvature dv = %g", task, j, u[j], want)
			}
		}
	}
}

// SDCA has the same bits as single steps, also in two calls, and takes one draw a step: for
// every loss, with rows of zeros, in both precisions, and with prefetching.
func TestSDCAEqualsSingleSteps(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(r, "n")
		d := rapid.IntRange(1, 70).Draw(r, "d")
		split := randomSplit(rapid.Uint64().Draw(r, "seed"), d, n, 5)
		split.Train.Clients[0].Y[0], split.Train.Clients[1].Y[0] = 1, -1
		if classes := rapid.SampledFrom([]int{0, 2, 5}).Draw(r, "classes"); classes > 0 {
			split = severalClasses(split, classes)
		}
		clear(split.Train.Clients[0].X.Row(n / 2))
		if rapid.Bool().Draw(r, "single") {
			expect.NoError(r, (data.Config{Precision: data.PrecisionSingle}).Transform(&split))
		}
		cfg := Defaults()
		cfg.Loss = rapid.SampledFrom(ScoreLosses()).Draw(r, "loss")
		p := expect.Value(NewProblem(cfg, split))(r)
		p.exceedsCache = rapid.Bool().Draw(r, "beyond")
		const curvature = 0.3
		type state struct {
			A, U  []float64
			Order Order
			Moved int
		}
		start := randomMatrix(4, 1, p.Values())
		begin := func() *state {
			s := &state{A: p.NewBlocks()[0], U: append([]float64(nil), start.Row(0)...)}
			s.Order.Reset(n, rng.New(9, rng.Solve, 0, 0))
			return s
		}
		steps := rapid.IntRange(0, 100).Draw(r, "steps")
		first := rapid.IntRange(0, steps).Draw(r, "first")
		run, cut, single := begin(), begin(), begin()
		run.Moved = p.Subproblem(0, curvature).SDCA(run.A, run.U, &run.Order, steps)
		cut.Moved = p.Subproblem(0, curvature).SDCA(cut.A, cut.U, &cut.Order, first)
		cut.Moved += p.Subproblem(0, curvature).SDCA(cut.A, cut.U, &cut.Order, steps-first)
		for range steps {
			single.Moved += p.Subproblem(0, curvature).Step(single.A, single.U, single.Order.Next())
		}
		bits := cmp.Options{cmp.AllowUnexported(Order{}, rng.Stream{}),
			cmp.Comparer(func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })}
		diff := cmp.Diff(single, run, bits)
		expect.That(r, diff == "", "a run of %d steps (-one by one +run):\n%s", steps, diff)
		diff = cmp.Diff(single, cut, bits)
		expect.That(r, diff == "", "%d steps cut at %d (-one by one +cut):\n%s", steps, first, diff)
	})
}

func TestOrderVisitsEveryRowOncePerPass(t *testing.T) {
	var o Order
	for _, n := range []int{1, 2, 7, 100} {
		o.Reset(n, rng.New(3, rng.Solve, n, 0))
		var first []int
		for pass := range 3 {
			seen := make([]bool, n)
			var visits []int
			for range n {
				i := o.Next()
				expect.Must(t, !seen[i], "n = %d, pass %d: row %d twice", n, pass, i)
				seen[i] = true
				visits = append(visits, i)
			}
			if pass == 0 {
				first = visits
			} else if n == 100 && equal(first, visits) {
				t.Errorf("pass %d repeats the first permutation", pass)
			}
		}
	}
}

func equal(a, b []int) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestSDCAAllocatesNothing(t *testing.T) {
	p := mustProblem(t, Defaults(), randomSplit(6, 8, 30))
	a, u := make([]float64, 30), make([]float64, 8)
	var order Order
	allocs := testing.AllocsPerRun(20, func() {
		order.Reset(30, rng.New(1, rng.Solve, 0, 0))
		p.Subproblem(0, 1).SDCA(a, u, &order, 90)
	})
	expect.That(t, allocs == 0, "%g allocations a solve, want 0", allocs)
}

// A row of zeros does not affect w, but its loss counts and the gap must close. P* is that of
// the other rows plus the loss of this row at 0.
func TestRowsOfZerosCloseTheGap(t *testing.T) {
	for _, name := range ScoreLosses() {
		split := randomSplit(6, 5, 20, 30)
		x := split.Train.Clients[0].X
		for j := range x.Cols {
			x.Row(4)[j] = 0
		}
		cfg := Defaults()
		cfg.Loss, cfg.LossScaling, cfg.Lambda = name, Sum, 0.5
		p := mustProblem(t, cfg, split)
		c := Identity{M: 2, Scale: 1}
		full := p.Solver(testPool, 1e-9, 2000).Optimize(t.Context(), c, nil)
		expect.That(t, full.RelativeGap <= 1e-9, "%s: the relative gap stays at %g", name, full.RelativeGap)
		task := &split.Train.Clients[0]
		y := task.Y[4]
		without := data.NewMatrix(19, 5)
		for i, to := 0, 0; i < 20; i++ {
			if i != 4 {
				copy(without.Row(to), task.X.Row(i))
				to++
			}
		}
		task.X, task.Y = without, append(append([]float64(nil), task.Y[:4]...), task.Y[5:]...)
		rest := mustProblem(t, cfg, split).Solver(testPool, 1e-9, 2000).Optimize(t.Context(), c, nil)
		want := rest.Primal + p.Loss.Value(0, y)
		expect.That(t, near(full.Primal, want, 1e-8), "%s: P* = %.12g, want %.12g", name, full.Primal, want)
	}
}

// A step of local solves of five passes from zero: squared loss moves every
// coordinate in every step, the hinge but some. For comparison, the same steps
// one by one.
func BenchmarkSDCA(b *testing.B) {
	for _, size := range []struct {
		name       string
		rows, cols int
	}{{"340x561", 340, 561}, {"10000x561", 10000, 561}, {"1400x100", 1400, 100}, {"350x30", 350, 30}, {"50x9", 50, 9}} {
		split := randomSplit(1, size.cols, size.rows)
		split.Test = &data.Set{Clients: make([]data.Client, 1)}
		for _, loss := range []string{LossSquared, LossHinge} {
			cfg := Defaults()
			cfg.Loss = loss
			p := mustProblem(b, cfg, split)
			a, u := make([]float64, size.rows), make([]float64, size.cols)
			var order Order
			solve := func(steps int) {
				clear(a)
				clear(u)
				order.Reset(size.rows, rng.New(1, rng.Solve, 0, steps))
				p.Subproblem(0, 0.05).SDCA(a, u, &order, steps)
			}
			oneByOne := func(steps int) {
				clear(a)
				clear(u)
				order.Reset(size.rows, rng.New(1, rng.Solve, 0, steps))
				for range steps {
					p.Subproblem(0, 0.05).Step(a, u, order.Next())
				}
			}
			run := func(solve func(steps int)) func(b *testing.B) {
				return func(b *testing.B) {
					for left := b.N; left > 0; left -= 5 * size.rows {
						solve(min(left, 5*size.rows))
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/step")
				}
			}
			b.Run(size.name+"/"+loss, run(solve))
			b.Run(size.name+"/"+loss+"/one-by-one", run(oneByOne))
		}
	}
}

// Each step lowers the subproblem, and the gap bounds the distance to its minimum.
func TestDualityGapBoundsTheSubproblem(t *testing.T) {
	p := mustProblem(t, Defaults(), randomSplit(6, 7, 25))
	const curvature = 1.5
	w := randomMatrix(2, 1, 7)
	u, dv := append([]float64(nil), w.Row(0)...), make([]float64, 7)
	a := make([]float64, 25)
	var order Order
	order.Reset(25, rng.New(1, rng.Solve, 0, 0))
	var trail []SubproblemValue
	for range 400 {
		trail = append(trail, p.Subproblem(0, curvature).Evaluate(a, u, w.Row(0), dv))
		p.Subproblem(0, curvature).SDCA(a, u, &order, 25)
	}
	least := trail[len(trail)-1].Value
	for k, s := range trail {
		expect.That(t, s.Gap >= -1e-12, "pass %d: negative gap %g", k, s.Gap)
		expect.That(t, s.Value-least <= s.Gap+1e-12,
			"pass %d: %g above the minimum, but the gap is only %g", k, s.Value-least, s.Gap)
		if k > 0 && s.Value > trail[k-1].Value+1e-12 {
			t.Errorf("pass %d raised the subproblem from %g to %g", k, trail[k-1].Value, s.Value)
		}
	}
	last := trail[len(trail)-1].Gap
	expect.That(t, last <= 1e-9, "gap %g after 400 passes", last)
}
