//go:build !race

package engine

// Allocations are not counted under the race detector, which makes append copy where it
// otherwise grows a slice in place.

import (
	"math/rand/v2"
	"testing"

	"fedsim/internal/tools/expect"
)

// The tables grow to the largest number of pending events and tombstones. From then on
// nothing is allocated.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	const pending = 10_000
	for _, queue := range []string{"radix", "heap4"} {
		m := newHoldModel(pending, queue, true)
		m.run(5 * pending)
		n := testing.AllocsPerRun(20, func() { m.run(2000) })
		expect.That(t, n == 0, "%s: 2000 events allocate %v times, want none", queue, n)
		expect.That(t, m.engine.Pending() == pending,
			"%s: %d events pending, want %d", queue, m.engine.Pending(), pending)
	}
}

func TestSteadyAlarmsAllocateNothing(t *testing.T) {
	const devices = 5000
	e, r := New(devices, Options{}), rand.New(rand.NewPCG(5, 6))
	move := func(ev Event) {
		e.SetTimer(e.Now()+Time(r.IntN(1000)), 0, int(ev.Device))
		e.SetTimer(e.Now()+Time(r.IntN(1000)), 0, r.IntN(devices))
	}
	for d := range devices {
		e.SetTimer(Time(r.IntN(1000)), 0, d)
	}
	if n := testing.AllocsPerRun(20, func() {
		for range 200 {
			e.Step(move)
		}
	}); n != 0 {
		t.Errorf("200 timers allocate %v times, want none", n)
	}
	expect.That(t, e.Pending() == devices && e.queue.Len() == 0,
		"%d pending, %d in the queue, want %d and none", e.Pending(), e.queue.Len(), devices)
}

func TestSteadyBatchesAllocateNothing(t *testing.T) {
	const devices = 5000
	announced := 0
	e := New(devices, Options{Prefetch: func(soon []int32) { announced += len(soon) }})
	r := rand.New(rand.NewPCG(5, 6))
	left := 0
	answer := func(ev Event) {
		if left++; ev.Kind == 0 && left%3 != 0 {
			e.Schedule(e.Now()+Time(r.IntN(1000)), 1, int(ev.Device))
		}
	}
	fill := func() {
		for d := range devices {
			e.Schedule(e.Now()+Time(r.IntN(1000)), 0, d)
		}
	}
	round := func() {
		e.ScheduleBatch(fill)
		e.RunUntil(e.Now()+900, answer)
	}
	for range 20 {
		round()
	}
	n := testing.AllocsPerRun(20, round)
	expect.That(t, n == 0, "a round allocates %v times, want none", n)
	expect.That(t, announced != 0, "no device was announced")
}
