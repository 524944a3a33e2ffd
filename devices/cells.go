package devices

import "fedsim/engine"

// cell is the state of a battery.
type cell struct {
	left    float64     // J in the battery, in [0, capacity]
	charged float64     // J from the charger since it was taken out of cells
	due     engine.Time // up: when the battery is empty; flat: when the device may come back; no later than change
	change  engine.Time // when the charger is plugged in or out next
	plugged bool
	flat    bool
	certain bool // what is due happens; otherwise it may turn out to be later
}

// cells holds the cells of all devices, 17 bytes each, and 8 more when there are
// chargers. The zero value holds none.
type cells struct {
	charges []charge
	modes   []mode
	changes []engine.Time // none when nothing is ever plugged in
}

type charge struct {
	left float64
	due  engine.Time
}

// mode is what of a cell is true or not.
type mode uint8

const (
	isPlugged mode = 1 << iota
	isFlat
	isCertain
)

func newCells(n int, chargers bool) cells {
	c := cells{charges: make([]charge, n), modes: make([]mode, n)}
	if chargers {
		c.changes = make([]engine.Time, n)
	}
	return c
}

// at takes out the cell of device t.
func (c *cells) at(t int) cell {
	m := c.modes[t]
	x := cell{
		left: c.charges[t].left, due: c.charges[t].due, change: engine.Never,
		plugged: m&isPlugged != 0, flat: m&isFlat != 0, certain: m&isCertain != 0,
	}
	if c.changes != nil {
		x.change = c.changes[t]
	}
	return x
}

// put puts the cell of device t back; charged is the caller's to keep.
func (c *cells) put(t int, x *cell) {
	c.charges[t] = charge{left: x.left, due: x.due}
	if c.changes != nil {
		c.changes[t] = x.change
	}
	m := mode(0)
	if x.plugged {
		m |= isPlugged
	}
	if x.flat {
		m |= isFlat
	}
	if x.certain {
		m |= isCertain
	}
	c.modes[t] = m
}

func (c *cells) none() bool            { return c.charges == nil }
func (c *cells) left(t int) float64    { return c.charges[t].left }
func (c *cells) due(t int) engine.Time { return c.charges[t].due }
func (c *cells) flat(t int) bool       { return c.modes[t]&isFlat != 0 }

// sum adds up numbers that are not negative and keeps what rounding takes away (Kahan,
// CACM 1965): of millions of them about as many digits as of one.
type sum struct{ high, low float64 }

func (s *sum) add(x float64) {
	y := x - s.low
	high := s.high + y
	s.low = (high - s.high) - y
	s.high = high
}

func (s *sum) value() float64 { return s.high }
