package engine

import (
	"fmt"

	"fedsim/internal/tools/invariants"
	"fedsim/internal/tools/priority"
	"fedsim/internal/tools/roster"
)

// Roster numbers the devices that have state, in a lazy population.
type Roster = roster.Roster

// DefaultQueue is the queue of an engine whose options name none.
const DefaultQueue = priority.Default

// Queues returns the names of the queues, the default first. The choice changes the speed of an engine and nothing
// else.
func Queues() []string { return priority.Names() }

// Options configures an engine. The zero value works.
type Options struct {
	Queue string // one of Queues; default: DefaultQueue
	Hooks *Hooks // default: none
	// Prefetch is called with devices that have events soon, some hundreds at a time, so
	// that the client can load their state into the cache. The events may still be
	// canceled, and other events may fire first. Default: none.
	Prefetch func(devices []int32)
	// Lazy says which devices may have events, in a population of which most never have one.
	// Default: all devices.
	Lazy *Roster
}

// Engine is a virtual clock with its pending events. Once its tables have grown to the
// largest number of pending events, scheduling, canceling and firing allocate nothing.
// A device takes 8 bytes, 20 if timers are used. An event takes 16 bytes. A canceled
// event keeps its memory until its time comes, or until canceled events outnumber
// pending ones.
type Engine struct {
	now     Time
	pending pendingSet

	// Every pending event is in the queue or in the sorted list, except for timers and events at
	// Never. A canceled event stays there as a tombstone until its time comes or
	// tombstones are more than half.
	queue      priority.Queue
	sorted     priority.List
	collecting bool            // a batch
	prune      priority.Filter // the method value, bound once because binding allocates

	timers timers // timers are in neither the pending set nor a queue

	hooks   Hooks
	traced  map[uint64]item // pending events by device and counter; nil without a Canceled hook
	stopped bool
	fired   int64
	digest  digest
}

// New returns an engine at time 0 without events, for the server and devices
// 0..devices-1. It panics if devices exceeds MaxDevices or if no queue has the name in
// o.
func New(devices int, o Options) *Engine {
	if devices > MaxDevices {
		panic(fmt.Sprintf("engine: %d devices: must be at most %d", devices, MaxDevices))
	}
	e := &Engine{pending: newPendingSet(devices, o.Lazy)}
	if o.Prefetch != nil {
		e.pending.ahead, e.pending.near = o.Prefetch, make([]int32, 0, pruneBlock)
	}
	e.prune = e.pending.prune
	e.queue = priority.New(o.Queue, e.prune)
	e.sorted = priority.NewList(e.queue)
	if o.Hooks != nil {
		e.hooks = *o.Hooks
	}
	if e.hooks.Canceled != nil {
		e.traced = map[uint64]item{}
	}
	return e
}

// Now returns the current instant: that of the event being handled, or the limit of the
// last RunUntil.
func (e *Engine) Now() Time { return e.now }

// Pending returns the number of events that have neither fired nor been canceled.
func (e *Engine) Pending() int { return e.pending.n + e.timers.n }

// Fired returns the number of events fired so far.
func (e *Engine) Fired() int64 { return e.fired }

// Digest returns a hash of the fired events in order: the time, kind, device and counter
// of each.
func (e *Engine) Digest() uint64 { return uint64(e.digest) }

// Schedule adds an event of kind k for a device (or Server) at an instant, which may be
// now or Never. It panics if the instant is in the past, if there is no such device, or
// if k exceeds MaxKind.
func (e *Engine) Schedule(at Time, k Kind, device int) Handle {
	if at < e.now || uint(device+1) > uint(e.pending.devices) || k > MaxKind {
		e.refuse(at, k, device)
	}
	it := item{At: uint64(at), Key: uint64(k)<<(seqBits+rowBits) | e.pending.add(device)}
	switch {
	case at == Never:
	case e.collecting:
		e.sorted.Collect(it, e.pending.devices, e.prune)
	default:
		e.queue.Push(it)
	}
	if e.traced != nil {
		e.traced[idOf(it.Key)] = it
	}
	if e.hooks.Scheduled != nil {
		e.hooks.Scheduled(eventOf(it))
	}
	return Handle{it.Key}
}

