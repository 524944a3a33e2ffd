package engine

import (
	"fmt"

	"fedsim/internal/invariants"
)

// Options of an engine. The zero value works.
type Options struct {
	Queue string // one of Queues; empty: DefaultQueue
	Hooks *Hooks // nil: none
	// Prefetch is told of devices that have events soon, some hundreds at a time, so
	// that it can read what is held of them while none of it is waited for. It is no
	// promise: their events may be cancelled, and others come before. nil: none.
	Prefetch func(devices []int32)
}

// Engine is a virtual clock with its pending events. Once its tables have grown
// to the number of events pending at a time, scheduling, cancelling, moving and
// firing allocate nothing. A device takes 8 bytes, 20 when devices have alarms, and an
// event 16; one that was cancelled keeps its memory until it would have come up, or
// until the cancelled are more than those pending.
type Engine struct {
	now     Time
	pending pendingSet

	// Each event that is pending, but alarms and those at Never, is in one of these two. A
	// cancelled one stays there as a tombstone, one that is not pending, until it
	// comes up or tombstones are more than half.
	queue queue
	run   run
	prune filter // the method, bound once: binding allocates

	alarms alarms // none of these is in the set or in a queue

	hooks   Hooks
	traced  map[uint64]item // the pending events by device and counter; nil without a Cancelled hook
	stopped bool
	fired   int64
	digest  digest
}

// New returns an engine at time 0 without events, for the server and devices
// 0..devices-1. It panics when devices is more than MaxDevices, or no queue has
// the name in o.
func New(devices int, o Options) *Engine {
	if devices > MaxDevices {
		panic(fmt.Sprintf("engine: %d devices: must be at most %d", devices, MaxDevices))
	}
	e := &Engine{pending: pendingSet{devices: make([]window, devices+1)}}
	if o.Prefetch != nil {
		e.pending.ahead, e.pending.near = o.Prefetch, make([]int32, 0, pruneBlock)
	}
	e.prune = e.pending.prune
	e.queue = newQueue(o.Queue, e.prune)
	if w, ok := e.queue.(*wheel); ok {
		e.run.space = &w.chunks
	} else {
		e.run.space = newChunks()
	}
	if o.Hooks != nil {
		e.hooks = *o.Hooks
	}
	if e.hooks.Cancelled != nil {
		e.traced = map[uint64]item{}
	}
	return e
}

// Now returns the present instant: that of the event being handled, or where
// the last RunUntil ended.
func (e *Engine) Now() Time { return e.now }

// Pending returns the number of events that have neither fired nor been cancelled.
func (e *Engine) Pending() int { return e.pending.n + e.alarms.n }

// Fired returns the number of events fired so far.
func (e *Engine) Fired() int64 { return e.fired }

// Digest returns a hash of the events fired so far, in their order: time, kind,
// device and the device's counter of each.
func (e *Engine) Digest() uint64 { return uint64(e.digest) }

// Schedule makes an event of kind k happen at a device (or Server) at the given
// instant, which may be now and may be Never. It panics when the instant is past,
// there is no such device or k is above MaxKind.
func (e *Engine) Schedule(at Time, k Kind, device int) Handle {
	row := device + 1
	if at < e.now || uint(row) >= uint(len(e.pending.devices)) || k > MaxKind {
		e.refuse(at, k, device)
	}
	seq := e.count(e.pending.add(row), device)
	it := item{at: uint64(at), key: key(k, int32(device), seq)}
	switch {
	case at == Never:
	case e.run.collecting:
		e.run.collect(it, len(e.pending.devices), e.prune)
	default:
		e.queue.push(it)
	}
	if e.traced != nil {
		e.traced[idOf(it.key)] = it
	}
	if e.hooks.Scheduled != nil {
		e.hooks.Scheduled(it.event())
	}
	return Handle{it.key}
}

// count returns the counter of an event that a device is given. It panics when there
// is none left.
func (e *Engine) count(seq uint32, device int) uint32 {
	if seq == 0 {
		panic(fmt.Sprintf("engine: device %d was given 2^32 events: their order is lost", device))
	}
	return seq
}

// refuse panics with what is wrong with an event.
func (e *Engine) refuse(at Time, k Kind, device int) {
	if at < e.now {
		panic(fmt.Sprintf("engine: event of kind %d for device %d at %v (%d ns): it is %v (%d ns) already",
			k, device, at, int64(at), e.now, int64(e.now)))
	}
	if k > MaxKind {
		panic(fmt.Sprintf("engine: event of kind %d for device %d: must be in 0..%d", k, device, MaxKind))
	}
	panic(fmt.Sprintf("engine: event for device %d: must be in -1..%d", device, len(e.pending.devices)-2))
}

