package learnercheck

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"fedsim/data"
	"fedsim/internal/rooms"
	"fedsim/internal/rooms/outside/external"
	"fedsim/mtl"
)

// Model is a conformance test of the program of an external model (docs/protocols.md#model).
type Model struct {
	Options rooms.ModelOptions // the command, and the time for an answer
	Split   *data.Split        // the rows; nil: the program has them
	Clients int                // the most clients that are asked about
	Stderr  io.Writer          // receives the standard error of the program; nil: nothing does
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
func (m *Model) Run(ctx context.Context, report func(Part)) {
	k := &modelChecking{Model: m}
	all := [2]*external.Learners{external.NewLearners(ctx, m.Stderr), external.NewLearners(ctx, m.Stderr)}
	m.Options.Processes = 1
	for _, p := range []struct {
		name string
		run  func()
	}{
		{"greets, and takes the rows", func() { k.start(all) }},
		{"starts as the seed says", k.initial},
		{"gradients depend on their arguments alone", k.gradients},
		{"gradients are those of the loss", func() { k.slopes(); k.byRow() }},
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
func (m *modelChecking) wrong(format string, arguments ...any) {
	if len(m.part.Findings) == 0 {
		m.part.Findings = append(m.part.Findings, Finding{Text: fmt.Sprintf(format, arguments...)})
	}
}

// good reports whether there is no error.
func (m *modelChecking) good(err error) bool {
	if err != nil {
		m.wrong("%v", err)
	}
	return err == nil
}

// start starts both processes.
func (m *modelChecking) start(all [2]*external.Learners) {
	var err error
	if m.a, err = all[0].StartModel(m.Options, m.Split); !m.good(err) {
		return
	}
	if m.b, err = all[1].StartModel(m.Options, m.Split); !m.good(err) {
		return
	}
	if a, b := m.a.Fingerprint(), m.b.Fingerprint(); a != b || m.a.Sizes() != m.b.Sizes() {
		m.wrong("two processes say %q, %+v and %q, %+v", a, m.a.Sizes(), b, m.b.Sizes())
	}
	if slices.Equal(m.a.Metrics(), m.b.Metrics()) {
		m.good(m.Store(m.a.Metrics()))
	} else {
		m.wrong("two processes declare the metrics %+v and %+v", m.a.Metrics(), m.b.Metrics())
	}
	for i := range min(m.Clients, len(m.a.Rows(0))) {
		m.clients = append(m.clients, int32(i))
	}
	m.w = make([]float64, m.a.Sizes().Values)
}

// initial compares the values that the model starts with.
func (m *modelChecking) initial() {
	again := make([]float64, len(m.w))
	for _, x := range []struct {
		of   *external.Model
		seed uint64
		into []float64
	}{{m.a, 2, again}, {m.a, 1, m.w}, {m.a, 2, again}, {m.a, 1, again}} {
		if !m.good(x.of.Initial(x.seed, x.into)) {
			return
		}
	}
	m.same("asked again", m.w, again)
	if m.good(m.b.Initial(1, again)) {
		m.same("another process", m.w, again)
	}
}

// same compares two vectors bit for bit.
func (m *modelChecking) same(when string, want, got []float64) {
	for i := range want {
		if math.Float64bits(want[i]) != math.Float64bits(got[i]) {
			m.wrong("%s: %s is %v, and was %v", when, m.a.ValueName(i), got[i], want[i])
			return
		}
	}
}

// ask asks a process for the gradient of all rows of a client.
func (m *modelChecking) ask(of *external.Model, client int32, w []float64) (x gradient, ok bool) {
	rows := make([]int32, of.Rows(0)[client])
	for i := range rows {
		rows[i] = int32(i)
	}
	return m.weigh(of, client, rows, nil, w)
}

// weigh asks a process for the gradient of rows of a client with weights; nil: 1.
func (m *modelChecking) weigh(of *external.Model, client int32, rows []int32, weights,
	w []float64) (x gradient, ok bool) {
	x.g = make([]float64, len(w))
	trained := len(w) - of.Sizes().Buffers
	var err error
	x.loss, err = of.Gradient(int(client), rows, weights, w, uint64(client)+7, 1, x.g[:trained], x.g[trained:])
	return x, m.good(err)
}

// gradients compares those of one process with those of another one, which is asked in another
// order, and with its own after that.
func (m *modelChecking) gradients() {
	for _, client := range m.clients {
		x, ok := m.ask(m.a, client, m.w)
		if !ok {
			return
		}
		m.base = append(m.base, x)
	}
	for _, of := range []*external.Model{m.b, m.a} {
		for _, client := range slices.Backward(m.clients) {
			x, ok := m.ask(of, client, m.w)
			if !ok {
				return
			}
			when := fmt.Sprintf("client %d, asked again", client)
			if of == m.b {
				when = fmt.Sprintf("client %d in another process, asked in another order", client)
			}
			if was := m.base[client].loss; math.Float64bits(was) != math.Float64bits(x.loss) {
				m.wrong("%s: the loss is %v, and was %v", when, x.loss, was)
			}
			m.same(when, m.base[client].g, x.g)
		}
	}
}

// slopes compares gradients with differences of losses along them. A loss may have kinks: one of
// several distances must fit to a tenth.
func (m *modelChecking) slopes() {
	for _, client := range m.clients {
		g := m.base[client].g[:len(m.w)-m.a.Sizes().Buffers]
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
				w := slices.Clone(m.w)
				for i, x := range g {
					w[i] += float64(step * x / norm)
				}
				x, ok := m.ask(m.a, client, w)
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
			m.wrong("client %d: along its gradient, the loss has the slope %.4g, and the gradient says %.4g: "+
				"it must be that of the mean loss of the rows", client, found, norm)
		}
	}
}

// rounding is how far numbers that are equal but for the order of sums may be apart, relative to the larger one.
const rounding = 1e-4

// byRow compares the losses of rows with the loss of evaluations, and adds up two gradients with weights whose sum
// is 1, of a program that has them.
func (m *modelChecking) byRow() {
	if m.a.Sizes().Predictions == 0 {
		return
	}
	for i, client := range m.clients {
		rows, err := m.a.Losses(0, int(client), m.w)
		var measured [1]mtl.Measure
		if !m.good(err) || !m.good(m.a.Evaluate(0, []int32{client}, m.w, measured[:])) {
			return
		}
		numbers := make([]int32, rows.Rows)
		weights := [2][]float64{make([]float64, rows.Rows), make([]float64, rows.Rows)}
		mean := 0.0
		for j := range numbers {
			numbers[j] = int32(j)
			weights[0][j] = float64(j%3) - 0.5
			weights[1][j] = 1 - weights[0][j]
			mean += rows.Row(j)[0] / float64(rows.Rows)
		}
		if want := measured[0].Loss; math.Abs(mean-want) > rounding*math.Max(math.Abs(want), 1) {
			m.wrong("client %d: the mean of the losses of rows is %.6g, and evaluate says %.6g", client, mean, want)
			return
		}
		a, ok := m.weigh(m.a, client, numbers, weights[0], m.w)
		if !ok {
			return
		}
		b, ok := m.weigh(m.a, client, numbers, weights[1], m.w)
		if !ok {
			return
		}
		most := 0.0
		for j := range a.g {
			most = max(most, math.Abs(a.g[j]), math.Abs(b.g[j]))
		}
		for j, want := range m.base[i].g[:len(m.w)-m.a.Sizes().Buffers] {
			if got := a.g[j] + b.g[j]; math.Abs(got-want) > rounding*most {
				m.wrong("client %d: two gradients with weights of rows whose sum is 1 add up to %.6g in %s, and the "+
					"gradient has %.6g: each loss must count as often as its weight says", client, got,
					m.a.ValueName(j), want)
				return
			}
		}
	}
}

// evaluations compares measures at the values that the model starts with, and at others: measures that
// nothing has may be whole by chance at the first ones.
func (m *modelChecking) evaluations() {
	m.measures()
	for i, x := range m.base {
		for j, g := range x.g[:len(m.w)-m.a.Sizes().Buffers] {
			if step := float64(m.w[j]-g) / float64(i+1); !math.IsNaN(g) && !math.IsInf(g, 0) {
				m.w[j] = step
			}
		}
	}
	if len(m.part.Findings) == 0 {
		m.measures()
	}
}

// measures compares those of clients in one request with those in one each, and of another process.
func (m *modelChecking) measures() {
	for part := range 3 {
		var there []int32
		for _, client := range m.clients {
			if rows := m.a.Rows(part); int(client) < len(rows) && rows[client] > 0 {
				there = append(there, client)
			}
		}
		if len(there) == 0 {
			continue
		}
		together, other := make([]mtl.Measure, len(there)), make([]mtl.Measure, len(there))
		if !m.good(m.a.Evaluate(part, there, m.w, together)) || !m.good(m.b.Evaluate(part, there, m.w, other)) {
			return
		}
		for i, client := range slices.Backward(there) {
			var one [1]mtl.Measure
			if !m.good(m.a.Evaluate(part, []int32{client}, m.w, one[:])) {
				return
			}
			if text := fmt.Sprintf("%+v", together[i]); text != fmt.Sprintf("%+v", one[0]) ||
				text != fmt.Sprintf("%+v", other[i]) {
				m.wrong("client %d: measures %+v with others, %+v alone, %+v in another process", client, together[i],
					one[0], other[i])
			}
		}
	}
}

func (m *modelChecking) end(all [2]*external.Learners) {
	for _, l := range all {
		m.good(l.Close())
	}
}
