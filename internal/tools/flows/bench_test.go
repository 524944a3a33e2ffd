package flows

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fedsim/engine"
)

// hold is a share with a constant number of flows: when one ends, another device begins.
// It is the hold model, as in the benchmarks of the engine.
type hold struct {
	s    *FairShare
	now  engine.Time
	size []float64 // drawn beforehand
	idle []int32   // idle devices, in a ring
	at   int
}

// newHold returns a share in which that many devices transfer behind a contended link.
// Each flow gets about half of its rate.
func newHold(devices, flows int, distinct bool) *hold {
	random := rand.New(rand.NewPCG(15, 16))
	h := &hold{s: New(devices, Tree{ServerMbps: float64(flows) / 2})}
	for range 1 << 12 {
		h.size = append(h.size, 1e6*random.ExpFloat64())
	}
	for d := range devices {
		mbps := 1.0
		if distinct {
			mbps = 0.2 + 1.6*random.Float64()
		}
		h.s.SetRate(0, d, mbps)
	}
	for _, d := range random.Perm(devices) {
		h.idle = append(h.idle, int32(d))
	}
	for i := range flows {
		h.s.Begin(0, int(h.idle[i]), h.size[i%len(h.size)], 0)
	}
	h.idle = h.idle[flows:]
	return h
}

// arrive is a departure and an arrival, with the calls that the owner of an event queue
// makes in between.
func (h *hold) arrive() {
	for {
		h.now = h.s.Next()
		if d, ok := h.s.TakeEnded(h.now); ok {
			h.at++
			i := h.at % len(h.idle)
			d, h.idle[i] = int(h.idle[i]), int32(d)
			h.s.Begin(h.now, d, h.size[h.at%len(h.size)], 0)
			return
		}
	}
}

// One operation is an arrival and a departure, with a number of flows on one link.
func BenchmarkFlow(b *testing.B) {
	for _, flows := range []int{1e3, 1e5} {
		for _, rates := range []string{"equal", "distinct"} {
			b.Run(fmt.Sprintf("flows=%d/rates=%s", flows, rates), func(b *testing.B) {
				h := newHold(2*flows, flows, rates == "distinct")
				for range flows {
					h.arrive()
				}
				b.ReportAllocs()
				for b.Loop() {
					h.arrive()
				}
			})
		}
	}
}
