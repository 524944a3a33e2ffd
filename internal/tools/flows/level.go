package flows

import "math"

// cell is a link with the flows behind it. Cell 0 holds the devices that are in no cell;
// its capacity is unlimited. The clock of cell c is firstCell + c.
type cell struct {
	capacity float64 // Mbps

	sharing int32 // first of the classes that follow the level, by ascending rate
	capped  int32 // first of the other classes, by descending rate
	sharers int   // flows in the classes that follow the level
	taken   exact // Mbps of the other classes

	// A limited cell has its own level, and its clock runs on time. Otherwise its level
	// is the server link's, and its clock follows that link's clock.
	limited bool
	own     float64

	// The part of the server link's sums that belongs to this cell.
	heldTaken   exact
	heldSharers int

	stale bool // listed in FairShare.stale
}

func (c *cell) level(s *FairShare) float64 {
	if c.limited {
		return c.own
	}
	return s.level
}

// fill returns the level at which n flows use the rest of a capacity. With n = 0 it is
// +Inf if capacity is left, and -Inf if too much is taken, so that some of the takers
// must follow the level too.
func fill(capacity float64, taken exact, n int) float64 {
	if math.IsInf(capacity, 1) {
		return capacity
	}
	left := -taken.minus(exact{hi: capacity})
	if n > 0 {
		return left / float64(n)
	}
	if left < -capacity*levelSlack {
		return math.Inf(-1)
	}
	return math.Inf(1)
}

// levelSlack is the relative difference up to which two rates count as equal: a few
// roundings of a level. Without it, the limit of a flow could alternate forever.
const levelSlack = 0x1p-48

func below(x, y float64) bool { return x < y*(1-levelSlack) }

// first returns the key of the first member of a heap by rate, or +Inf if it is empty.
func (h heaps) first(first int32) float64 {
	if first == none {
		return math.Inf(1)
	}
	return h[first].key.hi
}

// settle updates all rates to the current flows, capacities and own rates.
func (s *FairShare) settle() {
	if len(s.stale) == 0 && !s.resized {
		return
	}
	for _, c := range s.stale {
		s.cells[c].stale = false
		s.refresh(c)
	}
	s.stale, s.resized = s.stale[:0], false
	// Every step after the first frees capacity, so the level only rises and no step is
	// undone.
	for {
		level := fill(s.capacity, s.taken, s.sharers)
		if g := s.rising; below(s.risesAbove.first(g), level) {
			s.leave(g - firstCell)
		} else if g := s.falling; below(level, -s.fallsBelow.first(g)) {
			s.join(g - firstCell)
		} else {
			s.level = level
			break
		}
	}
	if s.sharers == 0 {
		s.run(linkClock, 0)
	} else {
		s.run(linkClock, max(s.level, 0))
	}
}

// leave moves the first limit that the server link's level exceeds in cell c, of a class
// or of the whole cell, out of that level.
func (s *FairShare) leave(c int32) {
	x := &s.cells[c]
	if s.risesAbove.first(x.sharing) < fill(x.capacity, x.taken, x.sharers) {
		s.limitToOwn(x.sharing)
	} else {
		x.limited = true
	}
	s.refresh(c)
}

// join moves the first limit that exceeds the server link's level in cell c back to that
// level.
func (s *FairShare) join(c int32) {
	x := &s.cells[c]
	if x.limited {
		x.limited = false
	} else {
		s.limitToLevel(x.capped)
	}
	s.refresh(c)
}

// refresh updates the level of cell c, if it has one, and the cell's part of the server
// link's sums.
func (s *FairShare) refresh(c int32) {
	x := &s.cells[c]
	if x.limited {
		s.settleCell(x)
	}
	g := firstCell + c
	taken, sharers := x.taken, x.sharers
	rises := min(s.risesAbove.first(x.sharing), fill(x.capacity, x.taken, x.sharers))
	falls := s.fallsBelow.first(x.capped)
	if x.limited {
		s.attach(g, timeClock, x.own)
		taken, sharers = exact{hi: x.capacity}, 0
		rises, falls = math.Inf(1), -x.own
	} else {
		s.attach(g, linkClock, 1)
	}
	s.taken = s.taken.add(x.heldTaken.negative()).add(taken)
	s.sharers += sharers - x.heldSharers
	x.heldTaken, x.heldSharers = taken, sharers
	if key := (exact{hi: rises}); s.risesAbove[g].key != key {
		s.rising = s.risesAbove.push(s.risesAbove.remove(s.rising, g), g, key)
	}
	if key := (exact{hi: falls}); s.fallsBelow[g].key != key {
		s.falling = s.fallsBelow.push(s.fallsBelow.remove(s.falling, g), g, key)
	}
}

// settleCell updates the level of a limited cell to its flows and capacity. The cell is
// no longer limited if they do not fill it.
func (s *FairShare) settleCell(x *cell) {
	for {
		level := fill(x.capacity, x.taken, x.sharers)
		if g := x.sharing; below(s.risesAbove.first(g), level) {
			s.limitToOwn(g)
		} else if g := x.capped; below(level, -s.fallsBelow.first(g)) {
			s.limitToLevel(g)
		} else {
			x.own = max(level, 0)
			x.limited = x.sharers > 0
			return
		}
	}
}
