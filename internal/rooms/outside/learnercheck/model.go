package learnercheck

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"fedsim/data"
	"fedsim/internal/rooms/outside/external"
	"fedsim/mtl"
)

// Model is a conformance test of the program of an external model (docs/model-protocol.md).
type Model struct {
	Options external.ModelOptions // the command, and the time for an answer
	Split   *data.Split           // the rows; nil: the program has them
	Clients int                   // the most clients that are asked about
	Stderr  io.Writer             // receives the standard error of the program; nil: nothing does
	// Store reports why results cannot store metrics of the program.
	Store func(declared []mtl.NamedMetric) error
}

// modelChecking is such a test under way.
type modelChecking struct {
	*Model
	part    Part
	a, b    *external.Model // two processes
	clients []int32
	w       []float64
	base    []gradient // of the clients, in process a
}

// gradient is an answer about the rows of a client.
type gradient struct {
	loss float64
	g    []float64
}

// Run runs the test and reports each part, the first alone if the program does not start. The
// program conforms if none has findings.
func (c *Model) Run(ctx context.Context, report func(Part)) {
	k := &modelChecking{Model: c}
	all := [2]*external.Learners{external.NewLearners(ctx, c.Stderr), external.NewLearners(ctx, c.Stderr)}
	c.Options.Processes = 1
	for _, p := range []struct {
		name string
		run  func()
	}{
		{"greets, and takes the rows", func() { k.start(all) }},
		{"starts as the seed says", k.initial},
		{"gradients depend on their arguments alone", k.gradients},
		{"gradients are those of the loss", k.slopes},
		{"evaluations depend on their arguments alone", k.evaluations},
		{"exits at the end of its input", func() { k.end(all) }},
	} {
		k.part = Part{Name: p.name}
		switch {
		case ctx.Err() != nil:
			k.part.Skipped = "interrupted"
		case k.base == nil && p.name == "gradients are those of the loss":
			k.part.Skipped = "there are no gradients"
		default:
			p.run()
		}
		if report(k.part); k.w == nil {
			break
		}
	}
	for _, l := range all {
		_ = l.Close() // what an interruption has left
	}
}

// wrong adds a finding, one of each part of the test.
func (k *modelChecking) wrong(format string, arguments ...any) {
	if len(k.part.Findings) == 0 {
		k.part.Findings = append(k.part.Findings, Finding{Text: fmt.Sprintf(format, arguments...)})
	}
}

// good reports whether there is no error.
func (k *modelChecking) good(err error) bool {
	if err != nil {
		k.wrong("%v", err)
	}
	return err == nil
}

// start starts both processes.
func (k *modelChecking) start(all [2]*external.Learners) {
	var err error
	if k.a, err = all[0].StartModel(k.Options, k.Split); !k.good(err) {
		return
	}
	if k.b, err = all[1].StartModel(k.Options, k.Split); !k.good(err) {
		return
	}
	if a, b := k.a.Fingerprint(), k.b.Fingerprint(); a != b || k.a.Sizes() != k.b.Sizes() {
		k.wrong("two processes say %q, %+v and %q, %+v", a, k.a.Sizes(), b, k.b.Sizes())
	}
	if slices.Equal(k.a.Metrics(), k.b.Metrics()) {
		k.good(k.Store(k.a.Metrics()))
	} else {
		k.wrong("two processes declare the metrics %+v and %+v", k.a.Metrics(), k.b.Metrics())
	}
	for i := range min(k.Clients, len(k.a.Rows(0))) {
		k.clients = append(k.clients, int32(i))
	}
	k.w = make([]float64, k.a.Sizes().Values)
}

// initial compares the values that the model starts with.
func (k *modelChecking) initial() {
	again := make([]float64, len(k.w))
	for _, x := range []struct {
		of   *external.Model
		seed uint64
		into []float64
	}{{k.a, 2, again}, {k.a, 1, k.w}, {k.a, 2, again}, {k.a, 1, again}} {
		if !k.good(x.of.Initial(x.seed, x.into)) {
			return
		}
	}
	k.same("asked again", k.w, again)
	if k.good(k.b.Initial(1, again)) {
		k.same("another process", k.w, again)
	}
}

// same compares two vectors bit for bit.
func (k *modelChecking) same(when string, want, got []float64) {
	for i := range want {
		if math.Float64bits(want[i]) != math.Float64bits(got[i]) {
			k.wrong("%s: %s is %v, and was %v", when, k.a.ValueName(i), got[i], want[i])
			return
		}
	}
}