// Cancel takes back the event that h names. It returns false, and does nothing,
// when h is stale.
func (e *Engine) Cancel(h Handle) bool {
	if !e.pending.remove(h.key) {
		return false
	}
	if n := e.queue.len() + e.run.len(); n > 2*e.pending.n+mostTombstones {
		e.queue.compact(e.prune)
		e.run.compact(e.prune)
	}
	if e.hooks.Cancelled != nil {
		e.hooks.Cancelled(e.traced[idOf(h.key)].event())
		delete(e.traced, idOf(h.key))
	}
	return true
}

// CancelSeq is Cancel of the event that is the seq-th of a device, see Handle.Seq.
func (e *Engine) CancelSeq(device int, seq uint32) bool {
	return e.Cancel(Handle{key(0, int32(device), seq)})
}

// mostTombstones is how many there may be whatever the number pending: looking
// through a nearly empty queue at every cancellation would cost more.
const mostTombstones = 64

// Reschedule moves the event that h names to another instant: it is cancelled,
// and an event of its kind is scheduled for its device, which takes its turn by
// the device's counter anew. It returns false, and does nothing, when h is stale. It panics when the
// instant is past.
func (e *Engine) Reschedule(h Handle, at Time) (Handle, bool) {
	if !e.pending.has(h.key) {
		return Handle{}, false
	}
	k, device := kindOf(h.key), int(rowOf(h.key))-1
	if at < e.now {
		e.refuse(at, k, device)
	}
	e.Cancel(h)
	return e.Schedule(at, k, device), true
}

// Step advances the clock to the next event and calls fn with it. It returns
// false when no event is pending but those at Never. Within fn the event is no
// longer pending and its handle is stale.
func (e *Engine) Step(fn func(Event)) bool {
	it, ok := e.next(endOf(Never))
	if !ok {
		return false
	}
	e.fire(it, fn)
	return true
}

// Run fires events until none is pending but those at Never, or Stop is called.
// The clock stands at the last event then.
func (e *Engine) Run(fn func(Event)) { e.fireUntil(Never, fn) }

// RunUntil fires the events up to limit, that instant included, then advances
// the clock to limit, unless Stop was called. It panics when limit is past.
// RunUntil(Never) is Run: the clock cannot get there.
func (e *Engine) RunUntil(limit Time, fn func(Event)) {
	if limit < e.now {
		panic(fmt.Sprintf("engine: run until %v (%d ns): it is %v (%d ns) already",
			limit, int64(limit), e.now, int64(e.now)))
	}
	if e.fireUntil(limit, fn) && limit != Never {
		e.now = limit
	}
}

// Stop, called from within a handler, makes Run or RunUntil return after it.
// The events left stay pending.
func (e *Engine) Stop() { e.stopped = true }

// fireUntil returns false when it was stopped.
func (e *Engine) fireUntil(limit Time, fn func(Event)) bool {
	e.stopped = false
	for bound := endOf(limit); !e.stopped; {
		it, ok := e.next(bound)
		if !ok {
			return true
		}
		e.fire(it, fn)
	}
	return false
}

// next takes the first pending event before the bound from where it is, and the
// tombstones before it.
func (e *Engine) next(bound item) (item, bool) {
	if e.run.collecting {
		panic("engine: Step, Run or RunUntil within ScheduleBatch")
	}
	alarm, rings := e.alarms.first(bound)
	if rings {
		bound = alarm
	}
	for {
		it, ok := e.pop(bound)
		switch {
		case ok && e.pending.remove(it.key):
			return it, true
		case ok: // a tombstone
		case rings:
			e.alarms.clear(int(rowOf(alarm.key)) - 1)
			return alarm, true
		default:
			return item{}, false
		}
	}
}

func (e *Engine) pop(bound item) (item, bool) {
	first, ok := e.run.first(e.prune)
	if !ok || !first.before(bound) {
		return e.queue.popBefore(bound)
	}
	if it, ok := e.queue.popBefore(first); ok {
		return it, true
	}
	e.run.pop()
	return first, true
}

// fire hands an event that was taken out to fn.
func (e *Engine) fire(it item, fn func(Event)) {
	ev := it.event()
	if invariants.Enabled && ev.At < e.now {
		panic(fmt.Sprintf("engine: the clock goes back from %v to %v", e.now, ev.At))
	}
	e.now = ev.At
	e.fired++
	e.digest = e.digest.add(ev)
	if e.traced != nil {
		delete(e.traced, idOf(it.key))
	}
	if e.hooks.Fired != nil {
		e.hooks.Fired(ev)
	}
	fn(ev)
}
