package priority

import (
	"math/bits"
	"slices"
)

// sorter sorts items by one distribution into as many cells as there are items. The
// cells have equal width between the smallest and the largest item. A cell with few
// items is sorted by insertion, a larger one recursively. Each level of recursion uses
// at least one bit of the items, so every input is fast.
type sorter struct {
	counts  []uint32
	scratch []Item // for inPlace
}

const (
	fewItems  = 16   // up to here insertion sort is fast
	mostCells = 2048 // with more, the ends of the cells no longer fit the cache

	mostCopied = 4096 // items, 64 KB
)

// sort fills dst with the items of src in ascending order. The slices have equal length
// and must not overlap. src is overwritten.
func (s *sorter) sort(dst, src []Item) {
	if len(src) <= fewItems {
		copy(dst, src)
		insertionSort(dst)
		return
	}
	c := cellsOf(src)
	if c.n == 1 { // all are equal
		copy(dst, src)
		return
	}
	depth := s.push(c.n + 1)
	c.scatter(dst, src, s.counts[depth:])
	from := uint32(0)
	for i := range c.n {
		to := s.counts[depth+i]
		if n := to - from; n > fewItems {
			copy(src[from:to], dst[from:to])
			s.sort(dst[from:to], src[from:to])
		} else if n > 1 {
			insertionSort(dst[from:to])
		}
		from = to
	}
	s.counts = s.counts[:depth]
}

// push appends n zeros to the counts and returns their former length. Under the race detector,
// append(s, make([]T, n)...) allocates.
func (s *sorter) push(n int) (depth int) {
	depth = len(s.counts)
	s.counts = slices.Grow(s.counts, n)[:depth+n]
	clear(s.counts[depth:])
	return depth
}

// inPlace sorts many items in place. It moves them to the chunks and distributes them
// back into cells, until a cell is small enough to sort with a copy.
func (s *sorter) inPlace(items []Item, space *chunks) {
	if len(items) <= mostCopied {
		s.scratch = append(s.scratch[:0], items...)
		s.sort(items, s.scratch)
		return
	}
	c := cellsOf(items)
	if c.n == 1 { // all are equal
		return
	}
	depth := s.push(c.n + 1)
	c.scatterThrough(items, space, s.counts[depth:])
	from := uint32(0)
	for i := range c.n {
		to := s.counts[depth+i]
		s.inPlace(items[from:to], space)
		from = to
	}
	s.counts = s.counts[:depth]
}

// cells divides items by their time, or by their key if their times are equal.
type cells struct {
	n     int
	word  uint64 // all ones for the time, zero for the key
	least uint64
	shift uint
}

func cellsOf(items []Item) cells {
	least, most := items[0].At, items[0].At
	for _, it := range items {
		least, most = min(least, it.At), max(most, it.At)
	}
	word := ^uint64(0)
	if least == most {
		word = 0
		least, most = items[0].Key, items[0].Key
		for _, it := range items {
			least, most = min(least, it.Key), max(most, it.Key)
		}
	}
	width := bits.Len64(most - least)
	cellBits := min(bits.Len(uint(len(items)))-1, bits.Len(mostCells)-1, width)
	shift := uint(width - cellBits)
	return cells{n: int((most-least)>>shift) + 1, word: word, least: least, shift: shift}
}

func (c *cells) of(it Item) uint64 { return ((it.At&c.word | it.Key&^c.word) - c.least) >> c.shift }

// scatter copies the items of src to dst cell by cell and sets the end of each cell.
// ends must be zero, and one longer than the number of cells.
func (c *cells) scatter(dst, src []Item, ends []uint32) {
	for _, it := range src {
		ends[c.of(it)+1]++
	}
	sum := uint32(0)
	for i, n := range ends {
		sum += n
		ends[i] = sum
	}
	for _, it := range src {
		end := &ends[c.of(it)]
		dst[*end] = it
		*end++
	}
}

// scatterThrough scatters items into their own memory.
func (c *cells) scatterThrough(items []Item, space *chunks, ends []uint32) {
	var b bucket
	for _, it := range items {
		ends[c.of(it)+1]++
		space.add(&b, it)
	}
	sum := uint32(0)
	for i, n := range ends {
		sum += n
		ends[i] = sum
	}
	for b.n > 0 {
		for _, it := range space.take(&b) {
			end := &ends[c.of(it)]
			items[*end] = it
			*end++
		}
	}
}

func insertionSort(items []Item) {
	for i := 1; i < len(items); i++ {
		it := items[i]
		j := i
		for j > 0 && it.Before(items[j-1]) {
			items[j] = items[j-1]
			j--
		}
		items[j] = it
	}
}
