// Package upkeep counts what a method takes beside its steps: the work of an encoder that makes the features of
// rows, and the memory of the server.
//
// It must not know time, devices or links.
package upkeep

import (
	"math"

	"fedsim/algorithms"
	"fedsim/mtl"
)

// Options are what is counted. The zero value counts nothing.
type Options struct {
	EncoderFLOPs float64 // of a row, which a device does once
	Memory       bool    // the metrics of the server's memory
}

// The metrics of the server's memory.
const (
	serverBytes = "server_bytes"
	peakBytes   = "server_peak_bytes"
)

// Of returns a method with what is counted.
func Of(f algorithms.Factory, o Options) algorithms.Factory {
	if o == (Options{}) {
		return f
	}
	inner := f.New
	f.New = func(s algorithms.Setup, options algorithms.Options) (algorithms.Algorithm, error) {
		a, err := inner(s, options)
		if err != nil {
			return nil, err
		}
		m := &method{Algorithm: a, Options: o, about: a.Describe(), setup: &s, coupling: s.Coupling,
			encoded: make([]bool, len(s.Rows)), taken: make([]bool, len(s.Rows))}
		if o.Memory {
			m.about.Metrics = append(m.about.Metrics[:len(m.about.Metrics):len(m.about.Metrics)],
				algorithms.NamedMetric{Name: serverBytes, Better: "lower", Unit: "B"},
				algorithms.NamedMetric{Name: peakBytes, Better: "lower", Unit: "B"})
			m.note(0)
		}
		if of, ok := a.(algorithms.Joining); ok {
			return &joining{m, of}, nil
		}
		return m, nil
	}
	return f
}

// method is another one, with what is counted. It has all methods of the interfaces of that one, which its description
// names.
type method struct {
	algorithms.Algorithm
	Options
	about    algorithms.Description
	setup    *algorithms.Setup
	coupling mtl.Coupling
	encoded  []bool // by device: it has the features of its rows
	taken    []bool // by device: the server has taken a response
	peak     float64
}

var (
	_ algorithms.Asynchronous = (*method)(nil)
	_ algorithms.Batched      = (*method)(nil)
	_ algorithms.Inspected    = (*method)(nil)
	_ algorithms.Reporter     = (*method)(nil)
	_ algorithms.Stateful     = (*method)(nil)
	_ algorithms.Tiered       = (*method)(nil)
)

// joining is a method that gives models to new clients.
type joining struct {
	*method
	of algorithms.Joining
}

func (j *joining) Join(n *mtl.Newcomer, into []float64) algorithms.Joined { return j.of.Join(n, into) }

func (m *method) Describe() algorithms.Description { return m.about }

// Solve adds the features of all rows of a device to its first work.
func (m *method) Solve(r algorithms.Request) algorithms.Response {
	response := m.Algorithm.Solve(r)
	response.FLOPs += m.encoding(r.Device)
	return response
}

func (m *method) SolveAll(requests []algorithms.Request, into []algorithms.Response) {
	m.Algorithm.(algorithms.Batched).SolveAll(requests, into)
	for i := range requests {
		into[i].FLOPs += m.encoding(requests[i].Device)
	}
}

func (m *method) encoding(device int) float64 {
	if m.encoded[device] {
		return 0
	}
	return m.EncoderFLOPs * float64(m.setup.Rows[device])
}

func (m *method) Commit(device int, weight float64) {
	m.encoded[device], m.taken[device] = true, true
	m.Algorithm.Commit(device, weight)
}

// Discard forgets the work of a device, but not the features of its rows.
func (m *method) Discard(device int) {
	m.encoded[device] = true
	m.Algorithm.Discard(device)
}

func (m *method) Send(device int) (int, error) {
	return m.Algorithm.(algorithms.Asynchronous).Send(device)
}

func (m *method) Receive(device int) (taken bool, flops float64, err error) {
	taken, flops, err = m.Algorithm.(algorithms.Asynchronous).Receive(device)
	m.encoded[device], m.taken[device] = true, m.taken[device] || taken
	return taken, flops, err
}

func (m *method) Gather(hub int)   { m.Algorithm.(algorithms.Tiered).Gather(hub) }
func (m *method) Withdraw(hub int) { m.Algorithm.(algorithms.Tiered).Withdraw(hub) }

func (m *method) Update(device int) algorithms.Update {
	return m.Algorithm.(algorithms.Inspected).Update(device)
}

func (m *method) Losses(devices []int32, into []float64) error {
	return m.Algorithm.(algorithms.Batched).Losses(devices, into)
}

func (m *method) State(c *algorithms.Coder) {
	c.Bools(m.encoded)
	c.Bools(m.taken)
	c.Float64(&m.peak)
	m.Algorithm.(algorithms.Stateful).State(c)
}

// SetCoupling notes that the server holds both couplings while it makes the next one, and W once more.
func (m *method) SetCoupling(next mtl.Coupling) {
	if m.Memory && m.about.Model == algorithms.TaskModels {
		m.note(float64(mtl.StoredValues(next)) + float64(m.setup.Problem.Tasks()*m.setup.Problem.Values()))
	}
	m.coupling = next
	m.Algorithm.SetCoupling(next)
}

// Evaluate adds the server's memory to the metrics of the method, if it has any.
func (m *method) Evaluate() (e algorithms.Evaluation, err error) {
	if of, ok := m.Algorithm.(algorithms.Reporter); ok && (m.about.Evaluated == algorithms.ByMethod ||
		len(m.Algorithm.Describe().Metrics) > 0) {
		if e, err = of.Evaluate(); err != nil {
			return e, err
		}
	}
	if m.Memory {
		now := m.note(0)
		e.Values = append(e.Values[:len(e.Values):len(e.Values)],
			algorithms.NamedValue{Name: serverBytes, Value: now},
			algorithms.NamedValue{Name: peakBytes, Value: m.peak})
	}
	return e, nil
}

// note returns the bytes of the server, and makes them and those of further values the peak if they are more.
func (m *method) note(further float64) (now float64) {
	const number = 8
	now = float64(number * m.values())
	m.peak = max(m.peak, now+float64(number*further)) // of NaN it is NaN
	return now
}

// values returns how many numbers the server has for models, sums of the open round and the coupling: for m tasks of D
// values W and V, for one model two vectors for each in a message or Workload.Stored, for a model of each client those.
// NaN: there is no server, its versions of a model depend on time, or another program has it.
func (m *method) values() float64 {
	work, shape := &m.about.Work, m.setup.Shape
	tasks, d := len(m.setup.Rows), float64(shape.Values())
	if m.setup.Problem != nil {
		tasks, d = m.setup.Problem.Tasks(), float64(m.setup.Problem.Values())
	}
	switch m.about.Model {
	case algorithms.Versions, algorithms.UnknownModel:
		return math.NaN()
	case algorithms.DeviceModels:
		if work.Exchange != nil || m.about.Messages.Differ {
			return math.NaN()
		}
		return float64(tasks) * d
	case algorithms.TaskModels:
		if m.about.Messages.None {
			return math.NaN()
		}
		return float64(2*float64(tasks)*d) + float64(mtl.StoredValues(m.coupling))
	}
	stored, responded := work.Stored, 0
	if stored == 0 {
		stored = 2 * max(1, work.Vectors)
	}
	for _, is := range m.taken {
		if is {
			responded++
		}
	}
	return float64(stored+work.StoredEach*responded) * d
}
