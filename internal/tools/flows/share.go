package flows

import (
	"fmt"
	"math"

	"fedsim/engine"
)

// Tree describes the links shared by the flows of one direction. The zero value limits
// nothing.
type Tree struct {
	ServerMbps float64   // capacity of the server's access link, in 10^6 bit/s; 0: unlimited
	CellMbps   []float64 // capacity of each cell's link; 0: unlimited
	CellOf     []int32   // each device's cell, -1: none; nil: no device is in a cell. It is not copied
}

// FairShare divides links among the flows of one direction, at most one per device. New
// returns one; the zero value is not usable.
//
// Methods take the current instant, which never decreases. Flows that have ended remain
// until TakeEnded returns them. The rates of an instant are computed when time advances
// or a method needs them, so all changes at an instant are simultaneous. Their order
// only causes rounding differences of at most 10^-16 of the bytes.
//
// A FairShare takes 56 bytes per device and about 180 per class of flows with the same
// own rate in the same cell. Once it has grown to the largest number of classes, it
// allocates nothing.
type FairShare struct {
	now   exact       // current reading of the time clock
	asked engine.Time // the last instant passed to a method

	flows    []flow
	flowsDue heaps // by the clock of their class; waiting and ended flows by time
	waiting  int32 // first of the flows whose delay is not over
	ended    int32 // first of the flows that have ended and were not taken

	cellOf  []int32
	cells   []cell
	classes []class // by clock
	free    int32   // first unused number below len(classes)
	index   classIndex

	clocks    []clock // time, the server's link, the cells, the classes
	clocksDue heaps

	// The server's link.
	capacity float64
	level    float64
	sharers  int   // flows that follow its level
	taken    exact // Mbps of the other flows

	// Classes by the own rate above or below which their cell's level must not move.
	// Cells by the level of the server's link at which their state changes.
	risesAbove, fallsBelow heaps
	rising, falling        int32

	stale   []int32 // cells whose flows or capacity changed since rates were settled
	resized bool    // the capacity of the server's link changed
}

// flow is a device's own rate and its transfer.
type flow struct {
	mbps  float64
	units float64 // size, in 10^-3 bit
	class int32   // or one of the states below
}

// The states of a flow that is in no class.
const (
	idle int32 = -1 - iota
	waits
	over
)

const (
	linkClock int32 = 1 // of the server's link
	firstCell int32 = 2 // clock of cell 0

	unitsPerByte = 8e3 // 10^-3 bit
)

// New returns a share of devices 0..devices-1 at time 0, all with own rate 0. It panics
// if a capacity is negative or not a number, or if a device's cell does not exist.
func New(devices int, t Tree) *FairShare {
	if t.CellOf != nil && len(t.CellOf) != devices {
		panic(fmt.Sprintf("flows: cells of %d devices for %d devices", len(t.CellOf), devices))
	}
	for device, c := range t.CellOf {
		if c < -1 || int(c) >= len(t.CellMbps) {
			panic(fmt.Sprintf("flows: device %d is in cell %d of %d", device, c, len(t.CellMbps)))
		}
	}
	n := int(firstCell) + 1 + len(t.CellMbps)
	s := &FairShare{
		flows: make([]flow, devices), flowsDue: make(heaps, devices), waiting: none, ended: none,
		cellOf: t.CellOf, cells: make([]cell, 1+len(t.CellMbps)), classes: make([]class, n), free: none,
		index:  classIndex{buckets: []int32{none}},
		clocks: make([]clock, n), clocksDue: make(heaps, n),
		capacity: capacity(t.ServerMbps), level: math.Inf(1),
		risesAbove: make(heaps, n), fallsBelow: make(heaps, n), rising: none, falling: none,
	}
	for d := range s.flows {
		s.flows[d].class = idle
	}
	s.clocks[timeClock].first = none
	s.clocks[linkClock] = clock{parent: timeClock, first: none}
	s.place(linkClock)
	unlimited := exact{hi: math.Inf(1)}
	for c := range s.cells {
		g := firstCell + int32(c)
		s.cells[c] = cell{capacity: math.Inf(1), sharing: none, capped: none}
		if c > 0 {
			s.cells[c].capacity = capacity(t.CellMbps[c-1])
		}
		s.clocks[g] = clock{parent: linkClock, first: none, rate: 1}
		s.place(g)
		s.rising = s.risesAbove.push(s.rising, g, unlimited)
		s.falling = s.fallsBelow.push(s.falling, g, unlimited)
	}
	return s
}

