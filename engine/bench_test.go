package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The queue sorted is left out: a push takes time linear in the number of pending
// events.
var raced = []string{"radix", "heap4"}

// increments are drawn beforehand: drawing takes as long as a queue operation.
func increments(mean float64) []Time {
	random := rand.New(rand.NewPCG(5, 6))
	times := make([]Time, 1<<12)
	for i := range times {
		times[i] = Time(random.ExpFloat64() * mean)
	}
	return times
}

// The hold model with exponential increments: each event schedules another (Vaucher and
// Duval, CACM 1975). It measures schedule, fire, handler and digest.
func BenchmarkHold(b *testing.B) {
	for _, pending := range []int{1e3, 1e5, 1e6} {
		for _, queue := range raced {
			b.Run(fmt.Sprintf("pending=%d/queue=%s", pending, queue), func(b *testing.B) {
				e, after := New(pending, Options{Queue: queue}), increments(1e9)
				for d := range pending {
					e.Schedule(after[d%len(after)]+Time(d), 0, d)
				}
				last := int64(0)
				hold := func(ev Event) {
					if e.Fired() >= last {
						e.Stop()
					}
					e.Schedule(ev.At+after[e.Fired()%int64(len(after))], 0, int(ev.Device))
				}
				run := func(n int) {
					last = e.Fired() + int64(n)
					e.Run(hold)
				}
				run(2 * pending)
				b.ReportAllocs()
				b.ResetTimer()
				run(b.N)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			})
		}
	}
}

// The hold model in which every event also moves an event of another device.
func BenchmarkHoldAndMove(b *testing.B) {
	for _, pending := range []int{1e3, 1e5, 1e6} {
		for _, queue := range raced {
			b.Run(fmt.Sprintf("pending=%d/queue=%s", pending, queue), func(b *testing.B) {
				m := newHoldModel(pending, queue, true)
				m.run(2 * pending)
				b.ReportAllocs()
				b.ResetTimer()
				m.run(b.N)
			})
		}
	}
}

// A round of a synchronous protocol whose arrivals are all known at its start, scheduled
// in a batch or one by one. An operation is an event.
func BenchmarkRound(b *testing.B) {
	const devices = 1e6
	random := rand.New(rand.NewPCG(5, 6))
	after := make([]Time, devices)
	for d := range after {
		after[d] = 1e8 + Time(random.ExpFloat64()*1e9)
	}
	for _, queue := range raced {
		for _, batch := range []bool{false, true} {
			b.Run(fmt.Sprintf("devices=%g/queue=%s/batch=%v", devices, queue, batch), func(b *testing.B) {
				e := New(devices, Options{Queue: queue})
				fill := func() {
					for d, span := range after {
						e.Schedule(e.Now()+span, 0, d)
					}
				}
				fired := 0
				round := func() {
					if batch {
						e.ScheduleBatch(fill)
					} else {
						fill()
					}
					e.Run(func(Event) { fired++ })
				}
				round()
				b.ReportAllocs()
				b.ResetTimer()
				for fired = 0; fired < b.N; {
					round()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(fired), "ns/op")
			})
		}
	}
}
