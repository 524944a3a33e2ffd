package methods

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// With and without the search that scales responses.
const lineSearch, undamped = "line search", "undamped"

// asyncOptions sets the options of asynchronous MOCHA.
func asyncOptions(set func(*AsyncMOCHAOptions)) func(algorithms.Options) {
	return func(o algorithms.Options) { set(o.(*AsyncMOCHAOptions)) }
}

// everyCoupling are problems whose couplings are of every type.
func everyCoupling(t *testing.T, f func(t *testing.T, p *mtl.Problem, c mtl.Coupling)) {
	for _, v := range []struct {
		name     string
		change   func(*mtl.Config)
		features int
		owner    []int
		want     string
	}{
		{"identity", untied, 9, nil, "mtl.Identity"},
		{"grouped", tiedToMean, 9, nil, "*mtl.grouped"},
		{"grouped shared", tiedToMean, 9, []int{0, 1, 0, 2, 0}, "*mtl.grouped"},
		{"dense", learnt, 9, nil, "*mtl.Dense"},
		{"low-rank", learnt, 3, nil, "*mtl.lowRank"},
		{"low-rank shared", learnt, 2, []int{0, 1, 3, 2, 0}, "*mtl.lowRank"},
		{"sparse", func(c *mtl.Config) {
			c.Regularizer, c.Lambda1, c.Lambda2 = mtl.RegGraphical, 0.02, 0.1
		}, 9, nil, "*mtl.sparse"},
	} {
		t.Run(v.name, func(t *testing.T) {
			p, c := randomProblem(t, v.change, v.owner, v.features, 14, 5, 30, 8, 21)
			inner := c
			if s, ok := c.(mtl.Shifted); ok {
				inner = s.Coupling
			}
			got := fmt.Sprintf("%T", inner)
			expect.Must(t, got == v.want, "the coupling is a %s, want %s", got, v.want)
			f(t, p, c)
		})
	}
}

// The dual objective never gets worse, whatever the loss, the coupling, sigma, the
// number of steps, and however late responses come and how many are lost; the dual
// variables stay in the domain of their conjugate and weak duality holds.
func TestDualNeverGetsWorse(t *testing.T) {
	t.Parallel()
	for _, loss := range mtl.ScoreLosses() {
		t.Run(loss, func(t *testing.T) {
			type world struct {
				p *mtl.Problem
				c mtl.Coupling
			}
			var worlds []world
			for _, change := range []func(*mtl.Config){tiedToMean, learnt, summed, damped, dampedLearnt} {
				p, c := onLoss(t, loss, change)
				worlds = append(worlds, world{p, c})
			}
			p, c := randomProblem(t, func(c *mtl.Config) { tiedToMean(c); c.Loss = loss }, []int{0, 1, 0, 2, 0}, 9, 14,
				5, 30, 8, 21)
			worlds = append(worlds, world{p, c})
			damped, refused := 0, 0
			rapid.Check(t, func(r *rapid.T) {
				w := rapid.SampledFrom(worlds).Draw(r, "problem")
				a := start(t, "async-mocha", w.p, w.c, asyncOptions(func(o *AsyncMOCHAOptions) {
					o.Sigma = rapid.SampledFrom([]float64{0, 0.1, 0.5, 1, 3}).Draw(r, "sigma")
					o.Epochs = rapid.SampledFrom([]float64{0.2, 1, 7}).Draw(r, "epochs")
					o.MaxStaleness = rapid.SampledFrom([]int{0, 0, 3}).Draw(r, "max_staleness")
				}))
				course := newCourse(a, w.p,
					random(rapid.Uint64().Draw(r, "seed"), rapid.SampledFrom([]float64{1, 2, 10}).Draw(r, "spread")))
				drop := rapid.SampledFrom([]float64{0, 0.3}).Draw(r, "drop")
				course.lost = func(k, attempt int) bool { return chance(k, attempt, drop) }
				course.begin()
				last := evaluate(a, w.p, w.c).Dual
				for n := range 60 {
					k, taken := course.next()
					v := evaluate(a, w.p, w.c)
					expect.Must(r, v.Dual <= last+1e-13*(1+math.Abs(last)),
						"response %d, of device %d: the dual rises from %v to %v", n, k, last, v.Dual)
					expect.Must(r, taken || v.Dual == last,
						"response %d, of device %d, is not taken, and the dual goes from %v to %v", n, k, last, v.Dual)
					expect.Must(r, v.Gap >= -1e-9*math.Abs(v.Primal) && !math.IsInf(v.Gap, 0),
						"response %d: duality gap %g at P = %g", n, v.Gap, v.Primal)
					last = v.Dual
				}
				damped += course.taken
				refused += course.refused
			})
			expect.That(t, damped != 0 && refused != 0,
				"%d responses were taken and %d refused: both must happen", damped, refused)
		})
	}
}

