package priority

import "math/bits"

// wheel is a monotone radix queue (after Ahuja, Mehlhorn, Orlin and Tarjan, JACM 1990).
// It reads the 16 bytes of an item as a number in base 256. An item whose highest digit
// that differs from the base is digit l goes to bucket (l, that digit). The first bucket
// of the lowest level holds the next items. A small one is sorted; a large one is
// distributed to buckets one level down. So each item moves a few times, however many
// are pending.
//
// Items pushed before the limit, up to which everything is sorted, wait in a heap. If
// the heap outgrows spillSize, all sorted items move back into buckets of lower levels,
// and the limit moves down.
type wheel struct {
	sorted  []Item // sorted[next:] is ascending and before the limit
	next    int
	late    heap4 // items pushed before the limit
	spillAt int   // length of late that causes a spill

	base, limit Item
	n           int // items in buckets
	wanted      Filter
	chunks      chunks
	sorter      sorter
	sortable    []Item // buffer for the bucket being sorted

	levels   uint16 // bit l is set if level l has an Item
	occupied [levels][digits / 64]uint64
	buckets  [levels][digits]bucket
}

var _ Queue = (*wheel)(nil)

const (
	digitBits = 8
	digits    = 1 << digitBits
	levels    = 128 / digitBits
	atLevel   = levels / 2 // level of the lowest digit of at

	mostSorted = 1024 // a larger bucket moves one level down
	spillSize  = 512
)

func newWheel(wanted Filter) *wheel {
	return &wheel{
		sorted: make([]Item, 0, mostSorted), sortable: make([]Item, 0, mostSorted),
		wanted: wanted, spillAt: spillSize, chunks: *newChunks(),
	}
}

func (w *wheel) Len() int { return len(w.sorted) - w.next + len(w.late.items) + w.n }

func (w *wheel) Push(it Item) {
	if it.Before(w.limit) && !w.restart() {
		w.late.Push(it)
		if len(w.late.items) >= w.spillAt {
			w.spill()
		}
		return
	}
	w.place(it)
}

// restart resets base and limit if the wheel is empty.
func (w *wheel) restart() bool {
	if w.Len() > 0 {
		return false
	}
	w.base, w.limit = Item{}, Item{}
	return true
}

func (w *wheel) PopBefore(bound Item) (first Item, ok bool) {
	for {
		if w.next < len(w.sorted) {
			first = w.sorted[w.next]
			if len(w.late.items) == 0 || first.Before(w.late.items[0]) {
				if !first.Before(bound) {
					return Item{}, false
				}
				w.next++
				return first, true
			}
		}
		if len(w.late.items) > 0 {
			return w.late.PopBefore(bound)
		}
		if !w.refill(bound) {
			return Item{}, false
		}
	}
}

// place adds an item that is not before the base to its bucket.
func (w *wheel) place(it Item) {
	var level, digit uint
	if differs := it.At ^ w.base.At; differs != 0 {
		l := uint(bits.Len64(differs)-1) / digitBits
		level, digit = atLevel+l, uint(it.At>>(l*digitBits))
	} else {
		l := uint(bits.Len64(it.Key^w.base.Key|1)-1) / digitBits
		level, digit = l, uint(it.Key>>(l*digitBits))
	}
	w.add(level, digit%digits, it)
}

func (w *wheel) add(level, digit uint, it Item) {
	b := &w.buckets[level%levels][digit%digits]
	if b.n == 0 {
		w.levels |= 1 << level
		w.occupied[level%levels][digit/64%4] |= 1 << (digit % 64)
	}
	w.chunks.add(b, it)
	w.n++
}

// refill sorts the first bucket once all sorted items are gone. It returns false if no
// Item is before the bound.
func (w *wheel) refill(bound Item) bool {
	w.spillAt = spillSize
	for w.levels != 0 {
		level := uint(bits.TrailingZeros16(w.levels))
		digit := w.firstDigit(level)
		start := w.base.withDigit(level, digit)
		if !start.Before(bound) {
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

// firstDigit returns the lowest digit of a level that has an item.
func (w *wheel) firstDigit(level uint) uint {
	for i, word := range w.occupied[level] {
		if word != 0 {
			return uint(i*64 + bits.TrailingZeros64(word))
		}
	}
	panic("priority: a level of the wheel is empty")
}

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

// lower distributes the items of a bucket over a lower level by their digit there,
// including those with the same digit as the base. Until these are sorted, an item that
// belongs to a still lower level must not be placed; the limit prevents that.
func (w *wheel) lower(b bucket, level uint) {
	for b.n > 0 {
		for _, it := range w.chunks.take(&b) {
			w.add(level, it.digit(level), it)
		}
	}
}

// sort prunes a bucket and makes its items the sorted ones.
func (w *wheel) sort(b bucket) {
	items := w.sortable[:0]
	for b.n > 0 {
		items = append(items, w.chunks.take(&b)...)
	}
	items = w.wanted(items)
	w.sorted, w.next = w.sorted[:len(items)], 0
	w.sorter.sort(w.sorted, items)
}

// spill moves sorted and late items back into buckets below the level of the last bucket
// sorted.
func (w *wheel) spill() {
	for _, it := range w.sorted[w.next:] {
		w.place(it)
	}
	w.sorted, w.next = w.sorted[:0], 0
	w.late.Compact(w.placeAll)
	w.limit = w.base
	w.spillAt = max(spillSize, 2*len(w.late.items))
}

// placeAll is a filter that keeps the items before the base and places the others.
func (w *wheel) placeAll(items []Item) []Item {
	early := items[:0]
	for _, it := range items {
		if it.Before(w.base) {
			early = append(early, it)
		} else {
			w.place(it)
		}
	}
	return early
}

func (w *wheel) Compact(wanted Filter) {
	w.sorted = w.sorted[:w.next+len(wanted(w.sorted[w.next:]))]
	w.late.Compact(wanted)
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
