package methods

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// smaller makes methods' batches fit the small tasks of the tests.
func smaller(o algorithms.Options) {
	if o, ok := o.(kit.LocalOptions); ok {
		o.Local().Batch = 6
	}
	if o, ok := o.(interface{ gradient() *gradientOptions }); ok {
		o.gradient().Batch = 6
	}
	switch o := o.(type) {
	case *algorithms.MbSDCAOptions:
		*o = algorithms.MbSDCAOptions{Batch: 6, Beta: 2}
	case *FedCompassOptions:
		o.Epochs = 1
	case *mifaOptions:
		o.ScheduleOptions = scheduled(kit.InverseSqrt, 5, 0, 0)
	case *algorithms.MbSGDOptions:
		o.Batch = 6
	case *FedBuffOptions:
		o.Buffer, o.Momentum = 2, 0.5
	case *fedAvgMOptions:
		o.Momentum, o.Clip = 0.5, 1
	case *fedNovaOptions:
		o.Momentum, o.Mu, o.TauEff = 0.5, 0.1, effectiveWeights
	case *adaptiveOptions:
		o.ScheduleOptions = scheduled(kit.Cosine, 20, 0.1, 3)
	case *rennalaOptions:
		o.Gradients, o.Clip = 3, 1
	case *fedAsyncOptions:
		o.Mu, o.ScheduleOptions = 0.1, scheduled(kit.InverseSqrt, 5, 0, 0)
	}
}

// oneModel reports whether a method has one model for all tasks. Such a method does not
// reach the optimum of coupled tasks.
func oneModel(name string) bool {
	kind := describe(name, mtl.Shape{}).Model
	return kind == algorithms.OneModel || kind == algorithms.PersonalModels || kind == algorithms.Versions
}

// minimizesP reports whether a method reaches the optimum of coupled tasks.
func minimizesP(name string) bool {
	minimizes := describe(name, mtl.Shape{}).MinimizesP
	if minimizes == (oneModel(name) || describe(name, mtl.Shape{}).Model == algorithms.DeviceModels) {
		panic(name + ": MinimizesP is wrong")
	}
	return minimizes
}

// serverFLOPs returns the most FLOPs of the server in a round of the tests'
// problems, and the least.
func serverFLOPs(name string, p *mtl.Problem, c mtl.Coupling) (least, most float64) {
	d := float64(p.Features)
	if oneModel(name) {
		// An axpy for each vector of a response and one for each step; an adaptive step takes more.
		return 0, (5*float64(p.Clients()*vectors(name)) + 13) * d
	}
	switch name {
	case "gossip", "local":
		return 0, 0 // there is no server
	case "fedu": // three operations a value for each of two neighbors on the ring, and two for the client
		return 0, 8 * d * float64(p.Clients())
	}
	if name == "async-mocha" {
		v := p.NewWeights()
		task, add := c.Incremental(&v).FLOPs()
		return 0, float64(p.Clients()) * (2*task + add + 5*d)
	}
	return c.FLOPs(p.Features), c.FLOPs(p.Features)
}

// vectors returns how many vectors the server of a method adds up.
func vectors(name string) int {
	return map[string]int{"scaffold": 2, "feddyn": 2, "ringleader": 2, "fedem": 2}[name] + 1
}

// downloads returns how many numbers the server sends.
func downloads(name string, p *mtl.Problem) int {
	switch name {
	case "local":
		return 0
	case "scaffold", "ifca":
		return 2 * p.Features
	case "fedem":
		return min(3, p.Clients()) * p.Features
	}
	return p.Features
}

// uploads returns how many numbers a device sends.
func uploads(name string, p *mtl.Problem) int {
	switch name {
	case "async-mocha", "fednova", "ifca":
		return p.Features + 1
	case "gossip": // to both neighbors on the ring
		return min(2, p.Clients()-1) * p.Features
	}
	return downloads(name, p)
}

// learningMethods returns the registered methods but optimum, which learns nothing.
func learningMethods() []string {
	return slices.DeleteFunc(algorithms.Names(),
		func(name string) bool { return name == "optimum" || name == "central" })
}

