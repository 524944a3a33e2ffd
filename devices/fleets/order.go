package fleets

import (
	"math"
	"slices"

	"fedsim/internal/tools/rng"
)

// whole is the unit of shares, so that 0.7 of ten devices are seven.
const whole = 1_000_000_000

// parts returns the shares of the classes as parts of the whole. The largest class gets
// the rounding difference.
func (f *Fleet) parts() []int64 {
	parts := make([]int64, len(f.Classes))
	rest, largest := int64(whole), 0
	for k := range f.Classes {
		parts[k] = int64(math.Round(f.Classes[k].Share * whole))
		rest -= parts[k]
		if parts[k] > parts[largest] {
			largest = k
		}
	}
	parts[largest] += rest
	return parts
}

// block is the number of consecutive devices in random order: the smallest that has a
// whole number of each class if shares are multiples of 0.05.
const block = 20

// order returns the class of each of n devices. Among all of them, and among the first m
// for every multiple m of the block, a class has its share, rounded down or up. Within a
// block the order is random, so that patterns in the device number (cells, kinds of
// data) do not meet the same classes repeatedly. A whole block depends only on the seed
// and its device numbers; a partial last block also on n. With classes in turn, a device has
// class t mod their number.
func (f *Fleet) order(n int, seed uint64) []uint8 {
	if k := len(f.InTurn); k > 0 {
		return slices.Repeat(f.InTurn, (n+k-1)/k)[:n]
	}
	order := fair(f.parts(), n)
	for from := 0; from < n; from += block {
		s := rng.New(seed, rng.Class, from, 0)
		within := order[from:min(n, from+block)]
		for i := len(within) - 1; i > 0; i-- {
			j := s.IntN(i + 1)
			within[i], within[j] = within[j], within[i]
		}
	}
	return order
}

// The i-th device of a class, i from 0 up, keeps the class within its quota if its
// number is in [release(i), deadline(i)).
func release(part, i int64) int64  { return i * whole / part }
func deadline(part, i int64) int64 { return ((i+1)*whole + part - 1) / part }

// fair returns an order in which all classes keep their quotas for every m, by the
// earliest deadline first. Such an order exists (Baruah, Cohen, Plaxton and Varvel,
// "Proportionate progress", Algorithmica 1996), and for unit jobs the earliest deadline
// finds it (Horn, Naval Research Logistics Quarterly 1974).
func fair(parts []int64, n int) []uint8 {
	order := make([]uint8, n)
	next := make([]window, len(parts))
	for k, part := range parts {
		next[k] = window{release(part, 0), deadline(part, 0)}
	}
	counts := make([]int64, len(parts))
	for m := range order {
		first := -1
		for k := range next {
			if next[k].release <= int64(m) && (first < 0 || next[k].deadline < next[first].deadline) {
				first = k
			}
		}
		order[m] = uint8(first)
		counts[first]++
		next[first] = window{release(parts[first], counts[first]), deadline(parts[first], counts[first])}
	}
	return order
}

type window struct{ release, deadline int64 }
