package algorithms

import (
	"math"
	"testing"

	"fedsim/internal/rng"
	"fedsim/mtl"
)

// exactly solves the subproblem of a device from its present dual variables to
// a gap of 1e-12 and returns a lower bound on its minimum.
func exactly(t *testing.T, a *CoCoA, k int) float64 {
	t.Helper()
	p, curvature := a.Problem, a.Curvature(k)
	w := a.Weights(k)
	alpha := append([]float64(nil), a.Duals.Alpha[k]...)
	u := append([]float64(nil), w...)
	dv := make([]float64, p.Features())
	var order mtl.Order
	order.Reset(len(alpha), rng.New(77, rng.Reference, k, 0))
	for range 5000 {
		p.SDCA(k, alpha, u, curvature, &order, 20*len(alpha))
		s := p.Measure(k, alpha, u, w, dv, curvature)
		if s.Gap <= 1e-12*(1+math.Abs(s.Value)) {
			return s.Value - s.Gap
		}
	}
	t.Fatalf("device %d: the subproblem was not solved", k)
	return 0
}

// value returns the objective of a device's subproblem at dual variables with
// the given change of V, from its definition (eq. subproblem without c(alpha)).
func value(a *CoCoA, k int, alpha, dv []float64) float64 {
	sum := 0.0
	for i, x := range alpha {
		sum += a.Problem.Loss.Conjugate(x, a.Problem.Train.Tasks[k].Y[i])
	}
	sum *= a.Problem.Scale[k]
	for j, w := range a.Weights(k) {
		sum += w*dv[j] + a.Curvature(k)/2*dv[j]*dv[j]
	}
	return sum
}

// certified returns the bound on theta that the duality gap gives for what a
// device has done in this round.
func certified(a *CoCoA, k int) float64 {
	u, curvature := make([]float64, a.Problem.Features()), a.Curvature(k)
	for j, w := range a.Weights(k) {
		u[j] = w + curvature*a.Delta.Row(k)[j]
	}
	dv, zero := make([]float64, len(u)), make([]float64, len(u))
	gap := a.Problem.Measure(k, a.Next[k], u, a.Weights(k), dv, curvature).Gap
	progress := value(a, k, a.Duals.Alpha[k], zero) - value(a, k, a.Next[k], a.Delta.Row(k))
	return gap / (gap + progress)
}

// Every device reaches the accuracy theta in every round:
// theta_t^h = (G(a+da) - G*)/(G(a) - G*) <= theta, with G* computed to high
// accuracy (definition of the relative approximation quality, assumption 2).
func TestCoCoAReachesTheta(t *testing.T) {
	for _, theta := range []float64{0.9, 0.5, 0.1, 0.01} {
		problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
			a := start(t, "cocoa", p, c, func(o Options) {
				*o.(*CoCoAOptions) = CoCoAOptions{Theta: theta, CheckEvery: 0.2, MaxEpochs: 1e6}
			}).(*CoCoA)
			zero := make([]float64, p.Features())
			closest := 0.0
			for h := range 4 {
				a.Begin()
				for k := range p.Devices() {
					least := exactly(t, a, k)
					work := a.Solve(request(k, h, NoLimit, k%2))
					// The work before the last chunk was not enough to be certain.
					n := p.Train.Tasks[k].X.Rows
					if chunk := (n + 4) / 5; work.Steps > chunk {
						a.Solve(request(k, h, (work.Steps-1)/chunk*chunk, 0))
						if certified(a, k) <= theta {
							t.Errorf("round %d: device %d was certain of theta = %g before the last of its %d steps", h, k, theta, work.Steps)
						}
						a.Solve(request(k, h, NoLimit, 0))
					}
					before := value(a, k, a.Duals.Alpha[k], zero)
					after := value(a, k, a.Next[k], a.Delta.Row(k))
					if gain := before - least; gain > 1e-9 {
						quality := (after - least) / gain
						closest = max(closest, quality)
						if quality > theta*(1+1e-6) {
							t.Errorf("round %d: device %d reached %g, want at most %g", h, k, quality, theta)
						}
					}
				}
				for k := range p.Devices() {
					a.Commit(k)
				}
				a.End()
			}
			// The bound is not so loose that the work is always exact.
			if closest < theta/1000 {
				t.Errorf("theta = %g: the worst device has reached %g", theta, closest)
			}
		})
	}
}

// Work is done in chunks of check_every passes, up to max_epochs, and each
// measurement costs half a pass: 2 d n FLOPs.
func TestCoCoAWork(t *testing.T) {
	const n, d = 20, 5
	p, c := randomProblem(t, tiedToMean, nil, d, n, 7)
	for _, x := range []struct {
		every, most float64
		allowed     int
		steps       int
		checks      float64
	}{
		{1, 3, NoLimit, 60, 3}, {0.5, 1, NoLimit, 20, 2}, {1, 2.5, NoLimit, 50, 3}, {5, 3, NoLimit, 60, 1},
		{1, 3, 33, 33, 2}, {1, 3, 1, 1, 1}, {0.001, 0.1, NoLimit, 2, 2}, {0.33, 1, NoLimit, 20, 3},
	} {
		a := start(t, "cocoa", p, c, func(o Options) {
			// An accuracy that is not reached in a few passes.
			*o.(*CoCoAOptions) = CoCoAOptions{Theta: 1e-9, CheckEvery: x.every, MaxEpochs: x.most}
		})
		a.Begin()
		work := a.Solve(request(0, 0, x.allowed, 0))
		measured := x.checks * 2 * d * n
		low, high := measured+float64(x.steps)*(2*d+8), measured+float64(x.steps)*(4*d+8)
		if work.Steps != x.steps || work.FLOPs < low || work.FLOPs > high {
			t.Errorf("check_every = %g, max_epochs = %g, at most %d steps: %+v, want %d steps in [%g, %g] FLOPs",
				x.every, x.most, x.allowed, work, x.steps, low, high)
		}
	}
}

// More accuracy takes more work, and a subproblem that is already solved takes
// one chunk to find that out.
func TestCoCoAWorkGrowsWithAccuracy(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 6, 30, 12)
	last := 0
	for _, theta := range []float64{0.99, 0.5, 0.1, 0.01, 1e-4} {
		a := start(t, "cocoa", p, c, func(o Options) { o.(*CoCoAOptions).Theta = theta })
		a.Begin()
		steps := a.Solve(request(0, 0, NoLimit, 0)).Steps
		if steps < last {
			t.Errorf("theta = %g takes %d steps, a larger one took %d", theta, steps, last)
		}
		last = steps
	}
	if last <= 30 {
		t.Errorf("theta = 1e-4 takes %d steps: a single pass", last)
	}

	one, c := randomProblem(t, untied, nil, 4, 10)
	a := start(t, "cocoa", one, c, func(o Options) { *o.(*CoCoAOptions) = CoCoAOptions{Theta: 1e-12, CheckEvery: 1, MaxEpochs: 1e6} })
	for h := range 3 {
		round(a, one, h, NoLimit, nil)
	}
	a.Begin()
	if steps := a.Solve(request(0, 9, NoLimit, 0)).Steps; steps > 20 {
		t.Errorf("%d steps on a subproblem that was solved before, want a chunk of 10 or two", steps)
	}
	if needs := needsOf("cocoa", &CoCoAOptions{}); needs != (Needs{Everyone: true}) {
		t.Errorf("needs %+v", needs)
	}
}
