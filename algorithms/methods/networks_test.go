package methods

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// Traces of FedAvg (mu = 0) and FedProx by independent programs that run row by row:
// reference/models.csv, D1, after 1 and 5 rounds. The values are the mean cross-entropy, the
// norm of the model, the first and the last weight, the first bias, and the rows classified
// right.
var softmaxTraces = []struct {
	mu    float64
	batch int // 0: 5 steps on all rows; otherwise 2 passes in the order of the rows
	after map[int][6]float64
}{
	{0, 0, map[int][6]float64{
		1: {1.0701616798262, 0.12002707312970273, -0.046255315107137075, -0.0051351613229658685, 0.021990709211571754,
			20},
		5: {1.0074811638462533, 0.4730201251364906, -0.19423499313938103, -0.019307442067650463, 0.08463518723017525,
			19},
	}},
	{0, 4, map[int][6]float64{
		1: {1.0588000765933554, 0.18324182626785768, -0.0697751436122505, 0.00847076502878165, 0.020928781287719835,
			19},
		5: {0.9938424769800659, 0.667711437052086, -0.2766349576144726, 0.03267591614441256, 0.08239188994340466, 21},
	}},
	{1, 0, map[int][6]float64{
		1: {1.0750246613811156, 0.09832877106525309, -0.037891850648806506, -0.0042091900629077725, 0.01801415704695088,
			20},
		5: {1.0173718311544424, 0.4040185981295943, -0.16437885634864086, -0.016590282648042656, 0.07245585528449525,
			19},
	}},
	{1, 4, map[int][6]float64{
		1: {1.066787759862344, 0.14654440666635957, -0.05884420140032903, 0.01039613079784739, 0.01363797116278614, 19},
		5: {1.004314676828991, 0.5728614542910538, -0.24543249662011338, 0.04067663782937793, 0.059475907651557296, 21},
	}},
}

// sines are the clients of the traces, with a feature 1 for the bias.
func sines() *data.Set {
	const d = 5
	set := &data.Set{Name: "sines", Features: d + 1, Classes: []string{"0", "1", "2"}}
	for k := 1; k <= 4; k++ {
		n := 3 + 3*k
		task := data.Client{X: data.NewMatrix(n, d+1), Y: make([]float64, n)}
		for i := 1; i <= n; i++ {
			row := task.X.Row(i - 1)
			for j := 1; j <= d; j++ {
				row[j-1] = math.Sin(float64(k + 2*i + 3*j + i*j))
			}
			row[d] = 1
			task.Y[i-1] = float64((i*k + i/2) % 3)
		}
		set.Clients = append(set.Clients, task)
	}
	return set
}

// problemOn returns a problem on the rows of a set, which are its test rows, too.
func problemOn(t testing.TB, set *data.Set, change func(*mtl.Config)) (*mtl.Problem, mtl.Coupling) {
	t.Helper()
	cfg := mtl.Defaults()
	cfg.Regularizer, cfg.Loss = mtl.RegIndependent, mtl.LossSoftmax
	if change != nil {
		change(&cfg)
	}
	p := mustProblem(t, cfg, data.Split{Train: set, Test: set})
	c := expect.Value(p.Regularizer.Start(testPool, p.Tasks()))(t)
	return p, c
}

