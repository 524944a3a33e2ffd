package federation

import (
	"fmt"
	"slices"

	"fedsim/engine"
	"fedsim/internal/rng"
)

// asynchronous reports whether the server takes every answer when it comes.
func (f *Federation) asynchronous() bool { return f.traits.Continuous }

// listen begins a stretch of an asynchronous run that the tables call a round: it
// ends with as many answers as devices are asked at a time.
func (f *Federation) listen() {
	f.open = Round{f: f}
	if f.listening {
		return
	}
	f.listening = true
	f.free = f.wanted
	f.choose()
	for _, t := range f.chosen {
		f.fill(int(t))
	}
	f.clients.Flush()
}

// fill asks device t for an answer when the server wants one more, and t can be
// reached and has nothing to do.
func (f *Federation) fill(t int) {
	if f.free > 0 && f.vacant(t) {
		f.free--
		f.ask(t)
	}
}

// vacant reports whether device t can be asked.
func (f *Federation) vacant(t int) bool { return f.clients.Idle(t) }

// ask sends device t the present model.
func (f *Federation) ask(t int) {
	d := &f.devices[t]
	d.chosen, d.solved, d.answered, d.dropped = true, false, false, false
	f.clients.SetBytesDown(f.clients.MessageBytes(f.sendModel(t)))
	f.clients.PrepareDownlink(t, f.clients.Number(t)+1, 0)
	f.unsolved = append(f.unsolved, int32(t))
	if f.clients.DropsAnywhere(t) { // where depends on the work
		f.solvePending()
	}
	f.prepareUplink(t)
	f.clients.Send(t)
}

// solvePending does the local work of all devices that have been sent a model
// and not worked on it: what they were sent is fixed, so that they can be solved
// together, on all cores, when the first of them must be.
func (f *Federation) solvePending() {
	work := f.unsolved[:0]
	for _, t := range f.unsolved {
		if !f.clients.Failed(int(t)) {
			work = append(work, t)
		}
	}
	f.solve(work)
	for _, t := range work {
		f.prepareUplink(int(t))
	}
	f.unsolved = f.unsolved[:0]
}

// apply lets the server take the answer of device t, and ask for another when it
// has done so.
func (f *Federation) apply(t int) {
	f.fruitless = 0
	taken, flops := f.receive(t)
	if taken {
		f.tally.taken++
		f.note(UpdateTaken, t, 0)
	} else {
		f.tally.late++
		f.note(UpdateRefused, t, 0)
		f.note(ResponseLate, t, 0)
	}
	f.devices[t].chosen = false
	if at := f.busy(flops); at > f.clients.Now() {
		f.clients.SetTimer(t, at)
	} else {
		f.another(t)
	}
	f.open.received++
	f.protocol.Responded(&f.open, t)
}

// busy returns when the server has done some work, which it begins when what it
// was given before is done.
func (f *Federation) busy(flops float64) engine.Time {
	if speed := f.setup.Config.ServerGFLOPS * 1e9; speed > 0 {
		f.busyUntil = max(f.busyUntil, f.clients.Now()).Add(engine.FromSeconds(flops / speed))
		if f.busyUntil == engine.Never {
			f.stalled = beyond("the work of the server (federation.server_gflops)")
			f.clients.Stop()
		}
	}
	return f.busyUntil
}

// forget drops the answer of device t, whose attempt is lost.
func (f *Federation) forget(t int) {
	d := &f.devices[t]
	if d.solved {
		f.discard(t)
	} else if i := slices.Index(f.unsolved, int32(t)); i >= 0 { // the list is of those that are sent something now
		f.unsolved = slices.Delete(f.unsolved, i, i+1)
	}
	f.clients.Release(t)
	d.chosen = false
	if f.fruitless++; f.fruitless > 1000*len(f.devices)+100_000 {
		f.stalled = fmt.Sprintf("no answer has come in %d attempts", f.fruitless)
		f.clients.Stop()
		return
	}
	f.another(t)
}

// another asks for the answer that takes the place of that of device t: t itself
// when all devices are asked at a time, one drawn from those that have nothing to
// do otherwise.
func (f *Federation) another(t int) {
	f.free++
	if f.wanted == len(f.devices) {
		f.fill(t)
		return
	}
	f.draws++
	s := rng.New(f.setup.Seed, rng.Selection, -1, f.draws)
	t = s.IntN(len(f.devices))
	// Mostly one of the first few draws is vacant; else the next one after the last.
	for range 32 {
		if f.vacant(t) {
			break
		}
		t = s.IntN(len(f.devices))
	}
	for range f.devices {
		if f.vacant(t) {
			f.fill(t)
			return
		}
		t = (t + 1) % len(f.devices)
	}
}
