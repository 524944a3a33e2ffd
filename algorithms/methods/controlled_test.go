package methods

import (
	"fmt"
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

// quadratics are the least-squares clients Q3 of reference/models.md, section E.
func quadratics() *data.Set {
	rows := [][][3]float64{ // x, x, y
		{{1, 0, 1}, {1, 1, 2}},
		{{0, 1, -1}, {2, 1, 3}, {1, -1, 2}},
		{{1, 2, 4}, {1, 0, 0}, {0, 1, 1}, {1, 1, 2}, {-1, 1, 3}},
	}
	set := &data.Set{Name: "quadratics", Features: 2, Real: true}
	for _, client := range rows {
		task := data.Client{X: data.NewMatrix(len(client), 2), Y: make([]float64, len(client))}
		for i, row := range client {
			copy(task.X.Row(i), row[:2])
			task.Y[i] = row[2]
		}
		set.Clients = append(set.Clients, task)
	}
	return set
}

func squared(c *mtl.Config) { c.Loss = mtl.LossSquared }

// The point where SCAFFOLD and FedDyn end on Q3, the minimizer of (1/m) sum F_k (section E).
var unweighted = []float64{8223. / 7679, 6565. / 7679}

// Traces of five rounds on Q3, and their losses sum p_k F_k: reference/models.md, section F,
// computed with 60 digits.
var controlledTraces = []struct {
	name  string
	set   func(algorithms.Options)
	after [5][3]float64 // w and the loss
}{
	{"scaffold", func(o algorithms.Options) {
		o.(*scaffoldOptions).LocalSGDOptions = kit.LocalSGDOptions{Epochs: 3, Step: 0.1}
	}, [5][3]float64{
		{0.40064645679012346, 0.32049756790123457, 1.5724412887506422},
		{0.65702838171560296, 0.5246893697772143, 1.217393472991223},
		{0.81587580714497954, 0.65117901273681922, 1.0777280222854809},
		{0.91382636637095318, 0.72922531582372258, 1.0222032140247918},
		{0.97417543874452073, 0.7773527480989242, 0.99961346481131954},
	}},
	{"scaffold", func(o algorithms.Options) {
		opts := o.(*scaffoldOptions)
		opts.LocalSGDOptions, opts.Option = kit.LocalSGDOptions{Epochs: 3, Step: 0.1}, optionI
	}, [5][3]float64{
		{0.40064645679012346, 0.32049756790123457, 1.5724412887506422},
		{0.65822783369962978, 0.52561003584168618, 1.2161348225378869},
		{0.81687502938983123, 0.65198528300361133, 1.0770379975262484},
		{0.91454808740107059, 0.72983403686735376, 1.0218663067121113},
		{0.97467710877681944, 0.77779527857657164, 0.99944783228949827},
	}},
	// Its devices minimize exactly: 250 steps, which shrink the distance by 0.85 each or more.
	{"feddyn", func(o algorithms.Options) {
		opts := o.(*fedDynOptions)
		opts.LocalSGDOptions, opts.Alpha = kit.LocalSGDOptions{Epochs: 250, Step: 0.3}, 0.5
	}, [5][3]float64{
		{1.3886628612292329, 1.1924504207690048, 1.1029933678025468},
		{1.1327751363616091, 0.95812823486596447, 0.97590124327262139},
		{1.0786846799274495, 0.87965224866653842, 0.97748660646709465},
		{1.0719971371301947, 0.85329069271366264, 0.98233454912532464},
		{1.0736079031990052, 0.84552500481528493, 0.98436441379435223},
	}},
}

func TestControlledTraces(t *testing.T) {
	p, c := problemOn(t, quadratics(), squared)
	for _, trace := range controlledTraces {
		a := start(t, trace.name, p, c, trace.set)
		for h := range 400 {
			round(a, p, h, algorithms.NoLimit, nil)
			w := a.Model().W.Row(0)
			if h < 5 {
				loss := 0.0
				for k := range p.Clients() {
					loss += float64(p.Train.Clients[k].X.Rows) / 10 * p.LocalLoss(k, w)
				}
				for i, got := range []float64{w[0], w[1], loss} {
					if want := trace.after[h][i]; math.Abs(got-want) > 1e-12*math.Max(1, math.Abs(want)) {
						t.Errorf("%s, round %d: value %d is %.17g, want %.17g", trace.name, h+1, i, got, want)
					}
				}
			}
		}
		nearVector(t, trace.name+" ends at", a.Model().W.Row(0), unweighted, 1e-12)
	}
}

// twin is a slow federation in textbook form, independent of the methods: one gradient at a
// time, row by row, on the mini-batches that the devices draw.
type twin struct {
	p       *mtl.Problem
	local   kit.LocalSGDOptions
	w       []float64
	respond func(device, round int) bool
}

// gradient returns the gradient of the device's mean loss on the rows listed, and of its l2
// term.
func (t *twin) gradient(device int, rows []int, u []float64) []float64 {
	task, g := &t.p.Train.Clients[device], make([]float64, len(u))
	for _, i := range rows {
		z := 0.0
		for j, x := range task.X.Row(i) {
			z += x * u[j]
		}
		for j, x := range task.X.Row(i) {
			g[j] += t.p.Loss.Subgradient(z, task.Y[i]) * x / float64(len(rows))
		}
	}
	for j := range g {
		g[j] += t.local.L2 * u[j]
	}
	return g
}

// batches returns the mini-batches of the device in a round: of passes over its rows in a
// random order, each pass with a new draw, until so many rows are drawn. Uses above 0 are those
// beside the local steps, whose randomness follows from the first draw of the device.
func (t *twin) batches(device, round, most, use int) [][]int {
	n := t.p.Train.Clients[device].X.Rows
	draws := rng.New(1, rng.Solve, device, round)
	if use > 0 {
		draws = rng.New(draws.Uint64(), rng.Solve, device, use)
	}
	var order mtl.Order
	order.Reset(n, draws)
	size := t.local.Batch
	if size == 0 {
		size = n
	}
	var all [][]int
	for left, pass := min(most, int(math.Ceil(t.local.Epochs*float64(n)))), n; left > 0; {
		var rows []int
		for range min(size, pass, left) {
			rows = append(rows, order.Next())
		}
		all = append(all, rows)
		left -= len(rows)
		if pass -= len(rows); pass == 0 {
			pass = n
		}
	}
	return all
}

// everyRow lists the rows of a device.
func (t *twin) everyRow(device int) []int {
	var rows []int
	for i := range t.p.Train.Clients[device].X.Rows {
		rows = append(rows, i)
	}
	return rows
}

// scaffoldTwin is Algorithm 1 of Karimireddy et al. with all clients in each round, or with
// those that respond as the sampled ones.
type scaffoldTwin struct {
	twin
	option string
	server float64
	c      []float64
	ck     [][]float64
}

func (t *scaffoldTwin) round(h, most int) {
	d, n := len(t.w), t.p.Clients()
	dw, dc, sampled := make([]float64, d), make([]float64, d), 0.0
	for k := range n {
		if !t.respond(k, h) {
			continue
		}
		sampled++
		y := slices.Clone(t.w)
		batches := t.batches(k, h, most, 0)
		velocity, weights := make([]float64, d), 0.0
		for i, rows := range batches {
			for j, g := range t.gradient(k, rows, y) {
				velocity[j] = t.local.Momentum*velocity[j] + g - t.ck[k][j] + t.c[j]
				y[j] -= t.local.Step * velocity[j]
			}
			for later := range len(batches) - i { // the gradient moves each later step, too
				weights += math.Pow(t.local.Momentum, float64(later))
			}
		}
		next := t.gradient(k, t.everyRow(k), t.w)
		if t.option == optionII {
			for j := range next {
				next[j] = t.ck[k][j] - t.c[j] + (t.w[j]-y[j])/(weights*t.local.Step)
			}
		}
		for j := range d {
			dw[j] += y[j] - t.w[j]
			dc[j] += next[j] - t.ck[k][j]
		}
		t.ck[k] = next
	}
	for j := range d {
		if sampled > 0 {
			t.w[j] += t.server * dw[j] / sampled
			t.c[j] += sampled / float64(n) * dc[j] / sampled
		}
	}
}

// fedDynTwin is Algorithm 1 of Acar et al., with local steps in place of the minimizer.
type fedDynTwin struct {
	twin
	alpha float64
	h     []float64
	gk    [][]float64
}

func (t *fedDynTwin) round(h, most int) {
	d, n := len(t.w), t.p.Clients()
	mean, moved, sampled := make([]float64, d), make([]float64, d), 0.0
	for k := range n {
		if !t.respond(k, h) {
			continue
		}
		sampled++
		theta := slices.Clone(t.w)
		for _, rows := range t.batches(k, h, most, 0) {
			for j, g := range t.gradient(k, rows, theta) {
				theta[j] -= t.local.Step * (g - t.gk[k][j] + t.alpha*(theta[j]-t.w[j]))
			}
		}
		for j := range d {
			t.gk[k][j] -= t.alpha * (theta[j] - t.w[j])
			mean[j] += theta[j]
			moved[j] += theta[j] - t.w[j]
		}
	}
	for j := range d {
		if sampled > 0 {
			t.h[j] -= t.alpha * moved[j] / float64(n)
			t.w[j] = mean[j]/sampled - t.h[j]/t.alpha
		}
	}
}

func zeros(rows, cols int) [][]float64 {
	all := make([][]float64, rows)
	for i := range all {
		all[i] = make([]float64, cols)
	}
	return all
}

// With drops, or without, SCAFFOLD and FedDyn are their papers' algorithms: the models, and the
// states of the devices and the server.
func TestControlledMethodsEqualTheirTwins(t *testing.T) {
	local := kit.LocalSGDOptions{Epochs: 2.5, Batch: 4, Step: 0.1, Shuffle: true, L2: 0.02}
	for _, share := range []float64{1, 0.6} {
		everyone := twin{local: local, respond: func(k, h int) bool { return chance(k, h, share) }}
		for _, option := range []string{optionI, optionII} {
			t.Run(fmt.Sprintf("scaffold %s, %g", option, share), func(t *testing.T) {
				p, c := onLoss(t, mtl.LossSquaredHinge, tiedToMean)
				d := p.Features
				a := start(t, "scaffold", p, c, func(o algorithms.Options) {
					*o.(*scaffoldOptions) = scaffoldOptions{
						kit.AverageOptions{LocalSGDOptions: local, Weights: kit.Equally}, option, 0.7,
					}
				}).(*scaffold)
				slow := scaffoldTwin{twin: everyone, option: option, server: 0.7, c: make([]float64, d),
					ck: zeros(p.Clients(), d)}
				slow.p, slow.w = p, make([]float64, d)
				for h := range 30 {
					round(a, p, h, algorithms.NoLimit, func(k int) bool { return slow.respond(k, h) })
					slow.round(h, algorithms.NoLimit)
				}
				nearVector(t, "w", a.Weights(), slow.w, 1e-12)
				nearVector(t, "c", a.c, slow.c, 1e-12)
				for k := range p.Clients() {
					nearVector(t, "c_k", a.controls.At(k, nil), slow.ck[k], 1e-12)
				}
			})
		}
		// With momentum K is the sum of the weights that the gradients have in the change.
		t.Run(fmt.Sprintf("scaffold II with momentum, %g", share), func(t *testing.T) {
			p, c := onLoss(t, mtl.LossSquaredHinge, tiedToMean)
			d, heavy := p.Features, everyone
			heavy.local.Momentum = 0.7
			a := start(t, "scaffold", p, c, func(o algorithms.Options) {
				*o.(*scaffoldOptions) = scaffoldOptions{
					kit.AverageOptions{LocalSGDOptions: heavy.local, Weights: kit.Equally}, optionII, 0.7,
				}
			}).(*scaffold)
			slow := scaffoldTwin{twin: heavy, option: optionII, server: 0.7, c: make([]float64, d),
				ck: zeros(p.Clients(), d)}
			slow.p, slow.w = p, make([]float64, d)
			for h := range 30 {
				round(a, p, h, 15+h%20, func(k int) bool { return slow.respond(k, h) })
				slow.round(h, 15+h%20)
			}
			nearVector(t, "w", a.Weights(), slow.w, 1e-12)
			nearVector(t, "c", a.c, slow.c, 1e-12)
		})
		t.Run(fmt.Sprintf("feddyn, %g", share), func(t *testing.T) {
			p, c := onLoss(t, mtl.LossSquaredHinge, tiedToMean)
			d := p.Features
			a := start(t, "feddyn", p, c, func(o algorithms.Options) {
				*o.(*fedDynOptions) = fedDynOptions{kit.AverageOptions{LocalSGDOptions: local, Weights: kit.Equally},
					0.3}
			}).(*fedDyn)
			slow := fedDynTwin{twin: everyone, alpha: 0.3, h: make([]float64, d), gk: zeros(p.Clients(), d)}
			slow.p, slow.w = p, make([]float64, d)
			for h := range 30 {
				round(a, p, h, 23, func(k int) bool { return slow.respond(k, h) })
				slow.round(h, 23)
			}
			nearVector(t, "w", a.Weights(), slow.w, 1e-12)
			for j := range slow.h {
				slow.h[j] /= -0.3
			}
			nearVector(t, "-h/alpha", a.drift, slow.h, 1e-12)
			for k := range p.Clients() {
				for j := range slow.gk[k] {
					slow.gk[k][j] *= -1
				}
				nearVector(t, "-g_k", a.slopes.At(k, nil), slow.gk[k], 1e-12)
			}
		})
	}
}

// With weights by rows c stays the weighted mean of all c_k, and h that of all g_k, whatever
// drops and with whatever weight a late response counts, and the methods end at the minimum
// of the mean loss of all rows.
func TestControlledMethodsWeightedByRows(t *testing.T) {
	p, c := problemOn(t, quadratics(), squared)
	optimum := []float64{6. / 7, 8. / 7} // time.md, section E: of sum p_k F_k
	for _, trace := range controlledTraces {
		byRow := func(o algorithms.Options) {
			trace.set(o)
			switch o := o.(type) {
			case *scaffoldOptions:
				o.Weights = kit.ByRows
			case *fedDynOptions:
				o.Weights = kit.ByRows
			}
		}
		a := start(t, trace.name, p, c, byRow)
		for h := range 400 {
			round(a, p, h, algorithms.NoLimit, nil)
		}
		nearVector(t, trace.name+" ends at", a.Model().W.Row(0), optimum, 1e-12)

		a = start(t, trace.name, p, c, byRow)
		for h := range 40 {
			a.Begin()
			for k := range p.Clients() {
				a.Solve(request(k, h, 7+h%5, 0))
				if chance(k, h, 0.6) {
					a.Commit(k, 1/float64(1+h%3))
				} else {
					a.Discard(k)
				}
			}
			a.End()
			mean := func(of *algorithms.Slots) []float64 {
				sum := make([]float64, 2)
				for k := range p.Clients() {
					for j, v := range of.At(k, nil) {
						sum[j] += v * float64(p.Train.Clients[k].X.Rows) / 10
					}
				}
				return sum
			}
			switch a := a.(type) {
			case *scaffold:
				nearVector(t, "c", a.c, mean(a.controls), 1e-13)
			case *fedDyn:
				g := mean(a.slopes)
				nearVector(t, "h", []float64{a.drift[0] * a.alpha, a.drift[1] * a.alpha}, g, 1e-12)
			}
		}
	}
}

// The budget of a protocol limits the pass of option I and the local steps together; the pass
// gets what the local steps leave, or half, and none of a single row.
func TestScaffoldDividesItsBudget(t *testing.T) {
	for _, c := range []struct {
		epochs                     float64
		rows, allowed, pass, local int
	}{
		{2, 10, algorithms.NoLimit, 10, 20}, {2, 10, 30, 10, 20}, {2, 10, 29, 10, 19}, {2, 10, 15, 7, 8},
		{0.5, 10, 14, 9, 5}, {0, 10, 30, 10, 20}, {0, 10, 9, 4, 5}, {1, 10, 1, 0, 1},
	} {
		o := scaffoldOptions{AverageOptions: kit.DefaultAverage(kit.Equally), Option: optionI}
		o.Epochs = c.epochs
		if pass, local := o.steps(c.rows, c.allowed); pass != c.pass || local != c.local {
			t.Errorf("%+v: %d and %d", c, pass, local)
		}
		o.Option = optionII
		if pass, local := o.steps(c.rows, c.allowed); pass != 0 || local != o.LocalSGDOptions.Steps(c.rows, c.allowed) {
			t.Errorf("%+v with option II: %d and %d", c, pass, local)
		}
	}
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	for _, option := range []string{optionI, optionII} {
		a := start(t, "scaffold", p, c, func(o algorithms.Options) {
			opts := o.(*scaffoldOptions)
			opts.Option, opts.Epochs, opts.Batch = option, 2, 4
		})
		steps := map[string]int{optionI: 42, optionII: 28}[option]
		updates := map[string]float64{optionI: 9, optionII: 8}[option] // 4 in each pass of 14 rows in batches of 4
		sent, _ := a.Begin()
		expect.That(t, sent.Size == 18, "option %s: the server sends %d values, want 18", option, sent.Size)
		if w := a.Solve(request(0, 0, algorithms.NoLimit, 0)); w.Steps != steps || w.Values != 18 ||
			w.FLOPs != float64(steps)*4*9+updates*7*9 {
			t.Errorf("option %s: %+v", option, w)
		}
		a.Commit(0, 1)
		flops, _ := a.End()
		expect.That(t, flops == 8*9, "option %s: a server step on one response takes %g FLOPs", option, flops)
	}
}

// The server of FedDyn adds each response to the mean and to h (2 D each), and then h to -h/alpha, the mean to
// w, and -h/alpha to w (2 D each). A round without responses takes nothing.
func TestWorkOfFedDynsServer(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	a := start(t, "feddyn", p, c, nil)
	for responses := range 4 {
		a.Begin()
		for k := range responses {
			a.Solve(request(k, responses, algorithms.NoLimit, 0))
			a.Commit(k, 1)
		}
		add, want := 2.0*9, 0.0
		if responses > 0 {
			want = float64(responses)*2*add + 3*add
		}
		flops, _ := a.End()
		expect.That(t, flops == want, "%d responses: the server takes %g FLOPs, counted %g", responses, flops, want)
	}
}
