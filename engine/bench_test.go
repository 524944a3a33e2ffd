package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// What the queues take for a pop and a push of the hold model, without an engine.
func BenchmarkQueue(b *testing.B) {
	for _, mean := range []float64{1e6, 1e9} {
		for _, pending := range []int{1e2, 1e3, 1e5, 1e6} {
			for _, name := range []string{"radix", "heap4"} {
				b.Run(fmt.Sprintf("mean=%gns/pending=%d/queue=%s", mean, pending, name), func(b *testing.B) {
					holdQueue(b, newQueue(name), pending, mean)
				})
			}
		}
	}
}

func holdQueue(b *testing.B, q queue, pending int, mean float64) {
	random := rand.New(rand.NewPCG(5, 6))
	increments := make([]uint64, 1<<12) // drawing takes as long as the rest
	for i := range increments {
		increments[i] = uint64(random.ExpFloat64() * mean)
	}
	for i := range pending {
		q.push(item{at: uint64(random.ExpFloat64() * mean), key: key(0, int32(i), 1)})
	}
	hold := func(n int) {
		for i := range n {
			it, _ := q.popBefore(endOf(Never))
			it.at += increments[i%len(increments)]
			q.push(it)
		}
	}
	hold(2 * pending)
	b.ResetTimer()
	hold(b.N)
}
