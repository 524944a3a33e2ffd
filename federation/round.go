package federation

import (
	"fmt"
	"math"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/engine"
	"fedsim/results"
)

// runRound runs one round and returns its figures, objective aside.
func (f *Federation) runRound() results.Round {
	f.open.ended = false
	f.open.began = f.clients.Now()
	f.note(RoundStarted, engine.Server, 0)
	if f.continuous() {
		f.openContinuous()
	} else {
		for f.noneAvailable() {
			// The server waits for the first device that can be reached.
			if !f.clients.Step() || f.noneEverAvailable() {
				f.stalled = f.whyNoneAvailable()
			}
			if f.aborted() {
				return results.Round{}
			}
		}
		f.clients.SetBytesDown(f.clients.MessageBytes(f.beginRound()))
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
	var thetas []results.Theta
	if !f.continuous() {
		f.clients.CloseGroup()
		f.countResponses()
		thetas = f.thetas()
		f.noteThetas(thetas)
		f.close()
		if f.serverWork(f.endRound()); f.aborted() {
			return results.Round{}
		}
	}
	traffic := f.clients.Take()
	r := results.Round{
		Outer: f.outer, Round: f.round + 1,
		Participants: f.tally.taken, Dropped: f.tally.dropped, Late: f.tally.late,
		FLOPs: traffic.FLOPs, BytesDown: traffic.BytesDown, BytesUp: traffic.BytesUp,
		Thetas: thetas,
	}
	f.tally = tally{} // what happens before the next round counts for it
	batteries := f.clients.Batteries()
	batteries.AccountAll(f.clients.Now())
	f.noteRound()
	f.round++
	// Also what was spent between the last round and this one.
	spent := batteries.Total().DrainedJ
	r.TimeS, r.EnergyJ = f.clients.Now().Seconds(), spent-f.energy.spent
	f.energy.spent = spent
	return r
}

// why says why a round that has no events left has not ended.
func (f *Federation) whyNotEnded() string {
	if f.clients.Clock().Pending() == 0 && !f.open.timed {
		return fmt.Sprintf("round %d waits for answers that never come: devices are away for ever", f.round+1)
	}
	return beyond(fmt.Sprintf("round %d", f.round+1))
}

// aborted reports whether the run has ended in the middle of a round: it stalled, or was
// interrupted and its round did not end.
func (f *Federation) aborted() bool { return f.stalled != "" || f.watchdog.discarded.Load() }

// noneAvailable reports whether a round that begins now has no device to ask and no
// answer to wait for. Under wait-for-all a round of all devices begins regardless:
// it waits for each of them anyway.
func (f *Federation) noneAvailable() bool {
	n := len(f.devices)
	if f.traits.WaitsForAll && f.selector == nil {
		return false
	}
	return f.clients.Unavailable() == n && len(f.open.late) == 0
}

// openRound chooses the devices of the round, plans it for those that can be reached,
// lets them solve, and sends the server's message. The round must not be deserted.
func (f *Federation) openRound() {
	f.choose()
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
	f.noteUnavailable()
	f.open.reset(f)
	f.open.outstanding = up
	for _, t := range f.open.late {
		switch d := &f.devices[t]; {
		case d.answered: // since the last round
			f.open.received++
		case f.clients.AtWork(int(t)): // not lost since
			d.dropped = false
			f.open.outstanding++
		}
	}
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

// plan draws what the download and the faults have in store for device t in this
// round, and decides how many steps it may take.
func (f *Federation) prepare(t int) {
	f.clients.PrepareDownlink(t, f.round, 0)
	if f.limiter != nil {
		f.budgets[t] = int32(min(max(0, f.limiter.Steps(&f.open, t)), unlimited))
	}
}

// mustSolve reports whether device t will compute in this round. Under
// wait-for-all everyone will in the end; so will who is asked again. Without
// rounds a device is only listed when it will.
func (f *Federation) mustSolve(t int) bool {
	if f.traits.WaitsForAll || f.traits.Continuous {
		return true
	}
	return f.clients.Available(t) && f.budget(t) > 0 && (!f.clients.DropsAtOnce(t) || f.setup.Config.Retries > 0)
}

// solve does the local work of those of the devices listed that must, on all
// cores. The work depends on what they are sent alone, so that it can be done
// before its virtual time has come.
func (f *Federation) solve(listed []int32) {
	f.setup.Pool.For(len(listed), func(i, worker int) {
		t := int(listed[i])
		if !f.mustSolve(t) {
			return
		}
		d := &f.devices[t]
		d.solved = true
		if f.replaying() {
			return
		}
		steps := algorithms.NoLimit
		if budget := f.budget(t); budget < unlimited {
			steps = int(budget)
		}
		work := f.method.Solve(algorithms.Request{Device: t, Steps: steps, Worker: worker, Stream: f.stream(t)})
		d.steps = int32(min(work.Steps, math.MaxInt32))
		f.clients.SetWork(t, work.FLOPs, f.clients.MessageBytes(work.Values))
		if f.count.capped != nil {
			f.count.capped[t] = work.Capped
		}
	})
	f.recordWork(listed)
	f.reportLosses(listed)
	for _, t := range listed {
		if d := &f.devices[t]; d.solved {
			f.count.steps += int64(d.steps)
		}
	}
}

// responded lets the server have the answer of device t, which has just arrived.
func (f *Federation) responded(t int) {
	f.devices[t].answered = true
	f.note(ResponseArrived, t, float64(f.devices[t].steps))
	f.reports.respond(t, f.clients.Now())
	if f.continuous() {
		f.takeResponse(t)
		return
	}
	if f.open.ended { // between two rounds: an answer that is late
		return
	}
	f.open.received++
	f.open.outstanding--
	f.protocol.Responded(&f.open, t)
	f.checkExhausted()
}

// without lets the open round do without the answer of device t.
func (f *Federation) stopExpecting(t int) {
	if !f.open.ended {
		f.open.outstanding--
		f.clients.StopWaiting(t)
		f.checkExhausted()
	}
}

// checkExhausted tells the protocol when no response can arrive any more in the round.
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

// askAgain ends the server's wait for the answer of device t: it is asked again, or
// another is in its place.
func (f *Federation) askAgain(t int) {
	switch {
	case f.continuous() && f.clients.Failed(t):
		f.discardAttempt(t)
	case f.continuous(): // it is done with the answer that it has
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

// mostAttempts is how often something is tried in one round.
const mostAttempts = 100_000

// retry asks device t again.
func (f *Federation) retry(t int) {
	if f.clients.Awaits(t) {
		return
	}
	if f.clients.Try(t)+1 == mostAttempts {
		f.stall(t, fmt.Sprintf("has been asked %d times in one round and never answered", mostAttempts))
		return
	}
	f.clients.Retry(t)
}

// countResponses decides whether the server takes the answers that the round has: all of
// them, or none when they are too few.
func (f *Federation) countResponses() {
	answers := 0
	for _, t := range f.all() {
		if f.devices[t].answered {
			answers++
		}
	}
	f.open.enough = answers >= f.setup.Config.MinReports
}

// takes reports whether the server takes an answer of device t in the round that was
// settled.
func (f *Federation) takes(t int) bool {
	d := &f.devices[t]
	return d.chosen && d.answered && f.open.enough
}

// close ends the round: the server takes the updates it has received, in device
// order, and everything else is forgotten on both sides, or goes on when late
// answers are kept.
func (f *Federation) close() {
	f.clients.StopServerTimer()
	all := f.all()
	defer f.clients.Flush()
	f.open.late = f.open.late[:0]
	for _, t := range all {
		d := &f.devices[t]
		fresh := f.clients.Number(int(t)) == f.round // it was asked in this round
		switch {
		case f.takes(int(t)):
			f.commit(int(t))
			f.tally.taken++
			f.note(UpdateTaken, int(t), 0)
		case d.answered:
			f.discard(int(t))
			f.note(UpdateRefused, int(t), 0)
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

// endAttempt ends what device t does for an answer that has not come.
func (f *Federation) endAttempt(t int, fresh bool) {
	d := &f.devices[t]
	if d.solved {
		f.discard(t)
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
