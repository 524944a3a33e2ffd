package methods

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// exactly solves the subproblem of a device from its present dual variables to
// a gap of 1e-12 and returns a lower bound on its minimum.
func exactly(t *testing.T, a dualRun, k int) float64 {
	t.Helper()
	p, curvature := a.Problem, a.Curvature(k)
	w := a.Weights(k)
	alpha := append([]float64(nil), a.Duals.Alpha[k]...)
	u := append([]float64(nil), w...)
	dv := make([]float64, p.Features)
	var order mtl.Order
	order.Reset(len(alpha), rng.New(77, rng.Reference, k, 0))
	for range 5000 {
		p.Subproblem(k, curvature).SDCA(alpha, u, &order, 20*len(alpha))
		s := p.Subproblem(k, curvature).Evaluate(alpha, u, w, dv)
		if s.Gap <= 1e-12*(1+math.Abs(s.Value)) {
			return s.Value - s.Gap
		}
	}
	t.Fatalf("device %d: the subproblem was not solved", k)
	return 0
}

// value returns the objective of a device's subproblem at dual variables with
// the given change of V, from its definition (eq. subproblem without c(alpha)).
func value(a dualRun, k int, alpha, dv []float64) float64 {
	sum := 0.0
	for i, x := range alpha {
		sum += a.Problem.Loss.Conjugate(x, a.Problem.Train.Clients[k].Y[i])
	}
	sum *= a.Problem.Scale[k]
	for j, w := range a.Weights(k) {
		sum += w*dv[j] + a.Curvature(k)/2*dv[j]*dv[j]
	}
	return sum
}

// certified returns the bound on theta that the duality gap gives for a device's work in
// this round.
func certified(a dualRun, k int) float64 {
	u, curvature := make([]float64, a.Problem.Features), a.Curvature(k)
	for j, w := range a.Weights(k) {
		u[j] = w + curvature*a.Delta.Row(k)[j]
	}
	dv, zero := make([]float64, len(u)), make([]float64, len(u))
	gap := a.Problem.Subproblem(k, curvature).Evaluate(a.Next[k], u, a.Weights(k), dv).Gap
	progress := value(a, k, a.Duals.Alpha[k], zero) - value(a, k, a.Next[k], a.Delta.Row(k))
	return gap / (gap + progress)
}

// variants calls f for problems of every kind, with every loss, and with tasks that
// devices share.
func variants(t *testing.T, f func(t *testing.T, p *mtl.Problem, c mtl.Coupling)) {
	problems(t, f)
	for _, loss := range mtl.ScoreLosses() {
		t.Run(loss, func(t *testing.T) {
			p, c := randomProblem(t, func(c *mtl.Config) { tiedToMean(c); c.Loss = loss }, nil, 9, 14, 5, 30, 8, 21)
			f(t, p, c)
		})
	}
	t.Run("shared", func(t *testing.T) {
		cfg := data.Defaults()
		cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.ClientsPerTask = 3, 8, 2
		split := expect.Value(data.Prepare(cfg))(t)
		p := mustProblem(t, mtl.Defaults(), *split)
		c := expect.Value(p.Solver(testPool, 1e-6, 2000).LearnCoupling(t.Context(), 2, 0.1))(t)
		f(t, p, c)
	})
}

// quality returns theta_t^h of a device's work in this round by its definition, and
// whether the possible gain was large enough to know it to six digits; least is the
// minimum of the subproblem.
func quality(a dualRun, k int, least float64) (theta float64, known bool) {
	zero := make([]float64, a.Problem.Features)
	before := value(a, k, a.Duals.Alpha[k], zero)
	after := value(a, k, a.Next[k], a.Delta.Row(k))
	return (after - least) / (before - least), before-least > 1e-6*(1+math.Abs(before))
}

// Every device reaches the accuracy theta in every round:
// theta_t^h = (G(a+da) - G*)/(G(a) - G*) <= theta, with G* computed to high
// accuracy (definition of the relative approximation quality, assumption 2). No
// device continues after that: at the check before, the true theta, or under the
// certificate the bound, was above theta.
func TestCoCoAReachesThetaAndNoMore(t *testing.T) {
	t.Parallel()
	for _, stop := range []string{algorithms.StopTheta, algorithms.StopCertificate} {
		for _, theta := range []float64{0.99, 0.5, 0.01} {
			variants(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
				a := startDual(t, "cocoa", p, c, func(o algorithms.Options) {
					*o.(*algorithms.CoCoAOptions) = algorithms.CoCoAOptions{Theta: theta, Stop: stop, CheckEvery: 0.1,
						MaxEpochs: 1e5}
				})
				reached, short := 0, 0
				for h := range 16 {
					a.Begin()
					for k := range p.Clients() {
						response := a.Solve(request(k, h, algorithms.NoLimit, k%2))
						if h < 4 || h >= 12 { // also late, when the possible gain is small
							least := exactly(t, a, k)
							got, known := quality(a, k, least)
							if known && got > theta*(1+1e-5) || response.Capped {
								t.Errorf("%s, round %d: device %d reached %.9g in %d steps, want %g", stop, h, k, got,
									response.Steps, theta)
							} else if known {
								reached++
							}
							chunk := (p.Train.Clients[k].X.Rows + 9) / 10
							if response.Steps > chunk {
								before := a.Solve(request(k, h, (response.Steps-1)/chunk*chunk, 0))
								got, known := quality(a, k, least)
								if stop == algorithms.StopCertificate {
									got, known = certified(a, k), true
								}
								if known && got <= theta*(1-1e-5) || !before.Capped {
									t.Errorf("%s, round %d: device %d was at %.9g before the last of its %d steps, "+
										"want more than %g", stop, h, k, got, response.Steps, theta)
								} else if known {
									short++
								}
								a.Solve(request(k, h, algorithms.NoLimit, 0))
							}
						}
						a.Commit(k, 1)
					}
					a.End()
				}
				if reached < 4 || theta < 0.9 && short < 4 {
					t.Errorf("%s, theta = %g: reached %d times, short of it before %d times: the test shows nothing",
						stop, theta, reached, short)
				}
			})
		}
	}
}

