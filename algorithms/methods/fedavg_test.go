package methods

import (
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// meanLoss is f(w) = 1/n sum of all rows' losses + l2/2 |w|^2, row by row.
func meanLoss(p *mtl.Problem, l2 float64, w []float64) float64 {
	sum, rows, square := 0.0, 0.0, 0.0
	for _, task := range p.Train.Clients {
		for i := range task.X.Rows {
			z := 0.0
			for j, x := range task.X.Row(i) {
				z += x * w[j]
			}
			sum += p.Loss.Value(z, task.Y[i])
			rows++
		}
	}
	for _, x := range w {
		square += x * x
	}
	return sum/rows + l2/2*square
}

// meanGradient is the gradient of meanLoss, row by row.
func meanGradient(p *mtl.Problem, l2 float64, w []float64) []float64 {
	g, rows := make([]float64, len(w)), 0.0
	for _, task := range p.Train.Clients {
		for i := range task.X.Rows {
			z := 0.0
			for j, x := range task.X.Row(i) {
				z += x * w[j]
			}
			for j, x := range task.X.Row(i) {
				g[j] += p.Loss.Subgradient(z, task.Y[i]) * x
			}
			rows++
		}
	}
	for j := range g {
		g[j] = g[j]/rows + l2*w[j]
	}
	return g
}

func nearVector(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	g, w := data.NewMatrix(1, len(got)), data.NewMatrix(1, len(want))
	copy(g.Row(0), got)
	copy(w.Row(0), want)
	nearMatrix(t, what, &g, &w, tolerance)
}

// byRowsOf are settings of a mean weighted by rows.
func byRowsOf(o kit.LocalSGDOptions) kit.AverageOptions {
	if o.Schedule == "" {
		o.Schedule = kit.Constant
	}
	return kit.AverageOptions{LocalSGDOptions: o, Weights: kit.ByRows}
}

// With batches of all rows and one pass, a round is a step of gradient descent on
// f, whatever scaling the losses of the problem have, and however its rows are
// spread over devices and tasks: the mean weighted by rows of the gradients of F_k
// is that of f. All rows of W are the same.
func TestFedAvgOnFullBatchesIsGradientDescent(t *testing.T) {
	full := kit.LocalSGDOptions{Epochs: 1, Step: 0.3, L2: 0.05, Shuffle: true}
	for _, method := range []string{"fedavg", "fedprox", "fedbuff"} {
		problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
			a := start(t, method, p, c, func(o algorithms.Options) {
				switch o := o.(type) {
				case *fedAvgOptions:
					o.AverageOptions = byRowsOf(full)
				case *fedProxOptions:
					o.AverageOptions, o.Mu = byRowsOf(full), 3 // no pull at the first step
				case *FedBuffOptions:
					o.AverageOptions, o.Buffer = byRowsOf(full), p.Clients()
				}
			})
			w := make([]float64, p.Features)
			for h := range 50 {
				round(a, p, h, algorithms.NoLimit, nil)
				for j, g := range meanGradient(p, full.L2, w) {
					w[j] -= full.Step * g
				}
			}
			for k := range p.Tasks() {
				nearVector(t, "w", mtl.ModelRow(a.Model().W, k), w, 1e-12)
			}
		})
	}
}

// FedProx at mu = 0 is FedAvg, bit for bit, and so is FedBuff with a buffer of as
// many responses as there are devices when all of them arrive before the next round.
func TestFedProxAndFedBuffReduceToFedAvg(t *testing.T) {
	problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) {
		local := kit.LocalSGDOptions{Epochs: 2, Batch: 4, Step: 0.1, L2: 0.01, Shuffle: true}
		avg := start(t, "fedavg", p, c,
			func(o algorithms.Options) { o.(*fedAvgOptions).AverageOptions = byRowsOf(local) })
		prox := start(t, "fedprox", p, c,
			func(o algorithms.Options) { *o.(*fedProxOptions) = fedProxOptions{byRowsOf(local), 0} })
		buff := start(t, "fedbuff", p, c, func(o algorithms.Options) {
			*o.(*FedBuffOptions) = FedBuffOptions{byRowsOf(local), p.Clients(), 1, 1}
		}).(algorithms.Asynchronous)
		for h := range 20 {
			round(avg, p, h, algorithms.NoLimit, nil)
			round(prox, p, h, algorithms.NoLimit, nil)
			for k := range p.Clients() {
				buff.Send(k)
			}
			for k := range p.Clients() {
				buff.Solve(request(k, h, algorithms.NoLimit, 0))
				taken, _, _ := buff.Receive(k)
				expect.Must(t, taken, "round %d: the response of device %d is refused", h, k)
			}
			err := same(snapshot(prox), snapshot(avg))
			expect.Must(t, err == nil, "round %d: FedProx at mu = 0 against FedAvg: %v", h, err)
			err = same(snapshot(buff), snapshot(avg))
			expect.Must(t, err == nil, "round %d: FedBuff against FedAvg: %v", h, err)
		}
	})
}

