package methods

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// scheduled returns a schedule with its numbers.
func scheduled(name string, rounds int, factor float64, warmup int) kit.ScheduleOptions {
	return kit.ScheduleOptions{Schedule: name,
		ScheduleTerms: kit.ScheduleTerms{ScheduleRounds: rounds, ScheduleFactor: factor, WarmupRounds: warmup}}
}

// slowSteps is a device's local SGD row by row, as docs/methods.md has it, with the step size
// in the round and the linear term slope, which may be nil.
func slowSteps(p *mtl.Problem, o kit.LocalSGDOptions, device, h int, step, mu float64,
	start, slope []float64) []float64 {
	task := p.Train.Clients[device]
	rows := task.X.Rows
	batch := o.Batch
	if batch == 0 {
		batch = rows
	}
	var order mtl.Order
	order.Reset(rows, rng.New(1, rng.Solve, device, h))
	w, v := slices.Clone(start), make([]float64, len(start))
	for left, inPass := int(math.Ceil(o.Epochs*float64(rows))), rows; left > 0; {
		size := min(batch, left, inPass)
		left -= size
		if inPass -= size; inPass == 0 {
			inPass = rows
		}
		g := make([]float64, len(w))
		for range size {
			i := order.Next()
			x, z := task.X.Row(i), 0.0
			for j := range x {
				z += x[j] * w[j]
			}
			for j := range x {
				g[j] += p.Loss.Subgradient(z, task.Y[i]) * x[j] / float64(size)
			}
		}
		norm := 0.0
		for j := range g {
			g[j] += o.L2*w[j] + mu*(w[j]-start[j])
			if slope != nil {
				g[j] += slope[j]
			}
			norm += g[j] * g[j]
		}
		for j := range w {
			if o.Clip > 0 && math.Sqrt(norm) > o.Clip {
				g[j] *= o.Clip / math.Sqrt(norm)
			}
			v[j] = o.Momentum*v[j] + g[j]
			w[j] -= step * v[j]
		}
	}
	return w
}

// Local steps with momentum, clipping, a proximal term and a linear one, alone and together,
// are those of the definition. Momentum starts at 0 in every round, whatever came before.
func TestLocalStepsAgreeWithTheirDefinition(t *testing.T) {
	p, _ := randomProblem(t, tiedToMean, nil, 9, 14, 5)
	from, slope := make([]float64, 9), make([]float64, 9)
	for j := range slope {
		from[j], slope[j] = float64(j)/7, math.Sin(float64(j))
	}
	plain := kit.LocalSGDOptions{Epochs: 2.5, Batch: 4, Step: 0.2, L2: 0.1, Shuffle: true}
	var different []string
	for _, change := range []func(o *kit.LocalSGDOptions){
		func(*kit.LocalSGDOptions) {},
		func(o *kit.LocalSGDOptions) { o.Momentum = 0.9 },
		func(o *kit.LocalSGDOptions) { o.Clip = 1.5 },
		func(o *kit.LocalSGDOptions) { o.Clip = 1e9 },
		func(o *kit.LocalSGDOptions) { o.Momentum, o.Clip = 0.5, 1.5 },
		func(o *kit.LocalSGDOptions) { o.Momentum, o.Clip, o.Batch = 0.5, 1, 0 },
		func(o *kit.LocalSGDOptions) { o.Momentum, o.WarmupRounds = 0.5, 8 },
	} {
		o := plain
		change(&o)
		l := kit.NewLocalSGD(algorithms.Setup{Problem: p, Workers: 1}, o)
		for _, s := range [][]float64{nil, slope} {
			for _, device := range []int{0, 1, 0} {
				r := request(device, 3, algorithms.NoLimit, 0)
				r.Round = 3
				step := o.Step
				if o.WarmupRounds > 0 {
					step *= 4. / 8
				}
				got, steps := l.Descend(r, from, kit.Pull{Mu: 0.7, Center: from, Slope: s})
				want := slowSteps(p, o, device, 3, step, 0.7, from, s)
				n := []int{35, 13}[device]
				expect.That(t, steps == n, "%+v: device %d takes %d rows, want %d", o, device, steps, n)
				nearVector(t, fmt.Sprintf("%+v, device %d", o, device), got, want, 1e-12)
				if device == 1 {
					different = append(different, fmt.Sprint(want))
				}
			}
		}
	}
	slices.Sort(different)
	if n := len(slices.Compact(different)); n != 12 { // a clip of 1e9 is none
		t.Errorf("%d results differ, want 12", n)
	}
}

