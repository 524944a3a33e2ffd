package engine

import (
	"fmt"

	"fedsim/internal/invariants"
)

// Options of an engine. The zero value works.
type Options struct {
	Queue string // one of Queues; empty: DefaultQueue
	Hooks *Hooks // nil: none
}

// Engine is a virtual clock with its pending events. Once its tables have grown
// to the number of events pending at a time, scheduling, cancelling, moving and
// firing allocate nothing.
type Engine struct {
	now      Time
	queue    Queue
	counters []uint32 // events given to each device so far; device t at t+1

	// A pending event has a slot that holds a copy of it. Cancelling frees the
	// slot and leaves the event in the queue as a tombstone: one that its slot
	// does not know any more. It is dropped when it comes up or by compaction.
	slots      []Event
	free       []uint32
	tombstones int
	isPending  func(Event) bool // the method, bound once: binding allocates

	hooks   Hooks
	stopped bool
	fired   int64
	digest  digest
}

// New returns an engine at time 0 without events, for the server and devices
// 0..devices-1. It panics when no queue has the name in o.
func New(devices int, o Options) *Engine {
	e := &Engine{queue: newQueue(o.Queue), counters: make([]uint32, devices+1)}
	e.isPending = e.pending
	if o.Hooks != nil {
		e.hooks = *o.Hooks
	}
	return e
}

// Now returns the present instant: that of the event being handled, or where
// the last RunUntil ended.
func (e *Engine) Now() Time { return e.now }

// Pending returns the number of events that have neither fired nor been cancelled.
func (e *Engine) Pending() int { return e.queue.Len() - e.tombstones }

// Fired returns the number of events fired so far.
func (e *Engine) Fired() int64 { return e.fired }

// Digest returns a hash of the events fired so far, in their order: time, kind,
// device and the device's counter of each.
func (e *Engine) Digest() uint64 { return uint64(e.digest) }

// Schedule makes an event of kind k happen at a device (or Server) at the given
// instant, which may be now and may be Never. It panics when the instant is past
// or there is no such device.
func (e *Engine) Schedule(at Time, k Kind, device int) Handle {
	e.mustNotBePast(at, k, device)
	i := device + 1
	if i < 0 || i >= len(e.counters) {
		panic(fmt.Sprintf("engine: event for device %d: must be in -1..%d", device, len(e.counters)-2))
	}
	e.counters[i]++
	if e.counters[i] == 0 {
		panic(fmt.Sprintf("engine: device %d was given 2^32 events: their order is lost", device))
	}
	ev := Event{At: at, Device: int32(device), Seq: e.counters[i], slot: e.takeSlot(), Kind: k}
	e.slots[ev.slot] = ev
	e.queue.Push(ev)
	if e.hooks.Scheduled != nil {
		e.hooks.Scheduled(ev)
	}
	return ev.handle()
}

// Cancel takes back the event that h names. It returns false, and does nothing,
// when h is stale.
func (e *Engine) Cancel(h Handle) bool {
	ev, ok := e.lookup(h)
	if !ok {
		return false
	}
	e.freeSlot(ev.slot)
	e.tombstones++
	if e.tombstones > e.queue.Len()/2 {
		e.queue.Compact(e.isPending)
		e.tombstones = 0
	}
	if e.hooks.Cancelled != nil {
		e.hooks.Cancelled(ev)
	}
	return true
}

// Reschedule moves the event that h names to another instant: it is cancelled,
// and an event of its kind is scheduled for its device, which takes its turn by
// the device's counter anew. It returns false, and does nothing, when h is stale. It panics when the
// instant is past.
func (e *Engine) Reschedule(h Handle, at Time) (Handle, bool) {
	ev, ok := e.lookup(h)
	if !ok {
		return Handle{}, false
	}
	e.mustNotBePast(at, ev.Kind, int(ev.Device))
	e.Cancel(h)
	return e.Schedule(at, ev.Kind, int(ev.Device)), true
}

// Step advances the clock to the next event and calls fn with it. It returns
// false when no event is pending but those at Never. Within fn the event is no
// longer pending and its handle is stale.
func (e *Engine) Step(fn func(Event)) bool {
	ev, ok := e.next()
	if !ok {
		return false
	}
	e.fire(ev, fn)
	return true
}

// Run fires events until none is pending but those at Never, or Stop is called.
// The clock stands at the last event then.
func (e *Engine) Run(fn func(Event)) { e.run(Never, fn) }

// RunUntil fires the events up to limit, that instant included, then advances
// the clock to limit, unless Stop was called. It panics when limit is past.
// RunUntil(Never) is Run: the clock cannot get there.
func (e *Engine) RunUntil(limit Time, fn func(Event)) {
	if limit < e.now {
		panic(fmt.Sprintf("engine: run until %v (%d ns): it is %v (%d ns) already",
			limit, int64(limit), e.now, int64(e.now)))
	}
	if e.run(limit, fn) && limit != Never {
		e.now = limit
	}
}

// Stop, called from within a handler, makes Run or RunUntil return after it.
// The events left stay pending.
func (e *Engine) Stop() { e.stopped = true }

// run returns false when it was stopped.
func (e *Engine) run(limit Time, fn func(Event)) bool {
	e.stopped = false
	for !e.stopped {
		ev, ok := e.next()
		if !ok || ev.At > limit {
			return true
		}
		e.fire(ev, fn)
	}
	return false
}

// next returns the first event that can fire and leaves it in the queue; it
// drops the tombstones before it.
func (e *Engine) next() (Event, bool) {
	for {
		ev, ok := e.queue.Peek()
		if !ok || ev.At == Never {
			return Event{}, false
		}
		if e.pending(ev) {
			return ev, true
		}
		e.queue.Pop()
		e.tombstones--
	}
}

// fire takes ev, the first in the queue, out of it and hands it to fn.
func (e *Engine) fire(ev Event, fn func(Event)) {
	e.queue.Pop()
	if invariants.Enabled && ev.At < e.now {
		panic(fmt.Sprintf("engine: the clock goes back from %v to %v", e.now, ev.At))
	}
	e.freeSlot(ev.slot)
	e.now = ev.At
	e.fired++
	e.digest = e.digest.add(ev)
	if e.hooks.Fired != nil {
		e.hooks.Fired(ev)
	}
	fn(ev)
}

// pending reports whether an event from the queue is none of the tombstones.
func (e *Engine) pending(ev Event) bool {
	s := &e.slots[ev.slot]
	return s.Seq == ev.Seq && s.Device == ev.Device
}

func (e *Engine) mustNotBePast(at Time, k Kind, device int) {
	if at < e.now {
		panic(fmt.Sprintf("engine: event of kind %d for device %d at %v (%d ns): it is %v (%d ns) already",
			k, device, at, int64(at), e.now, int64(e.now)))
	}
}

func (e *Engine) lookup(h Handle) (Event, bool) {
	// A counter starts at 1: neither the zero handle nor a free slot matches.
	if h.seq == 0 || int(h.slot) >= len(e.slots) {
		return Event{}, false
	}
	ev := e.slots[h.slot]
	return ev, ev.Seq == h.seq && ev.Device == h.device
}

func (e *Engine) takeSlot() uint32 {
	if last := len(e.free) - 1; last >= 0 {
		slot := e.free[last]
		e.free = e.free[:last]
		return slot
	}
	e.slots = append(e.slots, Event{})
	return uint32(len(e.slots) - 1)
}

func (e *Engine) freeSlot(slot uint32) {
	e.slots[slot] = Event{}
	e.free = append(e.free, slot)
}
