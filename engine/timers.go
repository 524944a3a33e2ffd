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
			e.hooks.Canceled(moved.event())
		}
	}
	a.set(device, at, seqOf(e.pending.skip(device)))
	if e.hooks.Scheduled != nil {
		e.hooks.Scheduled(a.item(device).event())
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
func (a *timers) grow(devices int) {
	a.at, a.seqs = slices.Repeat([]Time{Never}, devices), make([]uint32, devices)
	for n := devices; ; {
		n = (n + fanOut - 1) / fanOut
		a.least = append(a.least, slices.Repeat([]Time{Never}, n))
		if n == 1 {
			return
		}
	}
}

func (a *timers) item(device int) item {
	return item{at: uint64(a.at[device]), key: key(a.kind, int32(device), a.seqs[device])}
}

// set sets the timer of a device that has none pending.
func (a *timers) set(device int, at Time, seq uint32) {
	a.at[device], a.seqs[device] = at, seq
	a.n++
	for i, level := device/fanOut, 0; level < len(a.least) && at < a.least[level][i]; i, level = i/fanOut, level+1 {
		a.least[level][i] = at
	}
	if it := a.item(device); a.n == 1 || a.known && it.before(a.next) {
		a.next, a.known = it, true
	}
}

// clear removes the pending timer of a device.
func (a *timers) clear(device int) {
	if a.known && a.next == a.item(device) {
		a.known = false
	}
	a.at[device], a.seqs[device] = Never, 0
	a.n--
}

// first returns the first timer if it is before the bound and not at Never.
func (a *timers) first(bound item) (it item, ok bool) {
	if a.n == 0 {
		return item{}, false
	}
	if !a.known {
		a.find()
	}
	return a.next, a.next.before(bound) && a.next.at != uint64(Never)
}

// find finds the first timer, of equal times that of the lowest device.
func (a *timers) find() {
	for {
		bound := a.least[len(a.least)-1][0]
		i := 0
		for level := len(a.least) - 2; level >= 0; level-- {
			i = leastOf(a.least[level], i)
		}
		device := leastOf(a.at, i)
		if a.at[device] == bound {
			a.next, a.known = a.item(device), true
			return
		}
		a.least[0][i] = a.at[device]
		for level := 1; level < len(a.least); level++ {
			child := leastOf(a.least[level-1], i/fanOut)
			i /= fanOut
			a.least[level][i] = a.least[level-1][child]
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
