package federation

import (
	"fmt"
	"math"
	"slices"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/roster"
)

// mostAttempts is the limit of attempts in one round.
const mostAttempts = 100_000

// attempts are the devices as the server sees them, and its reactions to their reports.
type attempts struct {
	server  *Server
	devices *roster.Column[device]
	budgets *roster.Column[int32] // the steps that the protocol allows a device; nil: the driver decides
	waits   bool                  // see mustWait
	due     []Due
	done    []Done // of those due
}

// device returns the state of a device on the server.
func (a *attempts) device(client int) *device { return a.devices.At(client) }

// limit sets how many steps the protocol allows a device.
func (a *attempts) limit(client int) {
	if limiter := a.server.limiter; limiter != nil {
		*a.budgets.At(client) = int32(min(max(0, limiter.Steps(&a.server.open, client)), Unlimited))
	}
}

// device is the state of a device on the server.
type device struct {
	steps     int32 // of its work for this response
	chosen    bool  // the server expects its response, to the open round or to an earlier one
	solved    bool  // the local work is done, tentatively
	responded bool  // the server has the response
	dropped   bool  // the device has dropped out in this round
}

// Attempt is the server's knowledge of the present attempt of a client.
type Attempt struct {
	Expected  bool // the server expects a response, to the open round or to an earlier one
	Solved    bool // the local work is done, tentatively
	Responded bool // the server has the response
	Dropped   bool // the client has dropped in this round
	Steps     int  // the number of steps of the local work
	Limit     int  // how many the protocol allows; Unlimited: the driver decides
}

// Attempt returns the server's knowledge of the present attempt of a client.
func (s *Server) Attempt(client int) Attempt {
	d := s.attempts.device(client)
	return Attempt{
		Expected: d.chosen, Solved: d.solved, Responded: d.responded, Dropped: d.dropped,
		Steps: int(d.steps), Limit: int(s.attempts.budget(client)),
	}
}

// budget returns how many steps a device may take for the response that it was asked for.
func (a *attempts) budget(client int) int32 {
	if a.budgets == nil {
		return Unlimited
	}
	return *a.budgets.At(client)
}

// prepareUplink prepares the uplink of a device. If its work is not done yet, its length is
// estimated.
func (a *attempts) prepareUplink(client int) {
	f := a.server
	if !a.device(client).solved {
		var work devices.Work
		switch {
		case f.continuous == nil: // it will not compute
		case f.clients.Number(client) == 0:
			work = f.estimates.usual(client)
		default: // the last one of the device
			work, _ = f.clients.Work(client)
		}
		_, bytesUp := f.work.Bytes(client)
		f.clients.SetWork(client, work, bytesUp)
	}
	f.clients.PrepareUplink(client)
}

// mustSolve reports whether a device may compute in this round. If the round waits for
// all, every device will. A device that drops may be asked again, and its response is due when its
// work would be done. Without rounds only devices that compute are listed.
func (a *attempts) mustSolve(client int) bool {
	f := a.server
	if f.traits.WaitsForAll || f.continuous != nil {
		return true
	}
	return f.clients.Available(client) && a.budget(client) > 0 && (!f.clients.DropsAtOnce(client) || a.waits)
}

// mostDue is the largest number of clients whose work is due in one call, so that the work of a
// million needs no space of its own.
const mostDue = 1 << 12

// solve lets the driver do the local work of those devices listed that must.
func (a *attempts) solve(listed []int32) {
	for all := range slices.Chunk(listed, mostDue) {
		if !a.solveSome(all) {
			a.server.supervisor.discard()
			return
		}
	}
	a.reportLosses(listed)
}

func (a *attempts) solveSome(listed []int32) (done bool) {
	f := a.server
	a.due = a.due[:0]
	for _, client := range listed {
		d := a.device(int(client))
		if d.solved = a.mustSolve(int(client)); d.solved {
			c := int(client)
			a.due = append(a.due, Due{Client: client, Round: int32(f.localRound(c)), Steps: a.budget(c)})
		}
	}
	a.done = slices.Grow(a.done[:0], len(a.due))[:len(a.due)]
	if !f.driver.Work(a.due, a.done) {
		return false
	}
	for i := range a.due {
		client, w := int(a.due[i].Client), &a.done[i]
		a.device(client).steps = int32(min(w.Count, math.MaxInt32))
		f.clients.SetWork(client, w.Work, w.BytesUp)
	}
	return true
}