// needsOwnTasks reports whether a method can evaluate models of clients alone.
func needsOwnTasks(name string) bool { return slices.Contains([]string{"fedem", "fedu", "ifca"}, name) }

// everyMethod tests the contract of Algorithm on every registered method, with every
// kind of problem and every loss.
func everyMethod(t *testing.T, f func(t *testing.T, name string, p *mtl.Problem, c mtl.Coupling)) {
	for _, name := range learningMethods() {
		t.Run(name, func(t *testing.T) {
			problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
				if p.Clients() > p.Tasks() && needsOwnTasks(name) {
					t.Skip("clients that share a task have no models of their own")
				}
				f(t, name, p, c)
			})
			for _, loss := range mtl.ScoreLosses() {
				t.Run(loss, func(t *testing.T) {
					p, c := randomProblem(t, func(c *mtl.Config) { tiedToMean(c); c.Loss = loss }, nil, 9, 14, 5, 30, 8,
						21)
					f(t, name, p, c)
				})
			}
		})
	}
}

// chance is a reproducible coin: does device k take part in round h?
func chance(k, h int, p float64) bool {
	s := rng.New(9, rng.Drop, k, h)
	return s.Float64() < p
}

// A discarded solve leaves no trace: the run has the bits of one in which the device was
// never asked.
func TestDiscardLeavesNoTrace(t *testing.T) {
	everyMethod(t, func(t *testing.T, name string, p *mtl.Problem, c mtl.Coupling) {
		a, never := start(t, name, p, c, smaller), start(t, name, p, c, smaller)
		discarded := 0
		for h := range 25 {
			round(a, p, h, algorithms.NoLimit, func(k int) bool { return chance(k, h, 0.5) })
			never.Begin()
			for k := range p.Clients() {
				if chance(k, h, 0.5) {
					never.Solve(request(k, h, algorithms.NoLimit, 0))
					never.Commit(k, 1)
				} else {
					discarded++
				}
			}
			never.End()
			err := same(snapshot(a), snapshot(never))
			expect.Must(t, err == nil, "round %d: discarded against never asked: %v", h, err)
		}
		expect.That(t, discarded != 0, "nothing was discarded")
		// A round without responses changes nothing.
		before := snapshot(a)
		round(a, p, 99, algorithms.NoLimit, func(int) bool { return false })
		if err := same(snapshot(a), before); err != nil {
			t.Errorf("after a round in which nobody responded: %v", err)
		}
	})
}

// The work of Solve is tentative until Commit, also in the weights.
func TestSolveIsTentative(t *testing.T) {
	everyMethod(t, func(t *testing.T, name string, p *mtl.Problem, c mtl.Coupling) {
		a := start(t, name, p, c, smaller)
		round(a, p, 0, algorithms.NoLimit, nil)
		before := snapshot(a)
		a.Begin()
		for k := range p.Clients() {
			a.Solve(request(k, 1, algorithms.NoLimit, 0))
			err := same(snapshot(a), before)
			expect.Must(t, err == nil, "device %d has solved: %v", k, err)
		}
		for k := range p.Clients() {
			a.Commit(k, 1)
		}
		a.End()
		expect.That(t, same(snapshot(a), before) != nil, "a round in which all responded has changed nothing")
	})
}

// The result depends neither on the order of solves, nor on the workers, nor on earlier
// solves.
func TestSolveOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	everyMethod(t, func(t *testing.T, name string, p *mtl.Problem, c mtl.Coupling) {
		a, b := start(t, name, p, c, smaller), start(t, name, p, c, smaller)
		for h := range 10 {
			round(a, p, h, algorithms.NoLimit, nil)
			b.Begin()
			for k := p.Clients() - 1; k >= 0; k-- {
				if k%2 == 0 {
					b.Solve(request(k, h+1000, 3, 1)) // overwritten by the next
				}
				b.Solve(request(k, h, algorithms.NoLimit, k%testPool.Size()))
			}
			for k := range p.Clients() {
				b.Commit(k, 1)
			}
			b.End()
			err := same(snapshot(a), snapshot(b))
			expect.Must(t, err == nil, "round %d: %v", h, err)
		}
	})
}

