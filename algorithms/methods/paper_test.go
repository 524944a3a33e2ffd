package methods

// The paper's sentences on methods as tests, as in mtl/paper_test.go: Algorithm
// 1 line by line, theta, and what section 4 and the appendix say of CoCoA and of
// the mini-batch methods. docs/paper.md lists the tests of each claim.

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/rooms/theory"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/kernel"
	"fedsim/mtl"
)

// dualMethods are those that Algorithm 1's state belongs to.
var dualMethods = []string{"mocha", "cocoa", "mb-sdca"}

// Algorithm 1, line 2: "starting point alpha := 0, v := 0".
func TestAlgorithm1StartsAtZero(t *testing.T) {
	for _, name := range dualMethods {
		p, c := randomProblem(t, learnt, nil, 6, 9, 14)
		d := dualOf(start(t, name, p, c, smaller))
		for _, block := range append([][]float64{d.Duals.V.Data, d.W.Data}, d.Duals.Alpha...) {
			for _, x := range block {
				expect.Must(t, x == 0, "%s: starts from %g", name, x)
			}
		}
	}
}

// Algorithm 1, lines 7 to 10: the local solver returns da_t; alpha_t <- alpha_t
// + da_t; dv_t = X_t da_t is sent; v_t <- v_t + dv_t.
func TestAlgorithm1UpdatesAlphaAndV(t *testing.T) {
	for _, name := range dualMethods {
		problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
			a := start(t, name, p, c, smaller)
			d := dualOf(a)
			gamma := p.Config.Gamma // 1 in Algorithm 1; appendix C's notation has it general
			for h := range 4 {
				before := snapshot(a)
				a.Begin()
				v := append([]float64(nil), before.v...)
				for k := range p.Clients() {
					a.Solve(request(k, h, algorithms.NoLimit, 0))
					dv := make([]float64, p.Features)
					for i, next := range d.Next[k] {
						for j, x := range p.Train.Clients[k].X.Row(i) {
							dv[j] += p.Scale[k] * (next - before.duals[k][i]) * x
						}
					}
					for j := range dv {
						if sent := d.Delta.Row(k)[j]; !near(sent, dv[j], 1e-10) {
							t.Fatalf("%s: device %d sends dv[%d] = %v, X_t da_t = %v", name, k, j, sent, dv[j])
						}
						v[p.TaskOf(k)*d.Duals.V.Stride+j] += gamma * dv[j]
					}
				}
				for k := range p.Clients() {
					a.Commit(k, 1)
				}
				a.End()
				for k, block := range d.Duals.Alpha {
					for i, x := range block {
						want := before.duals[k][i] + gamma*(d.Next[k][i]-before.duals[k][i])
						expect.Must(t, near(x, want, 1e-14), "%s: alpha_%d[%d] = %v, want %v", name, k, i, x, want)
					}
				}
				for i, x := range d.Duals.V.Data {
					expect.Must(t, near(x, v[i], 1e-10), "%s: V[%d] = %v, want %v", name, i, x, v[i])
				}
			}
		})
	}
}

