package clients

import (
	"slices"

	"fedsim/engine"
	"fedsim/network"
)

// inbox has the responses that lie at the server until it polls for them. Without polls it is
// always empty.
type inbox struct {
	population *population
	clock      *engine.Engine
	responded  func(client int) // hears of the response of a client
	period     engine.Time      // of the server's polls; 0: it sees responses at once
	origin     engine.Time      // one of the server's polls
	next       engine.Handle    // the server's next poll, if a response lies there
	// clients whose responses lie at the server, in order of arrival, and some that were canceled
	arrived  []int32
	canceled int // the number of the latter
}

// seenAt returns when the server sees a response that arrives at an instant.
func (in *inbox) seenAt(at engine.Time) engine.Time {
	if in.period == 0 {
		return at
	}
	return network.NextPoll(in.origin, in.period, at)
}

// deliver lets the server have the response of a client: now, or at its next poll.
func (in *inbox) deliver(client int) {
	if in.period == 0 {
		in.responded(client)
		return
	}
	if in.canceled > 0 { // the client may be among those
		in.arrived = slices.DeleteFunc(in.arrived,
			func(client int32) bool { return !in.population.at(int(client)).is(unseen) })
		in.canceled = 0
	}
	in.population.at(client).set(unseen, true)
	in.arrived = append(in.arrived, int32(client))
	if len(in.arrived) == 1 {
		in.schedule()
	}
}

// cancel takes the response of a client, which lies at the server, away.
func (in *inbox) cancel(client int) {
	in.population.at(client).set(unseen, false)
	in.canceled++
}

// schedule schedules the server's next poll, in place of one that was scheduled.
func (in *inbox) schedule() {
	in.clock.Cancel(in.next)
	in.next = in.clock.Schedule(in.seenAt(in.clock.Now()), EventTimer, engine.Server)
}

// Poll lets the server poll for responses now and each period from now on. It is called when
// the server sends messages; SendGroup does. Listener.Responded hears of the responses that lie
// there after it, at this instant.
func (in *inbox) Poll() {
	if in.period == 0 {
		return
	}
	in.origin = in.clock.Now()
	in.clock.Cancel(in.next) // it may be that of a poll in which the server sends these messages
	if len(in.arrived) > 0 {
		in.schedule()
	}
}

// see lets the server see the responses that lie there, all with one poll.
func (in *inbox) see() {
	for _, client := range in.arrived { // none arrives in between
		if d := in.population.at(int(client)); d.is(unseen) {
			d.set(unseen, false)
			in.responded(int(client))
		}
	}
	in.arrived, in.canceled = in.arrived[:0], 0
}

// Held reports whether the response of a client has come as far as its hub, or lies at the
// server.
func (c *Clients) Held(client int) bool { return c.at(client).is(unseen) || c.hubs.Held(client) }
