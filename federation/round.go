package federation

import (
	"fmt"
	"math"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/engine"
	"fedsim/results"
)

// runRound runs one round and returns its results without metrics.
func (f *Federation) runRound() results.Round {
	f.open.ended = false
	f.open.began = f.clients.Now()
	available := results.UnknownCount
	f.note(RoundStarted, engine.Server, 0)
	if !f.continuous() || !f.async.started {
		f.awaitAvailable()
	}
	if f.aborted() {
		return results.Round{}
	}
	if f.continuous() {
		f.openContinuous()
	} else {
		for f.noneAvailable() {
			// The server waits for the first device that is available.
			if !f.clients.Step() || f.noneEverAvailable() {
				f.stalled = f.whyNoneAvailable()
			}
			if f.aborted() {
				return results.Round{}
			}
		}
		available = f.canBeAsked()
		f.open.bytes = f.messageBytes(f.beginRound())
		f.clients.SetBytesDown(f.open.bytes)
		f.choose()
		f.address()
		f.openRound()
	}
	if !f.aborted() && !f.open.ended {
		f.clients.Run()
	}
	if !f.aborted() && !f.open.ended {
		f.stalled = f.whyNotEnded()
	}
	if f.aborted() {
		return results.Round{}
	}
	var thetas []float64
	if !f.continuous() {
		f.clients.CloseGroup()
		f.countResponses()
		thetas = f.thetas()
		f.noteThetas(thetas)
		f.close()
		if f.serverWork(f.endRound() + f.closePrivate()); f.aborted() {
			return results.Round{}
		}
	}
	r := f.account()
	r.Available, r.Thetas = available, thetas
	return r
}

// account ends the accounts of the round and returns its results without metrics.
func (f *Federation) account() results.Round {
	traffic := f.clients.Take()
	r := results.NewRound()
	r.Outer, r.Round = f.outer, f.round+1
	r.Participants, r.Dropped, r.Late = f.tally.taken, f.tally.dropped, f.tally.late+f.tally.refused
	r.FLOPs, r.BytesDown, r.BytesUp = traffic.FLOPs, traffic.BytesDown, traffic.BytesUp
	if f.continuous() {
		f.tally.cohort, f.tally.asked = f.wanted-f.async.free, f.wanted
	}
	f.census.add(&f.tally)
	f.tally = tally{} // events between two rounds count for the second
	batteries := f.clients.Batteries()
	batteries.AccountAll(f.clients.Now())
	f.noteRound()
	f.round++
	// The energy between two rounds counts for the second.
	spent := batteries.Total().DrainedJ
	r.TimeS, r.EnergyJ = f.clients.Now().Seconds(), spent-f.energy.spent
	f.energy.spent = spent
	return r
}

// whyNotEnded returns why a round without further events has not ended.
func (f *Federation) whyNotEnded() string {
	if f.clients.Clock().Pending() == 0 && !f.open.timed {
		return fmt.Sprintf("round %d waits for responses that never arrive: devices are unavailable forever", f.round+1)
	}
	return beyond(fmt.Sprintf("round %d", f.round+1))
}

// aborted reports whether the run has ended within a round: it stalled, or was
// interrupted.
func (f *Federation) aborted() bool { return f.stalled != "" || f.watchdog.discarded.Load() }

// noneAvailable reports whether a round that begins now has no device to ask and no late
// response to wait for. A round that waits for all devices begins in any case.
func (f *Federation) noneAvailable() bool {
	n := len(f.devices)
	if f.traits.WaitsForAll && f.selector == nil {
		return false
	}
	return f.clients.Unavailable() == n && len(f.open.late) == 0
}

// openRound prepares the attempts of the devices of the round, does their local work, and
// sends the server's message.
func (f *Federation) openRound() {
	waits := f.traits.WaitsForAll
	up := 0
	for _, t := range f.open.asked {
		available := f.clients.Available(int(t))
		f.devices[t] = device{steps: f.devices[t].steps, chosen: true, dropped: !available}
		f.clients.Release(int(t))
		if available {
			up++
		} else if depleted, charged := f.clients.Depleted(int(t)); waits && depleted && !charged {
			f.stall(int(t), "has an empty battery and is never charged")
			return
		}
	}
	f.tally.dropped += len(f.open.asked) - up
	f.countCohort(up)
	f.noteUnavailable()
	f.open.reset(f)
	f.open.outstanding = up
	f.openPrivate(up)
	for _, t := range f.open.late {
		switch d := &f.devices[t]; {
		case d.responded: // since the last round
			f.countReceived(int(t))
		case f.clients.AtWork(int(t)): // not lost since
			d.dropped = false
			f.open.outstanding++
		}
	}
	if f.setup.session == nil {
		f.part.draw(f, f.open.asked)
	}
	f.openTiers()
	f.clients.OpenGroup(f.round, f.open.asked, waits)
	f.setup.Pool.For(len(f.open.asked), func(i, _ int) { f.prepare(int(f.open.asked[i])) })
	f.solve(f.open.asked)
	f.chargeAuthors()
	f.setup.Pool.For(len(f.open.asked), func(i, _ int) { f.prepareUplink(int(f.open.asked[i])) })
	f.open.expected = f.clients.SendGroup(f.open.asked)
	if !f.open.ended {
		f.protocol.Open(&f.open)
	}
}

