package session

import (
	"math"

	"fedsim/clients"
	"fedsim/engine"
)

// call is the driver's call that moves the clock.
type call struct {
	out     []Notice
	need    int         // the number of ends that the call still needs; below 1 the call is over
	left    int         // the number of pending messages among those that the call names
	any     bool        // the end of any message counts, not only of those named
	stopped bool        // the call is over
	limit   engine.Time // the instant up to which the clients run
	again   bool        // the clients stopped because limit became earlier
	asking  int         // the number of clients that wait for Work
	inRound bool        // the call is Round

	backlog []Notice // of Close, for the next call
}

// Wait lets virtual time pass until so many of the messages named have ended, those that
// ended before included, and returns what happened, appended to into: notices of all
// messages, in the order of time. A count of 0 stands for all. Without ids it waits for
// those that have not ended. It ends at an instant (engine.Never: at none), and as soon as
// a client waits for Work.
func (s *Session) Wait(ids []int64, count int, until engine.Time, into []Notice) ([]Notice, WaitEnd, error) {
	for _, id := range ids {
		if _, err := s.queue.place(id); err != nil {
			return into, 0, err
		}
	}
	if err := s.checkUntil(until); err != nil {
		return into, 0, err
	}
	ended := s.call.name(&s.queue, ids)
	s.call.need = s.call.left
	if count > 0 {
		s.call.need = min(count-ended, s.call.left)
	}
	if s.call.need > 0 && s.call.asking > 0 {
		s.call.unname(&s.queue, ids)
		return into, 0, s.call.openWork()
	}
	s.call.begin(&s.queue, into)
	if s.call.need > 0 {
		s.begin()
		s.run(until)
	}
	end := EndedUntil
	switch {
	case s.call.asking > 0:
		end = EndedWork
	case s.call.left == 0:
		end = EndedAll
	case s.call.need <= 0:
		end = EndedCount
	case until == engine.Never:
		end = EndedStalled
	}
	s.call.unname(&s.queue, ids)
	return s.notices(end)
}

// name marks the messages that a call names, and counts in left those that have not
// ended. It returns how many have ended.
func (c *call) name(q *queue, ids []int64) (ended int) {
	if c.any = ids == nil; c.any {
		c.left = q.open
		return len(c.backlog)
	}
	c.left = 0
	for _, id := range ids {
		switch m := q.withID(id); {
		case m.awaited: // twice
		case m.ended():
			m.awaited = true
			ended++
		default:
			m.awaited = true
			c.left++
		}
	}
	return ended
}

// unname takes the marks of name away.
func (c *call) unname(q *queue, ids []int64) {
	c.any = false
	for _, id := range ids {
		q.withID(id).awaited = false
	}
}

// begin begins the notices of a call with those that the driver does not have.
func (c *call) begin(q *queue, into []Notice) {
	c.out = append(into, c.backlog...)
	for _, n := range c.backlog {
		q.withID(n.ID).unread = false
	}
	c.backlog = c.backlog[:0]
}

// notify adds a notice for the driver.
func (c *call) notify(m *pending, kind NoticeKind, at engine.Time) {
	n := Notice{ID: m.ID, Client: m.Client, At: at, Kind: kind}
	if kind == NoticeFailure {
		n.Why = m.why
	}
	c.out = append(c.out, n)
}

// openWork is the error of a call that would move the clock while clients wait for Work.
func (c *call) openWork() error {
	return refuse(CodeOpenWork, 0, "%d messages wait for their work", c.asking)
}

// Advance lets virtual time pass until an instant, or until a client waits for Work. It
// returns what happened like Wait.
func (s *Session) Advance(until engine.Time, into []Notice) ([]Notice, WaitEnd, error) {
	if err := s.checkUntil(until); err != nil {
		return into, 0, err
	}
	if until == engine.Never {
		return into, 0, refuse(CodeValue, 0, "advance: must be until an instant")
	}
	if s.call.asking > 0 {
		return into, 0, s.call.openWork()
	}
	s.call.begin(&s.queue, into)
	s.call.need = math.MaxInt
	s.begin()
	s.run(until)
	if s.call.asking > 0 {
		return s.notices(EndedWork)
	}
	return s.notices(EndedUntil)
}

