package compress

import (
	"math"
	"math/bits"
	"slices"

	"fedsim/internal/tools/rng"
)

// subset is what codecs share that send some numbers in place of d.
type subset struct {
	options    *Options
	valueBytes int
	unbiased   bool
}

// size returns k: the count, or the share of d rounded down, at least 1 and at most d.
func (s *subset) size(d int) int {
	k := s.options.K.Count
	if k == 0 {
		k = int(float64(s.options.K.Share * float64(d)))
	}
	return min(max(1, k), d)
}

// indexBits returns the bits of an index of d values.
func (s *subset) indexBits(d int) int {
	if s.options.Indices == words {
		return 32
	}
	return bits.Len(uint(max(1, d) - 1))
}

// places returns the size of k values with their places among d.
func (s *subset) places(k, d int) int {
	if s.options.Indices == bitmap {
		return d + 8*s.valueBytes*k
	}
	return k * (8*s.valueBytes + s.indexBits(d))
}

// encode writes the values of v that are chosen, with their places.
func (s *subset) encode(w *writer, v []float64, chosen func(j int) bool) {
	width, bit := s.indexBits(len(v)), s.options.Indices == bitmap
	for j := range v {
		switch is := chosen(j); {
		case bit && is:
			w.put(1, 1)
			w.value(v[j], s.valueBytes)
		case bit:
			w.put(0, 1)
		case is:
			w.put(uint64(j), width)
			w.value(v[j], s.valueBytes)
		}
	}
}

// decode reads values and their places; the others are 0.
func (s *subset) decode(r *reader, v []float64) {
	clear(v)
	width := s.indexBits(len(v))
	if s.options.Indices != bitmap {
		for range 8 * len(r.from) / (width + 8*s.valueBytes) { // less than a value is left
			j := r.get(width)
			v[j] = r.value(s.valueBytes)
		}
		return
	}
	for j := range v {
		if r.get(1) == 1 {
			v[j] = r.value(s.valueBytes)
		}
	}
}

// topK sends the k values of the largest magnitudes; of equal ones the first (Aji, Heafield:
// Sparse Communication for Distributed Gradient Descent, EMNLP 2017; Stich, Cordonnier, Jaggi: Sparsified
// SGD with Memory, NeurIPS 2018).
type topK struct {
	some       subset
	magnitudes []uint64
}

func (tk *topK) encode(w *writer, v []float64, _ rng.Stream) {
	k := tk.some.size(len(v))
	tk.magnitudes = tk.magnitudes[:0]
	for _, x := range v {
		tk.magnitudes = append(tk.magnitudes, magnitude(x))
	}
	least := kthLargest(tk.magnitudes, k)
	equal := k // values of that magnitude that are sent
	for _, x := range v {
		if magnitude(x) > least {
			equal--
		}
	}
	tk.some.encode(w, v, func(j int) bool {
		m := magnitude(v[j])
		if m == least && equal > 0 {
			equal--
			return true
		}
		return m > least
	})
}

func (tk *topK) decode(r *reader, v []float64, _ rng.Stream) { tk.some.decode(r, v) }
func (tk *topK) bits(d int) int                              { return tk.some.places(tk.some.size(d), d) }

// flops: magnitudes, about 3 d comparisons of a selection, and a comparison with its result.
func (tk *topK) flops(d int) (float64, float64) {
	return 5 * float64(d), float64(tk.some.size(d))
}

// magnitude returns bits that are in the order of |x|, NaN last.
func magnitude(x float64) uint64 { return math.Float64bits(x) &^ (1 << 63) }

