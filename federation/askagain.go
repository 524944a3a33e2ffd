package federation

import (
	"fmt"

	"fedsim/clients"
)

// The server asks a client again when an attempt has failed and its response is overdue.
// asksAgain decides it, for clients and for the messages of hubs. askAgain does it when
// the client's timer runs out: the same client in a round, another one without rounds.

// asksAgain reports whether the server asks a device again after a number of tries.
func (f *Federation) asksAgain(attempt int) bool {
	return f.traits.Continuous || f.traits.WaitsForAll || attempt < f.setup.Config.Retries
}

// askAgain handles the end of the wait for device t. The device, or another one in its
// place, is asked again.
func (f *Federation) askAgain(t int) {
	switch {
	case f.continuous() && f.clients.Failed(t):
		f.discardAttempt(t)
	case f.continuous(): // the server has processed a response
		f.askAnother(t)
	case !f.clients.Available(t):
		f.clients.Release(t)
		if !f.traits.WaitsForAll {
			f.stopExpecting(t)
		}
	default:
		f.retry(t)
	}
}

// mostAttempts is the limit of attempts in one round.
const mostAttempts = 100_000

// retry asks device t again.
func (f *Federation) retry(t int) {
	if f.clients.Awaits(t) {
		return
	}
	if f.clients.Try(t)+1 == mostAttempts {
		f.stall(t, fmt.Sprintf("has been asked %d times in one round and never responded", mostAttempts))
		return
	}
	f.clients.Retry(t)
}

// repeat reports whether a message of a hub that was lost n times is sent again.
func (f *Federation) repeat(hub, n int) bool {
	if n == mostAttempts {
		f.stalled = fmt.Sprintf("a message of hub %d was lost %d times in one round, and protocol %q waits for it", hub, mostAttempts, f.setup.Config.Protocol)
		f.clients.Stop()
		return true
	}
	return f.asksAgain(n - 1)
}

// unreached hears that a hub has no further use of device t.
func (f *Federation) unreached(t int, why clients.Reason) {
	f.markDropped(t, why)
	if !f.traits.WaitsForAll { // otherwise it is asked when it is available
		f.stopExpecting(t)
	}
}