// prepare draws the downlink and the drop of device t in this round, and limits its
// steps.
func (f *Federation) prepare(t int) {
	if s := f.setup.session; s != nil {
		s.setBytesDown(t)
	}
	f.clients.PrepareDownlink(t, f.number(t), 0)
	if f.limiter != nil {
		f.budgets[t] = int32(min(max(0, f.limiter.Steps(&f.open, t)), unlimited))
	}
}

// mustSolve reports whether device t may compute in this round. If the round waits for
// all, every device will. A device that drops may be asked again. Without rounds only
// devices that compute are listed.
func (f *Federation) mustSolve(t int) bool {
	if f.traits.WaitsForAll || f.traits.Continuous {
		return true
	}
	return f.clients.Available(t) && f.budget(t) > 0 && (!f.clients.DropsAtOnce(t) || f.setup.Config.Retries > 0)
}

// solve does the local work of those devices listed that must, on all cores. The work
// depends only on their messages, so it can be done before its virtual time.
func (f *Federation) solve(listed []int32) {
	together := f.method.About.Batched
	f.setup.Pool.For(len(listed), func(i, worker int) {
		t := int(listed[i])
		if !f.mustSolve(t) {
			return
		}
		f.devices[t].solved = true
		if !together {
			f.setWork(t, f.method.Solve(f.request(t, worker)))
		}
	})
	if together {
		f.solveTogether(listed)
	}
	f.fail(f.nonfinite.err)
	if f.watchdog.halt.Halted() {
		f.watchdog.discarded.Store(true)
		f.clients.Stop()
		return
	}
	f.reportLosses(listed)
	for _, t := range listed {
		if d := &f.devices[t]; d.solved {
			f.count.steps += int64(d.steps)
		}
	}
}

// solveTogether does the local work of those devices listed that must, in one call.
func (f *Federation) solveTogether(listed []int32) {
	var requests []algorithms.Request
	for _, t := range listed {
		if f.devices[t].solved {
			requests = append(requests, f.request(int(t), 0))
		}
	}
	if len(requests) == 0 {
		return
	}
	works := make([]algorithms.Work, len(requests))
	f.method.Batched.SolveAll(requests, works)
	for i := range works {
		f.setWork(requests[i].Device, works[i])
	}
}

// request returns the request for the local work of device t.
func (f *Federation) request(t, worker int) algorithms.Request {
	steps := algorithms.NoLimit
	if budget := f.budget(t); budget < unlimited {
		steps = int(budget)
	}
	steps = f.part.steps(t, f.setup.Rows, steps)
	return algorithms.Request{Device: t, Round: f.localRound(t), Steps: steps, Worker: worker, Stream: f.stream(t), Halt: f.watchdog.halt}
}

// setWork notes the local work of device t.
func (f *Federation) setWork(t int, work algorithms.Work) {
	f.devices[t].steps = int32(min(work.Steps, math.MaxInt32))
	f.examine(t, work.Err)
	f.clients.SetWork(t, work.FLOPs+f.exchangeFLOPs(work.Values), f.responseBytes(work.Values))
	if s := f.setup.session; s != nil {
		s.setWork(t)
	}
	if f.count.capped != nil {
		f.count.capped[t] = work.Capped
	}
}

// messageBytes returns the size of a message of so many numbers, or bytes of a method that
// counts in them.
func (f *Federation) messageBytes(amount int) float64 {
	if f.method.About.Messages.Bytes {
		return f.clients.MessageBytes(0) + float64(amount)
	}
	return f.clients.MessageBytes(amount)
}

// address sets the size of the message to each device of the round of a method whose
// messages differ.
func (f *Federation) address() {
	if !f.method.About.Messages.Differ {
		return
	}
	for _, t := range f.open.asked {
		f.clients.SetBytesDownOf(int(t), f.messageBytes(f.open.sent.To(int(t)))+f.exchangedDown())
	}
}

// usualBytes returns the usual sizes of the server's message to device t and of its
// response.
func (f *Federation) usualBytes(t int) (down, up float64) {
	if usual := f.method.About.Messages.Usual; usual != nil {
		down, up := usual(t)
		return f.messageBytes(down), f.messageBytes(up)
	}
	return f.clients.MessageBytes(f.usual) + f.exchangedDown(), f.responseBytes(f.usual)
}