// The mean is over the devices that respond, weighted by their rows. A device with a
// lower step limit still counts with all its rows.
func TestFedAvgAveragesResponses(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	set := func(o algorithms.Options) {
		o.(*fedAvgOptions).AverageOptions = byRowsOf(kit.LocalSGDOptions{Epochs: 3, Batch: 4, Step: 0.1, Shuffle: true})
	}
	alone := make([][]float64, 3)
	for k := range alone {
		a := start(t, "fedavg", p, c, set)
		a.Begin()
		// of 5 rows: 4, 1, 2
		if w := a.Solve(request(k, 0, 7, 0)); w.Steps != 7 || w.Values != 9 ||
			w.FLOPs != 7*4*9+[]float64{2, 3, 2}[k]*5*9 {
			t.Errorf("device %d, asked for 7 rows at most in batches of 4: %+v", k, w)
		}
		a.Commit(k, 1)
		flops, _ := a.End()
		expect.That(t, flops == 4*9, "the mean of one response takes %g FLOPs", flops)
		alone[k] = slices.Clone(a.Model().W.Row(0))
	}
	a := start(t, "fedavg", p, c, set)
	round(a, p, 0, 7, func(k int) bool { return k != 1 })
	want := make([]float64, 9)
	for j := range want {
		want[j] = (14*alone[0][j] + 30*alone[2][j]) / 44
	}
	nearVector(t, "w", mtl.ModelRow(a.Model().W, 1), want, 1e-14)
}

// FedBuff on hand-made events: the buffer takes changes damped by 1/sqrt(1+tau) and
// weighted by rows, w moves when the buffer is full, and the server refuses stale
// responses.
func TestFedBuffByHand(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	a := start(t, "fedbuff", p, c, func(o algorithms.Options) {
		*o.(*FedBuffOptions) = FedBuffOptions{
			byRowsOf(kit.LocalSGDOptions{Epochs: 1, Batch: 4, Step: 0.1, Shuffle: true}), 2, 0.5, 1,
		}
	}).(*fedBuff)
	w := func() []float64 { return slices.Clone(a.Model().W.Row(0)) }
	response := func(k, h int) []float64 {
		a.Solve(request(k, h, algorithms.NoLimit, 0))
		return slices.Clone(a.Changes.At(k, nil))
	}
	receive := func(k int, want bool, flops float64) {
		t.Helper()
		before := snapshot(a)
		if taken, f, _ := a.Receive(k); taken != want || f != flops {
			t.Fatalf("device %d: taken is %v at %g FLOPs, want %v at %g", k, taken, f, want, flops)
		}
		if !want {
			err := same(snapshot(a), before)
			expect.That(t, err == nil, "a refused response has changed the model: %v", err)
		}
	}
	for k := range 3 {
		values, _ := a.Send(k)
		expect.That(t, values == 9, "device %d is sent %d values", k, values)
	}
	start := w()
	zero, one, two := response(0, 0), response(1, 0), response(2, 0)
	receive(2, true, 0)
	nearlySame(t, "w before the buffer is full", w(), start)
	receive(0, true, 6*9)
	want := make([]float64, 9)
	for j := range want {
		want[j] = start[j] + 0.5*(30*two[j]+14*zero[j])/44
	}
	nearVector(t, "w after a step", w(), want, 1e-14)

	a.Send(0)
	zero = response(0, 1)
	receive(1, true, 0) // its w is one step old
	receive(0, true, 6*9)
	for j := range want {
		want[j] += 0.5 * (5*one[j]/math.Sqrt2 + 14*zero[j]) / 19
	}
	nearVector(t, "w after two steps", w(), want, 1e-14)

	// Device 2 is sent w before two more steps, which is one too many.
	a.Send(2)
	for range 2 {
		for _, k := range []int{0, 1} {
			a.Send(k)
			response(k, 2)
			receive(k, true, []float64{0, 6 * 9}[k])
		}
	}
	response(2, 2)
	receive(2, false, 0)
	a.Send(2)
	response(2, 3)
	receive(2, true, 0)
}

func nearlySame(t *testing.T, what string, got, want []float64) {
	t.Helper()
	expect.That(t, slices.Equal(got, want), "%s: %v, want %v", what, got, want)
}

// Under protocols with rounds FedBuff's buffer carries over to the next round: K = 7 with
// 5 devices is a step every other round.
func TestFedBuffAcrossRounds(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30, 8, 21)
	a := start(t, "fedbuff", p, c, func(o algorithms.Options) { o.(*FedBuffOptions).Buffer = 7 })
	for h := range 21 {
		before := snapshot(a)
		round(a, p, h, algorithms.NoLimit, nil)
		steps := (h+1)*5/7 - h*5/7
		moved := same(snapshot(a), before) != nil
		expect.That(t, moved == (steps == 1), "round %d: %d steps, but W has moved is %v", h, steps, moved)
	}
}

