package devices

import (
	"fmt"

	"fedsim/engine"
	"fedsim/internal/invariants"
)

// Account brings the figures of device t up to now. It panics when that is before
// the last account, or after the instant at which a device that is up was to die.
func (b *Batteries) Account(t int, now engine.Time) {
	b.account(t, now, b.planOf(t, &plan{}))
}

// account is Account given what is to come of the device's load, nil when nothing is.
func (b *Batteries) account(t int, now engine.Time, p *plan) {
	m := &b.meters[t]
	switch {
	case now < m.since:
		panic(fmt.Sprintf("devices: device %d at %v: its energy is accounted up to %v already", t, now, m.since))
	case !b.OnMains(t):
		c := b.cells.at(t)
		b.advance(t, m, &c, p, now)
		b.cells.put(t, &c)
		if c.charged != 0 {
			b.charged.add(c.charged)
		}
	case p == nil:
		m.drained += float64(m.watts * (now - m.since).Seconds())
		m.since = now
	default:
		b.advance(t, m, nil, p, now)
	}
	if invariants.Enabled && !(m.drained >= 0) {
		panic(fmt.Sprintf("devices: device %d at %v: energy out of bounds: %+v", t, now, *m))
	}
}

// planOf returns what is to come of a device's load, which is put into told when it is
// foretold; nil when nothing is.
func (b *Batteries) planOf(t int, told *plan) *plan {
	switch {
	case b.plans != nil:
		return &b.plans[t]
	case b.change == nil:
		return nil
	}
	m := &b.meters[t]
	at, watts := b.change(t)
	if at <= m.since || watts == m.watts {
		return nil
	}
	told.at = [MaxStages]engine.Time{at, engine.Never}
	told.watts[0] = watts
	return told
}

// advance accounts for the time until now, in pieces in which neither load nor
// charger changes. c is nil on mains, p when the load does not change.
func (b *Batteries) advance(t int, m *meter, c *cell, p *plan, now engine.Time) {
	for {
		until := now
		if p != nil {
			until = min(until, p.at[0])
		}
		if c == nil {
			m.drained += float64(m.watts * (until - m.since).Seconds())
		} else {
			until = min(until, c.change)
			b.piece(t, m, c, until)
		}
		m.since = until
		if p != nil && until == p.at[0] {
			m.watts = p.pop()
		}
		if c != nil && until == c.change && until != engine.Never {
			b.replug(t, c, until)
			b.plan(t, c, m, p)
		}
		if until == now {
			return
		}
	}
}

// piece moves the energy of the time until an instant between the battery of
// device t, its charger and what it feeds.
func (b *Batteries) piece(t int, m *meter, c *cell, until engine.Time) {
	if !c.flat && c.certain && until > c.due {
		panic(fmt.Sprintf("devices: device %d is up at %v: its battery was empty at %v", t, until, c.due))
	}
	seconds := (until - m.since).Seconds()
	drawn, given := float64(m.watts*seconds), 0.0
	if c.plugged {
		given = float64(b.charger * seconds)
	}
	capacity := b.size(t).capacity
	if more := given - drawn; more > 0 {
		gain := min(capacity-c.left, more)
		c.left = min(capacity, c.left+gain)
		c.charged += drawn + gain
		m.drained += drawn
	} else {
		loss := min(c.left, drawn-given)
		if !c.flat && c.certain && until == c.due {
			loss = c.left // at the instant at which nothing is left
		}
		c.left -= loss
		c.charged += given
		m.drained += given + loss
	}
	if invariants.Enabled && !(c.left >= 0 && c.left <= capacity && c.charged >= 0) {
		panic(fmt.Sprintf("devices: device %d at %v: energy out of bounds: %+v of %g J", t, until, *c, capacity))
	}
}

// plan decides what is due for the battery of device t, as far as the charger's
// next change.
func (b *Batteries) plan(t int, c *cell, m *meter, p *plan) {
	if c.flat && c.certain && c.due <= m.since {
		return // it may come back already
	}
	if c.flat {
		c.due = b.fullEnough(t, c, m.since)
	} else {
		c.due = b.crossing(t, c, m, p, 0)
	}
	c.certain = true
	if b.charging != nil && c.due > c.change {
		c.due, c.certain = c.change, false
	}
}

// fullEnough returns when a flat battery is charged enough to come back, if its
// charger is not unplugged before.
func (b *Batteries) fullEnough(t int, c *cell, now engine.Time) engine.Time {
	missing := max(0, b.size(t).comeback-c.left)
	switch {
	case c.plugged:
		return now.Add(engine.CeilSeconds(missing / b.charger))
	case missing == 0 && b.charging != nil:
		return now
	case b.charging == nil && c.change != engine.Never:
		return c.change.Add(engine.CeilSeconds(missing / b.charger))
	default:
		return engine.Never
	}
}

// crossing returns the first instant at which no more than level joules are left
// of the battery of device t, which has at least as much, if its charger stays as it is.
func (b *Batteries) crossing(t int, c *cell, m *meter, p *plan, level float64) engine.Time {
	left, since, watts := c.left, m.since, m.watts
	rest := constant
	if p != nil {
		rest = *p
	}
	for {
		until := rest.at[0]
		net := watts
		if c.plugged {
			net -= b.charger
		}
		switch {
		case left <= level && (net > 0 || !c.plugged):
			return since
		case net > 0:
			if at := since.Add(engine.CeilSeconds((left - level) / net)); at <= until {
				return at
			}
		case until == engine.Never:
			return engine.Never
		}
		if until == engine.Never {
			return engine.Never
		}
		left = min(b.size(t).capacity, left-float64(net*(until-since).Seconds()))
		since, watts = until, rest.pop()
	}
}