// Algorithm 1, lines 11 to 13: Omega is updated from w(alpha) "for latest
// alpha", which stays, and W is w(alpha) under the new Omega: a function of
// alpha alone.
func TestAlgorithm1KeepsAlphaAcrossOmegaUpdates(t *testing.T) {
	for _, name := range dualMethods {
		p, c := randomProblem(t, learnt, nil, 9, 14, 5, 30)
		a := start(t, name, p, c, smaller)
		for h := range 10 {
			round(a, p, h, algorithms.NoLimit, nil)
		}
		before := snapshot(a)
		next := expect.Value(p.Regularizer.Update(testPool, a.Model().W, 1e-6))(t)
		a.SetCoupling(next)
		after := snapshot(a)
		if err := same(shown{duals: before.duals}, shown{duals: after.duals}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fresh, want := imageOf(p, after.duals), p.NewWeights()
		next.Primal(&want, &fresh)
		nearMatrix(t, name+": W against w(alpha)", a.Model().W, &want, 1e-11)
	}
}

// Section 3.3: v_t "is the only information that must be communicated between
// nodes at each iteration", d numbers each way, and appendix E: "all methods ...
// communicate the same size vector at each iteration". The line search of
// async-mocha, which is not the paper's, takes one number more, and the control variates of
// scaffold double it.
func TestOnlyDNumbersAreCommunicated(t *testing.T) {
	for _, name := range learningMethods() {
		for _, d := range []int{3, 11} {
			for _, sizes := range [][]int{{9, 14}, {9, 40, 14, 5, 6, 8}} {
				p, c := randomProblem(t, tiedToMean, nil, d, sizes...)
				a := start(t, name, p, c, smaller)
				if down, _ := a.Begin(); down.Size != downloads(name, p) {
					t.Errorf("%s: %d numbers to each device, d = %d", name, down.Size, d)
				}
				for k := range p.Clients() {
					if up := a.Solve(request(k, 0, algorithms.NoLimit, 0)).Values; up != uploads(name, p) {
						t.Errorf("%s: device %d with %d rows of %d devices sends %d numbers, d = %d", name, k, sizes[k],
							len(sizes), up, d)
					}
				}
			}
		}
	}
}

// Section 3.4 and definition 1: theta_t^h "ranges from zero to one"; 0 "indicates
// an exact solution", 1 "that node t made no progress".
func TestThetaRangesFromExactToNoProgress(t *testing.T) {
	problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
		a := startDual(t, "mocha", p, c, func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 0 })
		round(a, p, 0, 3, nil)
		a.Begin()
		for k := range p.Clients() {
			last := 1.0
			copy(a.Next[k], a.Duals.Alpha[k]) // no work yet
			if theta := theta(a.Problem, a, k); theta != 1 {
				t.Errorf("device %d without work: theta = %v", k, theta)
			}
			n := len(a.Next[k])
			for _, steps := range []int{1, n, 5 * n, 5000 * n} { // the same order of rows: each continues the last
				a.Solve(request(k, 1, steps, 0))
				theta := theta(a.Problem, a, k)
				expect.That(t, theta >= 0 && theta <= last+1e-9,
					"device %d after %d steps: theta = %v, %v after fewer", k, steps, theta, last)
				last = theta
			}
			expect.That(t, last <= 1e-6, "device %d after 5000 passes: theta = %v", k, last)
		}
	})
}

// Section 3.4: a node that performs no local updates has theta_t^h := 1, "a
// dropped node": neither side changes for it, while the others' updates count.
func TestDroppedNodeLeavesItsBlockUnchanged(t *testing.T) {
	for _, name := range dualMethods {
		p, c := randomProblem(t, learnt, nil, 6, 9, 14, 20)
		a := start(t, name, p, c, smaller)
		round(a, p, 0, algorithms.NoLimit, nil)
		before := snapshot(a)
		round(a, p, 1, algorithms.NoLimit, func(k int) bool { return k != 1 })
		after, stride := snapshot(a), a.Model().V.Stride
		if err := same(shown{duals: before.duals[1:2], v: before.v[stride : 2*stride]},
			shown{duals: after.duals[1:2], v: after.v[stride : 2*stride]}); err != nil {
			t.Errorf("%s: device 1 has dropped: %v", name, err)
		}
		for _, k := range []int{0, 2} {
			expect.That(t, same(shown{duals: before.duals[k : k+1]}, shown{duals: after.duals[k : k+1]}) != nil,
				"%s: device %d has responded, and its dual variables are the same", name, k)
		}
	}
}

// Assumption 2 asks for no more than p < 1 and a mean theta < 1; lemma
// RelationOfDTOSubproblems then says for any set of responses: D never rises, and falls
// by at least gamma times the gain of the subproblems whose devices respond.
func TestDualNeverRisesForAnyResponses(t *testing.T) {
	never :=
		func(t *testing.T, p *mtl.Problem, c mtl.Coupling, responses func(k, h int) bool,
			alike bool) (tightest float64) {
			a := startDual(t, "mocha", p, c, func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 0 })
			last := evaluate(a, p, c).Dual
			tightest = math.Inf(1)
			for h := range 60 {
				a.Begin()
				gain := 0.0
				for k := range p.Clients() {
					if responses(k, h) {
						r := request(k, h, 1+h%7, 0)
						if alike {
							r.Stream = request(0, h, 0, 0).Stream
						}
						a.Solve(r)
						gain += p.Config.Gamma * subproblemGain(a, k)
						a.Commit(k, 1)
					}
				}
				a.End()
				v := evaluate(a, p, c)
				expect.Must(t, v.Dual <= last+1e-12*(1+math.Abs(last)),
					"round %d: D rises from %v to %v", h, last, v.Dual)
				expect.Must(t, last-v.Dual >= gain-1e-12*(1+math.Abs(last)),
					"round %d: D falls by %v, the subproblems gain %v", h, last-v.Dual, gain)
				if gain > 1e-6 {
					tightest = math.Min(tightest, (last-v.Dual)/gain)
				}
				last = v.Dual
			}
			return tightest
		}
	problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
		never(t, p, c, func(k, h int) bool { return chance(k, h, 0.4) }, false)
	})
	// Where all tasks have the same rows and move alike, the lemma is an equation for
	// the spectral sigma': a smaller one breaks it.
	p, c := randomProblem(t, tiedToMean, nil, 9, 12, 12, 12, 12)
	for k := range p.Train.Clients {
		p.Train.Clients[k] = p.Train.Clients[0]
	}
	p = mustProblem(t, p.Config, data.Split{Train: p.Train, Test: p.Test})
	expect.Must(t, p.Config.SigmaPrime == mtl.SigmaSpectral, "the rule is %q", p.Config.SigmaPrime)
	m := mat.NewSymDense(p.Tasks(), nil)
	for s := range p.Tasks() {
		unit, row := p.NewWeights(), p.NewWeights()
		unit.Row(s)[0] = 1
		c.Primal(&row, &unit)
		for k := s; k < p.Tasks(); k++ {
			m.SetSym(s, k, row.Row(k)[0])
		}
	}
	dense := expect.Value(mtl.NewDense(m))(t)
	for _, c := range []mtl.Coupling{c, dense} {
		if tightest := never(t, p, c, func(k, h int) bool { return true }, true); tightest > 1+1e-6 {
			t.Errorf("%T: tasks that are alike gain at least %v of what their subproblems promise, want 1", c, tightest)
		}
	}
}

