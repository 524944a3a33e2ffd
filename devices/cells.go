package devices

import "fedsim/engine"

type cell struct {
	left     float64     // J in the battery, in [0, capacity]
	charged  float64     // J from the charger since the cell was loaded
	due      engine.Time // up: when the battery is empty; depleted: when it may be restored; at most change
	change   engine.Time // next change of the charger
	plugged  bool
	depleted bool
	certain  bool // the event happens at due; otherwise it may turn out to be later
}

// cells stores the cells of all devices, in 17 bytes each, and 8 more with chargers that differ in
// their hours. The zero value has none.
type cells struct {
	charges []charge
	modes   []mode
	changes []engine.Time // nil if chargers never change, or all together
}

type charge struct {
	left float64
	due  engine.Time
}

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

func (c *cells) at(device int) cell {
	m := c.modes[device]
	x := cell{
		left: c.charges[device].left, due: c.charges[device].due, change: engine.Never,
		plugged: m&isPlugged != 0, depleted: m&isFlat != 0, certain: m&isCertain != 0,
	}
	if c.changes != nil {
		x.change = c.changes[device]
	}
	return x
}

// put stores the cell of a device, except for charged.
func (c *cells) put(device int, x *cell) {
	c.charges[device] = charge{left: x.left, due: x.due}
	if c.changes != nil {
		c.changes[device] = x.change
	}
	m := mode(0)
	if x.plugged {
		m |= isPlugged
	}
	if x.depleted {
		m |= isFlat
	}
	if x.certain {
		m |= isCertain
	}
	c.modes[device] = m
}

func (c *cells) none() bool                 { return c.charges == nil }
func (c *cells) left(device int) float64    { return c.charges[device].left }
func (c *cells) due(device int) engine.Time { return c.charges[device].due }
func (c *cells) depleted(device int) bool   { return c.modes[device]&isFlat != 0 }

// sum adds nonnegative numbers with compensation for rounding (Kahan, CACM 1965): a sum
// of millions has almost full precision.
type sum struct{ high, low float64 }

func (s *sum) add(x float64) {
	y := x - s.low
	high := s.high + y
	s.low = (high - s.high) - y
	s.high = high
}

func (s *sum) value() float64 { return s.high }