// responded hears that the response of device t has arrived.
func (f *Federation) responded(t int) {
	f.devices[t].responded = true
	f.note(ResponseArrived, t, f.stepsBehind(t))
	f.reports.respond(t, f.clients.Now())
	if f.continuous() {
		f.takeResponse(t)
		return
	}
	if f.open.ended { // a late response between two rounds
		return
	}
	f.countReceived(t)
	f.open.outstanding--
	f.protocol.Responded(&f.open, t)
	f.checkExhausted()
}

// stepsBehind returns the steps of the work behind the response of device t, in all rounds of
// its hub that had one.
func (f *Federation) stepsBehind(t int) float64 {
	if f.tiers != nil {
		return float64(f.tiers.steps[t])
	}
	return float64(f.devices[t].steps)
}

// countReceived counts the response of device t for the protocol. Partial work that the
// server drops counts only where the round waits for everybody.
func (f *Federation) countReceived(t int) {
	if f.traits.WaitsForAll || !f.part.drops(t) {
		f.open.received++
	}
}

// stopExpecting takes device t from those that may still respond in this round.
func (f *Federation) stopExpecting(t int) {
	if !f.open.ended && !f.goesOn(t) {
		f.open.outstanding--
		f.clients.StopWaiting(t)
		f.checkExhausted()
	}
}

// checkExhausted calls the protocol when no further response can arrive in the round.
func (f *Federation) checkExhausted() {
	if f.open.outstanding <= 0 {
		f.protocol.Exhausted(&f.open)
	}
}

// end ends the open round.
func (f *Federation) end() {
	f.open.ended = true
	f.clients.Stop()
}

// countResponses decides whether the server takes the responses of the round: all of
// them, or none if they are too few.
func (f *Federation) countResponses() {
	responses := 0
	for _, t := range f.all() {
		if f.devices[t].responded && !f.part.drops(int(t)) {
			responses++
		}
	}
	f.open.enough = responses >= f.setup.Config.MinReports && f.unmasks()
}

// takes reports whether the server takes a response of device t in the round that closes.
func (f *Federation) takes(t int) bool {
	d := &f.devices[t]
	return d.chosen && d.responded && f.open.enough && !f.part.drops(t)
}

// close ends the round. The server takes the updates that it has received, in device
// order. All other work is discarded on both sides, or continues under a protocol that
// takes late responses.
func (f *Federation) close() {
	f.clients.StopServerTimer()
	all := f.all()
	defer f.clients.Flush()
	f.closeTiers()
	f.open.late = f.open.late[:0]
	f.weighLate(all)
	for _, t := range all {
		d := &f.devices[t]
		fresh := f.askedIn(int(t)) == f.round // it was asked in this round
		switch {
		case f.takes(int(t)):
			if d.solved { // otherwise its hub has taken its work before
				f.commit(int(t))
			}
			f.take(int(t))
		case d.responded:
			f.method.Discard(int(t))
			f.note(UpdateRefused, int(t), 0)
			if f.part.drops(int(t)) {
				f.tally.refused++
				f.note(ResponseLate, int(t), 0)
			}
		case !d.dropped && f.traits.Late && f.clients.AtWork(int(t)):
			f.open.late = append(f.open.late, t)
			if fresh {
				f.tally.late++
				f.note(ResponseLate, int(t), 0)
			}
			continue
		default:
			f.endAttempt(int(t), fresh)
		}
		d.chosen = false
	}
	f.protocol.Close(&f.open)
}

// endAttempt ends the attempt of device t, whose response has not arrived.
func (f *Federation) endAttempt(t int, fresh bool) {
	d := &f.devices[t]
	if d.solved {
		f.method.Discard(t)
	}
	f.clients.StopTimer(t)
	switch {
	case f.clients.Paused(t):
		f.markDropped(t, clients.BecameUnavailable)
	case !d.dropped && fresh:
		f.tally.late++
		f.note(ResponseLate, t, 0)
	}
	f.clients.Cancel(t)
}

// beginRound opens a round of the method and returns the size of its message.
func (f *Federation) beginRound() int {
	var err error
	f.open.sent, err = f.method.Begin()
	f.fail(err)
	return f.open.sent.Size
}

// endRound closes a round of the method and returns the server's work.
func (f *Federation) endRound() float64 {
	flops, err := f.method.End()
	f.fail(err)
	return flops
}

// commit makes the work of device t final.
func (f *Federation) commit(t int) {
	f.refuseNonFinite(t)
	f.method.Commit(t, f.weight(t))
	f.countCapped(t)
}

// weight returns the factor of the update of device t.
func (f *Federation) weight(t int) float64 {
	factor := f.lateFactor(t)
	if f.weigher == nil {
		return factor
	}
	return factor * f.weigher.Weight(&f.open, t)
}

// countCapped counts an update of capped work that the server has taken.
func (f *Federation) countCapped(t int) {
	if f.count.capped != nil && f.count.capped[t] {
		f.count.taken++
	}
}