// Without damping, and with sigma' too small for the number of concurrent responses, the
// dual gets worse: the damping prevents it.
func TestUndampedDualGetsWorse(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30, 8, 21)
	a := start(t, "async-mocha", p, c, asyncOptions(func(o *AsyncMOCHAOptions) { o.undamped = true }))
	course := newCourse(a, p, random(3, 1))
	course.begin()
	last, rises := evaluate(a, p, c).Dual, 0
	for range 200 {
		_, taken := course.next()
		expect.Must(t, taken, "a response is refused without damping")
		now := evaluate(a, p, c).Dual
		if now > last+1e-9*math.Abs(last) {
			rises++
		}
		last = now
	}
	expect.That(t, rises != 0, "the dual has never got worse")
}

// For the hinge and a quadratic R the server's gamma is optimal: no point between the
// old dual variables and those of the response has a better dual, for responses of any
// age.
func TestLineSearchIsExactForTheHinge(t *testing.T) {
	t.Parallel()
	problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
		a := start(t, "async-mocha", p, c, nil).(*asyncMOCHA)
		course := newCourse(a, p, random(5, 4))
		course.begin()
		between := 0
		for n := range 40 {
			k := 0 // the device whose response is next
			for i, due := range course.due {
				if due < course.due[k] {
					k = i
				}
			}
			old, proposed := snapshot(a).duals, append([]float64(nil), a.Next[k]...)
			_, taken := course.next()
			got := evaluate(a, p, c).Dual
			most := p.Config.Gamma
			best, where := math.Inf(1), 0.0
			for i := range 101 {
				gamma := most * float64(i) / 100
				trial := append([][]float64(nil), old...)
				trial[k] = make([]float64, len(proposed))
				for j := range proposed {
					trial[k][j] = old[k][j] + gamma*(proposed[j]-old[k][j])
					if y := p.Train.Clients[k].Y[j]; y*trial[k][j] < 0 || y*trial[k][j] > 1 {
						trial[k][j] = y * min(1, max(0, y*trial[k][j])) // rounding
					}
				}
				v, w := imageOf(p, trial), p.NewWeights()
				c.Primal(&w, &v)
				if dual := p.Evaluate(testPool, c, &w, &v, trial).Dual; dual < best {
					best, where = dual, gamma
				}
			}
			expect.Must(t, got <= best+1e-12*(1+math.Abs(best)),
				"response %d of device %d (taken: %v): D = %v, at gamma = %g it is %v", n, k, taken, got, where, best)
			if taken && where > 0 && where < most {
				between++
			}
		}
		expect.That(t, between != 0 || p.Config.Gamma != 1 || c.Tasks() <= 2, "no response was damped")
	})
}

// blockAscent is block coordinate ascent on the dual, done slowly: the devices in
// turn minimize over their block with all else fixed, W computed from the dual
// variables every time.
func blockAscent(p *mtl.Problem, c mtl.Coupling, passes, rounds int, gamma float64) [][]float64 {
	duals := p.NewBlocks()
	for h := range rounds {
		for k := range p.Clients() {
			v, w := imageOf(p, duals), p.NewWeights()
			c.Primal(&w, &v)
			u := append([]float64(nil), w.Row(p.TaskOf(k))...)
			next := append([]float64(nil), duals[k]...)
			var order mtl.Order
			order.Reset(len(next), rng.New(1, rng.Solve, k, h))
			curvature := c.Diag(p.TaskOf(k))
			for range passes * len(next) {
				p.Subproblem(k, curvature).Step(next, u, order.Next())
			}
			for i := range next {
				duals[k][i] += gamma * (next[i] - duals[k][i])
			}
		}
	}
	return duals
}