// reportLosses lets those of the clients listed that have done their work report the losses of
// the model that they were sent.
func (a *attempts) reportLosses(listed []int32) {
	f, r := a.server, a.server.reports
	if r == nil || !r.losses {
		return
	}
	var solved []int32
	for _, client := range listed {
		if a.device(int(client)).solved {
			solved = append(solved, client)
		}
	}
	losses, rms := make([]float64, len(solved)), make([]float64, len(solved))
	if r.rows {
		f.losses.RowLosses(solved, losses, rms)
	} else {
		f.losses.Losses(solved, losses)
	}
	for i, client := range solved {
		if r.clients[client].loss = losses[i]; r.rows {
			r.clients[client].rms = rms[i]
		}
	}
}

// foreign reports whether a message to a device is one of the driver's own, of which the server knows nothing.
func (a *attempts) foreign(client int) bool {
	return a.server.outside != nil && !a.device(client).chosen
}

// downloaded hears that the message of a device has arrived, or was lost.
func (a *attempts) downloaded(client int) (compute bool) {
	if a.foreign(client) {
		a.server.outside.Downloaded(client)
		return true
	}
	if c := a.server.continuous; c != nil {
		c.solvePending()
	}
	return a.budget(client) != 0
}

// responded hears that the response of a device has arrived.
func (a *attempts) responded(client int) {
	foreign := a.foreign(client)
	if !foreign {
		a.receive(client)
	}
	if o := a.server.outside; o != nil {
		o.Responded(client, !foreign)
	}
}

// receive receives the response of a device, which the server has asked for.
func (a *attempts) receive(client int) {
	f := a.server
	a.device(client).responded = true
	f.journal.note(ResponseArrived, client, a.stepsBehind(client))
	f.reports.respond(client, f.clients.Now())
	if f.continuous != nil {
		f.continuous.takeResponse(client)
		return
	}
	if f.open.ended { // a late response between two rounds
		return
	}
	a.countReceived(client)
	f.open.outstanding--
	f.protocol.Responded(&f.open, client)
	a.checkExhausted()
}

// stepsBehind returns the steps of the work behind the response of a device, in all rounds of
// its hub that had one.
func (a *attempts) stepsBehind(client int) float64 {
	if ti := a.server.tiers; ti != nil {
		return float64(ti.steps[client])
	}
	return float64(a.device(client).steps)
}

// countReceived counts the response of a device for the protocol. Partial work that the
// server drops counts only where the round waits for everybody.
func (a *attempts) countReceived(client int) {
	if f := a.server; f.traits.WaitsForAll || !f.partial.drops(client) {
		f.open.received++
	}
}

// stopExpecting takes a device from those that may still respond in this round.
func (a *attempts) stopExpecting(client int) {
	if f := a.server; !f.open.ended && !f.tiers.expects(client) {
		f.open.outstanding--
		f.clients.StopWaiting(client)
		a.checkExhausted()
	}
}

// checkExhausted calls the protocol when no further response can arrive in the round.
func (a *attempts) checkExhausted() {
	if f := a.server; f.open.outstanding <= 0 {
		f.protocol.Exhausted(&f.open)
	}
}

// failed hears that the attempt of a device brings no response. The server, or its hub, notices
// when the response is overdue, but at once when the device has no time to compute, which the
// protocol knows.
func (a *attempts) failed(client int, why clients.Reason) {
	if a.tell(client, why); a.foreign(client) {
		return
	}
	if why == clients.NoTime {
		a.stopExpecting(client)
		return
	}
	a.server.accounts.Drop(client, why)
	a.awaitDue(client)
}

// tell notifies a Messenger that the attempt of a device has no response.
func (a *attempts) tell(client int, why clients.Reason) {
	if o := a.server.outside; o != nil {
		o.Failed(client, why, !a.foreign(client))
	}
}

// awaitDue lets the server notice the failure of a device when its response is overdue.
func (a *attempts) awaitDue(client int) {
	if c := a.server.clients; a.waits {
		c.SetTimer(client, c.Due(client))
	} else {
		a.stopExpecting(client)
	}
}

// mustWait reports whether it matters when the server notices a failure. It does not where the end of
// a round is known when the round opens, and nothing is expected behind it.
func (a *attempts) mustWait(sharing bool) bool {
	f := a.server
	switch end := f.traits.End; {
	case a.asksAgain(0), f.traits.Late, f.setup.Network.HubSize > 0:
		return true
	case end == EndsWithCharge:
		return sharing
	default:
		return end != EndsAtDeadline
	}
}

// depleted hears that the battery of a device is empty.
func (a *attempts) depleted(client int) {
	f := a.server
	if d := a.device(client); !d.chosen || d.responded || f.clients.Held(client) {
		return
	}
	a.server.accounts.Drop(client, clients.BatteryDepleted)
	if _, charged := f.clients.Depleted(client); !charged && f.traits.WaitsForAll {
		a.stall(client, f.clients.Obstacle(client).String())
	}
}

