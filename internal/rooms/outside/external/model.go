package external

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fedsim/data"
	"fedsim/internal/rooms"
	"fedsim/mtl"
)

// Model is an external model: the processes of a program that computes its gradients
// (docs/protocols.md#model). Each process answers one request at a time, and has the next one by then: neither it nor
// the side of fedsim waits for the other to wake. More of them start when all are busy.
type Model struct {
	of      *Learners
	options rooms.ModelOptions
	asks    modelRequest // hello
	about   modelHello   // the answer
	rows    [3][]int32   // of the elements of each part of the data
	most    int          // training rows of the largest client
	longest int          // rows of the largest element of any part
	set     *dataFile    // the rows of fedsim; nil: the program has its own

	mu    sync.Mutex
	freed *sync.Cond // a place is idle
	idle  []*place
	all   []*modelProcess
	begun int // processes that have started, or are about to
	first initial
}

var _ mtl.Program = (*Model)(nil)

// Metered is a model that adds up for how long its program was asked.
type Metered struct {
	*Model
	evaluations, gradients atomic.Int64 // nanoseconds
}

// Take returns the seconds of evaluations and of gradients since the last call, summed over the
// processes.
func (m *Metered) Take() (evaluations, gradients float64) {
	seconds := func(of *atomic.Int64) float64 { return time.Duration(of.Swap(0)).Seconds() }
	return seconds(&m.evaluations), seconds(&m.gradients)
}

// Gradient is that of the model.
func (m *Metered) Gradient(client int, rows []int32, weights, w []float64, seed uint64, scale float64,
	into, buffers []float64) (loss float64, err error) {
	return m.Model.gradient(&m.gradients, client, rows, weights, w, seed, scale, into, buffers)
}

// Losses are those of the model.
func (m *Metered) Losses(part, element int, w []float64) (data.Matrix, error) {
	return m.Model.losses(&m.evaluations, part, element, w)
}

// Evaluate is that of the model.
func (m *Metered) Evaluate(part int, elements []int32, w []float64, into []mtl.Measure) error {
	return m.Model.evaluate(&m.evaluations, part, elements, w, into)
}

// initial are values that a model starts with. Many devices ask for those of the same seed.
type initial struct {
	seed uint64
	w    []float64
}

// partNames are the names of the parts of the data.
var partNames = [3]string{"train", "test", "validation"}

// StartModel starts the program of an external model. The rows are those of a split; nil: the
// program has rows of its own. Close of the learners ends its processes.
func (l *Learners) StartModel(o rooms.ModelOptions, split *data.Split) (*Model, error) {
	if split == nil {
		return l.startModel(o, nil, nil)
	}
	of := told(split.Train)
	return l.startModel(o, &of, split)
}

// told returns what a program is told of training rows.
func told(train *data.Set) rooms.Told {
	return rooms.Told{Clients: len(train.Clients), Features: train.Features, Outputs: train.Outputs(), Real: train.Real}
}

// StartTimed starts the program of an external model to ask it for its sizes alone. told is nil where the
// program has rows of its own.
func (l *Learners) StartTimed(o rooms.ModelOptions, told *rooms.Told) (*Model, error) {
	o.Processes = 1
	return l.startModel(o, told, nil)
}

func (l *Learners) startModel(o rooms.ModelOptions, told *rooms.Told, split *data.Split) (*Model, error) {
	m := &Model{of: l, options: o, asks: modelRequest{Op: "hello", V: []int{version}}}
	m.freed = sync.NewCond(&m.mu)
	if told != nil {
		m.asks.Clients, m.asks.Features, m.asks.Outputs, m.asks.Real = told.Clients, told.Features, told.Outputs,
			told.Real
	}
	l.mu.Lock()
	l.models = append(l.models, m)
	l.mu.Unlock()
	p, err := m.start()
	if err == nil {
		for i := range slices.Backward(p.places[:]) {
			m.idle = append(m.idle, &p.places[i])
		}
		err = m.take(&p.of.about, told == nil, split)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: hello: %w", m.name(), err)
	}
	return m, nil
}

