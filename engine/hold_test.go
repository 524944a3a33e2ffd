package engine

import "math/rand/v2"

// holdModel has a constant number of pending events: each event that fires schedules its
// successor after a random time (Vaucher and Duval, CACM 1975).
type holdModel struct {
	engine  *Engine
	random  *rand.Rand
	handles []Handle // of each device's pending event
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
		m.handles[other], _ = reschedule(e, m.handles[other], e.Now()+m.span())
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

// reschedule cancels an event and schedules one of its kind for its device at another
// instant. It returns false if the handle is stale.
func reschedule(e *Engine, h Handle, at Time) (Handle, bool) {
	if !e.Cancel(h) {
		return Handle{}, false
	}
	return e.Schedule(at, kindOf(h.key), int(deviceOf(h.key))), true
}
