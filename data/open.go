package data

import "sync"

// Opened is the data of a device with its rows. It must be closed.
type Opened struct {
	*Client
	made *made
}

// Open returns the data of a device: from memory, or with the same rows generated again.
func (s *Set) Open(device int) Opened {
	if s.late != nil {
		return Opened{Client: s.late.open(s, &s.Clients[device])}
	}
	if s.remake == nil {
		return Opened{Client: &s.Clients[device]}
	}
	o := s.remake.open(device)
	o.Name = s.Clients[device].Name
	return o
}

// Close releases the memory of rows that were generated again. The rows must not be used
// after it.
func (o Opened) Close() {
	if o.made != nil {
		o.made.of.free.Put(o.made)
	}
}

// Resident reports whether the rows of the set are in memory.
func (s *Set) Resident() bool { return s.remake == nil && s.late == nil }

// remaker generates the rows of one part of a generated split again.
type remaker struct {
	generator *generator
	config    Config
	part      part
	free      sync.Pool
}

// made is the memory of a task that was generated again.
type made struct {
	*maker
	of     *remaker
	orders [2][]int32
	task   Client
}

func newRemaker(g *generator, cfg Config, p part) *remaker {
	r := &remaker{generator: g, config: cfg, part: p}
	r.free.New = func() any { return &made{maker: g.maker(), of: r} }
	return r
}

func (r *remaker) open(t int) Opened {
	m := r.free.Get().(*made)
	whole := m.make(t)
	rows := r.config.rowsOf(&m.orders, len(whole.Y), t)[r.part]
	m.resizeTask(len(rows))
	fill(&m.task, whole, rows)
	return Opened{Client: &m.task, made: m}
}

// resizeTask sets the number of rows of the returned task.
func (m *made) resizeTask(rows int) {
	cfg := &m.of.config
	if x := &m.task.X; len(x.Data)+len(x.Single) < rows*x.Stride || x.Stride == 0 {
		*x = newRows(cfg.single(), rows, cfg.columns(m.Features))
		m.task.Y = make([]float64, rows)
	}
	m.task.X.Rows = rows
	m.task.Y = m.task.Y[:rows]
}