func TestSoftmaxTraces(t *testing.T) {
	p, c := problemOn(t, sines(), nil)
	for _, trace := range softmaxTraces {
		local := kit.LocalSGDOptions{Epochs: 5, Step: 0.1}
		if trace.batch > 0 {
			local.Epochs, local.Batch = 2, trace.batch
		}
		name, set := "fedavg", func(o algorithms.Options) { o.(*fedAvgOptions).AverageOptions = byRowsOf(local) }
		if trace.mu > 0 {
			name, set = "fedprox",
				func(o algorithms.Options) { *o.(*fedProxOptions) = fedProxOptions{byRowsOf(local), trace.mu} }
		}
		a := start(t, name, p, c, set)
		for h := 1; h <= 5; h++ {
			round(a, p, h, algorithms.NoLimit, nil)
			want, ok := trace.after[h]
			if !ok {
				continue
			}
			w, loss, norm, rows, wrong := a.Model().W.Row(0), 0.0, 0.0, 0.0, 0.0
			for k := range p.Clients() {
				n := float64(p.Train.Clients[k].X.Rows)
				loss += n * p.LocalLoss(k, w)
				rows += n
			}
			for _, x := range w {
				norm += x * x
			}
			q := p.NewSample(0, 0).Quality(testPool, a.Model().W, false)
			for k, e := range q.Train.Error {
				wrong += e * float64(q.Train.Rows[k])
			}
			got := [6]float64{loss / rows, math.Sqrt(norm), w[0], w[2*6+4], w[5], rows - wrong}
			for i := range got {
				if math.Abs(got[i]-want[i]) > 1e-12*math.Max(1, math.Abs(want[i])) {
					t.Errorf("mu %g, batch %d, round %d: value %d is %.17g, want %.17g", trace.mu, trace.batch, h, i,
						got[i], want[i])
				}
			}
		}
	}
}

// deep makes the problem one of a network.
func deep(c *mtl.Config) { c.Model, c.Hidden = mtl.ModelMLP, mtl.Widths{6, 4} }

// primal are the methods that train networks.
var primal = []string{
	"apfl", "asgd", "ditto", "fedadagrad", "fedadam", "fedasync", "fedau", "fedavg", "fedavgm", "fedbuff",
	"fedcompass", "feddyn", "fedem", "fednova", "fedper", "fedprox", "fedrep", "fedu", "fedvarp", "fedyogi", "ifca",
	"mb-sgd", "mifa", "per-fedavg", "pfedme", "rennala",
	"rescaled", "ringleader", "ringmaster", "scaffold",
}

// startSeeded is start with a seed and a number of workers.
func startSeeded(t testing.TB, name string, p *mtl.Problem, c mtl.Coupling, seed uint64,
	workers int) algorithms.Algorithm {
	t.Helper()
	f, _ := algorithms.Lookup(name)
	o := f.Options()
	smaller(o)
	switch o := o.(type) {
	case *algorithms.MbSGDOptions:
		o.Step, o.Delay = 0.2, 100
	case *fedAvgMOptions:
		o.ServerStep = 0.1
	case *adaptiveOptions:
		o.ServerStep = 0.01
	case *decayingOptions:
		o.ServerStep = 0.01
	case *fedDynOptions:
		o.Alpha = 1
	}
	a := expect.Value(f.New(algorithms.Setup{Problem: p, Coupling: c, Workers: workers, Seed: seed}, o))(t)
	return a
}

// Networks train with the same bits on any number of workers, from a start that depends on
// the seed alone, in both precisions, and continue from a checkpoint.
func TestNetworksTrain(t *testing.T) {
	single := sines()
	for k := range single.Clients {
		x := &single.Clients[k].X
		narrow := data.NewSingle(x.Rows, x.Cols)
		for i := range x.Rows {
			for j, v := range x.Row(i) {
				narrow.Single[i*narrow.Stride+j] = float32(v)
			}
		}
		*x = narrow
	}
	for _, set := range []*data.Set{sines(), single} {
		p, c := problemOn(t, set, deep)
		for _, name := range primal {
			play := func(a algorithms.Algorithm, from, to, workers int) shown {
				for h := from; h < to; h++ {
					a.Begin()
					parallel.NewPool(workers).For(p.Clients(),
						func(k, worker int) { a.Solve(request(k, h, algorithms.NoLimit, worker)) })
					for k := range p.Clients() {
						if chance(k, h, 0.8) {
							a.Commit(k, 1)
						} else {
							a.Discard(k)
						}
					}
					a.End()
				}
				return snapshot(a)
			}
			first := startSeeded(t, name, p, c, 1, 1)
			before := evaluate(first, p, c)
			want := play(first, 0, 40, 1)
			if after := evaluate(first, p, c); !(after.Primal < before.Primal) ||
				!(after.TrainErrorClients < before.TrainErrorClients) {
				t.Errorf("%s: P went from %g to %g, the error from %g to %g", name, before.Primal, after.Primal,
					before.TrainErrorClients, after.TrainErrorClients)
			}
			err := same(play(startSeeded(t, name, p, c, 1, 3), 0, 40, 3), want)
			expect.That(t, err == nil, "%s on 3 workers: %v", name, err)
			if err := same(play(startSeeded(t, name, p, c, 2, 1), 0, 40, 1), want); err == nil {
				t.Errorf("%s: two seeds have the same network", name)
			}
			half, rest := startSeeded(t, name, p, c, 1, 1), startSeeded(t, name, p, c, 1, 1)
			play(half, 0, 17, 1)
			var kept bytes.Buffer
			half.(algorithms.Stateful).State(state.Writing(&kept))
			r := state.Reading(&kept)
			if rest.(algorithms.Stateful).State(r); r.Err() != nil || kept.Len() > 0 {
				t.Fatalf("%s: %v, %d bytes left", name, r.Err(), kept.Len())
			}
			if err := same(play(rest, 17, 40, 1), want); err != nil {
				t.Errorf("%s resumed: %v", name, err)
			}
		}
	}
}

