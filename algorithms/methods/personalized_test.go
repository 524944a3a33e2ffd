package methods

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// personalTwin is a slow federation with personalized models, in textbook form.
type personalTwin struct {
	twin
	v     [][]float64 // by device; nil: it has not taken part
	alpha []float64
}

func newPersonalTwin(p *mtl.Problem, local kit.LocalSGDOptions, respond func(k, h int) bool) personalTwin {
	return personalTwin{
		twin: twin{p: p, local: local, w: make([]float64, p.Features), respond: respond},
		v:    make([][]float64, p.Clients()), alpha: make([]float64, p.Clients()),
	}
}

// average sets w to the mean of local models weighted by rows.
func (t *personalTwin) average(models [][]float64) {
	mean, rows := make([]float64, len(t.w)), 0.0
	for k, u := range models {
		n := float64(t.p.Train.Clients[k].X.Rows)
		if u == nil {
			continue
		}
		rows += n
		for j := range mean {
			mean[j] += n * u[j]
		}
	}
	if rows > 0 {
		for j := range mean {
			t.w[j] = mean[j] / rows
		}
	}
}

// descend takes textbook steps of SGD on mini-batches.
func (t *personalTwin) descend(k int, from []float64, batches [][]int, step, lambda float64) []float64 {
	u := slices.Clone(from)
	for _, rows := range batches {
		for j, g := range t.gradient(k, rows, u) {
			u[j] -= step * (g + lambda*(u[j]-t.w[j]))
		}
	}
	return u
}

// dittoRound is Algorithm 1 of Li et al.: all use the w of the start of the round.
func (t *personalTwin) dittoRound(h int, lambda, step float64, personal kit.LocalSGDOptions) {
	models := make([][]float64, t.p.Clients())
	for k := range models {
		if !t.respond(k, h) {
			continue
		}
		if t.v[k] == nil {
			t.v[k] = slices.Clone(t.w)
		}
		models[k] = t.descend(k, t.w, t.batches(k, h, algorithms.NoLimit, 0), t.local.Step, 0)
		own := *t
		own.local = personal
		t.v[k] = t.descend(k, t.v[k], own.batches(k, h, algorithms.NoLimit, 1), step, lambda)
	}
	t.average(models)
}

// apflRound is Algorithm 1 of Deng et al., with their update of alpha.
func (t *personalTwin) apflRound(h int, adaptive bool) {
	models := make([][]float64, t.p.Clients())
	for k := range models {
		if !t.respond(k, h) {
			continue
		}
		if t.v[k] == nil {
			t.v[k] = slices.Clone(t.w)
		}
		u, v := slices.Clone(t.w), t.v[k]
		for i, rows := range t.batches(k, h, algorithms.NoLimit, 0) {
			a, mixed := t.alpha[k], make([]float64, len(u))
			for j := range mixed {
				mixed[j] = a*v[j] + (1-a)*u[j]
			}
			gu, gv := t.gradient(k, rows, u), t.gradient(k, rows, mixed)
			if i == 0 && adaptive {
				for j := range gv {
					t.alpha[k] -= t.local.Step * gv[j] * (v[j] - u[j])
				}
				t.alpha[k] = math.Max(0, math.Min(1, t.alpha[k]))
			}
			for j := range u {
				u[j] -= t.local.Step * gu[j]
				v[j] -= t.local.Step * a * gv[j]
			}
		}
		models[k] = u
	}
	t.average(models)
}

// perFedAvgRound is Algorithm 1 of Fallah et al., with the first-order approximation or that of
// their equation for Hessian-vector products.
func (t *personalTwin) perFedAvgRound(h int, alpha, delta float64, hessianFree bool) {
	models := make([][]float64, t.p.Clients())
	for k := range models {
		if !t.respond(k, h) {
			continue
		}
		u := slices.Clone(t.w)
		batches := [3][][]int{}
		for use := range batches {
			batches[use] = t.batches(k, h, algorithms.NoLimit, use)
		}
		for i := range batches[0] {
			look, up, down := slices.Clone(u), slices.Clone(u), slices.Clone(u)
			for j, g := range t.gradient(k, batches[0][i], u) {
				look[j] -= alpha * g
			}
			direction := t.gradient(k, batches[1][i], look)
			if hessianFree {
				for j, v := range direction {
					up[j] += delta * v
					down[j] -= delta * v
				}
				gu, gd := t.gradient(k, batches[2][i], up), t.gradient(k, batches[2][i], down)
				for j := range direction {
					direction[j] -= alpha * (gu[j] - gd[j]) / (2 * delta)
				}
			}
			for j := range u {
				u[j] -= t.local.Step * direction[j]
			}
		}
		models[k] = u
	}
	t.average(models)
}