// When no response is under way while another is computed, sigma = 1 is exact block
// coordinate ascent on the dual, with one device and with several: the search damps
// nothing.
func TestWithoutDelayItIsBlockCoordinateAscent(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, p *mtl.Problem, c mtl.Coupling, damping string, passes, rounds int, tolerance float64) {
		t.Helper()
		a := start(t, "async-mocha", p, c, asyncOptions(func(o *AsyncMOCHAOptions) {
			o.Epochs, o.undamped = float64(passes), damping == undamped
		})).(algorithms.Asynchronous)
		for h := range rounds {
			for k := range p.Clients() {
				a.Send(k)
				a.Solve(request(k, h, algorithms.NoLimit, 0))
				a.Receive(k)
			}
		}
		want := blockAscent(p, c, passes, rounds, p.Config.Gamma)
		v, w := imageOf(p, want), p.NewWeights()
		c.Primal(&w, &v)
		nearMatrix(t, damping+": W", a.Model().W, &w, tolerance)
	}
	problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) { check(t, p, c, undamped, 1, 20, 1e-10) })
	everyCoupling(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) { check(t, p, c, undamped, 1, 20, 1e-10) })
	for _, loss := range mtl.ScoreLosses() {
		t.Run(loss, func(t *testing.T) {
			for _, sizes := range [][]int{{14}, {14, 5, 30}} {
				p, c := randomProblem(t, func(c *mtl.Config) { tiedToMean(c); c.Loss = loss }, nil, 9, sizes...)
				// The server takes a block solved to the last digits in full.
				check(t, p, c, lineSearch, 3000, 3, 1e-6)
			}
		})
	}
}

// The server refuses a response by the number of responses that it has taken since it
// sent to the device. Refused ones do not count.
func TestMaxStaleness(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30, 8)
	a := start(t, "async-mocha", p, c,
		asyncOptions(func(o *AsyncMOCHAOptions) { o.MaxStaleness = 2 })).(algorithms.Asynchronous)
	for k := range 4 {
		a.Send(k)
		a.Solve(request(k, 0, algorithms.NoLimit, 0))
	}
	for k, want := range []bool{true, true, true, false} {
		before := snapshot(a)
		if taken, flops, _ := a.Receive(k); taken != want || (flops > 0) != want {
			t.Fatalf("device %d, of %d responses taken since: taken is %v at %g FLOPs", k, k, taken, flops)
		}
		unchanged := same(snapshot(a), before) == nil
		expect.Must(t, unchanged != want, "device %d: taken is %v, the state the same is %v", k, want, unchanged)
	}
	a.Send(0) // three responses were taken, one was refused
	a.Solve(request(0, 1, algorithms.NoLimit, 0))
	a.Send(3)
	a.Solve(request(3, 1, algorithms.NoLimit, 0))
	if taken, _, _ := a.Receive(3); !taken {
		t.Error("a response to the last message is refused")
	}
	if taken, _, _ := a.Receive(0); !taken {
		t.Error("a response one step old is refused")
	}
	// An update of the coupling moves every w_t: it counts as a response.
	a.Send(1)
	a.Solve(request(1, 2, algorithms.NoLimit, 0))
	for range 3 {
		a.SetCoupling(c)
	}
	if taken, _, _ := a.Receive(1); taken {
		t.Error("a response from three couplings ago is taken")
	}
}

// A response under way when the coupling changes remains a change of dual variables. The
// search then uses the new coupling: the dual of the new problem does not get worse, the
// result is the same whether the response was computed before or after the change, and
// the method finds the new optimum.
func TestAsyncMOCHAAcrossSetCoupling(t *testing.T) {
	for _, sigma := range []float64{0, 1} {
		p, c := randomProblem(t, learnt, nil, 9, 14, 5, 30, 8, 21)
		build := func(lazy bool) *course {
			a := start(t, "async-mocha", p, c, asyncOptions(func(o *AsyncMOCHAOptions) { o.Sigma = sigma }))
			course := newCourse(a, p, random(3, 4))
			course.lazy = lazy
			course.begin()
			return course
		}
		early, late := build(false), build(true)
		for range 7 {
			early.next()
			late.next()
		}
		next := expect.Value(p.Regularizer.Update(testPool, early.a.Model().W, 1e-3))(t)
		early.a.SetCoupling(next)
		late.a.SetCoupling(next)
		last := evaluate(early.a, p, next).Dual
		optimum := p.Solver(testPool, 1e-8, 100_000).Optimize(t.Context(), next, nil).Lower()
		best := math.Inf(1)
		for n := 0; n < 20_000 && best > 1e-5; n++ {
			early.next()
			late.next()
			err := same(snapshot(early.a), snapshot(late.a))
			expect.Must(t, err == nil, "response %d after the update, computed before against after: %v", n, err)
			v := evaluate(early.a, p, next)
			expect.Must(t, v.Dual <= last+1e-13*(1+math.Abs(last)),
				"response %d after the update: the dual rises from %v to %v", n, last, v.Dual)
			last = v.Dual
			best = math.Min(best, v.Primal/optimum-1)
		}
		expect.That(t, best >= -1e-7 && best <= 1e-5, "P comes within %.2g of the new optimum", best)
	}
}