// A method with one model holds changes of the devices at work and versions in use, no more.
func TestDiscardsAndResponsesFreeMemory(t *testing.T) {
	p, c := problemOn(t, sines(), deep)
	held := func(m *kit.GlobalModel) int {
		n := 0
		for k := range p.Clients() {
			if m.Changes.Has(k) {
				n++
			}
		}
		return n
	}
	f := startSeeded(t, "fedbuff", p, c, 1, 1).(*fedBuff)
	send := func(k int) {
		f.Send(k)
		f.Solve(request(k, 1, algorithms.NoLimit, 0))
	}
	versions := func() (used int) {
		for _, v := range f.sent.models {
			if v.holders > 0 {
				used++
			}
		}
		return used
	}
	for h := range 30 {
		before := slices.Clone(f.Weights())
		for k := range 4 {
			send(k)
		}
		expect.Must(t, held(&f.GlobalModel) == 4 && versions() == 1,
			"%d changes and %d versions of 4 devices at work", held(&f.GlobalModel), versions())
		for k := range 4 {
			f.Discard(k)
		}
		expect.Must(t, slices.Equal(before, f.Weights()) && held(&f.GlobalModel) == 0 && versions() == 0,
			"after discards %d changes and %d versions are left", held(&f.GlobalModel), versions())
		// Two responses take a step, so the others hold an older version than device 0 then.
		for k := range 4 {
			send(k)
		}
		f.Receive(0)
		f.Receive(1)
		send(0)
		expect.Must(t, versions() == 2 && f.steps == h*2+1,
			"%d versions after %d steps, want 2 after %d", versions(), f.steps, h*2+1)
		f.Receive(2)
		f.Receive(3)
		f.Discard(0)
		expect.Must(t, held(&f.GlobalModel) == 0 && versions() == 0,
			"%d changes and %d versions are left", held(&f.GlobalModel), versions())
	}
	if spare := reflect.ValueOf(f.Changes).Elem().FieldByName("spare").Len(); len(f.sent.models) > 2 || spare > 4 {
		t.Errorf("memory of %d versions and %d changes, want 2 and 4", len(f.sent.models), spare)
	}
	a := startSeeded(t, "fedavg", p, c, 1, 2).(*fedAvg)
	for h := range 5 {
		round(a, p, h, algorithms.NoLimit, func(k int) bool { return k%2 == 0 })
		n := held(&a.GlobalModel)
		expect.Must(t, n == 0, "round %d: %d changes are left", h, n)
	}
	w := a.Model().W
	expect.That(t, w.Rows == 1 && w.Cols == p.Values(), "W is %d x %d, want one row of %d", w.Rows, w.Cols, p.Values())
}

// The mini-batches of rows in their order.
func TestLocalStepsInOrder(t *testing.T) {
	var o mtl.Order
	o.Reset(5, algorithms.Stream{})
	taken := ""
	for _, most := range []int{2, 2, 2, 4, 4} {
		taken += fmt.Sprint(o.InOrder(most))
	}
	want := "[0 1][2 3][4][0 1 2 3][4]"
	expect.That(t, taken == want, "%s, want %s", taken, want)
}