// capacity returns +Inf for an unlimited capacity.
func capacity(mbps float64) float64 {
	if !(mbps >= 0) || math.IsInf(mbps, 1) {
		panic(fmt.Sprintf("flows: a capacity of %g Mbps: must be positive, or 0 for an unlimited one", mbps))
	}
	if mbps == 0 {
		return math.Inf(1)
	}
	return mbps
}

// SetRate sets a device's own rate, in 10^6 bit/s, from now on; 0 is an outage. It
// panics if the rate is negative or not finite.
func (s *FairShare) SetRate(now engine.Time, device int, mbps float64) {
	if !(mbps >= 0) || math.IsInf(mbps, 1) {
		panic(fmt.Sprintf("flows: device %d has a rate of %g Mbps: must be finite, not negative", device, mbps))
	}
	s.move(now)
	f := &s.flows[device]
	if f.mbps == mbps {
		return
	}
	if f.class < 0 {
		f.mbps = mbps
		return
	}
	left := s.withdraw(int32(device))
	f.mbps = mbps
	s.enter(int32(device), left)
}

// SetServer sets the capacity of the server's access link, in 10^6 bit/s; 0: unlimited.
func (s *FairShare) SetServer(now engine.Time, mbps float64) {
	s.move(now)
	s.capacity, s.resized = capacity(mbps), true
}

// StopServer leaves the server's access link no capacity, which 0 in SetServer does not say.
func (s *FairShare) StopServer(now engine.Time) {
	s.move(now)
	s.capacity, s.resized = 0, true
}

// SetCell sets the capacity of a cell, in 10^6 bit/s; 0: unlimited.
func (s *FairShare) SetCell(now engine.Time, c int, mbps float64) {
	s.move(now)
	s.cells[c+1].capacity = capacity(mbps)
	s.touch(int32(c + 1))
}

// StopCell leaves a cell no capacity.
func (s *FairShare) StopCell(now engine.Time, c int) {
	s.move(now)
	s.cells[c+1].capacity = 0
	s.touch(int32(c + 1))
}

// Moved returns the bytes that the flow of a device, which must have one, has transferred.
func (s *FairShare) Moved(now engine.Time, device int) (bytes float64) {
	s.move(now)
	f := &s.flows[device]
	switch {
	case f.class == over:
		return f.units / unitsPerByte
	case f.class < 0:
		return 0
	}
	left := s.flowsDue[device].key.minus(s.reading(f.class))
	return (f.units - min(max(left, 0), f.units)) / unitsPerByte
}

// Begin starts a flow of some bytes from or to a device. The flow takes part in sharing
// once the delay (latency, slow start) is over. It panics if the device has a flow that
// was neither removed nor taken, or if an argument is negative.
func (s *FairShare) Begin(now engine.Time, device int, bytes float64, delay engine.Time) {
	s.move(now)
	f := &s.flows[device]
	if f.class != idle || delay < 0 || !(bytes >= 0) || math.IsInf(bytes, 1) {
		panic(
			fmt.Sprintf("flows: cannot begin a flow of %g bytes for device %d after %v: bytes and delay must not be "+
				"negative, and the device must have no flow", bytes, device, delay))
	}
	f.units = bytes * unitsPerByte
	if delay == 0 {
		s.enter(int32(device), f.units)
		return
	}
	f.class = waits
	s.waiting = s.flowsDue.push(s.waiting, int32(device), at(now.Add(delay)))
}

// Remove ends the flow of a device early and returns the bytes transferred. It returns
// all bytes for a flow that has ended but was not taken. It panics if the device has no
// flow.
func (s *FairShare) Remove(now engine.Time, device int) (bytes float64) {
	s.move(now)
	f := &s.flows[device]
	left := f.units
	switch f.class {
	case idle:
		panic(fmt.Sprintf("flows: device %d has no flow to remove", device))
	case waits:
		s.waiting = s.flowsDue.remove(s.waiting, int32(device))
	case over:
		s.ended = s.flowsDue.remove(s.ended, int32(device))
		left = 0
	default:
		left = s.withdraw(int32(device))
	}
	f.class = idle
	return (f.units - left) / unitsPerByte
}