// ask asks a process for the gradient of all rows of a client.
func (k *modelChecking) ask(of *external.Model, client int32, w []float64) (x gradient, ok bool) {
	rows := make([]int32, of.Rows(0)[client])
	for i := range rows {
		rows[i] = int32(i)
	}
	x.g = make([]float64, len(w))
	trained := len(w) - of.Sizes().Buffers
	var err error
	x.loss, err = of.Gradient(int(client), rows, w, uint64(client)+7, 1, x.g[:trained], x.g[trained:])
	return x, k.good(err)
}

// gradients compares those of one process with those of another one, which is asked in another
// order, and with its own after that.
func (k *modelChecking) gradients() {
	for _, client := range k.clients {
		x, ok := k.ask(k.a, client, k.w)
		if !ok {
			return
		}
		k.base = append(k.base, x)
	}
	for _, of := range []*external.Model{k.b, k.a} {
		for _, client := range slices.Backward(k.clients) {
			x, ok := k.ask(of, client, k.w)
			if !ok {
				return
			}
			when := fmt.Sprintf("client %d, asked again", client)
			if of == k.b {
				when = fmt.Sprintf("client %d in another process, asked in another order", client)
			}
			if was := k.base[client].loss; math.Float64bits(was) != math.Float64bits(x.loss) {
				k.wrong("%s: the loss is %v, and was %v", when, x.loss, was)
			}
			k.same(when, k.base[client].g, x.g)
		}
	}
}

// slopes compares gradients with differences of losses along them. A loss may have kinks: one of
// several distances must fit to a tenth.
func (k *modelChecking) slopes() {
	for _, client := range k.clients {
		g := k.base[client].g[:len(k.w)-k.a.Sizes().Buffers]
		norm := 0.0
		for _, x := range g {
			norm += float64(x * x)
		}
		if norm = math.Sqrt(norm); norm == 0 || math.IsNaN(norm) {
			continue
		}
		found := 0.0
		for _, distance := range []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5} {
			var losses [2]float64
			for side, step := range []float64{distance, -distance} {
				w := slices.Clone(k.w)
				for i, x := range g {
					w[i] += float64(step * x / norm)
				}
				x, ok := k.ask(k.a, client, w)
				if !ok {
					return
				}
				losses[side] = x.loss
			}
			slope := (losses[0] - losses[1]) / (2 * distance)
			if math.Abs(slope-norm) < math.Abs(found-norm) {
				found = slope
			}
		}
		if !(math.Abs(found-norm) <= norm/10) {
			k.wrong("client %d: along its gradient, the loss has the slope %.4g, and the gradient says %.4g: it must be that of the mean loss of the rows", client, found, norm)
		}
	}
}

// evaluations compares measures at the values that the model starts with, and at others: measures that
// nothing has may be whole by chance at the first ones.
func (k *modelChecking) evaluations() {
	k.measures()
	for i, x := range k.base {
		for j, g := range x.g[:len(k.w)-k.a.Sizes().Buffers] {
			if step := float64(k.w[j]-g) / float64(i+1); !math.IsNaN(g) && !math.IsInf(g, 0) {
				k.w[j] = step
			}
		}
	}
	if len(k.part.Findings) == 0 {
		k.measures()
	}
}

// measures compares those of clients in one request with those in one each, and of another process.
func (k *modelChecking) measures() {
	for part := range 3 {
		var there []int32
		for _, client := range k.clients {
			if rows := k.a.Rows(part); int(client) < len(rows) && rows[client] > 0 {
				there = append(there, client)
			}
		}
		if len(there) == 0 {
			continue
		}
		together, other := make([]mtl.Measure, len(there)), make([]mtl.Measure, len(there))
		if !k.good(k.a.Evaluate(part, there, k.w, together)) || !k.good(k.b.Evaluate(part, there, k.w, other)) {
			return
		}
		for i, client := range slices.Backward(there) {
			var one [1]mtl.Measure
			if !k.good(k.a.Evaluate(part, []int32{client}, k.w, one[:])) {
				return
			}
			if text := fmt.Sprintf("%+v", together[i]); text != fmt.Sprintf("%+v", one[0]) || text != fmt.Sprintf("%+v", other[i]) {
				k.wrong("client %d: measures %+v with others, %+v alone, %+v in another process", client, together[i], one[0], other[i])
			}
		}
	}
}

func (k *modelChecking) end(all [2]*external.Learners) {
	for _, l := range all {
		k.good(l.Close())
	}
}