// refuse panics with the reason why an event is invalid.
func (e *Engine) refuse(at Time, k Kind, device int) {
	if at < e.now {
		panic(fmt.Sprintf("engine: event of kind %d for device %d at %v (%d ns): the clock is at %v (%d ns)",
			k, device, at, int64(at), e.now, int64(e.now)))
	}
	if k > MaxKind {
		panic(fmt.Sprintf("engine: event of kind %d for device %d: must be in 0..%d", k, device, MaxKind))
	}
	panic(fmt.Sprintf("engine: event for device %d: must be in -1..%d", device, e.pending.devices-1))
}

// Cancel removes the event of handle h. It returns false, and does nothing, if h is
// stale.
func (e *Engine) Cancel(h Handle) bool {
	if !e.pending.remove(h.key) {
		return false
	}
	if n := e.queue.Len() + e.sorted.Len(); n > 2*e.pending.n+mostTombstones {
		e.queue.Compact(e.prune)
		e.sorted.Compact(e.prune)
	}
	if e.hooks.Canceled != nil {
		e.hooks.Canceled(eventOf(e.traced[idOf(h.key)]))
		delete(e.traced, idOf(h.key))
	}
	return true
}

// CancelSeq cancels the event of a device by its counter. See Handle.Seq.
func (e *Engine) CancelSeq(device int, seq uint32) bool {
	return e.Cancel(Handle{key(0, int32(device), seq)})
}

// mostTombstones is how many tombstones are allowed however few events are pending:
// compacting a nearly empty queue at every cancellation would cost more.
const mostTombstones = 64

// Step advances the clock to the next event and calls fn with it. It returns false if no
// event is pending except at Never. Within fn the event is no longer pending and its
// handle is stale.
func (e *Engine) Step(fn func(Event)) bool {
	it, ok := e.next(endOf(Never))
	if !ok {
		return false
	}
	e.fire(it, fn)
	return true
}

// Run fires events until none is pending except at Never, or until Stop is called. The
// clock then stands at the last event.
func (e *Engine) Run(fn func(Event)) { e.fireUntil(Never, fn) }

// RunUntil fires all events up to and at limit, then advances the clock to limit, unless
// Stop was called. It panics if limit is in the past. RunUntil(Never) is Run.
func (e *Engine) RunUntil(limit Time, fn func(Event)) {
	if limit < e.now {
		panic(fmt.Sprintf("engine: run until %v (%d ns): the clock is at %v (%d ns)",
			limit, int64(limit), e.now, int64(e.now)))
	}
	if e.fireUntil(limit, fn) && limit != Never {
		e.now = limit
	}
}

// Stop, called from a handler, makes Run or RunUntil return after that handler. Other
// events stay pending.
func (e *Engine) Stop() { e.stopped = true }

// fireUntil returns false if it was stopped.
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

// next removes and returns the first pending event before the bound. It drops tombstones
// on the way.
func (e *Engine) next(bound item) (item, bool) {
	if e.collecting {
		panic("engine: Step, Run or RunUntil within ScheduleBatch")
	}
	timer, timed := e.timers.first(bound)
	if timed {
		bound = timer
	}
	for {
		it, ok := e.pop(bound)
		switch {
		case ok && e.pending.remove(it.Key):
			return it, true
		case ok: // a tombstone
		case timed:
			e.timers.clear(int(deviceOf(timer.Key)))
			return timer, true
		default:
			return item{}, false
		}
	}
}

func (e *Engine) pop(bound item) (item, bool) {
	first, ok := e.sorted.First(e.prune)
	if !ok || !first.Before(bound) {
		return e.queue.PopBefore(bound)
	}
	if it, ok := e.queue.PopBefore(first); ok {
		return it, true
	}
	e.sorted.Pop()
	return first, true
}

// fire handles an event that was removed from its queue.
func (e *Engine) fire(it item, fn func(Event)) {
	ev := eventOf(it)
	if invariants.Enabled && ev.At < e.now {
		panic(fmt.Sprintf("engine: the clock moves back from %v to %v", e.now, ev.At))
	}
	e.now = ev.At
	e.fired++
	e.digest = e.digest.add(ev)
	if e.traced != nil {
		delete(e.traced, idOf(it.Key))
	}
	if e.hooks.Fired != nil {
		e.hooks.Fired(ev)
	}
	fn(ev)
}
