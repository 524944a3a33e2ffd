package devices

import "fedsim/engine"

// Level returns how full the battery of device t is at now, in [0, 1]; 1 on mains.
// now must lie between the last account and EmptyAt. Nothing is accounted.
func (b *Batteries) Level(t int, now engine.Time) float64 {
	if b.OnMains(t) {
		return 1
	}
	return b.at(t, now).left / b.size(t).capacity
}

// Low reports whether less than LowBattery is left in the battery of device t at
// now, which is as for Level.
func (b *Batteries) Low(t int, now engine.Time) bool {
	low := b.size(t).low // 0 on mains
	return low > 0 && b.at(t, now).left < low
}

// at returns what the battery of device t will be at now under the present load.
func (b *Batteries) at(t int, now engine.Time) cell {
	c := b.cells.at(t)
	if now == b.meters[t].since {
		return c
	}
	m := b.meters[t]
	var copied plan
	p := b.planOf(t, &copied)
	if p != nil {
		copied = *p
		p = &copied
	}
	b.advance(t, &m, &c, p, now)
	return c
}

// LowChangeAt returns when Low of device t, which is up, changes: under the present
// load, as seen from the last account. ok is false when that is not before EmptyAt,
// or not before the next change of the plan that chargers follow.
func (b *Batteries) LowChangeAt(t int) (at engine.Time, ok bool) {
	low := b.size(t).low // 0 on mains
	if low == 0 || b.cells.flat(t) {
		return engine.Never, false
	}
	c, m := b.cells.at(t), &b.meters[t]
	if c.left >= low {
		at = b.crossing(t, &c, m, b.planOf(t, &plan{}), low)
	} else {
		at = b.filling(&c, m, b.planOf(t, &plan{}), low)
	}
	// A level that is just reached is not crossed, and a rounding may keep it from
	// being reached: who looks again looks later.
	at = max(at, m.since.Add(1))
	return at, at < c.due
}

// filling returns the first instant at which level joules, or more, are in a
// battery that has less, if its charger stays as it is.
func (b *Batteries) filling(c *cell, m *meter, p *plan, level float64) engine.Time {
	if !c.plugged {
		return engine.Never
	}
	left, since, watts := c.left, m.since, m.watts
	rest := constant
	if p != nil {
		rest = *p
	}
	for {
		until := rest.at[0]
		net := b.charger - watts
		if net > 0 {
			if at := since.Add(engine.CeilSeconds((level - left) / net)); at <= until {
				return at
			}
		}
		if until == engine.Never {
			return engine.Never
		}
		left = max(0, left+float64(net*(until-since).Seconds()))
		since, watts = until, rest.pop()
	}
}
