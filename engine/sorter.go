package engine

import "math/bits"

// sorter sorts items by one distribution over as many cells as there are items,
// of equal width between the least and the greatest, then each cell: by
// insertion when it has few items, by the same means when it has many. A cell
// has at least one bit less to sort by than the whole, so that no input takes
// long: with few items in a cell the depth does not matter, and with many, the
// bits are soon used up.
type sorter struct {
	counts  []uint32
	scratch []item // of inPlace
}

const (
	fewItems  = 16   // insertion sort is as fast as anything up to here
	mostCells = 2048 // beyond, the cells' ends do not stay in the cache

	mostCopied = 4096 // items, 64 KB
)

// sort fills dst with the items of src in rising order. The slices have the
// same length and must not overlap; src is overwritten.
func (s *sorter) sort(dst, src []item) {
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
	depth := len(s.counts)
	s.counts = append(s.counts, make([]uint32, c.n+1)...)
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

// inPlace sorts many items in their place, with room for as many in the chunks besides:
// it puts them there and distributes them from there, until few enough are left to be
// sorted with a copy.
func (s *sorter) inPlace(items []item, space *chunks) {
	if len(items) <= mostCopied {
		s.scratch = append(s.scratch[:0], items...)
		s.sort(items, s.scratch)
		return
	}
	c := cellsOf(items)
	if c.n == 1 { // all are equal
		return
	}
	depth := len(s.counts)
	s.counts = append(s.counts, make([]uint32, c.n+1)...)
	c.scatterThrough(items, space, s.counts[depth:])
	from := uint32(0)
	for i := range c.n {
		to := s.counts[depth+i]
		s.inPlace(items[from:to], space)
		from = to
	}
	s.counts = s.counts[:depth]
}

// cells divides items by their time, or by their key when they are of one time.
type cells struct {
	n     int
	word  uint64 // all ones for the time, zero for the key
	least uint64
	shift uint
}

func cellsOf(items []item) cells {
	least, most := items[0].at, items[0].at
	for _, it := range items {
		least, most = min(least, it.at), max(most, it.at)
	}
	word := ^uint64(0)
	if least == most {
		word = 0
		least, most = items[0].key, items[0].key
		for _, it := range items {
			least, most = min(least, it.key), max(most, it.key)
		}
	}
	width := bits.Len64(most - least)
	cellBits := min(bits.Len(uint(len(items)))-1, bits.Len(mostCells)-1, width)
	shift := uint(width - cellBits)
	return cells{n: int((most-least)>>shift) + 1, word: word, least: least, shift: shift}
}

func (c *cells) of(it item) uint64 { return ((it.at&c.word | it.key&^c.word) - c.least) >> c.shift }

// scatter copies the items of src to dst cell by cell and leaves where each
// cell ends. There is one end more than cells, all of them zero.
func (c *cells) scatter(dst, src []item, ends []uint32) {
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

// scatterThrough is scatter of items to their own places.
func (c *cells) scatterThrough(items []item, space *chunks, ends []uint32) {
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

func insertionSort(items []item) {
	for i := 1; i < len(items); i++ {
		it := items[i]
		j := i
		for j > 0 && it.before(items[j-1]) {
			items[j] = items[j-1]
			j--
		}
		items[j] = it
	}
}
