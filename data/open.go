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
	m.task.resize(r.config.single(), len(rows), r.config.columns(m.Features))
	fill(&m.task, whole, rows)
	return Opened{Client: &m.task, made: m}
}

// resize gives a client so many rows of any content, in the memory that it has if that is enough.
func (c *Client) resize(single bool, rows, columns int) {
	if x := &c.X; len(x.Data)+len(x.Single) < rows*x.Stride || x.Stride == 0 {
		*x, c.Y = newRows(single, rows, columns), make([]float64, rows)
	}
	c.X.Rows, c.Y = rows, c.Y[:rows]
}
