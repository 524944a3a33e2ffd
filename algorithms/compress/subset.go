package compress

import (
	"math"
	"math/bits"
	"slices"

	"fedsim/internal/tools/rng"
)

// subset is what codecs share that send some numbers in place of d.
type subset struct {
	config     *Config
	valueBytes int
	unbiased   bool
}

// size returns k: the count, or the share of d rounded down, at least 1 and at most d.
func (c *subset) size(d int) int {
	k := c.config.Count
	if k == 0 {
		k = int(float64(c.config.Share * float64(d)))
	}
	return min(max(1, k), d)
}

// indexBits returns the bits of an index of d values.
func (c *subset) indexBits(d int) int {
	if c.config.Indices == words {
		return 32
	}
	return bits.Len(uint(max(1, d) - 1))
}

// places returns the size of k values with their places among d.
func (c *subset) places(k, d int) int {
	if c.config.Indices == bitmap {
		return d + 8*c.valueBytes*k
	}
	return k * (8*c.valueBytes + c.indexBits(d))
}

// encode writes the values of v that are chosen, with their places.
func (c *subset) encode(w *writer, v []float64, chosen func(j int) bool) {
	width, bit := c.indexBits(len(v)), c.config.Indices == bitmap
	for j := range v {
		switch is := chosen(j); {
		case bit && is:
			w.put(1, 1)
			w.value(v[j], c.valueBytes)
		case bit:
			w.put(0, 1)
		case is:
			w.put(uint64(j), width)
			w.value(v[j], c.valueBytes)
		}
	}
}

// decode reads values and their places; the others are 0.
func (c *subset) decode(r *reader, v []float64) {
	clear(v)
	width := c.indexBits(len(v))
	if c.config.Indices != bitmap {
		for range 8 * len(r.from) / (width + 8*c.valueBytes) { // less than a value is left
			j := r.get(width)
			v[j] = r.value(c.valueBytes)
		}
		return
	}
	for j := range v {
		if r.get(1) == 1 {
			v[j] = r.value(c.valueBytes)
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

func (c *topK) encode(w *writer, v []float64, _ rng.Stream) {
	k := c.some.size(len(v))
	c.magnitudes = c.magnitudes[:0]
	for _, x := range v {
		c.magnitudes = append(c.magnitudes, magnitude(x))
	}
	least := kthLargest(c.magnitudes, k)
	equal := k // values of that magnitude that are sent
	for _, x := range v {
		if magnitude(x) > least {
			equal--
		}
	}
	c.some.encode(w, v, func(j int) bool {
		m := magnitude(v[j])
		if m == least && equal > 0 {
			equal--
			return true
		}
		return m > least
	})
}

func (c *topK) decode(r *reader, v []float64, _ rng.Stream) { c.some.decode(r, v) }
func (c *topK) bits(d int) int                              { return c.some.places(c.some.size(d), d) }

// flops: magnitudes, about 3 d comparisons of a selection, and a comparison with its result.
func (c *topK) flops(d int) (float64, float64) {
	return 5 * float64(d), float64(c.some.size(d))
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

func (c *sparse) encode(w *writer, v []float64, _ rng.Stream) {
	c.subset.encode(w, v, func(j int) bool { return v[j] != 0 })
}

func (c *sparse) decode(r *reader, v []float64, _ rng.Stream) { c.subset.decode(r, v) }

// bits takes a vector without zeros for the usual one.
func (c *sparse) bits(d int) int { return c.places(d, d) }

func (c *sparse) flops(d int) (float64, float64) { return float64(d), 0 }

// randomK sends k values drawn without replacement. The receiver draws their places by the
// same seed, and the others are 0. Unbiased, values are scaled by d/k (Stich, Cordonnier, Jaggi, NeurIPS 2018; Konecny et
// al.: Federated Learning: Strategies for Improving Communication Efficiency, 2016, "subsampling").
type randomK struct {
	subset
	order []int32
}

// draw returns the places.
func (c *randomK) draw(d int, s rng.Stream) []int32 {
	k := c.size(d)
	c.order = c.order[:0]
	for j := range d {
		c.order = append(c.order, int32(j))
	}
	s.Draw(c.order, 0, k)
	return c.order[:k]
}

func (c *randomK) encode(w *writer, v []float64, s rng.Stream) {
	for _, j := range c.draw(len(v), s) {
		w.value(v[j], c.valueBytes)
	}
}

func (c *randomK) decode(r *reader, v []float64, s rng.Stream) {
	clear(v)
	scale := 1.0
	if c.unbiased {
		scale = float64(len(v)) / float64(c.size(len(v)))
	}
	for _, j := range c.draw(len(v), s) {
		v[j] = scale * r.value(c.valueBytes)
	}
}

func (c *randomK) bits(d int) int { return 8 * c.valueBytes * c.size(d) }

// flops: a draw for each value, and a scaling.
func (c *randomK) flops(d int) (float64, float64) {
	k := float64(c.size(d))
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

func (c *sketch) encode(w *writer, v []float64, s rng.Stream) {
	k := c.size(len(v))
	c.sums = slices.Grow(c.sums[:0], k)[:k]
	clear(c.sums)
	for _, x := range v {
		at, sign := column(&s, k)
		c.sums[at] += float64(sign * x)
	}
	for _, x := range c.sums {
		w.value(x, c.valueBytes)
	}
}

func (c *sketch) decode(r *reader, v []float64, s rng.Stream) {
	k := c.size(len(v))
	scale := 1.0
	if !c.unbiased {
		scale = float64(k) / float64(k+len(v)-1)
	}
	c.sums = slices.Grow(c.sums[:0], k)[:k]
	for i := range c.sums {
		c.sums[i] = scale * r.value(c.valueBytes)
	}
	for j := range v {
		at, sign := column(&s, k)
		v[j] = sign * c.sums[at]
	}
}

func (c *sketch) bits(d int) int { return 8 * c.valueBytes * c.size(d) }

// flops: two draws, a sign and an addition for each value; and back.
func (c *sketch) flops(d int) (float64, float64) {
	k := float64(c.size(d))
	return 4 * float64(d), float64(3*float64(d)) + k
}
