package engine

import (
	"fmt"
	"math/bits"

	"fedsim/internal/tools/roster"
)

// pendingSet knows which events are pending, by device and counter. Each device has a
// window with one bit for each of its latest events. Events that are still pending when
// they leave the window move to a map.
type pendingSet struct {
	devices int                    // the number of devices
	rows    []window               // see item; in a lazy population those of the server
	lazy    *roster.Column[window] // by device; nil: rows has those of all devices
	server  int                    // the row of the server
	old     map[uint64]struct{}    // by idOf
	n       int
	fetched uint32 // see prune
	ahead   func(devices []int32)
	near    []int32 // the argument of ahead
}

// window covers the events last, last-1, ..., last-31 of a device. Bit i stands for
// event last-i.
type window struct {
	last    uint32
	pending uint32
}

const windowSize = 32

// idOf returns the bits of a key that identify the event: its row and counter.
func idOf(key uint64) uint64 { return key & (1<<(seqBits+rowBits) - 1) }

// newPendingSet returns the events of so many devices: none.
func newPendingSet(devices int, lazy *roster.Roster) pendingSet {
	s := pendingSet{devices: devices, old: map[uint64]struct{}{}}
	if lazy == nil {
		s.rows = make([]window, devices+serverRows)
	} else {
		s.rows, s.lazy = make([]window, serverRows), roster.NewColumn[window](lazy, nil)
	}
	return s
}

func (s *pendingSet) at(row uint64) *window {
	if row < uint64(len(s.rows)) {
		return &s.rows[row]
	}
	return s.ofDevice(row)
}

// ofDevice is at in a lazy population; the window of a device without events is empty. It is a call,
// so that at is inlined.
//
//go:noinline
func (s *pendingSet) ofDevice(row uint64) *window {
	if s.lazy == nil || !s.lazy.Has(int(row-serverRows)) {
		return &window{}
	}
	return s.lazy.At(int(row - serverRows))
}

// skip returns idOf the next event of a device that is tracked elsewhere.
func (s *pendingSet) skip(device int) (id uint64) {
	id = s.add(device)
	s.at(rowOf(id)).pending &^= 1
	s.n--
	return id
}

// add makes the next event of a device pending and returns idOf it. It panics if all counters
// are used.
func (s *pendingSet) add(device int) (id uint64) {
	row := uint64(device) + serverRows
	if device == Server {
		row = uint64(s.server)
	}
	w := s.at(row)
	switch {
	case w.last < 1<<seqBits-1:
	case device == Server && s.server < serverRows-1:
		s.server++
		return s.add(device)
	default:
		panic(fmt.Sprintf("engine: device %d has 2^%d events: its counter is used up", device,
			bits.Len32(seqOf(row<<seqBits|uint64(w.last)))))
	}
	id = row<<seqBits | uint64(w.last+1)
	if w.pending>>(windowSize-1) != 0 {
		s.old[id-windowSize] = struct{}{}
	}
	w.last, w.pending = w.last+1, w.pending<<1|1
	s.n++
	return id
}

// age returns how many events of its row there were after one.
func (w *window) age(key uint64) uint32 { return (w.last - uint32(key)) & (1<<seqBits - 1) }

func (s *pendingSet) has(key uint64) bool {
	w := *s.at(rowOf(key))
	if age := w.age(key); age < windowSize {
		return w.pending>>age&1 != 0
	}
	_, old := s.old[idOf(key)]
	return old
}

// remove returns false, and does nothing, if the event is not pending.
func (s *pendingSet) remove(key uint64) bool {
	w := s.at(rowOf(key))
	if age := w.age(key); age < windowSize {
		bit := uint32(1) << age
		if w.pending&bit == 0 {
			return false
		}
		w.pending &^= bit
	} else if _, old := s.old[idOf(key)]; old {
		delete(s.old, idOf(key))
	} else {
		return false
	}
	s.n--
	return true
}

// prune returns the pending items, in order and in place. Testing many items together is
// faster than testing each one when it fires: the first loop only reads windows, so the
// processor loads many of them at the same time.
func (s *pendingSet) prune(items []item) []item {
	pending := items[:0]
	for len(items) > 0 {
		some := items[:min(len(items), pruneBlock)]
		items = items[len(some):]
		fetched := uint32(0)
		for _, it := range some {
			fetched += s.at(rowOf(it.Key)).pending
		}
		s.fetched = fetched // without a use, the compiler would remove the reads
		from := len(pending)
		for _, it := range some {
			if s.has(it.Key) {
				pending = append(pending, it)
			}
		}
		if s.ahead != nil {
			s.announce(pending[from:])
		}
	}
	return pending
}

// announce calls ahead with the devices of items.
func (s *pendingSet) announce(items []item) {
	s.near = s.near[:0]
	for _, it := range items {
		if device := deviceOf(it.Key); device != Server {
			s.near = append(s.near, device)
		}
	}
	s.ahead(s.near)
}

// pruneBlock is how many windows fit into the first-level cache.
const pruneBlock = 256