// subproblemGain returns by how much a device's tentative work lowers its subproblem
// (eq. subproblem).
func subproblemGain(a dualRun, k int) float64 {
	gain := 0.0
	for i, b := range a.Next[k] {
		y := a.Problem.Train.Clients[k].Y[i]
		gain += a.Problem.Loss.Conjugate(a.Duals.Alpha[k][i], y) - a.Problem.Loss.Conjugate(b, y)
	}
	dv := a.Delta.Row(k)
	return a.Problem.Scale[k]*gain - kernel.Dot(a.Weights(k), dv) - a.Curvature(k)/2*kernel.Dot(dv, dv)
}

// Theorem 1 and corollary asym as their proofs go, with the theta that MOCHA's
// devices reach when they take few steps and a third of them drop: D falls by
// at least s gamma sum of (1 - theta_t) G_t in a round (lemma oneRoundImprove), and
// D - D* stays under n times the product of 1 - s gamma (1 - max theta_t^h).
// Theta-bar^h is the value reached and not an expectation, so it holds for every
// sequence of events.
func TestTheorem1AndCorollaryForEveryCourse(t *testing.T) {
	for _, loss := range []string{mtl.LossSmoothedHinge, mtl.LossLogistic, mtl.LossSquaredHinge} {
		for _, gamma := range []float64{1, 0.5} {
			// Strongly regularized, so that s is not tiny.
			p, c := randomProblem(t, func(c *mtl.Config) {
				tiedToMean(c)
				c.Loss, c.Gamma, c.LossScaling, c.Lambda1, c.Lambda2 = loss, gamma, mtl.Sum, 5, 20
			}, nil, 4, 9, 5, 12, 8)
			k := expect.Value(theory.Of(p, c))(t)
			optimum := p.Solver(testPool, 1e-12, 20_000).Optimize(t.Context(), c, nil)
			a := startDual(t, "mocha", p, c, func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 0 })
			at := evaluate(a, p, c).Dual
			distance, bars := []float64{at + optimum.Lower()}, []float64(nil)
			for h := range 25 {
				a.Begin()
				promise, bar := 0.0, 0.0
				for d := range p.Clients() {
					accuracy, gap := 1.0, taskGap(p, a, d)
					if chance(d, h, 2.0/3) {
						a.Solve(request(d, h, 1+h%5, 0))
						accuracy = theta(a.Problem, a, d)
						a.Commit(d, 1)
					}
					bar = math.Max(bar, accuracy)
					promise += k.S * gamma * (1 - accuracy) * gap
				}
				a.End()
				now := evaluate(a, p, c).Dual
				if at-now < promise-1e-9 {
					t.Errorf("%s, gamma = %g, round %d: D falls by %v, the lemma says at least %v", loss, gamma, h,
						at-now, promise)
				}
				at = now
				distance, bars = append(distance, at+optimum.Lower()), append(bars, bar)
			}
			for h, bound := range k.Asymptotic(bars) {
				if distance[h] > bound {
					t.Errorf("%s, gamma = %g: after %d rounds D - D* = %v, the corollary says at most %v", loss, gamma,
						h, distance[h], bound)
				}
			}
			if all := len(bars); k.Asymptotic(bars)[all] > 0.99*float64(p.Train.Rows()) ||
				distance[all] > distance[0]/2 {
				t.Errorf("%s, gamma = %g: nothing was shown: D - D* = %v after %v, the bound is %v", loss, gamma,
					distance[all], distance[0], k.Asymptotic(bars)[all])
			}
		}
	}
}

