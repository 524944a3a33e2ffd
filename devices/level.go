package devices

import "fedsim/engine"

// Level returns the charge of the battery of device t at now as a share of full, in [0,
// 1]. It is 1 on mains. now must be between the last update and EmptyAt. Level does not
// account.
func (b *Batteries) Level(t int, now engine.Time) float64 {
	if b.OnMains(t) {
		return 1
	}
	return b.at(t, now).left / b.size(t).capacity
}

// Charging reports whether device t is plugged in at now: on mains, or its charger gives
// power. now is as for Level.
func (b *Batteries) Charging(t int, now engine.Time) bool {
	return b.OnMains(t) || b.at(t, now).plugged
}

// Low reports whether the charge of device t at now is below LowBattery. now is as for
// Level.
func (b *Batteries) Low(t int, now engine.Time) bool {
	low := b.size(t).low // 0 on mains
	return low > 0 && b.at(t, now).left < low
}

// at returns the battery state of device t at now under the current power.
func (b *Batteries) at(t int, now engine.Time) cell {
	c := b.cell(t)
	if now == b.meters.At(t).since {
		return c
	}
	m := *b.meters.At(t)
	var copied powerChanges
	p := b.changesOf(t, &copied)
	if p != nil {
		copied = *p
		p = &copied
	}
	b.advance(t, &m, &c, p, now)
	return c
}

// LowChangeAt returns when Low of device t, which is up, changes under the current
// power. ok is false if that is not before EmptyAt, or not before the next change of the
// charging schedule.
func (b *Batteries) LowChangeAt(t int) (at engine.Time, ok bool) {
	low := b.size(t).low // 0 on mains
	if low == 0 || b.cells.depleted(t) {
		return engine.Never, false
	}
	c, m := b.cell(t), b.meters.At(t)
	if c.left >= low {
		at = b.crossing(t, &c, m, b.changesOf(t, &powerChanges{}), low)
	} else {
		at = b.filling(t, &c, m, b.changesOf(t, &powerChanges{}), low)
	}
	// A level that is just reached is not crossed, and a rounding may prevent reaching
	// it. The caller checks again later.
	at = max(at, m.since.Add(1))
	return at, at < c.due
}

// filling returns the first instant at which a battery that has less has level joules,
// if its charger does not change.
func (b *Batteries) filling(t int, c *cell, m *meter, p *powerChanges, level float64) engine.Time {
	if !c.plugged {
		return engine.Never
	}
	left, since, watts := c.left, m.since, m.watts
	rest := noChanges
	if p != nil {
		rest = *p
	}
	for {
		until := rest.at[0]
		net := b.size(t).charger - watts
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
