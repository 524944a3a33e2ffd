package federation

import (
	"fmt"

	"fedsim/clients"
	"fedsim/engine"
)

// mostAttempts is the limit of attempts in one round.
const mostAttempts = 100_000

// reactions are what the server does when its clients report: here its parts meet.
type reactions struct{ server *Server }

// foreign reports whether a message to a device is one of the driver's own, of which the server knows nothing.
func (r reactions) foreign(client int) bool {
	return r.server.outside != nil && !r.server.attempts.device(client).chosen
}

// downloaded hears that the message of a device has arrived, or was lost.
func (r reactions) downloaded(client int) (compute bool) {
	if r.foreign(client) {
		r.server.outside.Downloaded(client)
		return true
	}
	if c := r.server.continuous; c != nil {
		c.solvePending()
	}
	return r.server.attempts.budget(client) != 0
}

// responded hears that the response of a device has arrived.
func (r reactions) responded(client int) {
	foreign := r.foreign(client)
	if !foreign {
		r.receive(client)
	}
	if o := r.server.outside; o != nil {
		o.Responded(client, !foreign)
	}
}

// receive receives the response of a device, which the server has asked for.
func (r reactions) receive(client int) {
	f := r.server
	f.attempts.device(client).responded = true
	f.journal.note(ResponseArrived, client, f.attempts.stepsBehind(client))
	f.accounts.reports.respond(client, f.clients.Now())
	if f.continuous != nil {
		f.continuous.takeResponse(client)
		return
	}
	if f.open.ended { // a late response between two rounds
		return
	}
	f.attempts.countReceived(client)
	f.open.outstanding--
	f.protocol.Responded(&f.open, client)
	f.open.checkExhausted()
}

// stopExpecting takes a device from those that may still respond in this round.
func (r reactions) stopExpecting(client int) {
	if f := r.server; !f.open.ended && !f.tiers.expects(client) {
		f.open.outstanding--
		f.clients.StopWaiting(client)
		if n, hears := f.protocol.(Noticer); hears {
			if n.Failed(&f.open, client); f.open.ended {
				return
			}
		}
		f.open.checkExhausted()
	}
}

// failed hears that the attempt of a device brings no response. The server, or its hub, notices
// when the response is overdue, but at once when the device has no time to compute, which the
// protocol knows.
func (r reactions) failed(client int, why clients.Reason) {
	if r.tell(client, why); r.foreign(client) {
		return
	}
	if why == clients.NoTime {
		r.stopExpecting(client)
		return
	}
	r.server.accounts.Drop(client, why)
	r.awaitDue(client)
}

// tell notifies a Messenger that the attempt of a device has no response.
func (r reactions) tell(client int, why clients.Reason) {
	if o := r.server.outside; o != nil {
		o.Failed(client, why, !r.foreign(client))
	}
}

// awaitDue lets the server notice the failure of a device when its response is overdue.
func (r reactions) awaitDue(client int) {
	if c := r.server.clients; r.server.attempts.waits {
		c.SetTimer(client, c.Due(client))
	} else {
		r.stopExpecting(client)
	}
}

// depleted hears that the battery of a device is empty.
func (r reactions) depleted(client int) {
	f := r.server
	if d := f.attempts.device(client); !d.chosen || d.responded || f.clients.Held(client) {
		return
	}
	f.accounts.Drop(client, clients.BatteryDepleted)
	if _, charged := f.clients.Depleted(client); !charged && f.traits.WaitsForAll {
		r.server.supervisor.stallFor(client, f.clients.Obstacle(client).String())
	}
}

// recharged hears that the battery of a device is full enough again.
func (r reactions) recharged(client int) {
	if r.server.attempts.needsResponse(client) && r.server.clients.CannotComplete(client) {
		r.server.supervisor.stallFor(client,
			"comes back with a battery that cannot last for one attempt (devices.battery.return_at)")
	}
}

// available hears that a device is available again, and asks it if the server needs its
// response.
func (r reactions) available(client int) {
	f := r.server
	switch {
	case f.supervisor.awaited.open:
		f.supervisor.seeAvailable()
	case f.supervisor.stalled != "" || !f.clients.Idle(client): // at work, or asked when its response is overdue
	case f.continuous != nil:
		if !f.selection.declared.Unlisted { // otherwise the selector finds it
			f.continuous.askIfIdle(client)
		}
	case f.attempts.needsResponse(client):
		r.retry(client)
	}
}

// timeout hears that a timer has run out: that of the round, or that of a device.
func (r reactions) timeout(client int) {
	f := r.server
	switch {
	case client == engine.Server:
		f.open.timeout()
	case r.foreign(client): // it has failed
		f.clients.StopWaiting(client)
	default:
		r.askAgain(client)
		if f.outside != nil && !f.clients.AtWork(client) {
			f.outside.Ended(client)
		}
	}
}

// askAgain handles the end of the wait for a device: the device, or another one in its
// place, is asked again, or the server no longer expects its response.
func (r reactions) askAgain(client int) {
	f := r.server
	switch {
	case f.continuous != nil && f.clients.Failed(client):
		f.continuous.discardAttempt(client)
	case f.continuous != nil: // the server has processed a response
		f.continuous.served(client)
	case !f.clients.Available(client) || !f.clients.Serves(client) || !f.attempts.asksAgain(f.clients.Try(client)):
		f.clients.Release(client)
		if !f.traits.WaitsForAll {
			r.stopExpecting(client)
		}
	default:
		r.retry(client)
	}
}

// retry asks a device again.
func (r reactions) retry(client int) {
	c := r.server.clients
	if c.Awaits(client) {
		return
	}
	if c.Try(client)+1 == mostAttempts {
		r.server.supervisor.stallFor(client,
			fmt.Sprintf("has been asked %d times in one round and never responded", mostAttempts))
		return
	}
	c.Retry(client)
}

// repeat reports whether a message of a hub that was lost n times is sent again.
func (r reactions) repeat(hub, n int) bool {
	f := r.server
	if n == mostAttempts && f.open.played {
		f.Stall(fmt.Sprintf("a message of hub %d was lost %d times in one round, and protocol %q waits for it", hub,
			mostAttempts, f.setup.Config.Protocol))
		return true
	}
	return n < mostAttempts && f.attempts.asksAgain(n-1)
}

// unreached hears that a hub has no further use of a device.
func (r reactions) unreached(client int, why clients.Reason) {
	if r.tell(client, why); r.foreign(client) {
		return
	}
	f := r.server
	f.accounts.Drop(client, why)
	switch {
	case f.traits.WaitsForAll: // it is asked when it is available
	case f.clients.Failed(client): // the hub has not received the message
		r.awaitDue(client)
	default:
		r.stopExpecting(client)
	}
}

// end ends the attempt of a device, whose response has not arrived.
func (r reactions) end(client int, fresh bool) {
	f := r.server
	d := f.attempts.device(client)
	if d.solved {
		f.driver.Discard(client)
	}
	f.clients.StopTimer(client)
	switch {
	case f.clients.Paused(client):
		f.accounts.Drop(client, clients.BecameUnavailable)
	case !d.dropped && fresh:
		f.accounts.Late(client)
	}
	f.clients.Cancel(client)
}
