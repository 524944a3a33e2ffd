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
	setup     *Setup
	clients   *clients.Clients
	clock     Clock
	attempts  *attempts
	open      *OpenRound
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
func (s *supervisor) stall(why string) {
	s.stalled = why
	s.clients.Stop()
}

// stallFor ends the run: the round can never be completed without a device.
func (s *supervisor) stallFor(client int, why string) {
	s.stall(fmt.Sprintf("device %d %s, and protocol %q waits for it", client, why, s.setup.Config.Protocol))
}

// aborted reports whether the run has ended within a round: it stalled, or was interrupted.
func (s *supervisor) aborted() bool { return s.stalled != "" || s.discarded.Load() }

// discard ends the run: it was interrupted, and its round is discarded.
func (s *supervisor) discard() {
	s.discarded.Store(true)
	s.clients.Stop()
}

// interrupted reports whether the run was interrupted. The round is then discarded.
func (s *supervisor) interrupted() bool {
	if s.ctx.Err() == nil {
		return false
	}
	s.discarded.Store(true)
	return true
}

// watch checks whether the run was interrupted and its round does not end, and whether
// its round can ever end.
func (s *supervisor) watch() {
	c := s.clients
	if s.ctx.Err() != nil {
		if s.overtime += checkEvery; s.overtime > overtimeEvents+8*c.Known() {
			s.discarded.Store(true)
		}
	}
	if s.discarded.Load() {
		c.Stop()
		return
	}
	if s.awaited.open {
		s.checkAwaited()
		return
	}
	if s.open.ended {
		return
	}
	switch traits := s.attempts.traits; {
	case traits.Continuous:
		if s.noneEverAvailable() {
			s.stalled = s.whyNoneAvailable()
		}
	case traits.WaitsForAll && s.dueForCheck():
		for _, client := range s.open.listed() {
			if s.attempts.needsResponse(int(client)) && c.NeverAvailable(int(client)) {
				s.stallFor(int(client), c.Obstacle(int(client)).String())
				break
			}
		}
	}
	if s.stalled != "" {
		c.Stop()
	}
}

// dueForCheck reports whether as many events have passed since the last check of all
// devices as there are devices, so that another check costs no more than the events.
func (s *supervisor) dueForCheck() bool {
	events := s.clients.Events()
	if events-s.checkedAt < int64(s.clients.Known())+checkEvery {
		return false
	}
	s.checkedAt = events
	return true
}

// noneEverAvailable reports whether no device will ever be available again. It returns
// false between two checks.
func (s *supervisor) noneEverAvailable() bool { return s.dueForCheck() && s.everAvailable() == 0 }

// everAvailable returns how many clients are or can be available again, or have a response
// that the server has not seen.
func (s *supervisor) everAvailable() (possible int) {
	if s.setup.Lazy { // its clients come back
		return s.setup.Clients
	}
	for client := range s.setup.Clients {
		if !s.clients.NeverAvailable(client) || s.clients.Held(client) {
			possible++
		}
	}
	return possible
}

// whyNoneAvailable returns why no device will ever be available again.
func (s *supervisor) whyNoneAvailable() string {
	return s.explain("no device can ever be reached again", s.everyone())
}

// everyone lists all clients.
func (s *supervisor) everyone() []int32 {
	all := make([]int32, s.setup.Clients)
	for client := range all {
		all[client] = int32(client)
	}
	return all
}

// explain adds to what happens which obstacles clients have whose responses do not come.
func (s *supervisor) explain(what string, listed []int32) string {
	var count [clients.ObstacleCount]int
	for _, client := range listed {
		if d := s.attempts.device(int(client)); !d.chosen || !d.responded {
			count[s.clients.Obstacle(int(client))]++
		}
	}
	if n := count[clients.NeverCharged]; n > 0 && n == s.setup.Clients {
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

func (s *supervisor) numberAvailable() int {
	return s.setup.Clients - s.clients.Unavailable()
}

// AwaitAvailable lets time pass until federation.min_available clients are available.
func (s *Server) AwaitAvailable() {
	v, least := &s.supervisor, s.setup.Config.MinAvailable
	if v.numberAvailable() >= least {
		return
	}
	ended := s.open.ended
	s.open.ended = true // responses of late clients are those between two rounds
	v.awaited = awaited{began: s.clients.Now(), events: s.clients.Events(), most: v.numberAvailable()}
	for v.numberAvailable() < least && !v.aborted() {
		v.awaited.open = true
		s.clock.RunUntil(engine.Never)
		if v.awaited.open && !v.aborted() { // nothing happens any more
			v.stalled = v.whyTooFew()
		}
		v.awaited.open = false
		if !v.aborted() {
			s.clock.RunUntil(s.clients.Now()) // others may become available at the same instant
		}
	}
	s.open.ended = ended
	if s.round == 0 {
		s.accounts.census.began = s.clients.Now()
	}
}

// seeAvailable hears that a client has become available while the server waits.
func (s *supervisor) seeAvailable() {
	have := s.numberAvailable()
	s.awaited.most = max(s.awaited.most, have)
	if have < s.setup.Config.MinAvailable {
		return
	}
	s.awaited.open = false
	s.clock.Stop()
}

// checkAwaited ends a wait for clients that has no end.
func (s *supervisor) checkAwaited() {
	if !s.dueForCheck() {
		return
	}
	possible := s.everAvailable()
	span := s.setup.TraceSpan
	seen := span > 0 && (s.clients.Now()-s.awaited.began)/mostSpans >= span
	if possible < s.setup.Config.MinAvailable || seen || s.clients.Events()-s.awaited.events > mostEvents {
		s.stall(s.whyTooFew())
	}
}

// whyTooFew returns why a wait for clients was given up.
func (s *supervisor) whyTooFew() string {
	return fmt.Sprintf("federation.min_available = %d clients were not available at the same time in %.3g s of "+
		"waiting, at most %d were", s.setup.Config.MinAvailable,
		(s.clients.Now() - s.awaited.began).Seconds(), s.awaited.most)
}

// beyond returns the message about an end that virtual time does not reach.
func beyond(what string) string {
	return fmt.Sprintf("%s would end after more than 292 years, where virtual time ends", what)
}
