package flows

import "math"

// clock counts at a rate in units of another clock, its parent. Clock 0 counts virtual
// time in nanoseconds. All others count service in units of 10^-3 bit per flow, so 1
// Mbps is one unit per nanosecond.
//
// A clock has members: flows for the clock of a class, other clocks otherwise. Each
// member has a due reading. The earliest of these determines the due reading of the
// clock itself on its parent.
type clock struct {
	parent int32
	first  int32   // member due first
	rate   float64 // units per unit of the parent

	// The reading when the parent's reading was since.
	reading, since exact
}

// timeClock is the number of the clock that counts virtual time.
const timeClock int32 = 0

func (s *FairShare) reading(g int32) exact {
	if g == timeClock {
		return s.now
	}
	c := &s.clocks[g]
	return c.reading.plus(float64(c.rate * s.reading(c.parent).minus(c.since)))
}

// due returns the due reading of clock g on its parent.
func (s *FairShare) due(g int32) exact {
	c := &s.clocks[g]
	if c.first == none || c.rate == 0 {
		return never
	}
	members := s.clocksDue
	if s.isClass(g) {
		members = s.flowsDue
	}
	due := members[c.first].key
	if math.IsInf(due.hi, 1) {
		return never
	}
	span := due.minus(c.reading) / c.rate
	if span > 1e300 {
		return never
	}
	return c.since.plus(span)
}

// replan moves clock g to its place among its siblings, and updates the clocks above it
// if that matters to them.
func (s *FairShare) replan(g int32) {
	for g != timeClock {
		due := s.due(g)
		if due == s.clocksDue[g].key {
			return
		}
		parent := &s.clocks[s.clocks[g].parent]
		was := parent.first
		parent.first = s.clocksDue.push(s.clocksDue.remove(was, g), g, due)
		if was != g && parent.first != g {
			return
		}
		g = s.clocks[g].parent
	}
}

// run changes the rate of clock g from now on.
func (s *FairShare) run(g int32, rate float64) {
	c := &s.clocks[g]
	if c.rate == rate {
		return
	}
	c.reading = s.reading(g)
	c.since = s.reading(c.parent)
	c.rate = rate
	s.replan(g)
}

// attach changes the parent and the rate of clock g from now on.
func (s *FairShare) attach(g, parent int32, rate float64) {
	c := &s.clocks[g]
	if c.parent == parent {
		s.run(g, rate)
		return
	}
	reading := s.reading(g)
	s.detach(g)
	c.reading, c.since = reading, s.reading(parent)
	c.parent, c.rate = parent, rate
	s.place(g)
}

// place adds clock g, which is in no heap, to its siblings.
func (s *FairShare) place(g int32) {
	up := s.clocks[g].parent
	parent := &s.clocks[up]
	parent.first = s.clocksDue.push(parent.first, g, s.due(g))
	if parent.first == g {
		s.replan(up)
	}
}

func (s *FairShare) detach(g int32) {
	up := s.clocks[g].parent
	parent := &s.clocks[up]
	was := parent.first
	parent.first = s.clocksDue.remove(was, g)
	if was == g {
		s.replan(up)
	}
}
