package engine

import (
	"fmt"
	"slices"
)

// SetTimer sets the timer of a device: an event of kind k at an instant. It cancels the
// device's previous timer, if pending. A timer fires, counts and calls hooks like any
// event. Timers take 12 bytes per device, however often they are moved, so they suit
// events that are often moved or far away.
//
// All timers of an engine have the same kind. SetTimer panics on another kind, for the
// server, and in the cases in which Schedule does.
func (e *Engine) SetTimer(at Time, k Kind, device int) {
	a := &e.timers
	switch devices := e.pending.devices; {
	case device == Server:
		panic("engine: a timer of the server: must be at a device")
	case at < e.now || uint(device) >= uint(devices) || k > MaxKind:
		e.refuse(at, k, device)
	case a.at == nil:
		a.kind = k
		a.grow(devices)
	case k != a.kind:
		panic(fmt.Sprintf("engine: a timer of kind %d for device %d: the others have kind %d", k, device, a.kind))
	}
	if a.seqs[device] != 0 {
		moved := a.item(device)
		a.clear(device)
		if e.hooks.Canceled != nil {
			e.hooks.Canceled(eventOf(moved))
		}
	}
	a.set(device, at, seqOf(e.pending.skip(device)))
	if e.hooks.Scheduled != nil {
		e.hooks.Scheduled(eventOf(a.item(device)))
	}
}

// Timer returns the instant of a device's pending timer; ok is false if it has none.
func (e *Engine) Timer(device int) (at Time, ok bool) {
	a := &e.timers
	if device < 0 || device >= len(a.seqs) || a.seqs[device] == 0 {
		return 0, false
	}
	return a.at[device], true
}

// timers are events of one kind, at most one per device. They take 12 bytes per device,
// pending or not, however often they are moved. A queue would take 16 bytes for each
// pending event and for each tombstone.
//
// Above them is a tree of minima, each over fanOut values of the level below. Setting an
// earlier timer lowers the minima above it. Clearing a timer leaves them unchanged: a
// minimum is a lower bound, and find updates it when it is the smallest.
type timers struct {
	kind  Kind
	at    []Time   // by device; Never if none is pending
	seqs  []uint32 // counter of the pending timer; 0: none
	least [][]Time // by level; the last one has one value
	n     int      // number pending

	next  item // the first timer
	known bool // next is valid
}

const fanOut = 64

// grow allocates the tables at the first timer: most engines have none.
func (ti *timers) grow(devices int) {
	ti.at, ti.seqs = slices.Repeat([]Time{Never}, devices), make([]uint32, devices)
	for n := devices; ; {
		n = (n + fanOut - 1) / fanOut
		ti.least = append(ti.least, slices.Repeat([]Time{Never}, n))
		if n == 1 {
			return
		}
	}
}

func (ti *timers) item(device int) item {
	return item{At: uint64(ti.at[device]), Key: key(ti.kind, int32(device), ti.seqs[device])}
}

// set sets the timer of a device that has none pending.
func (ti *timers) set(device int, at Time, seq uint32) {
	ti.at[device], ti.seqs[device] = at, seq
	ti.n++
	for i, level := device/fanOut, 0; level < len(ti.least) && at < ti.least[level][i]; i, level = i/fanOut, level+1 {
		ti.least[level][i] = at
	}
	if it := ti.item(device); ti.n == 1 || ti.known && it.Before(ti.next) {
		ti.next, ti.known = it, true
	}
}

// clear removes the pending timer of a device.
func (ti *timers) clear(device int) {
	if ti.known && ti.next == ti.item(device) {
		ti.known = false
	}
	ti.at[device], ti.seqs[device] = Never, 0
	ti.n--
}

// first returns the first timer if it is before the bound and not at Never.
func (ti *timers) first(bound item) (it item, ok bool) {
	if ti.n == 0 {
		return item{}, false
	}
	if !ti.known {
		ti.find()
	}
	return ti.next, ti.next.Before(bound) && ti.next.At != uint64(Never)
}

// find finds the first timer, of equal times that of the lowest device.
func (ti *timers) find() {
	for {
		bound := ti.least[len(ti.least)-1][0]
		i := 0
		for level := len(ti.least) - 2; level >= 0; level-- {
			i = leastOf(ti.least[level], i)
		}
		device := leastOf(ti.at, i)
		if ti.at[device] == bound {
			ti.next, ti.known = ti.item(device), true
			return
		}
		ti.least[0][i] = ti.at[device]
		for level := 1; level < len(ti.least); level++ {
			child := leastOf(ti.least[level-1], i/fanOut)
			i /= fanOut
			ti.least[level][i] = ti.least[level-1][child]
		}
	}
}

// leastOf returns the index of the first minimum in group i of the values.
func leastOf(values []Time, i int) int {
	from, to := i*fanOut, min((i+1)*fanOut, len(values))
	least := from
	for k := from + 1; k < to; k++ {
		if values[k] < values[least] {
			least = k
		}
	}
	return least
}
