package federation

import (
	"fmt"

	"fedsim/clients"
)

// The events of a run need not come to an end: devices come and go by a trace
// without end, though none may ever answer again, or a round may take years. So the
// run is looked at from time to time.
const (
	// lookEvery is how many events pass between two looks.
	lookEvery = clients.WatchEvery
	// patience is how many events, besides some for each device, an interrupted run
	// spends on the end of its round. A second at most passes.
	patience = 1 << 20
)

// watch looks at the run when enough events have passed: whether it was interrupted
// and its round does not end, and whether its round can ever end.
func (f *Federation) watch() {
	if f.ctx.Err() != nil {
		if f.overtime += lookEvery; f.overtime > patience+8*len(f.devices) {
			f.cut.Store(true)
		}
	}
	if f.cut.Load() {
		f.clients.Stop()
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
	case f.traits.WaitsForAll && f.overdue():
		for t := range f.devices {
			if f.owes(t) && f.clients.NeverAvailable(t) {
				f.stall(t, "can never be reached again")
				break
			}
		}
	}
	if f.stalled != "" {
		f.clients.Stop()
	}
}

// overdue reports whether as many events have passed since all devices were looked
// at as there are devices, so that looking at them again costs no more.
func (f *Federation) overdue() bool {
	if f.clients.Events()-f.looked < int64(len(f.devices)+lookEvery) {
		return false
	}
	f.looked = f.clients.Events()
	return true
}

// despairs reports whether no device can ever take part again. It looks now and then,
// and says no in between.
func (f *Federation) despairs() bool {
	if !f.overdue() {
		return false
	}
	for t := range f.devices {
		if !f.clients.NeverAvailable(t) {
			return false
		}
	}
	return true
}

// forlorn says why no device can ever take part again.
func (f *Federation) forlorn() string {
	for t := range f.devices {
		if empty, _ := f.clients.Depleted(t); !empty {
			return "no device can ever be reached again"
		}
	}
	return "every device's battery is empty and none is ever charged"
}

// beyond says that something would end where virtual time has ended.
func beyond(what string) string {
	return fmt.Sprintf("%s would end after more than 292 years, where virtual time ends", what)
}

// giveUp ends a loop over virtual time, with the round that it is part of, when the run
// was interrupted.
func (f *Federation) giveUp() bool {
	if f.ctx.Err() == nil {
		return false
	}
	f.cut.Store(true)
	return true
}