// Over many rounds of random budgets and responses, methods respect the limit on steps,
// steps cost no more than their FLOPs known in advance, dual variables stay where their conjugate is finite,
// V stays their image and W = V M, and weak duality holds. The dual objective never gets
// worse: sigma' is safe for any set of responses.
func TestInvariantsOverManyRounds(t *testing.T) {
	t.Parallel()
	everyMethod(t, func(t *testing.T, name string, p *mtl.Problem, c mtl.Coupling) {
		a := start(t, name, p, c, func(o algorithms.Options) {
			smaller(o)
			if o, ok := o.(*algorithms.MbSDCAOptions); ok {
				o.Beta = 1 // safe on any data
			}
		})
		load := a.Describe().Work
		expect.Must(t, load.StepFLOPs > 0, "a step takes %g FLOPs", load.StepFLOPs)
		responses := make([]algorithms.Response, p.Clients())
		least, most := serverFLOPs(name, p, c)
		dual := math.Inf(1)
		for h := range 120 {
			if sent, _ := a.Begin(); sent.Size != downloads(name, p) {
				t.Fatalf("round %d: the server sends %d values, want %d", h, sent.Size, downloads(name, p))
			}
			for k := range p.Clients() {
				s := rng.New(5, rng.Work, k, h)
				steps := 1 + s.IntN(40)
				responses[k] = a.Solve(request(k, h, steps, k%testPool.Size()))
				n := p.Train.Clients[k].X.Rows
				w := responses[k]
				flops := load.Of(n, w.Steps)
				if most := load.Within(n, flops); load.FLOPs != nil && load.Steps(n, int(most)) != w.Steps ||
					w.FLOPs < float64(w.Steps)*load.StepFLOPs && load.FLOPs != nil {
					t.Fatalf("round %d: device %d: %g steps fit into the %g FLOPs of %d", h, k, most, flops, w.Steps)
				}
				if name == "cocoa" {
					// The accuracy is measured after every pass.
					flops += float64((w.Steps+n-1)/n) * 2 * float64(p.Features) * float64(n)
				}
				if name == "gossip" { // the average of what it has received
					flops += 3 * 2 * float64(p.Features)
				}
				if w.Steps < 1 || w.Steps > steps || w.FLOPs <= 0 || w.FLOPs > flops || w.Values != uploads(name, p) {
					t.Fatalf("round %d: device %d, asked for at most %d steps on %d rows: %+v", h, k, steps, n, w)
				}
				expect.Must(t, name != "mb-sdca" && name != "mb-sgd" || w.Steps == min(steps, n, 6),
					"round %d: device %d: a batch of %d rows of %d, at most %d allowed", h, k, w.Steps, n, steps)
				if chance(k, h, 0.8) {
					a.Commit(k, 1)
				} else {
					a.Discard(k)
				}
			}
			if flops, _ := a.End(); flops < least || flops > most {
				t.Fatalf("round %d: the server's step takes %g FLOPs, want %g to %g", h, flops, least, most)
			}
			m := a.Model()
			v := evaluate(a, p, c)
			expect.Must(t, !math.IsNaN(v.Primal) && !math.IsInf(v.Primal, 0), "round %d: P = %g", h, v.Primal)
			if m.Duals == nil {
				expect.Must(t, math.IsNaN(v.Dual), "round %d: D = %g without dual variables", h, v.Dual)
				continue
			}
			for k := range m.Duals {
				for i, x := range m.Duals[k] {
					if y := p.Loss.Conjugate(x, p.Train.Clients[k].Y[i]); math.IsInf(y, 0) || math.IsNaN(y) {
						t.Fatalf("round %d: alpha_%d[%d] = %v is outside the domain", h, k, i, x)
					}
				}
			}
			expect.Must(t, v.Gap >= -1e-9*math.Abs(v.Primal), "round %d: duality gap %g at P = %g", h, v.Gap, v.Primal)
			expect.Must(t, v.Dual <= dual+1e-12*math.Abs(dual) || h == 0,
				"round %d: the dual objective rises from %v to %v", h, dual, v.Dual)
			dual = v.Dual
		}
		m := a.Model()
		if m.Duals == nil {
			expect.That(t, m.V == nil, "a primal method has V")
			return
		}
		image := imageOf(p, m.Duals)
		w := p.NewWeights()
		c.Primal(&w, &image)
		nearMatrix(t, "V against the image of alpha", m.V, &image, 1e-12)
		nearMatrix(t, "W against V M", m.W, &w, 1e-12)
	})
}

