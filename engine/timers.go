package engine

import (
	"fmt"
	"slices"
)

// SetTimer makes an event of kind k happen at a device at the given instant, in place
// of the alarm that the device has pending, if any, which is cancelled. An alarm
// happens, counts and is hooked like an event that was scheduled; what is different is
// what it takes, which is 12 bytes a device once one has an alarm, and nothing more
// for those that were moved. It is for what is mostly moved or far away.
//
// All alarms of an engine are of one kind. SetTimer panics on another one and when
// Schedule does, and at the server.
func (e *Engine) SetTimer(at Time, k Kind, device int) {
	a := &e.alarms
	switch devices := len(e.pending.devices) - 1; {
	case device == Server:
		panic("engine: an alarm at the server: must be at a device")
	case at < e.now || uint(device) >= uint(devices) || k > MaxKind:
		e.refuse(at, k, device)
	case a.at == nil:
		a.kind = k
		a.grow(devices)
	case k != a.kind:
		panic(fmt.Sprintf("engine: an alarm of kind %d for device %d: others are of kind %d", k, device, a.kind))
	}
	if a.seqs[device] != 0 {
		moved := a.item(device)
		a.clear(device)
		if e.hooks.Cancelled != nil {
			e.hooks.Cancelled(moved.event())
		}
	}
	a.set(device, at, e.count(e.pending.skip(device+1), device))
	if e.hooks.Scheduled != nil {
		e.hooks.Scheduled(a.item(device).event())
	}
}

// Timer returns when the pending alarm of a device is due; ok is false when it has
// none.
func (e *Engine) Timer(device int) (at Time, ok bool) {
	a := &e.alarms
	if device < 0 || device >= len(a.seqs) || a.seqs[device] == 0 {
		return 0, false
	}
	return a.at[device], true
}

// alarms are events of one kind of which each device has at most one: 12 bytes a
// device, whether it is pending or not and however often it is moved. A queue would
// hold 16 for one that is pending, and as many for each place that it was moved from.
//
// Over them lies a tree of minima, each over fanOut of the level below. An alarm that
// comes nearer lowers those above it, one that goes leaves them as they are: a minimum
// is what its alarms are at least, and is brought up to date when it is the least.
type alarms struct {
	kind  Kind
	at    []Time   // by device; Never where none is pending, or one that never fires
	seqs  []uint32 // of the pending one; 0: none
	least [][]Time // level by level; one value in the last
	n     int      // pending

	next  item // the first of all
	known bool // it is; otherwise it is to be looked for
}

const fanOut = 64

// grow makes room for all devices, at the first alarm: most engines have none.
func (a *alarms) grow(devices int) {
	a.at, a.seqs = slices.Repeat([]Time{Never}, devices), make([]uint32, devices)
	for n := devices; ; {
		n = (n + fanOut - 1) / fanOut
		a.least = append(a.least, slices.Repeat([]Time{Never}, n))
		if n == 1 {
			return
		}
	}
}

// item returns the pending alarm of a device.
func (a *alarms) item(device int) item {
	return item{at: uint64(a.at[device]), key: key(a.kind, int32(device), a.seqs[device])}
}

// set makes an alarm of a device pending, which has none.
func (a *alarms) set(device int, at Time, seq uint32) {
	a.at[device], a.seqs[device] = at, seq
	a.n++
	for i, level := device/fanOut, 0; level < len(a.least) && at < a.least[level][i]; i, level = i/fanOut, level+1 {
		a.least[level][i] = at
	}
	if it := a.item(device); a.n == 1 || a.known && it.before(a.next) {
		a.next, a.known = it, true
	}
}

// clear takes back the pending alarm of a device.
func (a *alarms) clear(device int) {
	if a.known && a.next == a.item(device) {
		a.known = false
	}
	a.at[device], a.seqs[device] = Never, 0
	a.n--
}

// first returns the first alarm if it is before the bound. Those at Never are not.
func (a *alarms) first(bound item) (it item, ok bool) {
	if a.n == 0 {
		return item{}, false
	}
	if !a.known {
		a.find()
	}
	return a.next, a.next.before(bound) && a.next.at != uint64(Never)
}

// find looks for the first alarm. Of those at one instant it is that of the lowest
// device, as the order of events has it.
func (a *alarms) find() {
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

// leastOf returns the place of the least of group i of the values, the first of equals.
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