// recharged hears that the battery of a device is full enough again.
func (a *attempts) recharged(client int) {
	if a.needsResponse(client) && a.server.clients.CannotComplete(client) {
		a.stall(client, "comes back with a battery that cannot last for one attempt (devices.battery.return_at)")
	}
}

// available hears that a device is available again, and asks it if the server needs its
// response.
func (a *attempts) available(client int) {
	f := a.server
	switch {
	case f.supervisor.awaited.open:
		f.supervisor.seeAvailable()
	case f.supervisor.stalled != "" || !f.clients.Idle(client): // at work, or asked when its response is overdue
	case f.continuous != nil:
		if !f.selection.declared.Unlisted { // otherwise the selector finds it
			f.continuous.askIfIdle(client)
		}
	case a.needsResponse(client):
		a.retry(client)
	}
}

// expects reports whether the server expects a response of a device that has not come.
func (a *attempts) expects(client int) bool {
	return a.device(client).chosen && !a.device(client).responded
}

// needsResponse reports whether the round cannot end without a response of a device that has not
// come.
func (a *attempts) needsResponse(client int) bool {
	d, f := a.device(client), a.server
	return f.traits.WaitsForAll && d.chosen && !d.responded && !f.clients.Held(client)
}

// timeout hears that a timer has run out: that of the round, or that of a device.
func (a *attempts) timeout(client int) {
	f := a.server
	switch {
	case client == engine.Server && f.continuous != nil:
		f.continuous.gather(client, false)
	case client == engine.Server:
		f.open.End()
	case a.foreign(client): // it has failed
		f.clients.StopWaiting(client)
	default:
		a.askAgain(client)
		if f.outside != nil && !f.clients.AtWork(client) {
			f.outside.Ended(client)
		}
	}
}

// asksAgain reports whether the server asks a device again after a number of tries: the same
// device in a round, another one without rounds.
func (a *attempts) asksAgain(try int) bool {
	f := a.server
	return f.traits.Continuous || f.traits.WaitsForAll || try < f.setup.Config.Retries
}

// askAgain handles the end of the wait for a device: the device, or another one in its
// place, is asked again, or the server no longer expects its response.
func (a *attempts) askAgain(client int) {
	f := a.server
	switch {
	case f.continuous != nil && f.clients.Failed(client):
		f.continuous.discardAttempt(client)
	case f.continuous != nil: // the server has processed a response
		f.continuous.served(client)
	case !f.clients.Available(client) || !f.clients.Serves(client) || !a.asksAgain(f.clients.Try(client)):
		f.clients.Release(client)
		if !f.traits.WaitsForAll {
			a.stopExpecting(client)
		}
	default:
		a.retry(client)
	}
}

// retry asks a device again.
func (a *attempts) retry(client int) {
	c := a.server.clients
	if c.Awaits(client) {
		return
	}
	if c.Try(client)+1 == mostAttempts {
		a.stall(client, fmt.Sprintf("has been asked %d times in one round and never responded", mostAttempts))
		return
	}
	c.Retry(client)
}

// repeat reports whether a message of a hub that was lost n times is sent again.
func (a *attempts) repeat(hub, n int) bool {
	f := a.server
	if n == mostAttempts && f.open.played {
		f.Stall(fmt.Sprintf("a message of hub %d was lost %d times in one round, and protocol %q waits for it", hub,
			mostAttempts, f.setup.Config.Protocol))
		return true
	}
	return n < mostAttempts && a.asksAgain(n-1)
}

// unreached hears that a hub has no further use of a device.
func (a *attempts) unreached(client int, why clients.Reason) {
	if a.tell(client, why); a.foreign(client) {
		return
	}
	f := a.server
	f.accounts.Drop(client, why)
	switch {
	case f.traits.WaitsForAll: // it is asked when it is available
	case f.clients.Failed(client): // the hub has not received the message
		a.awaitDue(client)
	default:
		a.stopExpecting(client)
	}
}

// stall ends the run: the round can never be completed without a device.
func (a *attempts) stall(client int, why string) {
	a.server.Stall(fmt.Sprintf("device %d %s, and protocol %q waits for it",
		client, why, a.server.setup.Config.Protocol))
}

// end ends the attempt of a device, whose response has not arrived.
func (a *attempts) end(client int, fresh bool) {
	f, d := a.server, a.device(client)
	if d.solved {
		f.driver.Discard(client)
	}
	f.clients.StopTimer(client)
	switch {
	case f.clients.Paused(client):
		a.server.accounts.Drop(client, clients.BecameUnavailable)
	case !d.dropped && fresh:
		f.accounts.Late(client)
	}
	f.clients.Cancel(client)
}