// imageOf computes V from the dual variables, row by row and number by number.
func imageOf(p *mtl.Problem, duals [][]float64) data.Matrix {
	image := p.NewWeights()
	for k, a := range duals {
		row := image.Row(p.TaskOf(k))
		for i, x := range a {
			for j, feature := range p.Train.Clients[k].X.Row(i) {
				row[j] += p.Scale[k] * x * feature
			}
		}
	}
	return image
}

func nearMatrix(t *testing.T, what string, got, want *data.Matrix, tolerance float64) {
	t.Helper()
	most := 0.0
	for _, x := range want.Data {
		most = math.Max(most, math.Abs(x))
	}
	expect.That(t, most != 0, "%s: all zero", what)
	for i := range want.Data {
		expect.Must(t, math.Abs(got.Data[i]-want.Data[i]) <= tolerance*math.Max(1, most),
			"%s: element %d is %v, want %v", what, i, got.Data[i], want.Data[i])
	}
}

// A round allocates nothing once a worker has seen the largest task.
func TestRoundsAllocateNothing(t *testing.T) {
	for _, name := range learningMethods() {
		p, c := randomProblem(t, untied, nil, 9, 14, 5, 30)
		a := start(t, name, p, c, smaller)
		h := 0
		allocs := testing.AllocsPerRun(20, func() {
			a.Begin()
			for k := range p.Clients() {
				a.Solve(request(k, h, algorithms.NoLimit, 0))
				if k == 1 {
					a.Discard(k)
				} else {
					a.Commit(k, 1)
				}
			}
			a.End()
			if a.Describe().Model != algorithms.PersonalModels { // models of clients are made on all cores
				a.Model()
			}
			h++
		})
		expect.That(t, allocs == 0, "%s: %g allocations a round, want 0", name, allocs)
	}
	// A dense coupling's product allocates within gonum, the solves do not.
	for _, name := range learningMethods() {
		p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
		a := start(t, name, p, c, smaller)
		a.Begin()
		allocs := testing.AllocsPerRun(20, func() {
			for k := range p.Clients() {
				a.Solve(request(k, 0, algorithms.NoLimit, 1))
			}
		})
		expect.That(t, allocs == 0, "%s: %g allocations in the solves of a round, want 0", name, allocs)
	}
}

// dualOf returns the state that dual methods share, nil for a primal method.
func dualOf(a algorithms.Algorithm) *algorithms.Dual {
	d := reflect.Indirect(reflect.ValueOf(a)).FieldByName("Dual")
	if !d.IsValid() {
		return nil
	}
	return d.Addr().Interface().(*algorithms.Dual)
}

// dualRun is a run of a dual method, with the state that dual methods share.
type dualRun struct {
	*algorithms.Dual
	of algorithms.Algorithm
}

func (d dualRun) Solve(r algorithms.Request) algorithms.Response { return d.of.Solve(r) }

// startDual is start of a dual method.
func startDual(t testing.TB, name string, p *mtl.Problem, c mtl.Coupling, change func(algorithms.Options)) dualRun {
	t.Helper()
	a := start(t, name, p, c, change)
	return dualRun{dualOf(a), a}
}