// A device that reaches its limit of passes before theta reports it, and its work ends
// there.
func TestCoCoASaysWhereItIsShortOfTheta(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	for _, stop := range []string{algorithms.StopTheta, algorithms.StopCertificate} {
		capped := 0
		for _, epochs := range []float64{0.1, 1, 100} {
			a := startDual(t, "cocoa", p, c, func(o algorithms.Options) {
				*o.(*algorithms.CoCoAOptions) = algorithms.CoCoAOptions{Theta: 0.05, Stop: stop, CheckEvery: 0.1,
					MaxEpochs: epochs}
			})
			a.Begin()
			for k := range p.Clients() {
				response := a.Solve(request(k, 0, algorithms.NoLimit, 0))
				bound := theta(a.Problem, a, k)
				if stop == algorithms.StopCertificate {
					bound = certified(a, k)
				}
				expect.That(t, response.Capped == (bound > 0.05),
					"%s: device %d, at most %g epochs: capped = %v at %g of 0.05",
					stop, k, epochs, response.Capped, bound)
				if response.Capped {
					capped++
					if want := int(math.Ceil(epochs * float64(len(a.Next[k])))); response.Steps != want {
						t.Errorf("%s: device %d ended short of theta after %d steps, want %d", stop, k, response.Steps,
							want)
					}
				}
			}
		}
		expect.That(t, capped >= 3 && capped != 9,
			"%s: %d of 9 were short of theta: the test shows nothing", stop, capped)
	}
}

// When rounding hides all further gains, theta is 0 by definition, and a device
// makes one check interval to find out.
func TestCoCoAOnASolvedSubproblem(t *testing.T) {
	for _, loss := range mtl.ScoreLosses() {
		// Tasks that are not coupled: a round solves them.
		p, c := randomProblem(t, func(c *mtl.Config) { untied(c); c.Loss = loss }, nil, 4, 10, 17)
		a := startDual(t, "cocoa", p, c, func(o algorithms.Options) {
			*o.(*algorithms.CoCoAOptions) = algorithms.CoCoAOptions{Theta: 1e-6, Stop: algorithms.StopTheta,
				CheckEvery: 1, MaxEpochs: 1e5}
		})
		for h := range 6 {
			round(a, p, h, algorithms.NoLimit, nil)
		}
		a.Begin()
		for k, n := range []int{10, 17} {
			if response := a.Solve(request(k, 9, algorithms.NoLimit, 0)); response.Steps != n || response.Capped {
				t.Errorf("%s: %d steps on a solved subproblem of %d rows, capped = %v", loss, response.Steps, n,
					response.Capped)
			}
			theta := theta(a.Problem, a, k)
			expect.That(t, theta == 0, "%s: theta = %g, want 0", loss, theta)
		}
	}
}

// Work is done in chunks of check_every passes, up to max_epochs. Under the
// certificate each check costs half a pass: 2 d n FLOPs. The true theta costs none.
func TestCoCoAWork(t *testing.T) {
	const n, d = 20, 5
	p, c := randomProblem(t, tiedToMean, nil, d, n, 7)
	for _, x := range []struct {
		every, most float64
		allowed     int
		steps       int
		checks      float64
	}{
		{1, 3, algorithms.NoLimit, 60, 3}, {0.5, 1, algorithms.NoLimit, 20, 2}, {1, 2.5, algorithms.NoLimit, 50, 3},
		{5, 3, algorithms.NoLimit, 60, 1}, {1, 3, 33, 33, 2}, {1, 3, 1, 1, 1}, {0.001, 0.1, algorithms.NoLimit, 2, 2},
		{0.33, 1, algorithms.NoLimit, 20, 3},
	} {
		a := start(t, "cocoa", p, c, func(o algorithms.Options) {
			// An accuracy that a few passes do not reach.
			*o.(*algorithms.CoCoAOptions) = algorithms.CoCoAOptions{Theta: 1e-9, Stop: algorithms.StopCertificate,
				CheckEvery: x.every, MaxEpochs: x.most}
		})
		a.Begin()
		response := a.Solve(request(0, 0, x.allowed, 0))
		mocha := start(t, "mocha", p, c, func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 0 })
		mocha.Begin()
		steps := mocha.Solve(request(0, 0, x.steps, 0)).FLOPs
		if response.Steps != x.steps || response.FLOPs != steps+x.checks*2*d*n {
			t.Errorf("check_every = %g, max_epochs = %g, at most %d steps: %+v, want %d steps, "+
				"%g FLOPs for them and %g for checks",
				x.every, x.most, x.allowed, response, x.steps, steps, x.checks*2*d*n)
		}
		a = start(t, "cocoa", p, c, func(o algorithms.Options) {
			*o.(*algorithms.CoCoAOptions) = algorithms.CoCoAOptions{Theta: 1e-9, Stop: algorithms.StopTheta,
				CheckEvery: x.every, MaxEpochs: x.most}
		})
		a.Begin()
		if free := a.Solve(request(0, 0, x.allowed, 0)); free.Steps != x.steps || free.FLOPs != steps {
			t.Errorf("check_every = %g, max_epochs = %g, at most %d steps: %+v, want %d steps and %g FLOPs", x.every,
				x.most, x.allowed, free, x.steps, steps)
		}
	}
}
