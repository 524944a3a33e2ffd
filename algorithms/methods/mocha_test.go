package methods

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// "epochs" are passes over a device's own rows, rounded up; the protocol may
// allow fewer, never more.
func TestMOCHASteps(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 5, 7, 20)
	for _, x := range []struct {
		epochs         float64
		allowed, seven int
		twenty         int
	}{
		{1, algorithms.NoLimit, 7, 20}, {0.5, algorithms.NoLimit, 4, 10}, {0.01, algorithms.NoLimit, 1, 1},
		{2.5, algorithms.NoLimit, 18, 50}, {1, 9, 7, 9}, {2, 1, 1, 1}, {0, 13, 13, 13}, {0, 1, 1, 1},
	} {
		a := start(t, "mocha", p, c, func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = x.epochs })
		a.Begin()
		if got := a.Solve(request(0, 0, x.allowed, 0)).Steps; got != x.seven {
			t.Errorf("%g epochs of 7 rows, %d steps allowed: %d steps, want %d", x.epochs, x.allowed, got, x.seven)
		}
		if got := a.Solve(request(1, 0, x.allowed, 0)).Steps; got != x.twenty {
			t.Errorf("%g epochs of 20 rows, %d steps allowed: %d steps, want %d", x.epochs, x.allowed, got, x.twenty)
		}
		if needs := needsOf("mocha",
			&algorithms.MOCHAOptions{Epochs: x.epochs}); needs != (algorithms.Needs{Budget: x.epochs == 0,
			Dual: true}) {
			t.Errorf("%g epochs: needs %+v", x.epochs, needs)
		}
	}
}

// needsOf returns a method's demands on the round protocol.
func needsOf(name string, o algorithms.Options) algorithms.Needs {
	factory, _ := algorithms.Lookup(name)
	return factory.Describe(o, mtl.Shape{}).Needs
}

// A step that moves its coordinate is a dot product, an axpy and eight
// operations; one that does not saves the axpy.
func TestMOCHAFLOPs(t *testing.T) {
	p, c := randomProblem(t, untied, nil, 6, 40)
	a := startDual(t, "mocha", p, c, nil)
	const d = 6
	idle := 0
	for h := range 50 {
		a.Begin()
		response := a.Solve(request(0, h, algorithms.NoLimit, 0))
		moved := 0
		for i := range a.Next[0] { // each row once: one epoch
			if a.Next[0][i] != a.Duals.Alpha[0][i] {
				moved++
			}
		}
		if want := float64(moved*(4*d+8) + (40-moved)*(2*d+8)); response.FLOPs != want {
			t.Errorf("round %d: %g FLOPs for %d of 40 steps that moved, want %g", h, response.FLOPs, moved, want)
		}
		idle += 40 - moved
		a.Commit(0, 1)
		a.End()
	}
	expect.That(t, idle != 0 && idle != 50*40, "%d of 2000 steps were idle", idle)
}

// With one device sigma' is exact: enough epochs of a single round solve the problem.
func TestMOCHASolvesOneDeviceInOneRound(t *testing.T) {
	for _, change := range []func(*mtl.Config){untied, tiedToMean, learnt} {
		p, c := randomProblem(t, change, nil, 6, 40)
		a := start(t, "mocha", p, c, func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 4000 })
		round(a, p, 0, algorithms.NoLimit, nil)
		v := evaluate(a, p, c)
		exact := p.Solver(testPool, 1e-9, 10_000).Optimize(t.Context(), c, nil)
		if math.Abs(v.Primal-exact.Primal) > 1e-7*exact.Primal || v.Gap > 1e-7*v.Primal {
			t.Errorf("%s: P = %v with a gap of %g after a round of 4000 epochs, the optimum is %v",
				p.Config.Regularizer, v.Primal, v.Gap, exact.Primal)
		}
	}
}

// Devices that share a task share its row of V and W (Remark 4): splitting a
// task's rows over devices does not change the problem.
func TestSharedTasksAreTheSameProblem(t *testing.T) {
	split, c := randomProblem(t, tiedToMean, []int{0, 1, 0}, 6, 12, 20, 9)
	for _, name := range []string{"mocha", "cocoa"} {
		a := start(t, name, split, c, func(o algorithms.Options) {
			if o, ok := o.(*algorithms.MOCHAOptions); ok {
				o.Epochs = 5
			}
		})
		for h := range 600 {
			round(a, split, h, algorithms.NoLimit, nil)
		}
		m := a.Model()
		expect.Must(t, m.W.Rows == 2 && len(m.Duals) == 3,
			"%s: %d tasks on %d devices, want 2 on 3", name, m.W.Rows, len(m.Duals))
		// The loss by hand: rows of devices 0 and 2 against w_0, each 1/21.
		primal := c.Value(m.W, nil)
		for k, task := range split.Train.Clients {
			n := []float64{21, 20, 21}[k]
			for i := range task.X.Rows {
				z := 0.0
				for j, x := range task.X.Row(i) {
					z += x * m.W.Row([]int{0, 1, 0}[k])[j]
				}
				primal += math.Max(0, 1-task.Y[i]*z) / n
			}
		}
		v := evaluate(a, split, c)
		expect.That(t, near(v.Primal, primal, 1e-12), "%s: P = %v, by hand %v", name, v.Primal, primal)
		expect.That(t, v.Gap <= 1e-4*v.Primal, "%s: a gap of %g at P = %g after 600 rounds", name, v.Gap, v.Primal)
	}
}

// Aggregation with gamma: alpha and V go a share gamma of the way (Algorithm 1
// with eq. sigmaPrimeSafeDefinition), and for one device with gamma = 1/2 the
// result of a solve is half of that with sigma' = 1/2.
func TestGammaScalesUpdates(t *testing.T) {
	half := func(c *mtl.Config) { untied(c); c.Gamma = 0.5 }
	p, c := randomProblem(t, half, nil, 6, 25, 10)
	a := startDual(t, "mocha", p, c, nil)
	for h := range 20 {
		before := snapshot(a)
		a.Begin()
		for k := range p.Clients() {
			// sigma' = gamma for a task on its own device.
			got, want := a.Curvature(k), 0.5*c.Diag(k)
			expect.Must(t, near(got, want, 1e-14), "curvature %g, want %g", got, want)
			a.Solve(request(k, h, algorithms.NoLimit, 0))
		}
		a.Commit(0, 1)
		a.Discard(1)
		for i, x := range a.Duals.Alpha[0] {
			if want := (before.duals[0][i] + a.Next[0][i]) / 2; !near(x, want, 1e-15) {
				t.Fatalf("round %d: alpha_0[%d] = %g, want half way from %g to %g", h, i, x, before.duals[0][i],
					a.Next[0][i])
			}
		}
		for j := range p.Features {
			if want := before.v[j] + a.Delta.Row(0)[j]/2; !near(a.Duals.V.Row(0)[j], want, 1e-14) {
				t.Fatalf("round %d: v_0[%d] = %g, want %g", h, j, a.Duals.V.Row(0)[j], want)
			}
		}
		a.End()
		err := same(shown{duals: snapshot(a).duals[1:]}, shown{duals: before.duals[1:]})
		expect.Must(t, err == nil, "round %d: device 1 was discarded: %v", h, err)
	}
}
