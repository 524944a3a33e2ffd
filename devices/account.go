package devices

import (
	"fmt"

	"fedsim/engine"
	"fedsim/internal/tools/invariants"
)

// Account updates the energy of device t to now. It panics if now is before the last
// update, or after the instant at which the battery of a device that is up runs empty.
func (b *Batteries) Account(t int, now engine.Time) {
	b.account(t, now, b.changesOf(t, &powerChanges{}))
}

// account is Account with the power changes ahead, nil if there are none.
func (b *Batteries) account(t int, now engine.Time, p *powerChanges) {
	m := b.meters.At(t)
	switch {
	case now < m.since:
		panic(fmt.Sprintf("devices: device %d at %v: its energy is accounted up to %v, which is later", t, now, m.since))
	case !b.OnMains(t):
		c := b.cells.at(t)
		b.follow(&c, m.since)
		b.advance(t, m, &c, p, now)
		b.cells.put(t, &c)
		if c.charged != 0 {
			b.charged.add(c.charged)
		}
	case p == nil:
		b.drain(t, m, now, float64(m.watts*(now-m.since).Seconds()))
		m.since = now
	default:
		b.advance(t, m, nil, p, now)
	}
	if invariants.Enabled && !(m.drained >= 0) {
		panic(fmt.Sprintf("devices: device %d at %v: energy out of bounds: %+v", t, now, *m))
	}
}

// changesOf returns the power changes of a device ahead, nil if there are none. Those
// from nextPower are stored in buffer.
func (b *Batteries) changesOf(t int, buffer *powerChanges) *powerChanges {
	switch {
	case b.changes != nil:
		return b.changes.At(t)
	case b.nextPower == nil:
		return nil
	}
	m := b.meters.At(t)
	at, watts := b.nextPower(t)
	if at <= m.since || watts == m.watts {
		return nil
	}
	buffer.at = [MaxStages]engine.Time{at, engine.Never}
	buffer.watts[0] = watts
	return buffer
}

// advance accounts for the time until now, in intervals of constant power and charger
// state. c is nil on mains; p is nil if the power does not change.
func (b *Batteries) advance(t int, m *meter, c *cell, p *powerChanges, now engine.Time) {
	for {
		until := now
		if p != nil {
			until = min(until, p.at[0])
		}
		if c == nil {
			b.drain(t, m, until, float64(m.watts*(until-m.since).Seconds()))
		} else {
			until = min(until, c.change)
			b.balance(t, m, c, until)
		}
		m.since = until
		if p != nil && until == p.at[0] {
			m.watts = p.pop()
		}
		if c != nil && until == c.change && until != engine.Never {
			b.updateCharger(t, c, until)
			b.setDue(t, c, m, p)
		}
		if until == now {
			return
		}
	}
}

// balance moves the energy of an interval that ends at until between the battery of
// device t, its charger and its load.
func (b *Batteries) balance(t int, m *meter, c *cell, until engine.Time) {
	if !c.depleted && c.certain && until > c.due {
		panic(fmt.Sprintf("devices: device %d is up at %v: its battery was empty at %v", t, until, c.due))
	}
	seconds := (until - m.since).Seconds()
	drawn, given := float64(m.watts*seconds), 0.0
	if c.plugged {
		given = float64(b.size(t).charger * seconds)
	}
	capacity := b.size(t).capacity
	if more := given - drawn; more > 0 {
		gain := min(capacity-c.left, more)
		c.left = min(capacity, c.left+gain)
		c.charged += drawn + gain
		b.drain(t, m, until, drawn)
	} else {
		loss := min(c.left, drawn-given)
		if !c.depleted && c.certain && until == c.due {
			loss = c.left // EmptyAt defines this instant, whatever the rounding
		}
		c.left -= loss
		c.charged += given
		b.drain(t, m, until, given+loss)
	}
	if invariants.Enabled && !(c.left >= 0 && c.left <= capacity && c.charged >= 0) {
		panic(fmt.Sprintf("devices: device %d at %v: energy out of bounds: %+v of %g J", t, until, *c, capacity))
	}
}

// setDue sets the next battery event of device t, at the latest the charger's next
// change.
func (b *Batteries) setDue(t int, c *cell, m *meter, p *powerChanges) {
	if c.depleted && c.certain && c.due <= m.since {
		return // the device may be restored already
	}
	if c.depleted {
		c.due = b.restoreTime(t, c, m.since)
	} else {
		c.due = b.crossing(t, c, m, p, 0)
	}
	c.certain = true
	if b.charging != nil && c.due > c.change {
		c.due, c.certain = c.change, false
	}
}

// restoreTime returns when a depleted battery has enough charge to be restored, unless its charger changes.
func (b *Batteries) restoreTime(t int, c *cell, now engine.Time) engine.Time {
	missing := max(0, b.size(t).restore-c.left)
	switch {
	case c.plugged:
		return now.Add(engine.CeilSeconds(missing / b.size(t).charger))
	case missing == 0 && b.charging != nil:
		return now
	case b.charging == nil && c.change != engine.Never:
		return c.change.Add(engine.CeilSeconds(missing / b.size(t).charger))
	default:
		return engine.Never
	}
}

// crossing returns the first instant at which at most level joules remain in the battery
// of device t, unless its charger changes. The battery must have at least level
// joules now.
func (b *Batteries) crossing(t int, c *cell, m *meter, p *powerChanges, level float64) engine.Time {
	left, since, watts := c.left, m.since, m.watts
	rest := noChanges
	if p != nil {
		rest = *p
	}
	for {
		until := rest.at[0]
		net := watts
		if c.plugged {
			net -= b.size(t).charger
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
