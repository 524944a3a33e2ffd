package engine

import "math/bits"

// pendingSet knows which events are pending, by device and counter. A device
// has a window of one bit for each of the latest events it was given; what is
// still pending when it leaves the window moves to a table.
type pendingSet struct {
	devices []window // device t at t+1
	old     idTable
	n       int
}

// window is of the events last, last-1, ..., last-31 of a device; event last-i
// is bit i.
type window struct {
	last    uint32
	pending uint32
}

const windowSize = 32

// idOf is what of a key names the event: its device and counter.
func idOf(key uint64) uint64 { return key & (1<<(seqBits+deviceBits) - 1) }

// add makes the next event of a device pending and returns its counter: 0 when
// there is no next one.
func (s *pendingSet) add(row int) (seq uint32) {
	w := &s.devices[row]
	seq = w.last + 1
	if seq == 0 {
		return 0
	}
	if w.pending>>(windowSize-1) != 0 {
		s.old.add(uint64(row)<<seqBits | uint64(seq-windowSize))
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
	return s.old.has(idOf(key))
}

// remove returns false, and does nothing, when the event is not pending.
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
	} else if !s.old.remove(idOf(key)) {
		return false
	}
	s.n--
	return true
}

// idTable is a set of ids by open addressing with linear probing: at most half
// full, 0 for an empty place, which no id is since counters start at 1.
type idTable struct {
	ids   []uint64 // a power of two of them, or none
	n     int
	shift int // 64 less the power
}

// home returns where id is to be looked for first: the top bits of a product
// with 2^64 divided by the golden ratio.
func (t *idTable) home(id uint64) int { return int(id * 0x9e3779b97f4a7c15 >> t.shift) }

// find returns the place of id, or the empty one where it would be.
func (t *idTable) find(id uint64) int {
	mask := len(t.ids) - 1
	i := t.home(id)
	for t.ids[i] != id && t.ids[i] != 0 {
		i = (i + 1) & mask
	}
	return i
}

func (t *idTable) has(id uint64) bool { return t.n > 0 && t.ids[t.find(id)] != 0 }

func (t *idTable) add(id uint64) {
	if 2*(t.n+1) > len(t.ids) {
		t.grow()
	}
	t.ids[t.find(id)] = id
	t.n++
}

func (t *idTable) grow() {
	old := t.ids
	t.ids = make([]uint64, max(64, 2*len(old)))
	t.shift = 64 - bits.TrailingZeros(uint(len(t.ids)))
	for _, id := range old {
		if id != 0 {
			t.ids[t.find(id)] = id
		}
	}
}

// remove closes the gap: what follows and may not be found over it moves up.
func (t *idTable) remove(id uint64) bool {
	if t.n == 0 {
		return false
	}
	gap := t.find(id)
	if t.ids[gap] == 0 {
		return false
	}
	mask := len(t.ids) - 1
	for i := (gap + 1) & mask; t.ids[i] != 0; i = (i + 1) & mask {
		if home := t.home(t.ids[i]); (i-home)&mask >= (i-gap)&mask {
			t.ids[gap] = t.ids[i]
			gap = i
		}
	}
	t.ids[gap] = 0
	t.n--
	return true
}
