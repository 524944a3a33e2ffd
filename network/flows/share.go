package flows

import (
	"fmt"
	"math"

	"fedsim/engine"
)

// Tree is what flows of one direction share. The zero value limits nothing.
type Tree struct {
	ServerMbps float64   // capacity of the server's access link, in 10^6 bit/s; 0: unlimited
	CellMbps   []float64 // capacity of each cell's link; 0: unlimited
	CellOf     []int32   // each device's cell, -1: none; nil: no device is in a cell. It is not copied
}

// FairShare is the flows of one direction, at most one for each device. The zero
// value is not usable; New returns one.
//
// Its methods take the present instant, which never goes back. Flows that have
// ended stay until TakeEnded has returned them. The rates of an instant are found
// when the next one comes or is asked for, so that all that happens at an instant
// happens at once: told in another order it differs in roundings, of 10^-16 of the
// bytes, at most.
//
// A FairShare takes 56 bytes for a device and some 180 for a class of flows with the
// same own rate in the same cell while they last. Once it has grown to the number
// of classes at a time it allocates nothing.
type FairShare struct {
	now   exact       // where the clock stands
	asked engine.Time // the last instant a method was given

	flows    []flow
	flowsDue heaps // on the clock of their class; waiting and ended flows in time
	waiting  int32 // first of the flows whose delay is not over
	ended    int32 // first of the flows that have ended and were not taken
	active   int   // flows in any of these

	cellOf  []int32
	cells   []cell
	classes []class // by clock
	free    int32   // first number below len(classes) that no class has
	index   classIndex

	clocks    []clock // of time, the server's link, the cells, the classes
	clocksDue heaps

	// The server's link.
	capacity float64
	level    float64
	sharers  int   // flows that follow its level
	taken    exact // Mbps that the others take

	// Classes by the own rate above or below which a level must not go, cells by
	// the level of the server's link at which something within changes over.
	risesAbove, fallsBelow heaps
	rising, falling        int32

	stale   []int32 // cells with other flows or capacity than when rates were settled
	resized bool    // the server's link has another capacity
}

// flow is a device's own rate and what it transfers.
type flow struct {
	mbps  float64
	units float64 // size, in 10^-3 bit
	class int32   // or one of the states
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

// New returns a share of devices 0..devices-1, all with own rate 0, at time 0. It
// panics when a capacity is negative or no number, or a device has no such cell.
func New(devices int, t Tree) *FairShare {
	if t.CellOf != nil && len(t.CellOf) != devices {
		panic(fmt.Sprintf("flows: cells of %d devices: there are %d", len(t.CellOf), devices))
	}
	for device, c := range t.CellOf {
		if c < -1 || int(c) >= len(t.CellMbps) {
			panic(fmt.Sprintf("flows: device %d is in cell %d: there are %d", device, c, len(t.CellMbps)))
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

// capacity returns a capacity with +Inf for an unlimited one.
func capacity(mbps float64) float64 {
	if !(mbps >= 0) || math.IsInf(mbps, 1) {
		panic(fmt.Sprintf("flows: a capacity of %g Mbps: must be positive, or 0 for an unlimited one", mbps))
	}
	if mbps == 0 {
		return math.Inf(1)
	}
	return mbps
}

// SetRate gives a device another rate of its own, in 10^6 bit/s, which its flow,
// if it has one, follows from now on; 0 is an outage. It panics when the rate is
// negative or not finite.
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

// SetServer gives the server's access link another capacity, in 10^6 bit/s; 0:
// unlimited.
func (s *FairShare) SetServer(now engine.Time, mbps float64) {
	s.move(now)
	s.capacity, s.resized = capacity(mbps), true
}

// SetCell gives a cell another capacity, in 10^6 bit/s; 0: unlimited.
func (s *FairShare) SetCell(now engine.Time, c int, mbps float64) {
	s.move(now)
	s.cells[c+1].capacity = capacity(mbps)
	s.touch(int32(c + 1))
}

// Begin starts a flow of that many bytes from or to a device, which takes part in
// the sharing when the delay (latency, start-up) is over. It panics when the
// device has a flow that neither was removed nor taken, or a quantity is negative.
func (s *FairShare) Begin(now engine.Time, device int, bytes float64, delay engine.Time) {
	s.move(now)
	f := &s.flows[device]
	if f.class != idle || delay < 0 || !(bytes >= 0) || math.IsInf(bytes, 1) {
		panic(fmt.Sprintf("flows: %g bytes begin for device %d after %v: neither may be negative, nor may it have a flow", bytes, device, delay))
	}
	f.units = bytes * unitsPerByte
	s.active++
	if delay == 0 {
		s.enter(int32(device), f.units)
		return
	}
	f.class = waits
	s.waiting = s.flowsDue.push(s.waiting, int32(device), at(now.Add(delay)))
}

// Remove ends the flow of a device before its time and returns the bytes that
// were transferred, all of them if it ends just now and was not taken. It
// panics when the device has no flow.
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
	s.active--
	return (f.units - left) / unitsPerByte
}

// Next returns the next instant at which TakeEnded is to be called, unless something
// else happens before: a flow ends, or a delay is over. It is Never when neither
// will happen as things are.
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

// TakeEnded returns a device whose flow has ended by now, and forgets that flow; ok is
// false when there is none. Devices come in the order of the nanoseconds at which
// their flows ended, then of their numbers.
func (s *FairShare) TakeEnded(now engine.Time) (device int, ok bool) {
	s.move(now)
	s.catchUp(now) // what began at this instant may end at it
	d := s.ended
	if d == none {
		return 0, false
	}
	s.ended = s.flowsDue.remove(d, d)
	s.flows[d].class = idle
	s.active--
	return int(d), true
}

// Active returns the number of flows that were begun and neither removed nor
// taken.
func (s *FairShare) Active() int { return s.active }

// Rate returns the present rate of a device's flow, in 10^6 bit/s: 0 when it has
// none, waits or has ended.
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

// move advances the clock to an instant, past what is due before.
func (s *FairShare) move(now engine.Time) {
	if now < s.asked {
		panic(fmt.Sprintf("flows: asked at %v (%d ns): it is %v (%d ns) already", now, int64(now), s.asked, int64(s.asked)))
	}
	if now > s.asked {
		s.catchUp(now)
	}
}

// catchUp ends and starts all that is due by an instant, in the order in which
// it is due.
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

// end keeps a flow that is over now until it is taken.
func (s *FairShare) end(d int32) {
	s.flows[d].class = over
	s.ended = s.flowsDue.push(s.ended, d, at(s.now.over()))
}

// enter makes a device's flow share what it can get, with that many units to go.
// With none it is over even where there is no rate.
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

// withdraw takes a device's flow from its class and returns the units it had to
// go.
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

// touch notes that the rates of a cell are to be settled.
func (s *FairShare) touch(c int32) {
	if x := &s.cells[c]; !x.stale {
		x.stale = true
		s.stale = append(s.stale, c)
	}
}