// kthLargest returns the k-th largest number and reorders them (Hoare's selection, by the
// median of three).
func kthLargest(x []uint64, k int) uint64 {
	for len(x) > 12 {
		a, b, c := x[0], x[len(x)/2], x[len(x)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := 0, len(x)-1
		for i <= j {
			for x[i] > pivot {
				i++
			}
			for x[j] < pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch { // x[:j+1] >= pivot >= x[i:], and all values between are the pivot
		case k <= j+1:
			x = x[:j+1]
		case k > i:
			x, k = x[i:], k-i
		default:
			return pivot
		}
	}
	slices.Sort(x)
	return x[len(x)-k]
}

// sparse sends the values that are not zero, without loss.
type sparse struct{ subset }

func (s *sparse) encode(w *writer, v []float64, _ rng.Stream) {
	s.subset.encode(w, v, func(j int) bool { return v[j] != 0 })
}

func (s *sparse) decode(r *reader, v []float64, _ rng.Stream) { s.subset.decode(r, v) }

// bits takes a vector without zeros for the usual one.
func (s *sparse) bits(d int) int { return s.places(d, d) }

func (s *sparse) flops(d int) (float64, float64) { return float64(d), 0 }

// randomK sends k values drawn without replacement. The receiver draws their places by the
// same seed, and the others are 0. Unbiased, values are scaled by d/k (Stich, Cordonnier, Jaggi, NeurIPS 2018; Konecny
// et al.: Federated Learning: Strategies for Improving Communication Efficiency, 2016, "subsampling").
type randomK struct {
	subset
	order []int32
}

// draw returns the places.
func (rk *randomK) draw(d int, s rng.Stream) []int32 {
	k := rk.size(d)
	rk.order = rk.order[:0]
	for j := range d {
		rk.order = append(rk.order, int32(j))
	}
	s.Draw(rk.order, 0, k)
	return rk.order[:k]
}

func (rk *randomK) encode(w *writer, v []float64, stream rng.Stream) {
	for _, j := range rk.draw(len(v), stream) {
		w.value(v[j], rk.valueBytes)
	}
}

func (rk *randomK) decode(r *reader, v []float64, stream rng.Stream) {
	clear(v)
	scale := 1.0
	if rk.unbiased {
		scale = float64(len(v)) / float64(rk.size(len(v)))
	}
	for _, j := range rk.draw(len(v), stream) {
		v[j] = scale * r.value(rk.valueBytes)
	}
}

func (rk *randomK) bits(d int) int { return 8 * rk.valueBytes * rk.size(d) }

// flops: a draw for each value, and a scaling.
func (rk *randomK) flops(d int) (float64, float64) {
	k := float64(rk.size(d))
	return k, 2 * k
}

// sketch sends the k sums S v of a count sketch with one row: every value is added, with a
// random sign, to a random column. The receiver decodes S^T S v: unbiased, with E |S^T S v - v|^2 =
// (d - 1)/k |v|^2. To be fed back it decodes k/(k + d - 1) S^T S v, of which the error is (d - 1)/(k + d - 1) |v|^2
// (Charikar, Chen, Farach-Colton: Finding Frequent Items in Data Streams, ICALP 2002; Weinberger et al.: Feature
// Hashing for Large Scale Multitask Learning, ICML 2009).
type sketch struct {
	subset
	sums []float64
}

// column draws the column of the next value and its sign.
func column(s *rng.Stream, k int) (int, float64) {
	x := s.Uint64()
	at, _ := bits.Mul64(x, uint64(k))
	return int(at), float64(1 - 2*int(x&1))
}

func (s *sketch) encode(w *writer, v []float64, stream rng.Stream) {
	k := s.size(len(v))
	s.sums = slices.Grow(s.sums[:0], k)[:k]
	clear(s.sums)
	for _, x := range v {
		at, sign := column(&stream, k)
		s.sums[at] += float64(sign * x)
	}
	for _, x := range s.sums {
		w.value(x, s.valueBytes)
	}
}

func (s *sketch) decode(r *reader, v []float64, stream rng.Stream) {
	k := s.size(len(v))
	scale := 1.0
	if !s.unbiased {
		scale = float64(k) / float64(k+len(v)-1)
	}
	s.sums = slices.Grow(s.sums[:0], k)[:k]
	for i := range s.sums {
		s.sums[i] = scale * r.value(s.valueBytes)
	}
	for j := range v {
		at, sign := column(&stream, k)
		v[j] = sign * s.sums[at]
	}
}

func (s *sketch) bits(d int) int { return 8 * s.valueBytes * s.size(d) }

// flops: two draws, a sign and an addition for each value; and back.
func (s *sketch) flops(d int) (float64, float64) {
	k := float64(s.size(d))
	return 4 * float64(d), float64(3*float64(d)) + k
}
