package engine

import "math/bits"

// sorter sorts items by one distribution over as many cells as there are items,
// of equal width between the least and the greatest, then each cell: by
// insertion when it has few items, by the same means when it has many. A cell
// has at least one bit less to sort by than the whole, so that no input takes
// long: with few items in a cell the depth does not matter, and with many, the
// bits are soon used up.
type sorter struct{ counts []uint32 }

const (
	fewItems  = 24   // insertion sort is as fast as anything up to here
	mostCells = 2048 // beyond, the cells' ends do not stay in the cache
)

// sort fills dst with the items of src in rising order. The slices have the
// same length and must not overlap; src is overwritten.
func (s *sorter) sort(dst, src []item) {
	if len(src) <= fewItems {
		copy(dst, src)
		insertionSort(dst)
		return
	}
	word, least, shift, cells := split(src)
	if cells == 1 { // all are equal
		copy(dst, src)
		return
	}
	depth := len(s.counts)
	for range cells + 1 {
		s.counts = append(s.counts, 0)
	}
	ends := s.counts[depth:]
	if word == 0 {
		scatterByAt(dst, src, ends, least, shift)
	} else {
		scatterByKey(dst, src, ends, least, shift)
	}
	from := uint32(0)
	for i := range cells {
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

// split chooses the word to sort by, at (0) unless that is the same for all, and the
// cells: item i is of cell (word of i - least) >> shift.
func split(items []item) (word int, least uint64, shift uint, cells int) {
	least, most := items[0].at, items[0].at
	for _, it := range items {
		least, most = min(least, it.at), max(most, it.at)
	}
	if least == most {
		word = 1
		least, most = items[0].key, items[0].key
		for _, it := range items {
			least, most = min(least, it.key), max(most, it.key)
		}
	}
	width := bits.Len64(most - least)
	cellBits := min(bits.Len(uint(len(items)))-1, bits.Len(mostCells)-1, width)
	shift = uint(width - cellBits)
	return word, least, shift, int((most-least)>>shift) + 1
}

func scatterByAt(dst, src []item, ends []uint32, least uint64, shift uint) {
	for _, it := range src {
		ends[(it.at-least)>>shift+1]++
	}
	sum := uint32(0)
	for i, n := range ends {
		sum += n
		ends[i] = sum
	}
	for _, it := range src {
		end := &ends[(it.at-least)>>shift]
		dst[*end] = it
		*end++
	}
}

func scatterByKey(dst, src []item, ends []uint32, least uint64, shift uint) {
	for _, it := range src {
		ends[(it.key-least)>>shift+1]++
	}
	sum := uint32(0)
	for i, n := range ends {
		sum += n
		ends[i] = sum
	}
	for _, it := range src {
		end := &ends[(it.key-least)>>shift]
		dst[*end] = it
		*end++
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