// Next returns the next instant at which to call TakeEnded if nothing else happens: a
// flow ends, or a delay is over. It returns Never if there is none.
func (s *FairShare) Next() engine.Time {
	if s.ended != none {
		return s.flowsDue[s.ended].key.over()
	}
	s.settle()
	next := engine.Never
	if s.waiting != none {
		next = s.flowsDue[s.waiting].key.over()
	}
	if g := s.clocks[timeClock].first; g != none {
		next = min(next, s.clocksDue[g].key.over())
	}
	return next
}

// TakeEnded returns a device whose flow has ended by now, and removes that flow; ok is
// false if there is none. Devices come in the order in which their flows ended, in
// nanoseconds, then by number.
func (s *FairShare) TakeEnded(now engine.Time) (device int, ok bool) {
	s.move(now)
	s.catchUp(now) // a flow that starts at this instant may end at it
	d := s.ended
	if d == none {
		return 0, false
	}
	s.ended = s.flowsDue.remove(d, d)
	s.flows[d].class = idle
	return int(d), true
}

// Rate returns the current rate of a device's flow, in 10^6 bit/s. It is 0 if the device
// has no flow, or if the flow waits or has ended.
func (s *FairShare) Rate(device int) float64 {
	g := s.flows[device].class
	if g < 0 {
		return 0
	}
	s.settle()
	k := &s.classes[g]
	if k.capped {
		return k.rate
	}
	return s.cells[k.cell].level(s)
}

// move advances the clock to an instant.
func (s *FairShare) move(now engine.Time) {
	if now < s.asked {
		panic(fmt.Sprintf("flows: called for %v (%d ns) after %v (%d ns): time must not decrease", now, int64(now),
			s.asked, int64(s.asked)))
	}
	if now > s.asked {
		s.catchUp(now)
	}
}

// catchUp ends and starts flows up to an instant, in order of time.
func (s *FairShare) catchUp(now engine.Time) {
	s.asked = now
	for {
		s.settle()
		due, g := never, s.clocks[timeClock].first
		if g != none {
			due = s.clocksDue[g].key
		}
		d := s.waiting
		starts := d != none && s.flowsDue[d].key.less(due)
		if starts {
			due = s.flowsDue[d].key
		}
		if due.over() > now {
			break
		}
		if s.now.less(due) {
			s.now = due
		}
		if starts {
			s.waiting = s.flowsDue.remove(d, d)
			s.enter(d, s.flows[d].units)
			continue
		}
		for !s.isClass(g) {
			g = s.clocks[g].first
		}
		d = s.clocks[g].first
		s.withdraw(d)
		s.end(d)
	}
	if t := at(now); s.now.less(t) {
		s.now = t
	}
}

// end keeps the flow of d, which is over now, until it is taken.
func (s *FairShare) end(d int32) {
	s.flows[d].class = over
	s.ended = s.flowsDue.push(s.ended, d, at(s.now.over()))
}

// enter adds a device's flow with a number of remaining units to its class. Without
// units the flow is over, even if it has no rate.
func (s *FairShare) enter(d int32, units float64) {
	if units == 0 {
		s.end(d)
		return
	}
	f := &s.flows[d]
	var cell int32
	if s.cellOf != nil {
		cell = s.cellOf[d] + 1
	}
	g := s.classOf(cell, f.mbps)
	f.class = g
	k := &s.classes[g]
	k.n++
	if c := &s.cells[cell]; k.capped {
		c.taken = c.taken.plus(k.rate)
	} else {
		c.sharers++
	}
	s.touch(cell)
	x := &s.clocks[g]
	x.first = s.flowsDue.push(x.first, d, s.reading(g).plus(units))
	if x.first == d {
		s.replan(g)
	}
}

// withdraw removes a device's flow from its class and returns the remaining units.
func (s *FairShare) withdraw(d int32) (units float64) {
	g := s.flows[d].class
	k := &s.classes[g]
	units = s.flowsDue[d].key.minus(s.reading(g))
	if c := &s.cells[k.cell]; k.capped {
		c.taken = c.taken.plus(-k.rate)
	} else {
		c.sharers--
	}
	s.touch(k.cell)
	x := &s.clocks[g]
	was := x.first
	x.first = s.flowsDue.remove(was, d)
	if k.n--; k.n == 0 {
		s.dissolve(g)
	} else if was == d {
		s.replan(g)
	}
	return min(max(units, 0), s.flows[d].units)
}

// touch marks the rates of a cell as out of date.
func (s *FairShare) touch(c int32) {
	if x := &s.cells[c]; !x.stale {
		x.stale = true
		s.stale = append(s.stale, c)
	}
}
