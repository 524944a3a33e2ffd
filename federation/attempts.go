package federation

import (
	"fmt"
	"math"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/roster"
)

// unlimited is a budget that leaves the amount of work to the driver.
const unlimited = math.MaxInt32

// mostAttempts is the limit of attempts in one round.
const mostAttempts = 100_000

// attempts are the devices as the server sees them, and its reactions to their reports.
type attempts struct {
	server  *Server
	devices *roster.Column[device]
	budgets *roster.Column[int32] // the steps that the protocol allows a device; nil: the driver decides
	waits   bool                  // see mustWait
}

// device returns the state of a device on the server.
func (a *attempts) device(t int) *device { return a.devices.At(t) }

// limit sets how many steps the protocol allows a device.
func (a *attempts) limit(t int) {
	if limiter := a.server.limiter; limiter != nil {
		*a.budgets.At(t) = int32(min(max(0, limiter.Steps(&a.server.open, t)), unlimited))
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
}

// Attempt returns the server's knowledge of the present attempt of a client.
func (f *Server) Attempt(client int) Attempt {
	d := f.attempts.device(client)
	return Attempt{Expected: d.chosen, Solved: d.solved, Responded: d.responded, Dropped: d.dropped, Steps: int(d.steps)}
}

// Solves reports whether a client does the local work that Driver.Solve is called for.
func (f *Server) Solves(client int) bool { return f.attempts.device(client).solved }

// Budget returns how many steps a client may take for the response that it was asked for;
// limited is false when its driver decides.
func (f *Server) Budget(client int) (steps int, limited bool) {
	budget := f.attempts.budget(client)
	return int(budget), budget < unlimited
}

// SetWork sets the local work of a client, the number of its steps as protocols and results count
// them, and the size of its response. It may be called for several clients at once.
func (f *Server) SetWork(client, steps int, work devices.Work, bytesUp float64) {
	f.attempts.device(client).steps = int32(min(steps, math.MaxInt32))
	f.clients.SetWork(client, work, bytesUp)
}

// budget returns how many steps device t may take for the response that it was asked for.
func (a *attempts) budget(t int) int32 {
	if a.budgets == nil {
		return unlimited
	}
	return *a.budgets.At(t)
}

// prepareUplink prepares the uplink of device t. If its work is not done yet, its length is
// estimated.
func (a *attempts) prepareUplink(t int) {
	f := a.server
	if !a.device(t).solved {
		var work devices.Work
		switch {
		case f.continuous == nil: // it will not compute
		case f.clients.Number(t) == 0:
			work = f.estimates.usual(t)
		default: // the last one of the device
			work, _ = f.clients.Work(t)
		}
		_, bytesUp := f.work.Bytes(t)
		f.clients.SetWork(t, work, bytesUp)
	}
	f.clients.PrepareUplink(t)
}

// mustSolve reports whether device t may compute in this round. If the round waits for
// all, every device will. A device that drops may be asked again, and its response is due when its
// work would be done. Without rounds only devices that compute are listed.
func (a *attempts) mustSolve(t int) bool {
	f := a.server
	if f.traits.WaitsForAll || f.continuous != nil {
		return true
	}
	return f.clients.Available(t) && a.budget(t) > 0 && (!f.clients.DropsAtOnce(t) || a.waits)
}

// solve lets the driver do the local work of those devices listed that must.
func (a *attempts) solve(listed []int32) {
	f := a.server
	for _, t := range listed {
		a.device(int(t)).solved = a.mustSolve(int(t))
	}
	if !f.driver.Solve(listed) {
		f.supervisor.discard()
		return
	}
	a.reportLosses(listed)
}

// reportLosses lets those of the clients listed that have done their work report the losses of
// the model that they were sent.
func (a *attempts) reportLosses(listed []int32) {
	f, r := a.server, a.server.reports
	if r == nil || !r.losses {
		return
	}
	var solved []int32
	for _, t := range listed {
		if a.device(int(t)).solved {
			solved = append(solved, t)
		}
	}
	losses, rms := make([]float64, len(solved)), make([]float64, len(solved))
	if r.rows {
		f.losses.RowLosses(solved, losses, rms)
	} else {
		f.losses.Losses(solved, losses)
	}
	for i, t := range solved {
		if r.clients[t].loss = losses[i]; r.rows {
			r.clients[t].rms = rms[i]
		}
	}
}

// foreign reports whether a message to device t is one of the driver's own, of which the server knows nothing.
func (a *attempts) foreign(t int) bool { return a.server.outside != nil && !a.device(t).chosen }

// downloaded hears that the message of device t has arrived, or was lost.
func (a *attempts) downloaded(t int) (compute bool) {
	if a.foreign(t) {
		a.server.outside.Downloaded(t)
		return true
	}
	if c := a.server.continuous; c != nil {
		c.solvePending()
	}
	return a.budget(t) != 0
}

// responded hears that the response of device t has arrived.
func (a *attempts) responded(t int) {
	foreign := a.foreign(t)
	if !foreign {
		a.receive(t)
	}
	if o := a.server.outside; o != nil {
		o.Responded(t, !foreign)
	}
}

// receive receives the response of device t, which the server has asked for.
func (a *attempts) receive(t int) {
	f := a.server
	a.device(t).responded = true
	f.journal.note(ResponseArrived, t, a.stepsBehind(t))
	f.reports.respond(t, f.clients.Now())
	if f.continuous != nil {
		f.continuous.takeResponse(t)
		return
	}
	if f.open.ended { // a late response between two rounds
		return
	}
	a.countReceived(t)
	f.open.outstanding--
	f.protocol.Responded(&f.open, t)
	a.checkExhausted()
}

// stepsBehind returns the steps of the work behind the response of device t, in all rounds of
// its hub that had one.
func (a *attempts) stepsBehind(t int) float64 {
	if ti := a.server.tiers; ti != nil {
		return float64(ti.steps[t])
	}
	return float64(a.device(t).steps)
}

// countReceived counts the response of device t for the protocol. Partial work that the
// server drops counts only where the round waits for everybody.
func (a *attempts) countReceived(t int) {
	if f := a.server; f.traits.WaitsForAll || !f.partial.drops(t) {
		f.open.received++
	}
}

// stopExpecting takes device t from those that may still respond in this round.
func (a *attempts) stopExpecting(t int) {
	if f := a.server; !f.open.ended && !f.tiers.expects(t) {
		f.open.outstanding--
		f.clients.StopWaiting(t)
		a.checkExhausted()
	}
}

// checkExhausted calls the protocol when no further response can arrive in the round.
func (a *attempts) checkExhausted() {
	if f := a.server; f.open.outstanding <= 0 {
		f.protocol.Exhausted(&f.open)
	}
}

// failed hears that the attempt of device t brings no response. The server, or its hub, notices
// when the response is overdue, but at once when the device has no time to compute, which the
// protocol knows.
func (a *attempts) failed(t int, why clients.Reason) {
	if a.tell(t, why); a.foreign(t) {
		return
	}
	if why == clients.NoTime {
		a.stopExpecting(t)
		return
	}
	a.server.accounts.Drop(t, why)
	a.awaitDue(t)
}

// tell tells a Messenger that the attempt of device t brings no response.
func (a *attempts) tell(t int, why clients.Reason) {
	if o := a.server.outside; o != nil {
		o.Failed(t, why, !a.foreign(t))
	}
}

// awaitDue lets the server notice the failure of device t when its response is overdue.
func (a *attempts) awaitDue(t int) {
	if c := a.server.clients; a.waits {
		c.SetTimer(t, c.Due(t))
	} else {
		a.stopExpecting(t)
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

// depleted hears that the battery of device t is empty.
func (a *attempts) depleted(t int) {
	f := a.server
	if d := a.device(t); !d.chosen || d.responded || f.clients.Held(t) {
		return
	}
	a.server.accounts.Drop(t, clients.BatteryDepleted)
	if _, charged := f.clients.Depleted(t); !charged && f.traits.WaitsForAll {
		a.stall(t, f.clients.Obstacle(t).String())
	}
}

// recharged hears that the battery of device t is full enough again.
func (a *attempts) recharged(t int) {
	if a.needsResponse(t) && a.server.clients.CannotComplete(t) {
		a.stall(t, "comes back with a battery that cannot last for one attempt (devices.return_level)")
	}
}

// available hears that device t is available again, and asks it if the server needs its
// response.
func (a *attempts) available(t int) {
	f := a.server
	switch {
	case f.supervisor.awaited.open:
		f.supervisor.seeAvailable()
	case f.supervisor.stalled != "" || !f.clients.Idle(t): // at work, or asked when its response is overdue
	case f.continuous != nil:
		if !f.selection.declared.Unlisted { // otherwise the selector finds it
			f.continuous.askIfIdle(t)
		}
	case a.needsResponse(t):
		a.retry(t)
	}
}

// expects reports whether the server expects a response of device t that has not come.
func (a *attempts) expects(t int) bool { return a.device(t).chosen && !a.device(t).responded }

// needsResponse reports whether the round cannot end without a response of device t that has not
// come.
func (a *attempts) needsResponse(t int) bool {
	d, f := a.device(t), a.server
	return f.traits.WaitsForAll && d.chosen && !d.responded && !f.clients.Held(t)
}

// timeout hears that a timer has run out: that of the round, or that of device t.
func (a *attempts) timeout(t int) {
	f := a.server
	switch {
	case t == engine.Server && f.continuous != nil:
		f.continuous.gather(t, false)
	case t == engine.Server:
		f.open.End()
	case a.foreign(t): // it has failed
		f.clients.StopWaiting(t)
	default:
		a.askAgain(t)
		if f.outside != nil && !f.clients.AtWork(t) {
			f.outside.Ended(t)
		}
	}
}

// asksAgain reports whether the server asks a device again after a number of tries: the same
// device in a round, another one without rounds.
func (a *attempts) asksAgain(try int) bool {
	f := a.server
	return f.traits.Continuous || f.traits.WaitsForAll || try < f.setup.Config.Retries
}

// askAgain handles the end of the wait for device t: the device, or another one in its
// place, is asked again, or the server no longer expects its response.
func (a *attempts) askAgain(t int) {
	f := a.server
	switch {
	case f.continuous != nil && f.clients.Failed(t):
		f.continuous.discardAttempt(t)
	case f.continuous != nil: // the server has processed a response
		f.continuous.served(t)
	case !f.clients.Available(t) || !f.clients.Serves(t) || !a.asksAgain(f.clients.Try(t)):
		f.clients.Release(t)
		if !f.traits.WaitsForAll {
			a.stopExpecting(t)
		}
	default:
		a.retry(t)
	}
}

// retry asks device t again.
func (a *attempts) retry(t int) {
	c := a.server.clients
	if c.Awaits(t) {
		return
	}
	if c.Try(t)+1 == mostAttempts {
		a.stall(t, fmt.Sprintf("has been asked %d times in one round and never responded", mostAttempts))
		return
	}
	c.Retry(t)
}

// repeat reports whether a message of a hub that was lost n times is sent again.
func (a *attempts) repeat(hub, n int) bool {
	f := a.server
	if n == mostAttempts && f.open.played {
		f.Stall(fmt.Sprintf("a message of hub %d was lost %d times in one round, and protocol %q waits for it", hub, mostAttempts, f.setup.Config.Protocol))
		return true
	}
	return n < mostAttempts && a.asksAgain(n-1)
}

// unreached hears that a hub has no further use of device t.
func (a *attempts) unreached(t int, why clients.Reason) {
	if a.tell(t, why); a.foreign(t) {
		return
	}
	f := a.server
	f.accounts.Drop(t, why)
	switch {
	case f.traits.WaitsForAll: // it is asked when it is available
	case f.clients.Failed(t): // the hub has not received the message
		a.awaitDue(t)
	default:
		a.stopExpecting(t)
	}
}

// stall ends the run: the round can never be completed without device t.
func (a *attempts) stall(t int, why string) {
	a.server.Stall(fmt.Sprintf("device %d %s, and protocol %q waits for it", t, why, a.server.setup.Config.Protocol))
}

// end ends the attempt of device t, whose response has not arrived.
func (a *attempts) end(t int, fresh bool) {
	f, d := a.server, a.device(t)
	if d.solved {
		f.driver.Discard(t)
	}
	f.clients.StopTimer(t)
	switch {
	case f.clients.Paused(t):
		a.server.accounts.Drop(t, clients.BecameUnavailable)
	case !d.dropped && fresh:
		f.accounts.Late(t)
	}
	f.clients.Cancel(t)
}