// After an Omega update a method continues from its state under the new coupling: the
// dual variables of a dual method, W of a primal one.
func TestSetCoupling(t *testing.T) {
	for _, name := range learningMethods() {
		t.Run(name, func(t *testing.T) {
			p, c := randomProblem(t, learnt, nil, 9, 14, 5, 30, 8, 21)
			a := start(t, name, p, c, smaller)
			for h := range 30 {
				round(a, p, h, algorithms.NoLimit, nil)
			}
			before := snapshot(a)
			next := expect.Value(p.Regularizer.Update(testPool, p.TaskModels(a.Model().W), 1e-3))(t)
			if d := dualOf(a); d != nil {
				// The rounding that many updates leave in V, exaggerated.
				d.Duals.V.Data[0] += 1e-6
			}
			a.SetCoupling(next)
			if d := dualOf(a); d != nil {
				for k, sigma := range p.SigmaPrime(next) {
					got, want := d.Curvature(k), sigma*next.Diag(k)
					expect.That(t, got == want, "device %d: curvature %g, want %g", k, got, want)
				}
			}
			after := snapshot(a)
			m := a.Model()
			if m.Duals == nil {
				err := same(after, before)
				expect.That(t, err == nil, "W has changed: %v", err)
			} else {
				err := same(shown{duals: after.duals}, shown{duals: before.duals})
				expect.That(t, err == nil, "the dual variables have changed: %v", err)
				image, want := imageOf(p, m.Duals), p.NewWeights()
				next.Primal(&want, &image)
				nearMatrix(t, "V from the dual variables alone", m.V, &image, 1e-14)
				nearMatrix(t, "W = V M under the new coupling", m.W, &want, 1e-13)
				expect.That(t, same(shown{w: after.w}, shown{w: before.w}) != nil, "W is that of the old coupling")
			}
			if !minimizesP(name) {
				return
			}
			// It still finds the optimum of the new problem.
			best := evaluate(a, p, next).Primal
			optimum := p.Solver(testPool, 1e-6, 10_000).Optimize(t.Context(), next, nil).Lower()
			for h := range 1000 {
				round(a, p, 30+h, algorithms.NoLimit, nil)
				if h%10 == 9 {
					best = math.Min(best, evaluate(a, p, next).Primal)
				}
			}
			gap := best/optimum - 1
			expect.That(t, gap >= -1e-9 && gap <= 0.02, "P = %v after the update, the optimum is %v", best, optimum)
		})
	}
}

// Every method that converges finds the optimum of coupled tasks, also when devices drop
// half of the time (the paper's theorems require only that each takes part sometimes).
func TestCoupledOptimum(t *testing.T) {
	t.Parallel()
	everyMethod(t, func(t *testing.T, name string, p *mtl.Problem, c mtl.Coupling) {
		if !minimizesP(name) {
			t.Skip("it has another objective")
		}
		optimum := p.Solver(testPool, 1e-6, 10_000).Optimize(t.Context(), c, nil).Lower()
		a := start(t, name, p, c, func(o algorithms.Options) {
			switch o := o.(type) {
			case *algorithms.MbSDCAOptions:
				*o = algorithms.MbSDCAOptions{Batch: 30, Beta: 3}
			case *algorithms.MbSGDOptions:
				o.Batch = 30
			}
		})
		tolerance := map[string]float64{"async-mocha": 1e-4, "mocha": 1e-4, "local": 1e-4, "cocoa": 1e-4,
			"mb-sdca": 0.05, "mb-sgd": 0.05}[name]
		best := math.Inf(1)
		gap := math.Inf(1)
		for h := 0; h < 4000 && gap > tolerance; h++ {
			round(a, p, h, algorithms.NoLimit, func(k int) bool { return chance(k, h, 0.5) })
			if h%20 == 19 {
				best = math.Min(best, evaluate(a, p, c).Primal)
				gap = best/optimum - 1
			}
		}
		t.Logf("within %.2g", gap)
		expect.That(t, gap >= -1e-9 && gap <= tolerance,
			"P = %v, the optimum is %v: %.2g off, want %g", best, optimum, gap, tolerance)
	})
}
