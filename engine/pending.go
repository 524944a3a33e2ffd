package engine

// pendingSet knows which events are pending, by device and counter. Each device has a
// window with one bit for each of its latest events. Events that are still pending when
// they leave the window move to a map.
type pendingSet struct {
	devices []window            // device t is at t+1
	old     map[uint64]struct{} // by idOf
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

// idOf returns the bits of a key that identify the event: its device and counter.
func idOf(key uint64) uint64 { return key & (1<<(seqBits+deviceBits) - 1) }

// skip returns the next counter of a device for an event that is tracked elsewhere. It
// returns 0 if all counters are used.
func (s *pendingSet) skip(row int) (seq uint32) {
	if seq = s.add(row); seq != 0 {
		s.devices[row].pending &^= 1
		s.n--
	}
	return seq
}

// add makes the next event of a device pending and returns its counter. It returns 0 if
// all counters are used.
func (s *pendingSet) add(row int) (seq uint32) {
	w := &s.devices[row]
	seq = w.last + 1
	if seq == 0 {
		return 0
	}
	if w.pending>>(windowSize-1) != 0 {
		s.old[uint64(row)<<seqBits|uint64(seq-windowSize)] = struct{}{}
	}
	w.last, w.pending = seq, w.pending<<1|1
	s.n++
	return seq
}

func (s *pendingSet) has(key uint64) bool {
	row := rowOf(key)
	if row >= uint64(len(s.devices)) {
		return false
	}
	w := s.devices[row]
	if age := w.last - uint32(key); age < windowSize {
		return w.pending>>age&1 != 0
	}
	_, old := s.old[idOf(key)]
	return old
}

// remove returns false, and does nothing, if the event is not pending.
func (s *pendingSet) remove(key uint64) bool {
	row := rowOf(key)
	if row >= uint64(len(s.devices)) {
		return false
	}
	w := &s.devices[row]
	if age := w.last - uint32(key); age < windowSize {
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
			fetched += s.devices[rowOf(it.key)].pending
		}
		s.fetched = fetched // without a use, the compiler would remove the reads
		from := len(pending)
		for _, it := range some {
			if s.has(it.key) {
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
		if row := rowOf(it.key); row > 0 { // not the server
			s.near = append(s.near, int32(row)-1)
		}
	}
	s.ahead(s.near)
}

// pruneBlock is how many windows fit into the first-level cache.
const pruneBlock = 256
