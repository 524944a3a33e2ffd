package federation

import (
	"math/bits"
	"slices"

	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/orderstat"
)

// draw is the space that the draws of a Selection reuse from round to round.
type draw struct {
	drawn []int32
	marks []uint64 // one bit for each position; all 0 between two draws
	keyed []orderstat.Keyed
}

// Uniform draws k different clients, all with the same probability, out of those
// listed in ascending order; nil: out of all available. It returns them in ascending
// order, all of them when they are not more than k. The slice is valid until the next
// draw. It is Floyd's algorithm: k draws for k clients (Bentley and Floyd, CACM 1987).
func (s *Selection) Uniform(k int, from []int32) []int32 {
	n := s.Len()
	if from == nil && s.partial {
		from = s.available
	}
	if from != nil {
		n = len(from)
	}
	at := func(i int) int32 {
		if from != nil {
			return from[i]
		}
		return int32(i)
	}
	d := &s.draw
	drawn := slices.Grow(d.drawn[:0], min(k, n))
	if k >= n {
		for i := range n {
			drawn = append(drawn, at(i))
		}
		d.drawn = drawn
		return drawn
	}
	if d.marks == nil {
		d.marks = make([]uint64, (s.clients+63)/64)
	}
	for last := n - k; last < n; last++ {
		i := s.stream.IntN(last + 1)
		if d.marks[i/64]&(1<<(i%64)) != 0 {
			i = last
		}
		d.marks[i/64] |= 1 << (i % 64)
	}
	for w, word := range d.marks {
		for ; word != 0; word &= word - 1 {
			drawn = append(drawn, at(w*64+bits.TrailingZeros64(word)))
		}
		d.marks[w] = 0
	}
	d.drawn = drawn
	return drawn
}

// Weighted draws k of the clients listed one after the other, each time with
// probabilities proportional to the weights of those left: the k smallest of
// -ln(u_t)/weight_t, with u_t the first number of the client's stream (Efraimidis and
// Spirakis, Information Processing Letters 2006). Weights are positive. Its result is
// like that of Lowest.
func (s *Selection) Weighted(k int, from []int32, weight func(client int32) float64) []int32 {
	return s.Lowest(k, from, func(client int32) float64 {
		stream := s.Client(client)
		return -elementary.Log(1-stream.Float64()) / weight(client)
	})
}

// Lowest returns the k clients of the lowest keys among those listed, in ascending
// order of clients; of clients with the same key the first. It returns all when they
// are not more than k. It calls key from several goroutines at once. The slice is
// valid until the next draw.
func (s *Selection) Lowest(k int, from []int32, key func(client int32) float64) []int32 {
	d := &s.draw
	d.keyed = slices.Grow(d.keyed[:0], len(from))[:len(from)]
	s.Parallel(len(from), func(i, _ int) { d.keyed[i] = orderstat.Keyed{Key: key(from[i]), ID: from[i]} })
	k = min(k, len(from))
	orderstat.Split(d.keyed, k)
	d.drawn = d.drawn[:0]
	for _, candidate := range d.keyed[:k] {
		d.drawn = append(d.drawn, candidate.ID)
	}
	slices.Sort(d.drawn)
	return d.drawn
}
