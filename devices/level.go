package devices

import "fedsim/engine"

// Level returns the charge of the battery of a device at now as a share of full, in [0,
// 1]. It is 1 on mains. now must be between the last update and EmptyAt. Level does not
// account.
func (b *Batteries) Level(device int, now engine.Time) float64 {
	if b.OnMains(device) {
		return 1
	}
	return b.at(device, now).left / b.size(device).capacity
}

// Charging reports whether a device is plugged in at now: on mains, or its charger gives
// power. now is as for Level.
func (b *Batteries) Charging(device int, now engine.Time) bool {
	return b.OnMains(device) || b.at(device, now).plugged
}

// Low reports whether the charge of a device at now is below LowBattery. now is as for
// Level.
func (b *Batteries) Low(device int, now engine.Time) bool {
	low := b.size(device).low // 0 on mains
	return low > 0 && b.at(device, now).left < low
}

// at returns the battery state of a device at now under the current power.
func (b *Batteries) at(device int, now engine.Time) cell {
	c := b.cell(device)
	if now == b.meters.At(device).since {
		return c
	}
	m := *b.meters.At(device)
	var copied powerChanges
	p := b.changesOf(device, &copied)
	if p != nil {
		copied = *p
		p = &copied
	}
	b.advance(device, &m, &c, p, now)
	return c
}

// LowChangeAt returns when Low of a device, which is up, changes under the current
// power. ok is false if that is not before EmptyAt, or not before the next change of the
// charging schedule.
func (b *Batteries) LowChangeAt(device int) (at engine.Time, ok bool) {
	low := b.size(device).low // 0 on mains
	if low == 0 || b.cells.depleted(device) {
		return engine.Never, false
	}
	c, m := b.cell(device), b.meters.At(device)
	if c.left >= low {
		at = b.crossing(device, &c, m, b.changesOf(device, &powerChanges{}), low)
	} else {
		at = b.filling(device, &c, m, b.changesOf(device, &powerChanges{}), low)
	}
	// A level that is just reached is not crossed, and a rounding may prevent reaching
	// it. The caller checks again later.
	at = max(at, m.since.Add(1))
	return at, at < c.due
}

// filling returns the first instant at which a battery that has less has level joules,
// if its charger does not change.
func (b *Batteries) filling(device int, c *cell, m *meter, p *powerChanges, level float64) engine.Time {
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
		net := b.size(device).charger - watts
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