// take takes the first answer to hello, of a program that has the rows or whose rows are those of a split; nil:
// nobody asks for them.
func (m *Model) take(about *modelHello, own bool, split *data.Split) error {
	switch {
	case own && about.rows[0] == nil:
		return errors.New(
			"answers without rows: with data.source = \"external\" the program says how many rows each client has")
	case !own && about.rows[0] != nil:
		return errors.New("answers with rows: they are those of fedsim, unless data.source is \"external\"")
	case own:
		m.rows = about.rows
	case split != nil:
		for part, set := range split.Parts() {
			m.rows[part] = make([]int32, len(set.Clients))
			for k := range set.Clients {
				m.rows[part][k] = int32(set.Clients[k].X.Rows)
			}
		}
		m.set = m.of.dataFile(split, about.single())
	}
	if about.buffers >= about.values {
		return fmt.Errorf("answers with buffers = %d: must be below values = %d", about.buffers, about.values)
	}
	total := 0.0
	for i := range about.shapes {
		total += about.shapes[i].size()
	}
	if about.shapes != nil && total != float64(about.values) {
		return fmt.Errorf("answers with shapes of %.0f values in all: must be those of values = %d", total,
			about.values)
	}
	for part, rows := range m.rows {
		for _, n := range rows {
			if m.longest = max(m.longest, int(n)); part == 0 {
				m.most = m.longest
			}
		}
	}
	bytes := m.slotsOf().bytes() * places * float64(m.options.Processes)
	if most := m.options.Memory; most > 0 && bytes > most {
		return fmt.Errorf("answers with values = %d: w and g of %d processes take %.3g GB, and the machine has %.3g GB",
			about.values, m.options.Processes, bytes/1e9, most/1e9)
	}
	return nil
}

// slotsOf returns the slots of a place, without a file.
func (m *Model) slotsOf() *slots {
	table := 0
	if m.about.predictions > 0 {
		table = m.longest * m.rowNumbers()
	}
	return newSlotsOf(m.about.values, m.most, table, m.about.single())
}

// rowNumbers is how many numbers the program has of a row: its loss, its target and its predictions.
func (m *Model) rowNumbers() int { return 2 + m.about.predictions }

// name names the model, by its program until it has said hello.
func (m *Model) name() string {
	if m.about.name != "" {
		return "model " + m.about.name
	}
	return "model " + m.program()
}

// program returns the command without folders.
func (m *Model) program() string {
	words := slices.Clone(m.options.Command)
	for i, word := range words {
		if filepath.IsAbs(word) {
			words[i] = filepath.Base(word)
		}
	}
	return strings.Join(words, " ")
}

// Rows returns the rows of the elements of a part of the data, as data.Split.Parts has them; nil: there
// is no such part.
func (m *Model) Rows(part int) []int32 { return m.rows[part] }

// Fingerprint identifies the program: its name, and what it says of its code, its libraries and
// the kind of processor. Equal bytes are promised among equal fingerprints.
func (m *Model) Fingerprint() string { return m.about.name + " " + m.about.fingerprint }

// ValueName names a value: "value 12", and its name in the program.
func (m *Model) ValueName(i int) string {
	left := i
	for j := range m.about.shapes {
		s := &m.about.shapes[j]
		if n := int(s.size()); left >= n {
			left -= n
			continue
		}
		return fmt.Sprintf("value %d, %s", i, s.nameOf(int64(left)))
	}
	return fmt.Sprintf("value %d", i)
}

// Sizes returns the sizes of the model.
func (m *Model) Sizes() mtl.Sizes {
	size := 8.0
	if m.about.single() {
		size = 4
	}
	var arrays strings.Builder
	for i := range m.about.shapes {
		fmt.Fprintf(&arrays, "%s %.0f\n", m.about.shapes[i].Name, m.about.shapes[i].size())
	}
	return mtl.Sizes{
		Arrays: arrays.String(),
		Values: m.about.values, RowFLOPs: m.about.rowFLOPs, RowTraffic: m.about.rowTraffic / size,
		Single: m.about.single(), Squares: m.about.squares, Buffers: m.about.buffers,
		Predictions: m.about.predictions,
	}
}

// Metrics returns the metrics of the program's own.
func (m *Model) Metrics() []mtl.NamedMetric { return m.about.metrics }

// Initial sets w to the values that the model starts with.
func (m *Model) Initial(seed uint64, w []float64) error {
	m.mu.Lock()
	known := m.first
	m.mu.Unlock()
	if known.w != nil && known.seed == seed {
		copy(w, known.w)
		return nil
	}
	err := m.with(nil, func() string { return "init" }, func(p *place) error {
		if err := p.ask(&modelRequest{Op: "init", Seed: &seed, Place: &p.number}, none); err != nil {
			return err
		}
		return p.slots.initial(w)
	})
	if err == nil {
		m.mu.Lock()
		m.first = initial{seed, slices.Clone(w)}
		m.mu.Unlock()
	}
	return err
}

