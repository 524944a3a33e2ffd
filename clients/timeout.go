package clients

import (
	"math"

	"fedsim/engine"
	"fedsim/internal/tools/roster"
	"fedsim/network"
)

// timeouts give up connections: each that lasts too long, or on which no byte moves for too long. The transfer then
// waits, and then connects again, or fails. A nil *timeouts gives up none.
//
// Transfers with timeouts are flows, see sharedLinks. One event of a client is the next timeout of its connection.
type timeouts struct {
	config      *network.TimeoutConfig
	clock       *engine.Engine
	each        *roster.Column[connection]
	whole, idle engine.Time // 0: none
	pause       engine.Time // until the next connection
	population  *population
	piece       float64 // bytes
}

// connection is the present connection of a client's transfer.
type connection struct {
	number int32         // of the transfer, from 0 on
	kept   float64       // the share of the message that has arrived before it
	began  engine.Time   // when it was opened
	quiet  engine.Time   // since when no byte moves, unless bytes move
	opens  engine.Time   // when its latency is over
	moves  engine.Time   // from when on bytes move; Never: not before its rate changes, or the client is available
	redial engine.Time   // of a client that waits: when the next connection is opened
	at     engine.Time   // when it is given up, if event is pending
	event  engine.Handle // zero: none
}

func newTimeouts(s *Setup, p *population, clock *engine.Engine) *timeouts {
	cfg := &s.Network.TimeoutConfig
	if !s.timesOut() {
		return nil
	}
	return &timeouts{
		config: cfg, clock: clock, each: roster.NewColumn[connection](p.roster, nil), population: p,
		whole: engine.FromSeconds(cfg.TimeoutS), idle: engine.FromSeconds(cfg.IdleTimeoutS),
		pause: engine.FromSeconds(cfg.ReconnectS), piece: cfg.ResumeBytes,
	}
}

// timesOut reports whether connections may be given up.
func (s *Setup) timesOut() bool { return !s.NoMessages && s.Network.TimesOut() }

// open opens a connection of a client with a number, now.
func (t *timeouts) open(client int, number int32, kept float64) {
	if t != nil {
		now := t.clock.Now()
		*t.each.At(client) = connection{number: number, kept: kept, began: now, quiet: now, moves: engine.Never}
	}
}

// dials reports whether a transfer that continues from a share of its message pays its latency: no byte has moved on
// its connection.
func (t *timeouts) dials(client int, from float64) bool {
	return from == 0 || t != nil && from == t.each.At(client).kept
}

// first reports whether a transfer of a client is on its first connection.
func (t *timeouts) first(client int) bool { return t == nil || t.each.At(client).number == 0 }

// begin lets a client move bytes after some time, at a rate that is 0 or not.
func (t *timeouts) begin(client int, delay engine.Time, moves bool) {
	if t == nil {
		return
	}
	c := t.each.At(client)
	c.opens, c.moves = t.clock.Now().Add(delay), engine.Never
	if moves {
		c.moves = c.opens
	}
	t.schedule(client, c)
}

// change records that a client moves bytes from now on, or none, after a change of its rate or its availability.
func (t *timeouts) change(client int, moves bool) {
	if t == nil {
		return
	}
	c := t.each.At(client)
	switch now := t.clock.Now(); {
	case !moves && c.moves != engine.Never:
		if c.moves <= now {
			c.quiet = now
		}
		c.moves = engine.Never
	case moves && c.moves == engine.Never:
		c.moves = max(now, c.opens)
	}
	t.schedule(client, c)
}

// watchCapacity updates which connections move bytes after a change of capacities.
func (c *Clients) watchCapacity() {
	if c.timeouts == nil {
		return
	}
	for client := range c.Len() {
		if d := c.at(client); d.working() && d.phase.transfers() {
			c.timeouts.change(client, c.flows.moves(client, d.phase.way()))
		}
	}
}

// schedule sets the event of a connection. One that has been quiet for as long as it may is given up, though bytes
// might move from this instant on.
func (t *timeouts) schedule(client int, c *connection) {
	at := engine.Never
	if t.whole > 0 {
		at = c.began.Add(t.whole)
	}
	if stop := c.quiet.Add(t.idle); t.idle > 0 && c.moves >= stop {
		at = min(at, stop)
	}
	if c.event != (engine.Handle{}) && at == c.at {
		return
	}
	t.end(client)
	if at != engine.Never {
		c.at, c.event = at, t.clock.Schedule(max(at, t.clock.Now()), EventTimer, client)
	}
}

// end ends the watch over a client's connection, which is over or waits.
func (t *timeouts) end(client int) {
	if t == nil {
		return
	}
	if c := t.each.At(client); c.event != (engine.Handle{}) {
		t.clock.Cancel(c.event)
		c.event = engine.Handle{}
	}
}

// fires reports whether an event is the timeout of a client's connection, which it forgets.
func (t *timeouts) fires(client int, seq uint32) bool {
	if t == nil {
		return false
	}
	c := t.each.At(client)
	if c.event == (engine.Handle{}) || c.event.Seq() != seq {
		return false
	}
	c.event = engine.Handle{}
	return true
}

// keeps returns which share of a message a further connection need not send, of the share that has arrived.
func (t *timeouts) keeps(m message, arrived float64) float64 {
	switch {
	case t.config.Retransmit == network.Restart || m.bytes == 0:
		return 0
	case t.piece == 0:
		return arrived
	default:
		const rounding = 1e-9
		return math.Floor(float64(arrived*m.bytes)/t.piece+rounding) * t.piece / m.bytes
	}
}

// timeOut gives up the connection of a client now.
func (c *Clients) timeOut(client int) {
	d, t := c.at(client), c.timeouts
	if d.working() {
		c.leave(client, false)
	}
	of, way := t.each.At(client), d.phase.way()
	if int(of.number) >= t.config.Resends {
		c.fail(client, TimedOut)
		return
	}
	c.setOver(client, t.keeps(c.message(client, way), c.over(client)))
	of.redial = c.Now().Add(t.pause)
	if d.phase = redialingUp; way == network.Down {
		d.phase = redialingDown
	}
	c.recorder.activity(client, d)
	if d.working() {
		c.wait(client)
	}
}

// redialed lets a client, whose wait is over, open the next connection of its transfer.
func (c *Clients) redialed(client int) {
	d, t := c.at(client), c.timeouts
	number := t.each.At(client).number + 1
	length := &d.up
	if d.phase = transferOf(d.phase); d.phase == downlink {
		length = &d.down
	}
	m := c.message(client, d.phase.way())
	if c.channel != nil {
		c.links.SetChannel(c.channel, client, m.way, c.Now())
	}
	*length = c.links.Redial(m.way, client, int(d.number), int(d.try), int(number), m.bytes)
	c.recorder.activity(client, d)
	t.open(client, number, c.over(client))
	c.proceed(client)
}

// transferOf returns the transfer that waits in a phase.
func transferOf(p phase) phase {
	if p == redialingDown {
		return downlink
	}
	return uplink
}
