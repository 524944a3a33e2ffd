package devices

import (
	"fmt"

	"fedsim/engine"
	"fedsim/internal/tools/invariants"
)

// Account updates the energy of a device to now. It panics if now is before the last
// update, or after the instant at which the battery of a device that is up runs empty.
func (b *Batteries) Account(device int, now engine.Time) {
	b.account(device, now, b.changesOf(device, &powerChanges{}))
}

// account is Account with the power changes ahead, nil if there are none.
func (b *Batteries) account(device int, now engine.Time, p *powerChanges) {
	m := b.meters.At(device)
	switch {
	case now < m.since:
		panic(fmt.Sprintf("devices: device %d at %v: its energy is accounted up to %v, which is later", device, now,
			m.since))
	case !b.OnMains(device):
		c := b.cells.at(device)
		b.follow(&c, m.since)
		b.advance(device, m, &c, p, now)
		b.cells.put(device, &c)
		if c.charged != 0 {
			b.charged.add(c.charged)
		}
	case p == nil:
		b.drain(device, m, now, float64(m.watts*(now-m.since).Seconds()))
		m.since = now
	default:
		b.advance(device, m, nil, p, now)
	}
	if invariants.Enabled && !(m.drained >= 0) {
		panic(fmt.Sprintf("devices: device %d at %v: energy out of bounds: %+v", device, now, *m))
	}
}

// changesOf returns the power changes of a device ahead, nil if there are none. Those
// from nextPower are stored in buffer.
func (b *Batteries) changesOf(device int, buffer *powerChanges) *powerChanges {
	switch {
	case b.changes != nil:
		return b.changes.At(device)
	case b.nextPower == nil:
		return nil
	}
	m := b.meters.At(device)
	at, watts := b.nextPower(device)
	if at <= m.since || watts == m.watts {
		return nil
	}
	buffer.at = [MaxStages]engine.Time{at, engine.Never}
	buffer.watts[0] = watts
	return buffer
}

// advance accounts for the time until now, in intervals of constant power and charger
// state. c is nil on mains; p is nil if the power does not change.
func (b *Batteries) advance(device int, m *meter, c *cell, p *powerChanges, now engine.Time) {
	for {
		until := now
		if p != nil {
			until = min(until, p.at[0])
		}
		if c == nil {
			b.drain(device, m, until, float64(m.watts*(until-m.since).Seconds()))
		} else {
			until = min(until, c.change)
			b.balance(device, m, c, until)
		}
		m.since = until
		if p != nil && until == p.at[0] {
			m.watts = p.pop()
		}
		if c != nil && until == c.change && until != engine.Never {
			b.updateCharger(device, c, until)
			b.setDue(device, c, m, p)
		}
		if until == now {
			return
		}
	}
}

// balance moves the energy of an interval that ends at until between the battery of
// a device, its charger and its load.
func (b *Batteries) balance(device int, m *meter, c *cell, until engine.Time) {
	if !c.depleted && c.certain && until > c.due {
		panic(fmt.Sprintf("devices: device %d is up at %v: its battery was empty at %v", device, until, c.due))
	}
	seconds := (until - m.since).Seconds()
	drawn, given := float64(m.watts*seconds), 0.0
	if c.plugged {
		given = float64(b.size(device).charger * seconds)
	}
	capacity := b.size(device).capacity
	if more := given - drawn; more > 0 {
		gain := min(capacity-c.left, more)
		c.left = min(capacity, c.left+gain)
		c.charged += drawn + gain
		b.drain(device, m, until, drawn)
	} else {
		loss := min(c.left, drawn-given)
		if !c.depleted && c.certain && until == c.due {
			loss = c.left // EmptyAt defines this instant, whatever the rounding
		}
		c.left -= loss
		c.charged += given
		b.drain(device, m, until, given+loss)
	}
	if invariants.Enabled && !(c.left >= 0 && c.left <= capacity && c.charged >= 0) {
		panic(fmt.Sprintf("devices: device %d at %v: energy out of bounds: %+v of %g J", device, until, *c, capacity))
	}
}

// setDue sets the next battery event of a device, at the latest the charger's next
// change.
func (b *Batteries) setDue(device int, c *cell, m *meter, p *powerChanges) {
	if c.depleted && c.certain && c.due <= m.since {
		return // the device may be restored already
	}
	if c.depleted {
		c.due = b.restoreTime(device, c, m.since)
	} else {
		c.due = b.crossing(device, c, m, p, 0)
	}
	c.certain = true
	if b.charging != nil && c.due > c.change {
		c.due, c.certain = c.change, false
	}
}

// restoreTime returns when a depleted battery has enough charge to be restored, unless its charger changes.
func (b *Batteries) restoreTime(device int, c *cell, now engine.Time) engine.Time {
	missing := max(0, b.size(device).restore-c.left)
	switch {
	case c.plugged:
		return now.Add(engine.CeilSeconds(missing / b.size(device).charger))
	case missing == 0 && b.charging != nil:
		return now
	case b.charging == nil && c.change != engine.Never:
		return c.change.Add(engine.CeilSeconds(missing / b.size(device).charger))
	default:
		return engine.Never
	}
}

// crossing returns the first instant at which at most level joules remain in the battery
// of a device, unless its charger changes. The battery must have at least level
// joules now.
func (b *Batteries) crossing(device int, c *cell, m *meter, p *powerChanges, level float64) engine.Time {
	left, since, watts := c.left, m.since, m.watts
	rest := noChanges
	if p != nil {
		rest = *p
	}
	for {
		until := rest.at[0]
		net := watts
		if c.plugged {
			net -= b.size(device).charger
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
		left = min(b.size(device).capacity, left-float64(net*(until-since).Seconds()))
		since, watts = until, rest.pop()
	}
}