// With drops, or without, the personalized methods are their papers' algorithms: the average,
// and the models that clients are evaluated by.
func TestPersonalizedMethodsEqualTheirTwins(t *testing.T) {
	local := kit.LocalSGDOptions{Epochs: 1.5, Batch: 4, Step: 0.1, Shuffle: true, L2: 0.02}
	local.Schedule = kit.Constant
	options := PersonalOptions{byRowsOf(local), personalModels}
	for _, share := range []float64{1, 0.6, 0.1} {
		respond := func(k, h int) bool { return chance(k, h, share) }
		compare :=
			func(t *testing.T, method string, set algorithms.Options, play func(slow *personalTwin, h int),
				own func(slow *personalTwin, k int) []float64) {
				t.Run(fmt.Sprintf("%s, %g", method, share), func(t *testing.T) {
					p, c := onLoss(t, mtl.LossLogistic, tiedToMean)
					slow := newPersonalTwin(p, local, respond)
					for k := range slow.alpha {
						slow.alpha[k] = 0.6
					}
					f, _ := algorithms.Lookup(method)
					a := expect.Value(f.New(algorithms.Setup{Problem: p, Coupling: c, Workers: testPool.Size()}, set))(
						t)
					for h := range 12 {
						round(a, p, h, algorithms.NoLimit, func(k int) bool { return respond(k, h) })
						play(&slow, h)
					}
					nearVector(t, "w", a.Model().W.Row(0), slow.w, 1e-12)
					models := evaluated(a)
					expect.Must(t, models.Rows == p.Clients(), "%d models of %d devices", models.Rows, p.Clients())
					for k := range p.Clients() {
						nearVector(t, fmt.Sprintf("the model of client %d", k), models.Row(k), own(&slow, k), 1e-11)
					}
				})
			}
		personal := local
		personal.Epochs = 2
		compare(t, "ditto", &dittoOptions{options, 0.7, 2, 0.05, ""},
			func(slow *personalTwin, h int) { slow.dittoRound(h, 0.7, 0.05, personal) },
			func(slow *personalTwin, k int) []float64 {
				if slow.v[k] == nil {
					return slow.w
				}
				return slow.v[k]
			})
		for _, adaptive := range []bool{false, true} {
			compare(t, "apfl", &apflOptions{options, 0.6, adaptive},
				func(slow *personalTwin, h int) { slow.apflRound(h, adaptive) },
				func(slow *personalTwin, k int) []float64 {
					mixed := slices.Clone(slow.w)
					for j := range mixed {
						if slow.v[k] != nil {
							mixed[j] = slow.alpha[k]*slow.v[k][j] + (1-slow.alpha[k])*slow.w[j]
						}
					}
					return mixed
				})
		}
		for _, variant := range []string{firstOrder, hessianFree} {
			compare(t, "per-fedavg", &perFedAvgOptions{options, variant, 0.3, 2, 1e-2},
				func(slow *personalTwin, h int) { slow.perFedAvgRound(h, 0.3, 1e-2, variant == hessianFree) },
				func(slow *personalTwin, k int) []float64 {
					v := slices.Clone(slow.w)
					for range 2 {
						for j, g := range slow.gradient(k, slow.everyRow(k), v) {
							v[j] -= 0.3 * g
						}
					}
					return v
				})
		}
	}
}

// On least squares the second derivatives of the Hessian-free variant are exact: full-batch steps
// with one device end at the minimum of F(w - alpha grad F(w)), which is that of F.
// The first-order variant ends there, too. Without steps of its own Ditto's models are those of
// FedAvg, and with alpha = 0 APFL's are.
func TestPersonalizedMethodsReduce(t *testing.T) {
	p, c := problemOn(t, quadratics(), squared)
	local := kit.LocalSGDOptions{Epochs: 3, Step: 0.1, ScheduleOptions: kit.ScheduleOptions{Schedule: kit.Constant}}
	average := start(t, "fedavg", p, c, func(o algorithms.Options) { o.(*fedAvgOptions).LocalSGDOptions = local })
	ditto := start(t, "ditto", p, c, func(o algorithms.Options) { o.(*dittoOptions).LocalSGDOptions = local })
	mixed := start(t, "apfl", p, c, func(o algorithms.Options) {
		opts := o.(*apflOptions)
		opts.LocalSGDOptions, opts.Alpha, opts.Adaptive = local, 0, false
	})
	for h := range 20 {
		for _, a := range []algorithms.Algorithm{average, ditto, mixed} {
			round(a, p, h, algorithms.NoLimit, nil)
		}
		w := average.Model().W.Row(0)
		for _, a := range []algorithms.Algorithm{ditto, mixed} {
			nearlySame(t, "w", a.Model().W.Row(0), w)
		}
		for k := range p.Clients() {
			nearlySame(t, "the mixed model", evaluated(mixed).Row(k), w)
		}
	}
	// Ditto's models solve F_k(v) + lambda/2 |v - w|^2: with lambda = 0 alone, with much near w.
	for _, lambda := range []float64{0, 8} {
		a := start(t, "ditto", p, c, func(o algorithms.Options) {
			opts := o.(*dittoOptions)
			opts.LocalSGDOptions, opts.Lambda, opts.PersonalEpochs = local, lambda, 200
		})
		for h := range 60 {
			round(a, p, h, algorithms.NoLimit, nil)
		}
		w := slices.Clone(a.Model().W.Row(0))
		round(a, p, 60, algorithms.NoLimit, nil)
		slow := twin{p: p, local: local}
		for k := range p.Clients() {
			v := evaluated(a).Row(k)
			for j, g := range slow.gradient(k, slow.everyRow(k), v) {
				if g += lambda * (v[j] - w[j]); math.Abs(g) > 1e-9 {
					t.Errorf("lambda %g, client %d: gradient %g in coordinate %d", lambda, k, g, j)
				}
			}
		}
	}
}

