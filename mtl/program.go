package mtl

import (
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/parallel"
)

// ModelExternal names a model whose gradients come from a program.
const ModelExternal = "external"

// Program computes the gradients and the losses of an external model, whose values have no meaning
// here. An answer depends on the arguments alone. Several goroutines call the methods at once.
type Program interface {
	// Sizes returns the sizes of the model.
	Sizes() Sizes
	// Metrics returns the metrics of the program's own, in the order of Measure.Own. Their splits are
	// empty: each is measured on all parts of the data.
	Metrics() []NamedMetric
	// ValueName names a value of the model in errors.
	ValueName(i int) string
	// Initial sets w to the values that the model starts with.
	Initial(seed uint64, w []float64) error
	// Gradient sets into, which has the values that have a gradient, to scale times that of the mean
	// loss of training rows of a client at w, and returns that loss. Weights, by number of the row, multiply the
	// losses; nil: they are 1. It sets buffers to the new values of the others. The seed is for random numbers of
	// the model, such as those of dropout.
	Gradient(client int, rows []int32, weights, w []float64, seed uint64, scale float64,
		into, buffers []float64) (loss float64, err error)
	// Evaluate measures w on all rows of elements of a part of the data (data.Split.Parts: 0 training,
	// 1 test, 2 validation rows).
	Evaluate(part int, elements []int32, w []float64, into []Measure) error
	// Losses returns a row for each row of an element of a part: its loss at w, its target, and
	// Sizes.Predictions numbers that predict it.
	Losses(part, element int, w []float64) (data.Matrix, error)
}

// Sizes are those of an external model, as its program declares them.
type Sizes struct {
	Values   int     // of the model
	RowFLOPs float64 // of the gradient of the loss of a row
	// RowTraffic is how many values of memory the gradient of a row reads and writes beside the model
	// and its gradient.
	RowTraffic float64
	Single     bool // the program computes in single precision: it is given rounded values
	// Buffers is how many values at the end have no gradient, such as the running means of batch
	// normalization: a mini-batch sets them.
	Buffers int
	Squares bool // Measure.Square is known
	// Predictions is how many numbers predict a row: the probabilities of the classes, that of the label +1, or
	// one for a real target; 0: the program has neither the losses of single rows nor their weights.
	Predictions int
	// Arrays has a line for each array of values, in their order, with its name, a space and how many values it has;
	// empty: the program does not say
	Arrays string
}

// Measure is how well a model fits the rows of an element.
type Measure struct {
	Rows   int
	Loss   float64   // mean over the rows
	Square float64   // mean of the squares of the losses of rows; see Sizes.Squares
	Misses float64   // wrong predictions, or the sum of squared errors of real targets
	Own    []float64 // values of Program.Metrics, NaN where the loss is; nil: it has none
}

// NamedMetric is a metric that a program or a method declares. Its full name, by which scenarios
// call it, is "split_name", or "name" with an empty split.
type NamedMetric struct {
	Split  string // "train", "validation", "test", or empty
	Name   string // letters, digits, "_", "-" and "."
	Better string // "higher", "lower", or empty
	Unit   string // of its values; empty: none
}

// Metrics returns the metrics of the program's own of an external model; nil for other models.
func (l *RowLoss) Metrics() []NamedMetric {
	if l.program == nil {
		return nil
	}
	return l.program.Metrics()
}

// ValueName names a value of an external model in errors; "" of other models.
func (l *RowLoss) ValueName(i int) string {
	if l.program == nil {
		return ""
	}
	return l.program.ValueName(i)
}

// ownMeans returns the means of the program's own metrics over the rows of elements; NaN without
// rows.
func (l *RowLoss) ownMeans(of []fit) []float64 {
	means := make([]float64, len(l.Metrics()))
	rows := 0
	for i := range of {
		rows += of[i].rows
		for j, x := range of[i].own {
			means[j] += float64(float64(of[i].rows) * x)
		}
	}
	for j := range means {
		means[j] /= float64(rows)
	}
	return means
}

// program is an external model with the first error of its program. After an error it computes
// nothing: the run ends with it.
type program struct {
	Program
	*failure
	real bool // targets are real
}

// failure is the first error of a program, of all problems that it serves; see Problem.Through.
type failure struct {
	broken atomic.Bool
	mu     sync.Mutex
	err    error
}

// Err returns the first error of the program of an external model, after which gradients and
// losses have no meaning; nil for other models.
func (l *RowLoss) Err() error {
	if l.program == nil || !l.program.broken.Load() {
		return nil
	}
	l.program.mu.Lock()
	defer l.program.mu.Unlock()
	return l.program.err
}

// Through returns the problem of an external model whose program is reached through another one, which
// gives the same answers: runs that share a problem are told apart so. They share its first error.
func (p *Problem) Through(other Program) *Problem {
	of := *p
	of.RowLoss = p.RowLoss.through(other)
	of.everything.of = &of
	return &of
}

// try calls ask, unless the program has failed, and notes its error. It reports whether all went
// well.
func (p *program) try(ask func() error) bool {
	if p.broken.Load() {
		return false
	}
	err := ask()
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.err == nil {
			p.err = err
		}
		p.broken.Store(true)
	}
	return err == nil
}

// errNoClient is the error of a method that an external model cannot serve.
var errNoClient = errors.New("the method does not say whose gradients it computes: it must call mtl.Gradient.For")

