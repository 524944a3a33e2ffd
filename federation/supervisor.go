package federation

import (
	"context"
	"fmt"
	"sync/atomic"

	"fedsim/clients"
	"fedsim/engine"
)

// The events of a run need not end: availability traces have no end, and a round may
// take years. So the server checks the run from time to time.
const (
	// checkEvery is how many events pass between two checks.
	checkEvery = clients.WatchEvery
	// overtimeEvents is how many events, besides 8 for each device, an interrupted run
	// spends on the end of its round. It takes a second at most.
	overtimeEvents = 1 << 20
	// A wait for clients is given up after mostSpans times the longest trace, and after
	// mostEvents: recorded behavior repeats, so that nothing new is expected after
	// that.
	mostSpans  = 10
	mostEvents = 1 << 24
)

// supervisor ends runs that were interrupted, or that cannot be completed.
type supervisor struct {
	server    *Server
	ctx       context.Context
	stalled   string      // why the run cannot continue; empty: it can
	discarded atomic.Bool // the run was interrupted, and its round is discarded
	checkedAt int64       // the number of events before the last check of all devices
	overtime  int         // the number of events since the interruption
	awaited   awaited
}

// awaited is the state of a server that waits for federation.min_available clients before a
// round.
type awaited struct {
	open   bool // the server waits
	began  engine.Time
	events int64 // the number of events before the wait
	most   int   // the most clients that were available at the same time
}

// stall ends the run: it can never be completed.
func (v *supervisor) stall(why string) {
	v.stalled = why
	v.server.clients.Stop()
}

// aborted reports whether the run has ended within a round: it stalled, or was interrupted.
func (v *supervisor) aborted() bool { return v.stalled != "" || v.discarded.Load() }

// discard ends the run: it was interrupted, and its round is discarded.
func (v *supervisor) discard() {
	v.discarded.Store(true)
	v.server.clients.Stop()
}

// interrupted reports whether the run was interrupted. The round is then discarded.
func (v *supervisor) interrupted() bool {
	if v.ctx.Err() == nil {
		return false
	}
	v.discarded.Store(true)
	return true
}

// watch checks whether the run was interrupted and its round does not end, and whether
// its round can ever end.
func (v *supervisor) watch() {
	f := v.server
	if v.ctx.Err() != nil {
		if v.overtime += checkEvery; v.overtime > overtimeEvents+8*f.clients.Known() {
			v.discarded.Store(true)
		}
	}
	if v.discarded.Load() {
		f.clients.Stop()
		return
	}
	if v.awaited.open {
		v.checkAwaited()
		return
	}
	if f.open.ended {
		return
	}
	switch {
	case f.continuous != nil:
		if v.noneEverAvailable() {
			v.stalled = v.whyNoneAvailable()
		}
	case f.traits.WaitsForAll && v.dueForCheck():
		for _, t := range f.Listed() {
			if f.attempts.needsResponse(int(t)) && f.clients.NeverAvailable(int(t)) {
				f.attempts.stall(int(t), f.clients.Obstacle(int(t)).String())
				break
			}
		}
	}
	if v.stalled != "" {
		f.clients.Stop()
	}
}

// dueForCheck reports whether as many events have passed since the last check of all
// devices as there are devices, so that another check costs no more than the events.
func (v *supervisor) dueForCheck() bool {
	events := v.server.clients.Events()
	if events-v.checkedAt < int64(v.server.clients.Known())+checkEvery {
		return false
	}
	v.checkedAt = events
	return true
}

// noneEverAvailable reports whether no device will ever be available again. It returns
// false between two checks.
func (v *supervisor) noneEverAvailable() bool { return v.dueForCheck() && v.everAvailable() == 0 }

// everAvailable returns how many clients are or can be available again, or have a response
// that the server has not seen.
func (v *supervisor) everAvailable() (possible int) {
	if v.server.setup.Lazy { // its clients come back
		return v.server.setup.Clients
	}
	for t := range v.server.setup.Clients {
		if !v.server.clients.NeverAvailable(t) || v.server.clients.Held(t) {
			possible++
		}
	}
	return possible
}

