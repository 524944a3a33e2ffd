package engine

import "math/bits"

// wheel is a monotone radix queue (after Ahuja, Mehlhorn, Orlin and Tarjan,
// JACM 1990), over the 16 bytes of an item as a number in base 256. An item
// whose highest digit that differs from the base is digit l lies in bucket
// (l, that digit). The first bucket of the lowest level holds the items that
// are next: when they are few they are sorted, else they go to buckets one level
// down. So an item is moved a few times, whatever the number pending.
//
// Items that are pushed before the limit up to which all was sorted wait in a
// heap. When that outgrows spillSize everything sorted is put back into buckets
// of lower levels, so that the limit comes nearer.
type wheel struct {
	sorted  []item // from next on, in rising order; before the limit
	next    int
	late    heap4 // what was pushed before the limit
	spillAt int   // the length of late at which it spills

	base, limit item
	n           int // items in buckets
	wanted      filter
	chunks      chunks
	sorter      sorter
	sortable    []item // where a bucket is gathered to be sorted

	levels   uint16 // bit l is set: level l has an item
	occupied [levels][digits / 64]uint64
	buckets  [levels][digits]bucket
}

var _ queue = (*wheel)(nil)

const (
	digitBits = 8
	digits    = 1 << digitBits
	levels    = 128 / digitBits
	atLevel   = levels / 2 // the level of the lowest digit of at

	mostSorted = 1024 // a bucket of more items goes one level down
	spillSize  = 512
)

func newWheel(wanted filter) *wheel {
	return &wheel{
		sorted: make([]item, 0, mostSorted), sortable: make([]item, 0, mostSorted),
		wanted: wanted, spillAt: spillSize, chunks: *newChunks(),
	}
}

func (w *wheel) len() int { return len(w.sorted) - w.next + len(w.late.items) + w.n }

func (w *wheel) push(it item) {
	if it.before(w.limit) && !w.restart() {
		w.late.push(it)
		if len(w.late.items) >= w.spillAt {
			w.spill()
		}
		return
	}
	w.place(it)
}

// restart lowers base and limit when there is nothing that they divide.
func (w *wheel) restart() bool {
	if w.len() > 0 {
		return false
	}
	w.base, w.limit = item{}, item{}
	return true
}

func (w *wheel) popBefore(bound item) (first item, ok bool) {
	for {
		if w.next < len(w.sorted) {
			first = w.sorted[w.next]
			if len(w.late.items) == 0 || first.before(w.late.items[0]) {
				if !first.before(bound) {
					return item{}, false
				}
				w.next++
				return first, true
			}
		}
		if len(w.late.items) > 0 {
			return w.late.popBefore(bound)
		}
		if !w.refill(bound) {
			return item{}, false
		}
	}
}

// place puts an item that is not before the base into its bucket.
func (w *wheel) place(it item) {
	var level, digit uint
	if differs := it.at ^ w.base.at; differs != 0 {
		l := uint(bits.Len64(differs)-1) / digitBits
		level, digit = atLevel+l, uint(it.at>>(l*digitBits))
	} else {
		l := uint(bits.Len64(it.key^w.base.key|1)-1) / digitBits
		level, digit = l, uint(it.key>>(l*digitBits))
	}
	w.add(level, digit%digits, it)
}

func (w *wheel) add(level, digit uint, it item) {
	b := &w.buckets[level%levels][digit%digits]
	if b.n == 0 {
		w.levels |= 1 << level
		w.occupied[level%levels][digit/64%4] |= 1 << (digit % 64)
	}
	w.chunks.add(b, it)
	w.n++
}

// refill sorts the first bucket when all that was sorted is gone. It returns
// false when nothing is before the bound.
func (w *wheel) refill(bound item) bool {
	w.spillAt = spillSize
	for w.levels != 0 {
		level := uint(bits.TrailingZeros16(w.levels))
		digit := w.firstDigit(level)
		start := w.base.withDigit(level, digit)
		if !start.before(bound) {
			return false
		}
		w.base = start
		b := w.remove(level, digit)
		if b.n <= mostSorted {
			w.limit = start.plusDigit(level)
			w.sort(b)
			return true
		}
		w.limit = start
		w.lower(b, level-1)
	}
	return false
}

// firstDigit returns the lowest digit of a level with an item.
func (w *wheel) firstDigit(level uint) uint {
	for i, word := range w.occupied[level] {
		if word != 0 {
			return uint(i*64 + bits.TrailingZeros64(word))
		}
	}
	panic("engine: a level of the wheel is empty")
}

// remove takes a bucket out of the wheel.
func (w *wheel) remove(level, digit uint) bucket {
	b := w.buckets[level][digit]
	w.buckets[level][digit] = bucket{}
	words := &w.occupied[level]
	words[digit/64] &^= 1 << (digit % 64)
	if words[0]|words[1]|words[2]|words[3] == 0 {
		w.levels &^= 1 << level
	}
	w.n -= int(b.n)
	return b
}

// lower distributes the items of a bucket over those of a lower level by the
// digit there, also those that have the same one as the base. Until these are
// sorted nothing that belongs to a still lower level may be pushed, which the
// limit sees to.
func (w *wheel) lower(b bucket, level uint) {
	for b.n > 0 {
		for _, it := range w.chunks.take(&b) {
			w.add(level, it.digit(level), it)
		}
	}
}

// sort makes what is wanted of a bucket the sorted items.
func (w *wheel) sort(b bucket) {
	items := w.sortable[:0]
	for b.n > 0 {
		items = append(items, w.chunks.take(&b)...)
	}
	items = w.wanted(items)
	w.sorted, w.next = w.sorted[:len(items)], 0
	w.sorter.sort(w.sorted, items)
}

// spill puts what is sorted and late back into buckets, which lie below the
// level of the bucket that was sorted last.
func (w *wheel) spill() {
	for _, it := range w.sorted[w.next:] {
		w.place(it)
	}
	w.sorted, w.next = w.sorted[:0], 0
	w.late.compact(w.placeAll)
	w.limit = w.base
	w.spillAt = max(spillSize, 2*len(w.late.items))
}

// placeAll is a filter that leaves the items before the base and places the others.
func (w *wheel) placeAll(items []item) []item {
	early := items[:0]
	for _, it := range items {
		if it.before(w.base) {
			early = append(early, it)
		} else {
			w.place(it)
		}
	}
	return early
}

func (w *wheel) compact(wanted filter) {
	w.sorted = w.sorted[:w.next+len(wanted(w.sorted[w.next:]))]
	w.late.compact(wanted)
	for level := range uint(levels) {
		for i, word := range w.occupied[level] {
			for ; word != 0; word &= word - 1 {
				digit := uint(i*64 + bits.TrailingZeros64(word))
				b := w.remove(level, digit)
				for b.n > 0 {
					for _, it := range wanted(w.chunks.take(&b)) {
						w.add(level, digit, it)
					}
				}
			}
		}
	}
}
