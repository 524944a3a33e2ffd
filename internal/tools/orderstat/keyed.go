package orderstat

import (
	"cmp"
	"slices"
)

// Keyed is a thing with a key, which orders it.
type Keyed struct {
	Key float64
	ID  int32
}

// Compare orders keys: the lower one first, NaN before all, and of equal keys that of the first ID.
func (k Keyed) Compare(b Keyed) int {
	return cmp.Or(cmp.Compare(k.Key, b.Key), cmp.Compare(k.ID, b.ID))
}

// Before reports whether a key comes before another, by Compare.
func (k Keyed) Before(b Keyed) bool {
	if k.Key < b.Key || k.Key > b.Key {
		return k.Key < b.Key
	}
	return k.Compare(b) < 0
}

// Kth returns the key of a rank from 1, which it limits to those that there are; zeros without
// keys. It changes their order.
func Kth(keys []Keyed, rank int) Keyed {
	if len(keys) == 0 {
		return Keyed{}
	}
	rank = min(max(rank, 1), len(keys))
	Split(keys, rank)
	last := keys[0]
	for _, k := range keys[1:rank] {
		if last.Before(k) {
			last = k
		}
	}
	return last
}

// Split orders keys such that the k lowest come first, in any order: quickselect on the
// median of three (Hoare, CACM 1961).
func Split(a []Keyed, k int) {
	for k > 0 && k < len(a) {
		if len(a) <= 16 {
			slices.SortFunc(a, Keyed.Compare)
			return
		}
		first, middle, last := a[0], a[len(a)/2], a[len(a)-1]
		if middle.Before(first) {
			first, middle = middle, first
		}
		if last.Before(middle) {
			middle = last
			if middle.Before(first) {
				middle = first
			}
		}
		i, j := 0, len(a)-1
		for i <= j {
			for a[i].Before(middle) {
				i++
			}
			for middle.Before(a[j]) {
				j--
			}
			if i <= j {
				a[i], a[j] = a[j], a[i]
				i++
				j--
			}
		}
		switch { // a[:j+1] are not above the median, a[i:] not below
		case k <= j+1:
			a = a[:j+1]
		case k >= i:
			a, k = a[i:], k-i
		default:
			return
		}
	}
}
