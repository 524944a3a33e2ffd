package engine

import (
	"math/rand/v2"
	"testing"
)

// holdModel keeps a fixed number of events pending: each that fires is replaced
// by one a random span later (Vaucher and Duval, CACM 1975).
type holdModel struct {
	engine  *Engine
	random  *rand.Rand
	handles []Handle // of each device's one event
	cancels bool     // every second event moves another, every fourth replaces one
	refill  func(Event)
}

func newHoldModel(pending int, queue string, cancels bool) *holdModel {
	m := &holdModel{
		engine:  New(pending, Options{Queue: queue}),
		random:  rand.New(rand.NewPCG(5, 6)),
		handles: make([]Handle, pending),
		cancels: cancels,
	}
	m.refill = m.handle
	for d := range m.handles {
		m.handles[d] = m.engine.Schedule(m.span(), 0, d)
	}
	return m
}

func (m *holdModel) span() Time { return Time(1 + m.random.ExpFloat64()*1e6) }

func (m *holdModel) handle(ev Event) {
	e := m.engine
	m.handles[ev.Device] = e.Schedule(e.Now()+m.span(), 0, int(ev.Device))
	if m.cancels && e.Fired()%2 == 0 {
		other := m.random.IntN(len(m.handles))
		m.handles[other], _ = e.Reschedule(m.handles[other], e.Now()+m.span())
		if e.Fired()%4 == 0 {
			e.Cancel(m.handles[other])
			m.handles[other] = e.Schedule(e.Now()+m.span(), 1, other)
		}
	}
}

func (m *holdModel) run(events int) {
	for range events {
		m.engine.Step(m.refill)
	}
}

// The tables grow to the number of events pending at a time, tombstones
// included, and nothing is allocated from then on.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	const pending = 10_000
	for _, queue := range []string{"radix", "heap4"} {
		m := newHoldModel(pending, queue, true)
		m.run(5 * pending)
		if n := testing.AllocsPerRun(20, func() { m.run(2000) }); n != 0 {
			t.Errorf("%s: 2000 events allocate %v times, want none", queue, n)
		}
		if m.engine.Pending() != pending {
			t.Errorf("%s: %d events pending, want %d", queue, m.engine.Pending(), pending)
		}
	}
}

func TestSteadyBatchesAllocateNothing(t *testing.T) {
	const devices = 5000
	announced := 0
	e := New(devices, Options{Ahead: func(soon []int32) { announced += len(soon) }})
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
		e.Batch(fill)
		e.RunUntil(e.Now()+900, answer)
	}
	for range 20 {
		round()
	}
	if n := testing.AllocsPerRun(20, round); n != 0 {
		t.Errorf("a round allocates %v times, want none", n)
	}
	if announced == 0 {
		t.Error("no device was announced")
	}
}
