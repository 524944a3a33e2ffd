package engine

import "math/bits"

// idTable is a hash set of ids with open addressing and linear probing. It is at most
// half full. 0 marks an empty slot; no id is 0, since counters start at 1.
type idTable struct {
	ids   []uint64 // length is a power of two, or 0
	n     int
	shift int // 64 minus the logarithm of the length
}

// home returns the first slot to probe for id: the top bits of its product with 2^64
// divided by the golden ratio.
func (t *idTable) home(id uint64) int { return int(id * 0x9e3779b97f4a7c15 >> t.shift) }

// find returns the slot of id, or the empty one where it would be.
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

// remove deletes id. It closes the gap by moving up the ids behind it that linear
// probing would no longer find.
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
