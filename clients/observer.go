package clients

import "fedsim/engine"

// Observer sees what the clients of one run draw and move, in the order of virtual time. It changes nothing.
type Observer interface {
	// Drew tells that a client drew energy in joules evenly from one instant to another. It computed, or it
	// moved bytes of an attempt or, as Uplink, of messages beside attempts; Idle stands for all other activities.
	Drew(client int, a Activity, from, to engine.Time, joules float64)
	// Moved tells that bytes of a client, or of its hub, moved on the wire.
	Moved(client int, from, to engine.Time, bytes float64)
}

// Feature is an optional part of a system. Runs share it; it does not change.
type Feature interface {
	// Observe returns a new observer of so many clients of a run, numbered from 0.
	Observe(clients int) Observer
}

// observers are the observers of a run, and what its clients do. A nil *observers has none.
type observers struct {
	each []Observer
	does []Activity // by client
}

func newObservers(s *Setup) *observers {
	if len(s.Features) == 0 {
		return nil
	}
	o := &observers{does: make([]Activity, s.Clients)}
	for _, f := range s.Features {
		o.each = append(o.each, f.Observe(s.Clients))
	}
	return o
}

func (o *observers) drew(t int, from, to engine.Time, joules float64) {
	for _, x := range o.each {
		x.Drew(t, o.does[t], from, to, joules)
	}
}

// moved tells of bytes that began to move at an instant, which may be after the end if they did not.
func (o *observers) moved(t int, began, to engine.Time, bytes float64) {
	for _, x := range o.each {
		x.Moved(t, min(began, to), to, bytes)
	}
}

// note sets what a client does from now on, and returns what it did before.
func (o *observers) note(t int, a Activity) (before Activity) {
	if o == nil {
		return Idle
	}
	before = o.does[t]
	o.does[t] = a
	return before
}
