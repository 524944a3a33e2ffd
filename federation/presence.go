package federation

import (
	"fedsim/devices"
	"fedsim/engine"
)

// appear begins the presence of every device.
func (f *Federation) appear() {
	if f.setup.Presence == nil {
		return
	}
	for t := range f.devices {
		if present, _ := f.look(t); !present {
			if f.reachable(t) {
				f.absent++
			}
			f.devices[t].away = true
			f.note(GoneAway, t, 0)
		}
	}
}

// look reports whether device t is present, and whether that may change, and sees to
// it that the next look comes in time.
func (f *Federation) look(t int) (present, changes bool) {
	present, until := f.setup.Presence.Available(t, f.clock.Now())
	if changes = until != engine.Never; changes {
		f.clock.Schedule(until, flip, t)
	}
	return present, changes
}

// flip lets device t go away or come back.
func (f *Federation) flip(t int) {
	d := &f.devices[t]
	present, changes := f.look(t)
	if present != d.away {
		if d.paused && !changes { // it is away for good
			f.lose(t, Away)
		}
		return
	}
	before := f.reachable(t)
	d.away = !present
	if present {
		f.note(BackAgain, t, 0)
	} else {
		f.note(GoneAway, t, 0)
	}
	f.recount(t, before)
	switch {
	case d.phase == flat: // gone already, and still
	case present:
		f.reappear(t)
	default:
		f.vanish(t, changes)
	}
}

// recount counts device t among those that cannot be reached, which it was one of
// before or not.
func (f *Federation) recount(t int, reachable bool) {
	switch now := f.reachable(t); {
	case reachable && !now:
		f.absent++
	case now && !reachable:
		f.absent--
	}
}

// vanish interrupts what device t is doing, which may come back or never does.
func (f *Federation) vanish(t int, comes bool) {
	d := &f.devices[t]
	if !d.working() {
		return
	}
	f.leave(t, false)
	if comes && f.setup.Faults.OnReturn == devices.Resume {
		d.paused = true
		f.draw(t, f.fleet.IdlePower(t))
		return
	}
	f.lose(t, Away)
}

// reappear lets device t, which has come back, go on with what it was doing, or
// with what the server has been waiting for.
func (f *Federation) reappear(t int) {
	if d := &f.devices[t]; d.paused {
		d.paused = false
		f.proceed(t)
		return
	}
	f.greet(t)
}

// greet lets the server ask device t, of which something has changed that kept it
// from working, for what it has been waiting for.
func (f *Federation) greet(t int) {
	switch {
	case !f.vacant(t): // still kept from it, or at it, or the server will ask when the answer is due
	case f.asynchronous():
		f.fill(t)
	case f.owes(t):
		f.retry(t)
	}
}

// owes reports whether the round cannot end without an answer of device t that has
// not come.
func (f *Federation) owes(t int) bool {
	d := &f.devices[t]
	return f.setup.Config.Protocol == WaitForAll && d.chosen && !d.answered
}