// whyNoneAvailable returns why no device will ever be available again.
func (v *supervisor) whyNoneAvailable() string {
	return v.explain("no device can ever be reached again", v.everyone())
}

// everyone lists all clients.
func (v *supervisor) everyone() []int32 {
	all := make([]int32, v.server.setup.Clients)
	for t := range all {
		all[t] = int32(t)
	}
	return all
}

// explain adds to what happens which obstacles clients have whose responses do not come.
func (v *supervisor) explain(what string, listed []int32) string {
	f := v.server
	var count [clients.ObstacleCount]int
	for _, t := range listed {
		if d := f.attempts.device(int(t)); !d.chosen || !d.responded {
			count[f.clients.Obstacle(int(t))]++
		}
	}
	if n := count[clients.NeverCharged]; n > 0 && n == f.setup.Clients {
		return "every device's battery is empty and none is ever charged"
	}
	separator := ": "
	for o := clients.NoObstacle + 1; o < clients.ObstacleCount; o++ {
		switch count[o] {
		case 0:
			continue
		case 1:
			what += separator + "1 device " + o.String()
		default:
			what += fmt.Sprintf("%s%d devices %s", separator, count[o], o.Plural())
		}
		separator = ", "
	}
	return what
}

func (v *supervisor) numberAvailable() int {
	return v.server.setup.Clients - v.server.clients.Unavailable()
}

// AwaitAvailable lets time pass until federation.min_available clients are available.
func (f *Server) AwaitAvailable() {
	v, least := &f.supervisor, f.setup.Config.MinAvailable
	if v.numberAvailable() >= least {
		return
	}
	ended := f.open.ended
	f.open.ended = true // responses of late clients are those between two rounds
	v.awaited = awaited{began: f.clients.Now(), events: f.clients.Events(), most: v.numberAvailable()}
	for v.numberAvailable() < least && !v.aborted() {
		v.awaited.open = true
		f.clock.RunUntil(engine.Never)
		if v.awaited.open && !v.aborted() { // nothing happens any more
			v.stalled = v.whyTooFew()
		}
		v.awaited.open = false
		if !v.aborted() {
			f.clock.RunUntil(f.clients.Now()) // others may become available at the same instant
		}
	}
	f.open.ended = ended
	if f.round == 0 {
		f.accounts.census.began = f.clients.Now()
	}
}

// seeAvailable hears that a client has become available while the server waits.
func (v *supervisor) seeAvailable() {
	have := v.numberAvailable()
	v.awaited.most = max(v.awaited.most, have)
	if have < v.server.setup.Config.MinAvailable {
		return
	}
	v.awaited.open = false
	v.server.clock.Stop()
}

// checkAwaited ends a wait for clients that has no end.
func (v *supervisor) checkAwaited() {
	if !v.dueForCheck() {
		return
	}
	f := v.server
	possible := v.everAvailable()
	span := f.setup.TraceSpan
	seen := span > 0 && (f.clients.Now()-v.awaited.began)/mostSpans >= span
	if possible < f.setup.Config.MinAvailable || seen || f.clients.Events()-v.awaited.events > mostEvents {
		v.stall(v.whyTooFew())
	}
}

// whyTooFew returns why a wait for clients was given up.
func (v *supervisor) whyTooFew() string {
	return fmt.Sprintf("federation.min_available = %d clients were not available at the same time in %.3g s of waiting, at most %d were", v.server.setup.Config.MinAvailable, (v.server.clients.Now() - v.awaited.began).Seconds(), v.awaited.most)
}

// beyond returns the message about an end that virtual time does not reach.
func beyond(what string) string {
	return fmt.Sprintf("%s would end after more than 292 years, where virtual time ends", what)
}
