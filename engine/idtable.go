package engine

import "math/bits"

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