// Many local passes on devices that differ lead FedAvg to a place near the
// minimum of f, one gradient step a round to the minimum itself.
func TestFedAvgMinimizesTheMeanLoss(t *testing.T) {
	p, c := onLoss(t, mtl.LossSquaredHinge, tiedToMean)
	const l2 = 0.1
	w := make([]float64, p.Features)
	for range 5000 {
		for j, g := range meanGradient(p, l2, w) {
			w[j] -= 0.05 * g
		}
	}
	least := meanLoss(p, l2, w)
	for _, method := range []struct {
		name      string
		local     kit.LocalSGDOptions
		tolerance float64
	}{
		{"fedavg", kit.LocalSGDOptions{Epochs: 1, Step: 0.05, L2: l2, Shuffle: true}, 1e-9},
		{"fedbuff", kit.LocalSGDOptions{Epochs: 1, Step: 0.05, L2: l2, Shuffle: true}, 1e-2},
		// Several steps between two means move different devices apart.
		{"fedavg", kit.LocalSGDOptions{Epochs: 1, Batch: 8, Step: 0.01, L2: l2, Shuffle: true}, 0.05},
	} {
		a := start(t, method.name, p, c, func(o algorithms.Options) {
			switch o := o.(type) {
			case *fedAvgOptions:
				o.AverageOptions = byRowsOf(method.local)
			case *FedBuffOptions:
				o.AverageOptions, o.Buffer = byRowsOf(method.local), 3
			}
		})
		for h := range 2000 {
			round(a, p, h, algorithms.NoLimit, nil)
		}
		if got := meanLoss(p, l2, a.Model().W.Row(0)); got < least*(1-1e-9) || got > least*(1+method.tolerance) {
			t.Errorf("%s with %+v: f = %.12g, the minimum is %.12g", method.name, method.local, got, least)
		}
	}
}

// On one device FedAvg is SGD, FedProx SGD with the proximal term, written down
// here as the papers have it.
func TestOnOneDeviceItIsLocalSGD(t *testing.T) {
	for _, mu := range []float64{0, 0.7} {
		o := kit.LocalSGDOptions{Epochs: 2.5, Batch: 4, Step: 0.2, L2: 0.1, Shuffle: true}
		p, c := randomProblem(t, untied, nil, 9, 14)
		a := start(t, "fedprox", p, c,
			func(x algorithms.Options) { *x.(*fedProxOptions) = fedProxOptions{byRowsOf(o), mu} })
		w := make([]float64, p.Features)
		for h := range 10 {
			round(a, p, h, algorithms.NoLimit, nil)
			sent := slices.Clone(w)
			var order mtl.Order
			order.Reset(14, rng.New(1, rng.Solve, 0, h))
			// 2.5 passes over 14 rows: 4+4+4+2, the same again, 4 and 3.
			for _, size := range []int{4, 4, 4, 2, 4, 4, 4, 2, 4, 3} {
				g := make([]float64, len(w))
				for range size {
					i := order.Next()
					x, z := p.Train.Clients[0].X.Row(i), 0.0
					for j := range x {
						z += x[j] * w[j]
					}
					for j := range x {
						g[j] += p.Loss.Subgradient(z, p.Train.Clients[0].Y[i]) * x[j] / float64(size)
					}
				}
				for j := range w {
					w[j] -= o.Step * (g[j] + o.L2*w[j] + mu*(w[j]-sent[j]))
				}
			}
			nearVector(t, "w", a.Model().W.Row(0), w, 1e-12)
		}
	}
}

// The proximal term holds devices near the model that they were sent: the larger mu, the
// shorter the step of a round, and any number of local passes stays within |g|/mu.
func TestFedProxStaysNear(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	last := math.Inf(1)
	for _, mu := range []float64{0, 0.3, 1, 3, 10} {
		a := start(t, "fedprox", p, c, func(o algorithms.Options) {
			*o.(*fedProxOptions) = fedProxOptions{byRowsOf(kit.LocalSGDOptions{Epochs: 50, Step: 0.05, Shuffle: true}),
				mu}
		})
		round(a, p, 0, algorithms.NoLimit, nil)
		way := 0.0
		for _, x := range a.Model().W.Row(0) {
			way += x * x
		}
		way = math.Sqrt(way)
		expect.That(t, way < last, "mu = %g: a way of %g, with less mu %g", mu, way, last)
		last = way
		// The gradient of the hinge is at most the longest row.
		longest := 0.0
		for _, norms := range p.Norms {
			longest = max(longest, math.Sqrt(slices.Max(norms)))
		}
		expect.That(t, mu <= 0 || way <= longest/mu,
			"mu = %g: a way of %g, rows are no longer than %g", mu, way, longest)
	}
}
