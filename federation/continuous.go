package federation

import (
	"fmt"
	"slices"

	"fedsim/engine"
	"fedsim/internal/rng"
)

// continuousServer is the state of a server without rounds.
type continuousServer struct {
	started   bool
	free      int     // clients that the server may ask besides those at work
	unsolved  []int32 // clients that were sent a model and have not done their work
	draws     int     // of clients
	failures  int     // attempts that have failed since the last response
	busyUntil engine.Time
}

// continuous reports whether the server takes every response when it arrives.
func (f *Federation) continuous() bool { return f.traits.Continuous }

// openContinuous opens a round of a run without rounds: a part of it in the results.
func (f *Federation) openContinuous() {
	f.open.reset(f)
	if f.async.started {
		return
	}
	f.async.started = true
	f.async.free = f.wanted
	f.choose()
	for _, t := range f.open.asked {
		f.askIfIdle(int(t))
	}
	f.clients.Flush()
}

// askIfIdle asks device t if the server may ask one more and t is available and idle.
func (f *Federation) askIfIdle(t int) {
	if f.async.free > 0 && f.clients.Idle(t) {
		f.async.free--
		f.ask(t)
	}
}

// ask sends device t the present model.
func (f *Federation) ask(t int) {
	d := &f.devices[t]
	d.chosen, d.solved, d.responded, d.dropped = true, false, false, false
	size, err := f.method.Asynchronous.Send(t)
	f.fail(err)
	f.clients.SetBytesDown(f.messageBytes(size))
	f.clients.PrepareDownlink(t, f.clients.Number(t)+1, 0)
	f.async.unsolved = append(f.async.unsolved, int32(t))
	if f.clients.DropsAnywhere(t) { // the phase depends on the work
		f.solvePending()
	}
	f.prepareUplink(t)
	f.clients.Send(t)
}

// solvePending does the local work of all devices that were sent a model and have not
// done it. The models are fixed, so the work of all is done on all cores when the first
// device must.
func (f *Federation) solvePending() {
	work := f.async.unsolved[:0]
	for _, t := range f.async.unsolved {
		if !f.clients.Failed(int(t)) {
			work = append(work, t)
		}
	}
	f.solve(work)
	for _, t := range work {
		f.prepareUplink(int(t))
	}
	f.async.unsolved = f.async.unsolved[:0]
}

// takeResponse takes the response of device t and asks another device afterwards.
func (f *Federation) takeResponse(t int) {
	f.async.failures = 0
	taken, flops, err := f.method.Asynchronous.Receive(t)
	f.fail(err)
	if taken {
		f.refuseNonFinite(t)
		f.countCapped(t)
		f.take(t)
	} else {
		f.tally.late++
		f.note(UpdateRefused, t, 0)
		f.note(ResponseLate, t, 0)
	}
	f.devices[t].chosen = false
	if at := f.serverDoneAt(flops); at > f.clients.Now() {
		f.clients.SetTimer(t, at)
	} else {
		f.askAnother(t)
	}
	f.open.received++
	f.protocol.Responded(&f.open, t)
}

// serverDoneAt returns when the server has done some work. It works in order of arrival.
func (f *Federation) serverDoneAt(flops float64) engine.Time {
	if speed := f.setup.Config.ServerGFLOPS * 1e9; speed > 0 {
		f.async.busyUntil = max(f.async.busyUntil, f.clients.Now()).Add(engine.FromSeconds(flops / speed))
		if f.async.busyUntil == engine.Never {
			f.stalled = beyond("the work of the server (federation.server_gflops)")
			f.clients.Stop()
		}
	}
	return f.async.busyUntil
}

// discardAttempt discards the attempt of device t, which has failed, and asks another
// device.
func (f *Federation) discardAttempt(t int) {
	d := &f.devices[t]
	if d.solved {
		f.method.Discard(t)
	} else if i := slices.Index(f.async.unsolved, int32(t)); i >= 0 {
		f.async.unsolved = slices.Delete(f.async.unsolved, i, i+1)
	}
	f.clients.Release(t)
	d.chosen = false
	if f.async.failures++; f.async.failures > 1000*len(f.devices)+100_000 {
		f.stalled = fmt.Sprintf("no response has arrived in %d attempts", f.async.failures)
		f.clients.Stop()
		return
	}
	f.askAnother(t)
}

// askAnother asks a device in place of t: t itself when all devices are asked at a time,
// or one drawn from the idle ones.
func (f *Federation) askAnother(t int) {
	f.async.free++
	if f.wanted == len(f.devices) {
		f.askIfIdle(t)
		return
	}
	f.async.draws++
	s := rng.New(f.setup.Seed, rng.Selection, -1, f.async.draws)
	t = s.IntN(len(f.devices))
	// One of the first draws is usually idle; otherwise it is the next one after the last.
	for range 32 {
		if f.clients.Idle(t) {
			break
		}
		t = s.IntN(len(f.devices))
	}
	for range f.devices {
		if f.clients.Idle(t) {
			f.askIfIdle(t)
			return
		}
		t = (t + 1) % len(f.devices)
	}
}