func (p *program) sum(g *Gradient, rows []int32, w []float64, scale float64, into []float64) {
	seed := g.draws.Uint64() >> 11
	p.try(func() (err error) {
		if g.client < 0 {
			return errNoClient
		}
		_, err = p.Gradient(g.client, rows, g.weights, w, seed, scale*float64(len(rows)), g.of.Trained(into), g.buffers)
		return err
	})
}

// Trained returns the part of a vector of Values whose values have a gradient: all of it, or those
// of an external model before its buffers.
func (l *RowLoss) Trained(x []float64) []float64 { return x[:len(x)-l.Given.Buffers] }

// Settle sets the buffers of an external model in u to those after the mini-batch of the last call
// of Sum. It does nothing for other models.
func (g *Gradient) Settle(u []float64) {
	if buffers := g.of.Given.Buffers; buffers > 0 && g.of.Err() == nil {
		copy(u[len(u)-buffers:], g.buffers)
	}
}

// loss returns the mean loss of training rows of a client.
func (p *program) loss(client int, rows []int32, w []float64, s Stream) float64 {
	loss := math.NaN()
	if n := p.models(w); n > 0 {
		losses, _ := p.mix(0, client, w, n)
		if losses == nil {
			return loss
		}
		loss = 0
		for _, i := range rows {
			loss += losses[i] / float64(len(rows))
		}
		return loss
	}
	p.try(func() (err error) {
		space := make([]float64, len(w))
		trained := len(w) - p.Sizes().Buffers
		loss, err = p.Gradient(client, rows, nil, w, s.Uint64()>>11, 0, space[:trained], space[trained:])
		return err
	})
	return loss
}

// measure returns how well weights fit the training rows of a client.
func (p *program) measure(client int, w []float64) Measure {
	var m [1]Measure
	p.evaluate(0, []int32{int32(client)}, w, m[:])
	return m[0]
}

// evaluate measures weights, or the mixture that they are, on all rows of elements of a part.
func (p *program) evaluate(part int, elements []int32, w []float64, into []Measure) {
	n := p.models(w)
	if n == 0 {
		p.try(func() error { return p.Evaluate(part, elements, w, into) })
		return
	}
	for i, k := range elements {
		losses, misses := p.mix(part, int(k), w, n)
		m := &into[i]
		m.Rows = len(losses)
		for j, loss := range losses {
			m.Loss += loss / float64(m.Rows)
			m.Square += float64(loss*loss) / float64(m.Rows)
			m.Misses += misses[j]
		}
	}
}

// measuredAtOnce is the most elements of a request to measure a model.
const measuredAtOnce = 64

// question is elements of a part of a sample that have the same model.
type question struct {
	part, from int // index of the first one in the sample
	elements   []int32
	task       int // whose model it is
}

// measureAll writes the fits of the elements of a sample, by part. Those without rows are zero.
func (p *program) measureAll(s *Sample, pool *parallel.Pool, w *data.Matrix, into [3][]fit) {
	var asked []question
	parts := s.of.Parts()
	for part, set := range parts {
		elements := s.tests
		if part == 0 {
			elements = s.devices
		}
		for i, k := range elements {
			if set.Clients[k].X.Rows == 0 {
				continue
			}
			task := min(set.TaskOf(int(k)), w.Rows-1)
			if n := len(asked); n > 0 {
				q := &asked[n-1]
				if q.part == part && q.from+len(q.elements) == i && q.task == task && len(q.elements) < measuredAtOnce {
					q.elements = append(q.elements, k)
					continue
				}
			}
			asked = append(asked, question{part, i, []int32{k}, task})
		}
	}
	spaces := make([][]float64, pool.Size())
	pool.For(len(asked), func(i, worker int) {
		q := &asked[i]
		measures := make([]Measure, len(q.elements))
		row := ReadRow(w, q.task, worker, &spaces[worker])
		p.evaluate(q.part, q.elements, row, measures)
		for i, m := range measures {
			into[q.part][q.from+i] = fit{loss: float64(m.Loss * float64(m.Rows)), miss: m.Misses, rows: m.Rows,
				own: m.Own}
		}
	})
}

// Command is a program and its arguments, a list in TOML. Values can be compared. The zero value has
// none.
type Command string

// commandEnd ends each word of a Command: no argument of a program has it.
const commandEnd = "\x00"

// NewCommand returns a command of words.
func NewCommand(words ...string) (c Command) {
	for _, word := range words {
		c += Command(word + commandEnd)
	}
	return c
}

// Words returns the program and its arguments.
func (c Command) Words() []string {
	words := strings.Split(string(c), commandEnd)
	return words[:len(words)-1]
}

// TypeTOML returns the type.
func (c *Command) TypeTOML() string { return "list of strings" }

// DecodeTOML takes a list of strings.
func (c *Command) DecodeTOML(n *config.Node, key string) config.Errors {
	var words []string
	problems := config.Decode(n, key, &words)
	if *c = NewCommand(words...); len(c.Words()) != len(words) {
		problems.Add(n.Place, key+": has an argument with the character 0, which no program takes")
	}
	return problems
}

// String returns the list as TOML.
func (c Command) String() string { return config.Literal(c.Words()) }

// MarshalTOML returns the list on one line.
func (c Command) MarshalTOML() ([]byte, error) { return []byte(c.String()), nil }
