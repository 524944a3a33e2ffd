package federation

import (
	"fmt"
	"math"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/engine"
	"fedsim/internal/rng"
)

// unlimited is a budget that leaves the amount of work to the method.
const unlimited = math.MaxInt32

// budget returns how many steps device t may take for the response that it was asked
// for.
func (f *Federation) budget(t int) int32 {
	if f.budgets == nil {
		return unlimited
	}
	return f.budgets[t]
}

// sentAs returns which of the models that the server sends is for device t.
func (f *Federation) sentAs(t int) int {
	switch kind := f.method.About.Model; {
	case kind == algorithms.DeviceModels:
		return t
	case kind == algorithms.OneModel, kind == algorithms.PersonalModels:
		return 0
	case f.setup.Problem != nil:
		return f.setup.Problem.TaskOf(t)
	default:
		return t / max(1, f.setup.PerTask)
	}
}

// prepareUplink prepares the uplink of device t. If its work is not done yet, its length
// is estimated.
func (f *Federation) prepareUplink(t int) {
	if d := &f.devices[t]; !d.solved {
		flops := 0.0
		if f.continuous() { // the last one of the device
			flops, _ = f.clients.Work(t)
		}
		_, bytesUp := f.usualBytes(t)
		f.clients.SetWork(t, flops, bytesUp)
	}
	f.clients.PrepareUplink(t)
}

// downloaded hears that the message of device t has arrived, or was lost.
func (f *Federation) downloaded(t int) (compute bool) {
	if f.continuous() {
		f.solvePending()
	}
	return f.budget(t) != 0
}

// failed hears that the attempt of device t brings no response. The server notices
// when the response is overdue, but at once when the device has no time to compute, or
// its battery is depleted.
func (f *Federation) failed(t int, why clients.Reason) {
	switch why {
	case clients.BatteryDepleted: // see depleted
	case clients.NoTime:
		f.stopExpecting(t)
	default:
		f.markDropped(t, why)
		if f.asksAgain(f.clients.Try(t)) {
			f.clients.SetTimer(t, f.clients.Due(t))
		} else {
			f.stopExpecting(t)
		}
	}
}

// depleted hears that the battery of device t is empty.
func (f *Federation) depleted(t int, pending bool) {
	if d := &f.devices[t]; !d.chosen || d.responded || f.clients.Held(t) {
		return
	}
	f.markDropped(t, clients.BatteryDepleted)
	switch {
	case f.continuous():
		f.discardAttempt(t)
	case !f.traits.WaitsForAll:
		if pending {
			f.stopExpecting(t)
		}
	default:
		if _, charged := f.clients.Depleted(t); !charged {
			f.stall(t, "has an empty battery and is never charged")
		}
	}
}

// recharged hears that the battery of device t is full enough again.
func (f *Federation) recharged(t int) {
	if f.needsResponse(t) && f.clients.CannotComplete(t) {
		f.stall(t, "comes back with a battery that cannot last for one attempt (devices.return_level)")
	}
}

// available hears that device t is available again, and asks it if the server needs its
// response.
func (f *Federation) available(t int) {
	switch {
	case f.awaited.open:
		f.seeAvailable()
	case f.stalled != "" || !f.clients.Idle(t): // at work, or asked when its response is overdue
	case f.continuous():
		f.askIfIdle(t)
	case f.needsResponse(t):
		f.retry(t)
	}
}

// needsResponse reports whether the round cannot end without a response of device t that has not
// come.
func (f *Federation) needsResponse(t int) bool {
	d := &f.devices[t]
	return f.traits.WaitsForAll && d.chosen && !d.responded && !f.clients.Held(t)
}

// timeout hears that a timer has run out: that of the round, or that of device t.
func (f *Federation) timeout(t int) {
	if t == engine.Server {
		f.end()
	} else {
		f.askAgain(t)
	}
}

// markDropped counts device t when it drops for the first time in this round.
func (f *Federation) markDropped(t int, why clients.Reason) {
	if d := &f.devices[t]; !d.dropped {
		d.dropped = true
		f.tally.dropped++
		f.noteWhy(ClientDropped, t, why, 0)
	}
}

// stream returns the randomness of the local work of device t.
func (f *Federation) stream(t int) rng.Stream {
	return rng.New(f.setup.Seed, rng.Solve, t, f.clients.Number(t))
}

// stall ends the run: the round can never be completed.
func (f *Federation) stall(t int, why string) {
	f.stalled = fmt.Sprintf("device %d %s, and protocol %q waits for it", t, why, f.setup.Config.Protocol)
	f.clients.Stop()
}

// fetch reads the state of devices whose events come next into caches.
func (f *Federation) fetch(soon []int32) {
	read := int64(0)
	for _, t := range soon {
		if int(t) < len(f.devices) {
			read += int64(f.devices[t].steps) + int64(f.budget(int(t)))
		}
	}
	f.fetched = read // the compiler removes reads without a use
}
