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
	responded  func(t int)   // hears of the response of a client
	period     engine.Time   // of the server's polls; 0: it sees responses at once
	origin     engine.Time   // one of the server's polls
	next       engine.Handle // the server's next poll, if a response lies there
	arrived    []int32       // clients whose responses lie at the server, in order of arrival, and some that were canceled
	canceled   int           // the number of the latter
}

// seenAt returns when the server sees a response that arrives at an instant.
func (b *inbox) seenAt(at engine.Time) engine.Time {
	if b.period == 0 {
		return at
	}
	return network.NextPoll(b.origin, b.period, at)
}

// deliver lets the server have the response of a client: now, or at its next poll.
func (b *inbox) deliver(t int) {
	if b.period == 0 {
		b.responded(t)
		return
	}
	if b.canceled > 0 { // the client may be among those
		b.arrived = slices.DeleteFunc(b.arrived, func(t int32) bool { return !b.population.at(int(t)).is(unseen) })
		b.canceled = 0
	}
	b.population.at(t).set(unseen, true)
	b.arrived = append(b.arrived, int32(t))
	if len(b.arrived) == 1 {
		b.schedule()
	}
}

// cancel takes the response of a client, which lies at the server, away.
func (b *inbox) cancel(t int) {
	b.population.at(t).set(unseen, false)
	b.canceled++
}

// schedule schedules the server's next poll, in place of one that was scheduled.
func (b *inbox) schedule() {
	b.clock.Cancel(b.next)
	b.next = b.clock.Schedule(b.seenAt(b.clock.Now()), EventTimer, engine.Server)
}

// Poll lets the server poll for responses now and each period from now on. It is called when
// the server sends messages; SendGroup does. Listener.Responded hears of the responses that lie
// there after it, at this instant.
func (b *inbox) Poll() {
	if b.period == 0 {
		return
	}
	b.origin = b.clock.Now()
	b.clock.Cancel(b.next) // it may be that of a poll in which the server sends these messages
	if len(b.arrived) > 0 {
		b.schedule()
	}
}

// see lets the server see the responses that lie there, all with one poll.
func (b *inbox) see() {
	for _, t := range b.arrived { // none arrives in between
		if d := b.population.at(int(t)); d.is(unseen) {
			d.set(unseen, false)
			b.responded(int(t))
		}
	}
	b.arrived, b.canceled = b.arrived[:0], 0
}

// Held reports whether the response of a client has come as far as its hub, or lies at the
// server.
func (c *Clients) Held(t int) bool { return c.at(t).is(unseen) || c.hubs.Held(t) }