// Step sizes by round, by hand.
func TestSchedules(t *testing.T) {
	for _, s := range []struct {
		o    kit.ScheduleOptions
		want map[int]float64
	}{
		{kit.ScheduleOptions{Schedule: kit.Constant}, map[int]float64{0: 0.4, 1000: 0.4}},
		{scheduled(kit.Constant, 0, 0, 4),
			map[int]float64{0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4, 4: 0.4, 99: 0.4}},
		{scheduled(kit.InverseSqrt, 1, 0, 0), map[int]float64{0: 0.4, 3: 0.2, 15: 0.1}},
		{scheduled(kit.InverseSqrt, 10, 0, 2),
			map[int]float64{0: 0.2, 2: 0.4, 32: 0.2}},
		{scheduled(kit.Cosine, 100, 0, 0),
			map[int]float64{0: 0.4, 50: 0.2, 25: 0.2 + 0.1*math.Sqrt2, 100: 0, 500: 0}},
		{scheduled(kit.Cosine, 100, 0.5, 10),
			map[int]float64{4: 0.2, 10: 0.4, 60: 0.3, 110: 0.2, 1e6: 0.2}},
		{scheduled(kit.Stages, 30, 0.1, 0),
			map[int]float64{0: 0.4, 29: 0.4, 30: 0.04, 59: 0.04, 60: 0.004}},
		{scheduled(kit.Stages, 1, 0, 0),
			map[int]float64{0: 0.4, 1: 0, 1e9: 0}},
	} {
		for h, want := range s.want {
			got := s.o.At(h, 0.4)
			expect.That(t, math.Abs(got-want) <= 1e-15, "%+v: round %d has the step %.17g, want %g", s.o, h, got, want)
		}
	}
}

// Methods work with the step of the round in which they were asked; those without rounds
// count the server's steps. A run with a schedule has the bits of rounds under constant steps.
func TestMethodsFollowTheSchedule(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	for _, name := range learningMethods() {
		set := func(step float64, schedule kit.ScheduleOptions) func(algorithms.Options) {
			return func(o algorithms.Options) {
				smaller(o)
				if o, ok := o.(*FedBuffOptions); ok {
					o.Buffer = p.Clients() // a server step is a round
				}
				if o, ok := o.(*fedAsyncOptions); ok {
					o.Staleness, o.A = kit.Constant, 0
				}
				if o, ok := o.(*rennalaOptions); ok {
					o.Gradients = p.Clients()
				}
				if o, ok := o.(interface{ gradient() *gradientOptions }); ok {
					*o.gradient() = gradientOptions{Step: step, ScheduleOptions: schedule}
				}
				local := o.(kit.LocalOptions).Local()
				local.Step, local.Clip, local.ScheduleOptions = step, 0, schedule
			}
		}
		f, _ := algorithms.Lookup(name)
		if _, local := f.Options().(kit.LocalOptions); !local {
			continue
		}
		a := start(t, name, p, c,
			set(0.2, scheduled(kit.Stages, 1, 0.5, 0)))
		asked := func(a algorithms.Algorithm, h int) {
			a.Begin()
			for k := range p.Clients() {
				if k > 0 && slices.Contains([]string{"fedasync", "fedcompass", "asgd", "ringmaster", "rescaled"},
					name) {
					break
				}
				r := request(k, h, algorithms.NoLimit, 0)
				if describe(f.Name, mtl.Shape{}).Asynchronous == algorithms.Yes { // without rounds none is counted
					r.Round = 0
				}
				a.Solve(r)
				a.Commit(k, 1)
			}
			a.End()
		}
		before := slices.Clone(a.Model().W.Row(0))
		asked(a, 0)
		first := start(t, name, p, c, set(0.2, kit.ScheduleOptions{Schedule: kit.Constant}))
		asked(first, 0)
		err := same(snapshot(a), snapshot(first))
		expect.That(t, err == nil && !slices.Equal(before, a.Model().W.Row(0)), "%s: round 0: %v", name, err)
		// The change of a round from the same w has the step of the round: full batches of
		// one pass are a gradient step.
		if name == "fedem" || name == "pfedme" { // rows have weights, or steps have inner ones
			continue
		}
		full := start(t, name, p, c, func(o algorithms.Options) {
			set(0.2, scheduled(kit.Stages, 1, 0.5, 0))(o)
			o.(kit.LocalOptions).Local().Batch = 0
		})
		asked(full, 0)
		w := slices.Clone(full.Model().W.Row(0))
		full.Begin()
		r := request(0, 1, algorithms.NoLimit, 0)
		if describe(f.Name, mtl.Shape{}).Asynchronous == algorithms.Yes {
			r.Round = 0
		}
		full.Solve(r)
		var slope []float64
		switch m := full.(type) {
		case *scaffold:
			slope = slices.Clone(m.c)
			for j, x := range m.controls.At(0, nil) {
				slope[j] -= x
			}
		case *fedDyn:
			slope = m.slopes.At(0, nil)
		}
		g := slowSteps(p, kit.LocalSGDOptions{Epochs: 1, Shuffle: true}, 0, 1, 0.1, 0, w, slope)
		change := full.(algorithms.Inspected).Update(0).Values
		if g, ok := full.(*gossip); ok {
			change = g.pending(0)
		}
		for j := range g {
			g[j] -= w[j]
		}
		nearVector(t, name+", the change in round 1", change, g, 1e-12)
	}
}

