package federation

import (
	"fmt"

	"fedsim/engine"
)

// The events of a run need not come to an end: devices come and go by a trace
// without end, though none may ever answer again, or a round may take years. So the
// run is looked at from time to time.
const (
	// lookEvery is how many events pass between two looks.
	lookEvery = 1 << 10
	// patience is how many events, besides some for each device, an interrupted run
	// spends on the end of its round. A second at most passes.
	patience = 1 << 20
)

// watch looks at the run when enough events have passed: whether it was interrupted
// and its round does not end, and whether its round can ever end.
func (f *Federation) watch() {
	if f.events++; f.events%lookEvery != 0 {
		return
	}
	if f.ctx.Err() != nil {
		if f.overtime += lookEvery; f.overtime > patience+8*len(f.devices) {
			f.cut.Store(true)
		}
	}
	if f.cut.Load() {
		f.clock.Stop()
		return
	}
	if f.ended {
		return
	}
	switch {
	case f.asynchronous():
		if f.despairs() {
			f.stalled = f.forlorn()
		}
	case f.setup.Config.Protocol == WaitForAll && f.overdue():
		for t := range f.devices {
			if f.owes(t) && f.gone(t) {
				f.stall(t, "can never be reached again")
				break
			}
		}
	}
	if f.stalled != "" {
		f.clock.Stop()
	}
}

// overdue reports whether as many events have passed since all devices were looked
// at as there are devices, so that looking at them again costs no more.
func (f *Federation) overdue() bool {
	if f.events-f.looked < int64(len(f.devices)+lookEvery) {
		return false
	}
	f.looked = f.events
	return true
}

// despairs reports whether no device can ever take part again. It looks now and then,
// and says no in between.
func (f *Federation) despairs() bool {
	if !f.overdue() {
		return false
	}
	for t := range f.devices {
		if !f.gone(t) {
			return false
		}
	}
	return true
}

// gone reports whether device t can never take part again: its battery is empty and
// never charged, or it is away for good.
func (f *Federation) gone(t int) bool {
	d := &f.devices[t]
	if d.phase == flat {
		if _, comes := f.batteries.RestoreAt(t); !comes {
			return true
		}
	}
	if !d.away {
		return false
	}
	present, until := f.setup.Presence.Available(t, f.clock.Now())
	return !present && until == engine.Never
}

// forlorn says why no device can ever take part again.
func (f *Federation) forlorn() string {
	for t := range f.devices {
		if f.devices[t].phase != flat {
			return "no device can ever be reached again"
		}
	}
	return "every device's battery is empty and none is ever charged"
}

// beyond says that something would end where virtual time has ended.
func beyond(what string) string {
	return fmt.Sprintf("%s would end after more than 292 years, where virtual time ends", what)
}

// interrupted reports whether a loop over virtual time that has taken so many steps is
// to be given up, with the round that it is part of.
func (f *Federation) interrupted(steps int) bool {
	if steps%patience != 0 || f.ctx.Err() == nil {
		return false
	}
	f.cut.Store(true)
	return true
}
