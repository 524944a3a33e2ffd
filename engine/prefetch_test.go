package engine

import (
	"math/rand/v2"
	"testing"

	"fedsim/internal/tools/expect"
)

// prefetchRound runs a round in which each device has two events, the first of which
// schedules the second, and the server has one. It returns the digest.
func prefetchRound(devices int, queue string, ahead func([]int32), fired func(Event)) uint64 {
	e := New(devices, Options{Queue: queue, Prefetch: ahead})
	r := rand.New(rand.NewPCG(5, 6))
	e.ScheduleBatch(func() {
		for d := range devices {
			e.Schedule(Time(r.IntN(1e6)), 0, d)
		}
		e.Schedule(5e5, 2, Server)
	})
	e.Run(func(ev Event) {
		fired(ev)
		if ev.Kind == 0 {
			e.Schedule(e.Now()+1e6+Time(r.IntN(1e6)), 1, int(ev.Device))
		}
	})
	return e.Digest()
}

// Every device that fires was announced before, in groups of some hundreds. The server
// never is. Events do not change.
func TestDevicesAreAnnouncedAhead(t *testing.T) {
	const devices = 20_000
	for _, queue := range Queues()[:2] {
		ahead, largest, surprises := make([]int, devices), 0, 0
		with := prefetchRound(devices, queue, func(soon []int32) {
			largest = max(largest, len(soon))
			for _, d := range soon {
				ahead[d]++ // out of range for the server
			}
		}, func(ev Event) {
			if ev.Device >= 0 {
				if ahead[ev.Device]--; ahead[ev.Device] < 0 {
					surprises++
				}
			}
		})
		without := prefetchRound(devices, queue, nil, func(Event) {})
		expect.That(t, with == without, "%s: the events are others when they are announced", queue)
		expect.That(t, largest != 0 && largest <= pruneBlock,
			"%s: up to %d devices at a time, want some, and at most %d", queue, largest, pruneBlock)
		expect.That(t, queue != DefaultQueue || surprises == 0,
			"%s: %d of %d events were not announced", queue, surprises, 2*devices)
	}
}