// The number of updates is that of mini-batches.
func TestUpdatesOfLocalSteps(t *testing.T) {
	for _, c := range []struct{ batch, rows, steps, want int }{
		{4, 14, 0, 0}, {4, 14, 3, 1}, {4, 14, 4, 1}, {4, 14, 5, 2}, {4, 14, 14, 4}, {4, 14, 15, 5}, {4, 14, 35, 10},
		{0, 14, 14, 1}, {0, 14, 15, 2}, {0, 14, 42, 3}, {100, 14, 28, 2}, {1, 14, 9, 9}, {4, 0, 0, 0},
	} {
		o := kit.LocalSGDOptions{Batch: c.batch}
		got := o.Updates(c.rows, c.steps)
		expect.That(t, got == c.want, "%+v: %d updates", c, got)
	}
	for _, o := range []kit.LocalSGDOptions{{}, {Batch: 4}, {Batch: 5}, {Batch: 30}} {
		for n := range 20 {
			if rows := o.Workload(mtl.Shape{}, false).BatchSteps(14, n); o.Updates(14, rows) != n ||
				o.Updates(14, rows+1) != n+1 {
				t.Errorf("batches of %d: %d updates take %d rows", o.Batch, n, rows)
			}
		}
	}
}

// Every update is billed whole: that of a mini-batch of all rows, that of a client with fewer
// rows than a mini-batch, and that of the last of a pass or of a limit.
func TestUpdatesAreBilledWhole(t *testing.T) {
	shape := mtl.Shape{Features: 10, Outputs: 1}
	for _, c := range []struct{ batch, rows, steps, updates int }{
		{0, 14, 14, 1}, {0, 14, 28, 2}, {32, 14, 14, 1}, {32, 14, 28, 2}, {4, 14, 14, 4}, {4, 14, 7, 2}, {4, 14, 0, 0},
		{1, 14, 9, 9},
	} {
		o := kit.LocalSGDOptions{Batch: c.batch}
		want := float64(40*c.steps + 50*c.updates)
		load := o.Workload(shape, false)
		got := load.Of(c.rows, c.steps)
		expect.That(t, got == want, "%+v: %g FLOPs, want %g", c, got, want)
		// As many steps fit as are paid for, and one more does not.
		n := load.Within(c.rows, want)
		expect.That(t, int(n) == c.steps, "%+v: %g steps fit into their own FLOPs", c, n)
		n = load.Within(c.rows, want-1)
		expect.That(t, int(n) == max(0, c.steps-1), "%+v: %g steps fit into a FLOP less", c, n)
	}
}

// An update costs 5 operations a value, 2 more with a linear term, 2 with momentum, 3 with
// clipping.
func TestFLOPsOfLocalSteps(t *testing.T) {
	shape := mtl.Shape{Features: 10, Outputs: 1}
	for _, c := range []struct {
		o     kit.LocalSGDOptions
		slope bool
		want  float64
	}{
		{kit.LocalSGDOptions{Batch: 5}, false, 40 + 10},
		{kit.LocalSGDOptions{Batch: 5}, true, 40 + 14},
		{kit.LocalSGDOptions{Batch: 5, Momentum: 0.1}, false, 40 + 14},
		{kit.LocalSGDOptions{Batch: 5, Clip: 1}, false, 40 + 16},
		{kit.LocalSGDOptions{Batch: 1, Clip: 1, Momentum: 0.5}, true, 40 + 120},
		{kit.LocalSGDOptions{Clip: 1, Momentum: 0.5}, true, 40},
	} {
		got := c.o.StepFLOPs(shape, c.slope)
		expect.That(t, got == c.want, "%+v, slope %t: %g FLOPs a row, want %g", c.o, c.slope, got, c.want)
	}
}
