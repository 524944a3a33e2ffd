package flows

import "math"

// clock counts something, at a rate in units of another clock, its parent's.
// Clock 0 counts virtual time in nanoseconds; every other one counts service,
// in units of 10^-3 bit per flow, so that 1 Mbps is one unit per nanosecond.
//
// A clock has members: flows if it is that of a class, else clocks. Each is due
// at a reading of the clock, and the first of them says when the clock itself is
// due on its parent.
type clock struct {
	parent int32
	first  int32   // member due first
	rate   float64 // units per unit of the parent

	// The reading when the parent's was since.
	reading, since exact
}

// timeClock is the number of the clock that counts virtual time.
const timeClock int32 = 0

// reading returns what clock g shows now.
func (s *FairShare) reading(g int32) exact {
	if g == timeClock {
		return s.now
	}
	c := &s.clocks[g]
	return c.reading.plus(float64(c.rate * s.reading(c.parent).minus(c.since)))
}

// due returns when clock g is due, as a reading of its parent.
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

// replan puts clock g to its place among its siblings, and the clocks above it
// as far as it matters to them.
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

// run makes clock g run at another rate from now on.
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

// attach makes clock g run at a rate in units of a parent from now on.
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

// place puts clock g, which is in no heap, among its siblings.
func (s *FairShare) place(g int32) {
	up := s.clocks[g].parent
	parent := &s.clocks[up]
	parent.first = s.clocksDue.push(parent.first, g, s.due(g))
	if parent.first == g {
		s.replan(up)
	}
}

// detach takes clock g from among its siblings.
func (s *FairShare) detach(g int32) {
	up := s.clocks[g].parent
	parent := &s.clocks[up]
	was := parent.first
	parent.first = s.clocksDue.remove(was, g)
	if was == g {
		s.replan(up)
	}
}