// Gradient sets into to scale times the gradient of the mean loss of rows of a client at w, each multiplied by its
// weight, and sets buffers.
func (m *Model) Gradient(client int, rows []int32, weights, w []float64, seed uint64, scale float64,
	into, buffers []float64) (loss float64, err error) {
	return m.gradient(nil, client, rows, weights, w, seed, scale, into, buffers)
}

func (m *Model) gradient(spent *atomic.Int64, client int, rows []int32, weights, w []float64, seed uint64,
	scale float64, into, buffers []float64) (loss float64, err error) {
	err = m.with(spent, func() string { return fmt.Sprintf("gradient of client %d", client) },
		func(p *place) error {
			if err := errors.Join(p.slots.writeRows(rows), p.slots.write(p.slots.w, w)); err != nil {
				return err
			}
			p.line = append(p.line[:0], `{"op":"gradient","client":`...)
			p.line = strconv.AppendInt(p.line, int64(client), 10)
			p.line = append(p.line, `,"rows":`...)
			p.line = strconv.AppendInt(p.line, int64(len(rows)), 10)
			p.line = append(p.line, `,"seed":`...)
			p.line = strconv.AppendUint(p.line, seed, 10)
			if weights != nil {
				p.weights = p.weights[:0]
				for _, i := range rows {
					p.weights = append(p.weights, weights[i])
				}
				if err := p.slots.writeTable(p.weights); err != nil {
					return err
				}
				p.line = append(p.line, `,"weighted":true`...)
			}
			p.line = append(p.line, `,"place":`...)
			p.line = strconv.AppendInt(p.line, int64(p.number), 10)
			p.line = append(p.line, '}')
			about := request{Op: "gradient", Client: &client}
			if err := p.exchange(&about, p.line, gradientFields.Into(&loss)); err != nil {
				return err
			}
			return p.slots.gradient(scale, into, buffers)
		})
	return loss, err
}

// Evaluate measures w on the rows of elements of a part.
func (m *Model) Evaluate(part int, elements []int32, w []float64, into []mtl.Measure) error {
	return m.evaluate(nil, part, elements, w, into)
}

func (m *Model) evaluate(spent *atomic.Int64, part int, elements []int32, w []float64, into []mtl.Measure) error {
	about := func() string {
		return fmt.Sprintf("evaluate of %s rows of clients from %d on", partNames[part], elements[0])
	}
	return m.with(spent, about, func(p *place) error {
		if err := p.slots.write(p.slots.w, w); err != nil {
			return err
		}
		var got measures
		if err := p.ask(&modelRequest{Op: "evaluate", Part: partNames[part], Clients: elements, Place: &p.number},
			measuresFieldsOf(m.about.metrics).Into(&got)); err != nil {
			return err
		}
		return got.take(elements, m.rows[part], &m.about, m.options.Real, into)
	})
}

// Losses returns the loss, the target and the predictions of each row of an element of a part at w.
func (m *Model) Losses(part, element int, w []float64) (data.Matrix, error) {
	return m.losses(nil, part, element, w)
}

func (m *Model) losses(spent *atomic.Int64, part, element int, w []float64) (of data.Matrix, err error) {
	about := func() string { return fmt.Sprintf("losses of %s rows of client %d", partNames[part], element) }
	err = m.with(spent, about, func(p *place) error {
		if err := p.slots.write(p.slots.w, w); err != nil {
			return err
		}
		var rows int
		if err := p.ask(&modelRequest{Op: "losses", Part: partNames[part], Client: &element, Place: &p.number},
			lossesFields.Into(&rows)); err != nil {
			return err
		}
		if has := int(m.rows[part][element]); rows != has {
			return fmt.Errorf("answers with %d rows: must be all its %d rows", rows, has)
		}
		n := m.rowNumbers()
		of = data.Matrix{Rows: rows, Cols: n, Stride: n, Data: make([]float64, rows*n)}
		if err := p.slots.readTable(of.Data); err != nil {
			return err
		}
		for i := range rows {
			if err := checkRow(of.Row(i), m.options.Real); err != nil {
				return fmt.Errorf("answers with %w of row %d", err, i)
			}
		}
		return nil
	})
	return of, err
}