// The global model can be evaluated in place of the clients', also on devices that share a task,
// which have no models of their own.
func TestEvaluationOfTheGlobalModel(t *testing.T) {
	for _, name := range []string{"apfl", "ditto", "per-fedavg"} {
		f, _ := algorithms.Lookup(name)
		p, c := randomProblem(t, tiedToMean, []int{0, 1, 0, 1}, 9, 14, 5, 30, 8)
		_, err := f.New(algorithms.Setup{Problem: p, Coupling: c, Workers: 1}, f.Options())
		var problem config.Problem
		want := fmt.Sprintf("data.clients_per_task = 2: must be 1, or options.evaluate \"global\": "+
			"%s evaluates a model of each client, and clients that share a task have none", name)
		expect.That(t, errors.As(err, &problem) && problem.Error() == want, "%v, want %s", err, want)
		a := start(t, name, p, c, nil)
		round(a, p, 0, algorithms.NoLimit, nil)
		if w := evaluated(a); w.Rows != 1 || !slices.Equal(w.Row(0), a.Model().W.Row(0)) {
			t.Errorf("%s: %d models are evaluated, want the global one", name, w.Rows)
		}
		o := f.Options()
		kind := f.Describe(o, mtl.Shape{}).Model
		expect.That(t, kind == algorithms.PersonalModels, "%s: its models are of kind %d", name, kind)
		o.(personalOptions).personal().Evaluate = globalModels
		kind = f.Describe(o, mtl.Shape{}).Model
		expect.That(t, kind == algorithms.OneModel, "%s, evaluated by w: its models are of kind %d", name, kind)
	}
}

// What a solve costs: the rows of both models of ditto, two gradients a row in apfl, and two or
// four in per-fedavg. One model travels. The limit of a protocol is one for all work.
func TestPersonalizedMethodsCost(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	const row, update = 4 * 9, 5 * 9
	for _, v := range []struct {
		name           string
		set            func(algorithms.Options)
		allowed, steps int
		updates        float64 // of mini-batches of 4: 4 in a pass over 14 rows
		each           float64 // gradients of a row and updates of a mini-batch
	}{
		{"ditto", func(o algorithms.Options) { o.(*dittoOptions).PersonalEpochs = 1.5 }, algorithms.NoLimit, 28 + 21,
			4 + 4 + 4 + 2, 1},
		{"ditto", func(o algorithms.Options) { o.(*dittoOptions).PersonalEpochs = 1.5 }, 33, 33, 4 + 1 + 4 + 1, 1},
		{"apfl", func(algorithms.Options) {}, algorithms.NoLimit, 28, 8, 2},
		{"apfl", func(algorithms.Options) {}, 9, 9, 3, 2},
		{"per-fedavg", func(algorithms.Options) {}, algorithms.NoLimit, 28, 8, 2},
		{"per-fedavg", func(o algorithms.Options) { o.(*perFedAvgOptions).Variant = hessianFree }, algorithms.NoLimit,
			28, 8, 4},
		{"per-fedavg", func(o algorithms.Options) { o.(*perFedAvgOptions).Variant = hessianFree }, 5, 5, 2, 4},
	} {
		a := start(t, v.name, p, c, func(o algorithms.Options) {
			o.(kit.LocalOptions).Local().Epochs, o.(kit.LocalOptions).Local().Batch = 2, 4
			v.set(o)
		})
		sent, _ := a.Begin()
		expect.That(t, sent.Size == 9, "%s: the server sends %d values", v.name, sent.Size)
		flops := v.each * (float64(v.steps)*row + v.updates*update)
		want := algorithms.Response{Steps: v.steps, FLOPs: flops, Values: 9}
		if w := a.Solve(request(0, 0, v.allowed, 0)); w != want ||
			a.Describe().Work.StepFLOPs != v.each*(row+update/4.) {
			t.Errorf("%s, at most %d rows: %+v, want %+v", v.name, v.allowed, w, want)
		}
	}
}