// The server's work is a row of W for the search and one to send, the change of V, two
// dot products, and scaling when it damps.
func TestAsyncMOCHACountsTheServersWork(t *testing.T) {
	everyCoupling(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
		v := p.NewWeights()
		task, add := c.Incremental(&v).FLOPs()
		d := float64(p.Features)
		expect.Must(t, task >= d && add >= d, "a row of d = %g weights costs %g, a change %g", d, task, add)
		for _, damping := range []string{lineSearch, undamped} {
			a := start(t, "async-mocha", p, c,
				asyncOptions(func(o *AsyncMOCHAOptions) { o.undamped = damping == undamped })).(*asyncMOCHA)
			course := newCourse(a, p, random(3, 3))
			course.begin()
			for range 50 {
				was := course.flops
				_, taken := course.next()
				cost := course.flops - was
				want := []float64{task + add}
				if damping == lineSearch {
					want = []float64{2*task + add + 4*d, 2*task + add + 5*d}
				}
				if !taken {
					want = []float64{2*task + 4*d}
				}
				ok := false
				for _, x := range want {
					ok = ok || math.Abs(cost-x) < 1e-6
				}
				expect.Must(t, ok, "%s, taken is %v: %g FLOPs, want %v", damping, taken, cost, want)
			}
		}
	})
}

// Under a protocol with rounds, work that is under way when a round begins stays that of the
// version that its device was sent.
func TestAsyncMOCHACountsLateResponsesAsStale(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	for stale, taken := range map[int]bool{2: true, 1: false} {
		a := start(t, "async-mocha", p, c,
			asyncOptions(func(o *AsyncMOCHAOptions) { o.MaxStaleness = stale })).(*asyncMOCHA)
		a.Begin()
		for k := range 3 {
			a.Solve(request(k, 0, algorithms.NoLimit, 0))
		}
		a.Commit(1, 1)
		a.Commit(2, 1)
		a.End()
		a.Begin()
		before := snapshot(a)
		a.Commit(0, 1) // two versions late
		a.End()
		changed := same(snapshot(a), before) != nil
		expect.That(t, changed == taken, "at most %d versions: a response that is 2 late is taken: %t", stale, changed)
		a.Begin()
		expect.That(t, a.since[0] == a.version, "the device is not sent the present w_t when its work is over")
	}
}

// It finds the optimum under random delays and losses, with every loss, every kind
// of problem and every coupling.
func TestAsyncMOCHAFindsTheOptimum(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
		t.Helper()
		optimum := p.Solver(testPool, 1e-8, 100_000).Optimize(t.Context(), c, nil).Lower()
		a := start(t, "async-mocha", p, c, nil)
		course := newCourse(a, p, random(11, 5))
		course.lost = func(k, attempt int) bool { return chance(k, attempt, 0.2) }
		course.begin()
		best := math.Inf(1)
		for n := 0; n < 60_000 && best > 1e-5; n++ {
			course.next()
			if n%100 == 99 {
				best = math.Min(best, evaluate(a, p, c).Primal/optimum-1)
			}
		}
		if best < -1e-7 || best > 1e-5 {
			t.Errorf("P comes within %.2g of the optimum after %d responses, %d refused, want 1e-5", best, course.taken,
				course.refused)
		}
		t.Logf("%d responses, %d refused", course.taken, course.refused)
	}
	problems(t, check)
	everyCoupling(t, check)
	for _, loss := range mtl.ScoreLosses() {
		for _, change := range []func(*mtl.Config){tiedToMean, learnt} {
			t.Run(loss, func(t *testing.T) {
				p, c := onLoss(t, loss, change)
				check(t, p, c)
			})
		}
	}
}
