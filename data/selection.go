package data

import "slices"

// selection are rows that a client has chosen and not copied yet. So a set is divided among clients and
// into parts by the numbers of rows alone, and Transform makes the only copy.
type selection struct {
	from RowReader
	rows []int32
}

// RowReader returns rows for reading. It may write them to space, which is large enough for a row.
type RowReader interface {
	Values(row int, space []float64) []float64
}

// Defer gives a client so many rows of some features that are copied when the set is prepared.
func (c *Client) Defer(from RowReader, rows, cols int) {
	c.X = Matrix{Rows: rows, Cols: cols}
	c.selected = &selection{from, numbersTo(rows)}
}

// values returns row i for reading. It may write it to space.
func (c *Client) values(i int, space []float64) []float64 {
	if s := c.selected; s != nil {
		return s.from.Values(int(s.rows[i]), space)
	}
	return c.X.Values(i, space)
}

// pick returns the given rows, in the order of the task. Dense rows in double precision are selected
// and not copied. pick sorts rows, which are the result's from then on.
func (c *Client) pick(rows []int32) Client {
	slices.Sort(rows)
	p := Client{Name: c.Name, Y: make([]float64, len(rows))}
	for i, row := range rows {
		p.Y[i] = c.Y[row]
	}
	switch {
	case !c.X.Dense():
		p.X = c.X.pick(rows)
		return p
	case c.X.Single != nil:
		p.X = NewSingle(len(rows), c.X.Cols)
		for i, row := range rows {
			p.X.copyRow(i, &c.X, int(row))
		}
		return p
	}
	p.X = Matrix{Rows: len(rows), Cols: c.X.Cols}
	p.selected = &selection{&c.X, rows}
	if s := c.selected; s != nil {
		p.selected.from = s.from
		for i, row := range rows {
			rows[i] = s.rows[row]
		}
	}
	return p
}

// gather copies the rows that clients have selected.
func (s *Set) gather() {
	_ = new(Config).transform(s, nil) // fails for single precision only
}

// gather copies the rows that clients of all parts have selected.
func (s *Split) gather() {
	for _, part := range s.all() {
		part.gather()
	}
}

// lateRows prepares the rows of clients.
type lateRows struct {
	config  Config
	scaling *Scaling // nil: features are not scaled
}

// open returns a client of the set with its prepared rows.
func (l *lateRows) open(set *Set, of *Client) *Client {
	client := *of
	client.X, _ = l.config.transformed(set, of, l.scaling) // Defer has seen that it does not fail
	client.selected = nil
	return &client
}

// Defer is Prepare for rows that a program reads once. Where it can, it leaves them as the source has
// them: Open prepares the rows of a client each time, and the set is not resident.
func Defer(cfg Config) (*Split, error) {
	if made, _ := cfg.OrFallback(); made.streamable() || cfg.ClientsPerTask > 1 {
		return Prepare(cfg)
	}
	split, err := cfg.divided()
	if err != nil {
		return nil, err
	}
	if split.Train.sparse() || split.Train.Missing.Values > 0 {
		err = cfg.Transform(split)
	} else {
		err = cfg.transformLater(split)
	}
	if err != nil {
		return nil, err
	}
	if cfg.Pool {
		split.each(Pool)
	}
	return split, nil
}

// transformLater is Transform of rows that Open prepares.
func (c *Config) transformLater(split *Split) error {
	late := &lateRows{*c, c.scaling(split.Train)}
	for _, part := range split.Parts() {
		for t := range part.Clients {
			if !c.single() {
				break // nothing fails
			}
			if _, err := c.transformed(part, &part.Clients[t], late.scaling); err != nil {
				return err
			}
		}
		c.addBias(part)
		part.late = late
	}
	return nil
}
