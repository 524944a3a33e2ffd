package clients

import (
	"fedsim/engine"
	"fedsim/internal/tools/roster"
)

// limits give up tries whose response takes too long. A nil *limits gives up none.
type limits struct {
	clock    *engine.Engine
	each     *roster.Column[uint32] // the counter of the event of the last try that has one
	after    engine.Time
	listener *Listener
}

func newLimits(s *Setup, p *population, clock *engine.Engine, l *Listener) *limits {
	if s.AnswerTimeout == 0 {
		return nil
	}
	return &limits{clock: clock, each: roster.NewColumn[uint32](p.roster, nil), after: s.AnswerTimeout, listener: l}
}

// limit schedules the end of a try that begins now, and returns the instant until which the server waits: that end, or
// when the response is due if nobody gives the try up.
func (l *limits) limit(client int, due engine.Time) engine.Time {
	if l == nil {
		return due
	}
	l.clock.CancelSeq(client, *l.each.At(client))
	if !l.listener.Needed(client) {
		return due
	}
	at := l.clock.Now().Add(l.after)
	*l.each.At(client) = l.clock.Schedule(at, EventTimer, client).Seq()
	return at
}

// fires reports whether an event is the end of a client's try.
func (l *limits) fires(client int, seq uint32) bool {
	return l != nil && *l.each.At(client) == seq
}

// giveUp gives up the try of a client, if it is at work: a response that lies at the server has come in time.
func (c *Clients) giveUp(client int) {
	d := c.at(client)
	if !c.AtWork(client) || d.is(unseen) {
		return
	}
	if d.working() {
		c.leave(client, false)
	}
	d.set(onHold, false)
	c.fail(client, TimedOut)
}