// taskGap returns G_t of eq. defOfG_k for a device.
func taskGap(p *mtl.Problem, a dualRun, device int) float64 {
	sum := 0.0
	task := &p.Train.Clients[device]
	for i, y := range task.Y {
		z := kernel.Dot(task.X.Row(i), a.Weights(device))
		x := a.Duals.Alpha[device][i]
		sum += p.Loss.Conjugate(x, y) + p.Loss.Value(z, y) + x*z
	}
	return p.Scale[device] * sum
}

// Section 4, remark 2: "in the limiting case that all theta_t^h are identical,
// our results extend the results of CoCoA": MOCHA whose devices take the steps
// that the common theta needs is CoCoA, bit for bit.
func TestRemark2CoCoAIsMOCHAOfOneTheta(t *testing.T) {
	problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
		cocoa := startDual(t, "cocoa", p, c, func(o algorithms.Options) {
			*o.(*algorithms.CoCoAOptions) = algorithms.CoCoAOptions{Theta: 0.4, Stop: algorithms.StopTheta,
				CheckEvery: 0.3, MaxEpochs: 1e4}
		})
		mocha := startDual(t, "mocha", p, c, func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 0 })
		different := false
		for h := range 6 {
			cocoa.Begin()
			mocha.Begin()
			for k := range p.Clients() {
				steps := cocoa.Solve(request(k, h, algorithms.NoLimit, 0)).Steps
				different = different || float64(steps) != math.Ceil(0.3*float64(len(cocoa.Next[k])))
				mocha.Solve(request(k, h, steps, 0))
				if a, b := theta(cocoa.Problem, cocoa, k), theta(mocha.Problem, mocha, k); a != b || a > 0.4*(1+1e-9) {
					t.Errorf("round %d: device %d reaches theta = %v under CoCoA, %v under MOCHA, want 0.4", h, k, a, b)
				}
			}
			for k := range p.Clients() {
				cocoa.Commit(k, 1)
				mocha.Commit(k, 1)
			}
			cocoa.End()
			mocha.End()
			err := same(snapshot(cocoa), snapshot(mocha))
			expect.Must(t, err == nil, "round %d: %v", h, err)
		}
		expect.That(t, different, "a single chunk has always been enough")
	})
}

// Section 4, remark 3: gamma := 1 "has been shown to have the best performance"
// (again appendix D.1, "in most practical scenarios"). Here it is as good as the
// best, to a tenth, and better than averaging, gamma = 1/m.
func TestRemark3GammaOneIsBest(t *testing.T) {
	rounds := func(epochs, gamma float64) int {
		p, c := randomProblem(t, func(c *mtl.Config) { learnt(c); c.Gamma = gamma }, nil, 9, 14, 5, 30, 8, 21)
		optimum := p.Solver(testPool, 1e-7, 10_000).Optimize(t.Context(), c, nil).Lower()
		a := start(t, "mocha", p, c, func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = epochs })
		for h := range 3000 {
			round(a, p, h, algorithms.NoLimit, nil)
			if evaluate(a, p, c).Primal <= optimum*(1+1e-3) {
				return h + 1
			}
		}
		t.Fatalf("gamma = %g: not there after 3000 rounds", gamma)
		return 0
	}
	for _, epochs := range []float64{1, 10} {
		one, averaged := rounds(epochs, 1), rounds(epochs, 1.0/5)
		expect.That(t, one <= averaged, "%g epochs: %d rounds with gamma = 1, %d with 1/m", epochs, one, averaged)
		for _, gamma := range []float64{0.75, 0.5} {
			if other := rounds(epochs, gamma); float64(one) > 1.1*float64(other) {
				t.Errorf("%g epochs: %d rounds with gamma = 1, %d with %g", epochs, one, other, gamma)
			}
		}
	}
}