// checkUntil refuses an instant that has passed.
func (s *Session) checkUntil(until engine.Time) error {
	if now := s.Now(); until < now {
		return refuse(CodePast, 0, "until %d ns: the clock is at %d ns", int64(until), int64(now))
	}
	return nil
}

func (s *Session) notices(end WaitEnd) ([]Notice, WaitEnd, error) {
	out := s.call.out
	s.call.out = nil
	return out, end, s.aborted()
}

// aborted returns why the session cannot continue; nil when it can.
func (s *Session) aborted() error {
	switch {
	case s.server.Stalled() != "":
		return refuse(CodeStalled, 0, "%s", s.server.Stalled())
	case s.server.Aborted():
		return refuse(CodeInterrupted, 0, "interrupted in round %d", s.server.Rounds()+1)
	default:
		return nil
	}
}

// run lets virtual time pass until an instant, or until the call is over.
func (s *Session) run(until engine.Time) {
	c := s.clients
	s.call.stopped = false
	for more := true; more; {
		s.call.again, s.call.limit = false, min(until, s.timers.first())
		c.RunUntil(s.call.limit)
		more = s.call.again || s.call.limit < until
		for !s.isOver() && !s.call.again && s.timers.first() <= s.Now() {
			s.timeout(s.timers.heap[0])
			c.Flush()
			more = true
		}
		more = more && !s.isOver()
	}
	s.call.limit = engine.Never
}

// isOver reports whether the call that moves the clock is over before its time.
func (s *Session) isOver() bool {
	return s.call.stopped || s.server.Aborted() || s.call.inRound && s.server.Ended()
}

// timeout reports a failure, or an expired message, to the driver.
func (s *Session) timeout(place int32) {
	m := &s.queue.messages[place]
	if m.detected {
		s.call.notify(m, NoticeFailure, s.Now())
	} else {
		s.call.notify(m, NoticeExpired, s.Now())
		s.abandon(m)
	}
	s.end(place, over)
}

// end ends a message, and starts the next one to its device.
func (s *Session) end(place int32, ended state) {
	m := &s.queue.messages[place]
	s.queue.decide(m)
	s.timers.stop(place)
	if s.group > 0 && m.state != queued {
		s.group--
	}
	m.state = ended
	s.queue.open--
	s.queue.finished = append(s.queue.finished, place)
	if s.call.any || m.awaited {
		m.awaited = false
		s.call.left--
		if s.call.need--; s.call.need == 0 {
			driver{s}.Stop()
		}
	}
	if next := s.queue.unlink(place); next >= 0 {
		s.start(next)
	}
}

// fail hears that the attempt of a message of Send has failed. The driver learns of it later.
func (s *Session) fail(client int, why clients.Reason) {
	place := s.queue.current[client]
	m := &s.queue.messages[place]
	m.state, m.why = failed, why
	s.drop(m, why)
	if c := s.clients; s.hubs && c.Failed(client) { // its hub learns of it when the response is overdue
		c.SetTimer(client, c.Due(client))
	} else {
		c.StopWaiting(client)
	}
	s.detectAt(place)
}

// detectAt sets the timer at which the driver learns of a failure that happens now.
func (s *Session) detectAt(place int32) {
	m := &s.queue.messages[place]
	if at := s.Now().Add(s.detect); at != engine.Never && (m.Expires == 0 || at <= m.Expires) {
		m.detected = true
		s.setTimer(place, at)
	}
}

// setTimer sets the timer of a message. Clients that run past it are stopped.
func (s *Session) setTimer(place int32, at engine.Time) {
	s.timers.set(place, at)
	if at < s.call.limit {
		s.call.again = true
		s.clients.Clock().Stop() // behind all that the present event does
	}
}
