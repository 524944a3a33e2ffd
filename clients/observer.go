package clients

import "fedsim/engine"

// Observer receives the energy and the bytes of the clients of one run, in the order of virtual time. It does not
// change the run.
type Observer interface {
	// Drew is called when a client has drawn energy, in joules, at a constant power between two instants. The activity
	// is Compute, Downlink or Uplink, which includes messages outside of attempts, or Idle for all others.
	Drew(client int, a Activity, from, to engine.Time, joules float64)
	// Moved is called when bytes of a client, or of its hub, have been transferred. Bytes are those on the wire.
	Moved(client int, from, to engine.Time, bytes float64)
}

// Feature is an optional part of a system. Runs share it; it does not change.
type Feature interface {
	// Observe returns a new observer of so many clients of a run, numbered from 0.
	Observe(clients int) Observer
}

// observers are the observers of a run, and the activity of each client. A nil *observers has none.
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

func (o *observers) drew(client int, from, to engine.Time, joules float64) {
	for _, x := range o.each {
		x.Drew(client, o.does[client], from, to, joules)
	}
}

// moved reports a transfer to all observers. It may begin after its end if no byte was transferred.
func (o *observers) moved(client int, began, to engine.Time, bytes float64) {
	for _, x := range o.each {
		x.Moved(client, min(began, to), to, bytes)
	}
}

// note sets the activity of a client, and returns the previous one.
func (o *observers) note(client int, a Activity) (before Activity) {
	if o == nil {
		return Idle
	}
	before = o.does[client]
	o.does[client] = a
	return before
}
