package federation

import (
	"fmt"

	"fedsim/engine"
)

// awaited is the state of a server that waits for federation.min_available clients before a
// round.
type awaited struct {
	open   bool // it waits
	began  engine.Time
	events int64 // before it
	most   int   // clients that were available at the same time
}

// A wait for clients is given up after so many times the longest trace, and after so many
// events: recorded behavior repeats, and what was not seen by then is not to be expected.
const (
	mostSpans  = 10
	mostEvents = 1 << 24
)

// numberAvailable returns how many clients are available.
func (f *Federation) numberAvailable() int { return len(f.devices) - f.clients.Unavailable() }

// canBeAsked returns how many clients are available and owe no response to an earlier round.
func (f *Federation) canBeAsked() int {
	n := f.numberAvailable()
	for _, t := range f.open.late {
		if f.clients.Available(int(t)) {
			n--
		}
	}
	return n
}

// awaitAvailable lets time pass until federation.min_available clients are available.
func (f *Federation) awaitAvailable() {
	least := f.setup.Config.MinAvailable
	if f.numberAvailable() >= least {
		return
	}
	run := f.clients.RunUntil
	if s := f.setup.session; s != nil {
		run = s.run
	}
	ended := f.open.ended
	f.open.ended = true // responses of late clients are those between two rounds
	f.awaited = awaited{began: f.clients.Now(), events: f.clients.Events(), most: f.numberAvailable()}
	for f.numberAvailable() < least && !f.aborted() {
		f.awaited.open = true
		run(engine.Never)
		if f.awaited.open && !f.aborted() { // nothing happens any more
			f.stalled = f.whyTooFew()
		}
		f.awaited.open = false
		if !f.aborted() {
			run(f.clients.Now()) // others may become available at the same instant
		}
	}
	f.open.ended = ended
	if f.round == 0 {
		f.census.began = f.clients.Now()
	}
}

// seeAvailable hears that a client has become available while the server waits.
func (f *Federation) seeAvailable() {
	have := f.numberAvailable()
	f.awaited.most = max(f.awaited.most, have)
	if have < f.setup.Config.MinAvailable {
		return
	}
	f.awaited.open = false
	if s := f.setup.session; s != nil {
		s.stop()
		return
	}
	f.clients.Stop()
}

// checkAwaited ends a wait for clients that has no end.
func (f *Federation) checkAwaited() {
	if !f.dueForCheck() {
		return
	}
	possible := 0
	for t := range f.devices {
		if !f.clients.NeverAvailable(t) {
			possible++
		}
	}
	span := f.setup.TraceSpan
	seen := span > 0 && (f.clients.Now()-f.awaited.began)/mostSpans >= span
	if possible < f.setup.Config.MinAvailable || seen || f.clients.Events()-f.awaited.events > mostEvents {
		f.stalled = f.whyTooFew()
		f.clients.Stop()
	}
}

// whyTooFew returns why a wait for clients was given up.
func (f *Federation) whyTooFew() string {
	return fmt.Sprintf("federation.min_available = %d clients were not available at the same time in %.3g s of waiting, at most %d were", f.setup.Config.MinAvailable, (f.clients.Now() - f.awaited.began).Seconds(), f.awaited.most)
}

// awaitAvailable is that of the federation before a round of the driver. While a client
// asks for its work the clock stands still.
func (s *Session) awaitAvailable() {
	if s.asking == 0 && s.unsaid == 0 {
		s.between(s.f.awaitAvailable)
	}
}