// Appendix E, "Methods": Mb-SDCA scales the updates "by beta/b for mini-batch
// size b and beta in [1, b]". For the same mini-batch they are proportional to
// beta, and beta = b is no scaling: each coordinate goes all the way to its exact
// minimizer.
func TestMbSDCAScalesUpdatesByBetaOverB(t *testing.T) {
	const b = 5
	p, c := randomProblem(t, learnt, nil, 6, 9, 14)
	var curvature []float64
	update := func(beta float64) [][]float64 {
		a := startDual(t, "mb-sdca", p, c, func(o algorithms.Options) {
			*o.(*algorithms.MbSDCAOptions) = algorithms.MbSDCAOptions{Batch: b, Beta: beta}
		})
		a.Begin()
		for k := range p.Clients() {
			curvature = append(curvature, a.Curvature(k))
			a.Solve(request(k, 0, algorithms.NoLimit, 0))
		}
		return a.Next // from alpha = 0
	}
	full := update(b)
	moved := 0
	for _, beta := range []float64{1, 2, 3.5, b} {
		for k, block := range update(beta) {
			for i, x := range block {
				if want := beta / b * full[k][i]; !near(x, want, 1e-14) {
					t.Errorf("beta = %g: alpha_%d[%d] = %v, want beta/b of %v", beta, k, i, x, full[k][i])
				}
				if full[k][i] != 0 {
					moved++
					// w = 0
					if want := p.Subproblem(k, curvature[k]).Coordinate(i, 0, 0, 0); !near(full[k][i], want, 1e-14) {
						t.Errorf("beta = b: alpha_%d[%d] = %v, the minimizer is %v", k, i, full[k][i], want)
					}
				}
			}
		}
	}
	expect.That(t, moved != 0 && moved <= 4*2*b, "%d coordinates have moved in 8 mini-batches of %d", moved, b)
	for _, beta := range []float64{0.9, b + 0.1} {
		n := len(problemsOf(&algorithms.MbSDCAOptions{Batch: b, Beta: beta}))
		expect.That(t, n == 1, "beta = %g is outside [1, b]: %d problems", beta, n)
	}
}

// problemsOf returns the problems of options.
func problemsOf(o algorithms.Options) []config.Problem {
	check := config.NewChecker()
	o.Validate(check)
	return check.Problems()
}

// Appendix E, "Methods": CoCoA's theta is "between [0, 1)", one for all tasks and
// rounds. fedsim refuses 0: no finite number of coordinate steps is exact for sure.
func TestCoCoAHasOneThetaBelowOne(t *testing.T) {
	for theta, want := range map[float64]int{0: 1, 1: 1, 1e-9: 0, 0.999: 0} {
		if n :=
			len(
				problemsOf(&algorithms.CoCoAOptions{Theta: theta, Stop: algorithms.StopTheta, CheckEvery: 1,
					MaxEpochs: 1})); n != want {
			t.Errorf("theta = %g: %d problems, want %d", theta, n, want)
		}
	}
	expect.That(t, needsOf("cocoa", &algorithms.CoCoAOptions{}).AllClients,
		"cocoa does not need the responses of all devices")
}

// Appendix E, "Computation and Communication Complexities": MOCHA's update "can be
// based on a single data point per iteration", or "completely solve the
// subproblems on each machine".
func TestMOCHASpansOneDataPointToExactSolutions(t *testing.T) {
	p, c := randomProblem(t, learnt, nil, 6, 9, 14)
	a := startDual(t, "mocha", p, c, func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 0 })
	a.Begin()
	for k := range p.Clients() {
		a.Solve(request(k, 0, 1, 0))
		moved := 0
		for _, x := range a.Next[k] {
			if x != 0 {
				moved++
			}
		}
		expect.That(t, moved == 1, "device %d: one step has moved %d coordinates", k, moved)
		a.Solve(request(k, 0, 4000*len(a.Next[k]), 0))
		theta := theta(a.Problem, a, k)
		expect.That(t, theta <= 1e-6, "device %d: theta = %v after 4000 passes", k, theta)
	}
}

// Appendix E, "Statistical Heterogeneity": for one theta "the number of local
// iterations needed for theta varies significantly across nodes".
func TestOneThetaNeedsDifferentWorkOnEachNode(t *testing.T) {
	p, c := randomProblem(t, learnt, nil, 9, 14, 5, 30, 8, 21)
	a := start(t, "cocoa", p, c, func(o algorithms.Options) {
		*o.(*algorithms.CoCoAOptions) = algorithms.CoCoAOptions{Theta: 0.1, Stop: algorithms.StopTheta, CheckEvery: 0.1,
			MaxEpochs: 1e4}
	})
	fewest, most := math.MaxInt, 0
	for h := range 20 {
		a.Begin()
		for k := range p.Clients() {
			steps := a.Solve(request(k, h, algorithms.NoLimit, 0)).Steps
			fewest, most = min(fewest, steps), max(most, steps)
		}
		for k := range p.Clients() {
			a.Commit(k, 1)
		}
		a.End()
	}
	expect.That(t, most >= 5*fewest, "%d to %d steps", fewest, most)
}
