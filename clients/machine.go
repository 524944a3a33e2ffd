package clients

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/roster"
)

// machines has what devices carry from earlier work, where their behavior depends on it: a state, which changes only
// when their use does. To look at another instant, move a cursor, which is a copy. A nil *machines has none:
// devices are as fast as ever.
type machines struct {
	of   devices.Machine
	each *roster.Column[carried]
}

// carried is the state of a device at the instant since which it has one use: 32 bytes.
type carried struct {
	state devices.State
	since engine.Time
	use   devices.Use
}

// newMachines returns the machines of a system: those of a model, or of the heat of devices.
func newMachines(s *Setup, fleet *devices.Processors, r *roster.Roster) *machines {
	of := s.Machine
	if of == nil {
		of = fleet.Heat()
	}
	if of == nil {
		return nil
	}
	return &machines{of: of, each: roster.NewColumn[carried](r, nil)}
}

// computing returns the use of a device that computes, slowed down by a low battery or not.
func computing(slow bool) devices.Use {
	if slow {
		return devices.ComputingSlowly
	}
	return devices.Computing
}

// set lets a device have a use from an instant on.
func (m *machines) set(client int, use devices.Use, now engine.Time) {
	if m == nil {
		return
	}
	if of := m.each.At(client); of.use != use {
		c := m.at(client, now)
		c.change(use, now)
		*of = c.carried
	}
}

// cursor is a device at an instant, without effect on it, and the factors of its speed and power until another one. A
// zero cursor is one without machines, whose factors are 1.
type cursor struct {
	of     devices.Machine // nil: there are no machines
	client int
	carried
	speed, power float64
	until        engine.Time
}

// at returns a client at an instant that is not before its last change of use.
func (m *machines) at(client int, at engine.Time) cursor {
	if m == nil {
		return cursor{speed: 1, power: 1, until: engine.Never}
	}
	c := cursor{of: m.of, client: client, carried: *m.each.At(client)}
	c.look()
	c.advance(at)
	return c
}

// computing returns a client that begins to compute at an instant, after a transfer from now on if that is later.
func (m *machines) computing(client int, slow bool, now, begins engine.Time) cursor {
	c := m.at(client, now)
	if begins > now {
		c.change(devices.Transferring, now)
	}
	c.change(computing(slow), begins)
	return c
}

func (c *cursor) look() { c.speed, c.power, c.until = c.of.Pace(c.client, c.state, c.use, c.since) }

// advance moves the cursor to the stretch of constant speed that has an instant.
func (c *cursor) advance(at engine.Time) {
	for c.until <= at {
		c.state, c.since = c.of.After(c.client, c.state, c.use, c.since, c.until), c.until
		c.look()
	}
}

// change changes the use at an instant.
func (c *cursor) change(use devices.Use, at engine.Time) {
	c.advance(at)
	if c.of == nil || c.use == use {
		return
	}
	if at > c.since {
		c.state, c.since = c.of.After(c.client, c.state, c.use, c.since, at), at
	}
	c.use = use
	c.look()
}

// works returns the work that a device does within some seconds after an instant, in seconds at the speed without
// machines.
func (c *cursor) works(at engine.Time, seconds float64) (work float64) {
	for {
		c.advance(at)
		stretch := (c.until - at).Seconds()
		if c.until == engine.Never || stretch >= seconds {
			return work + float64(c.speed*seconds)
		}
		work += float64(c.speed * stretch)
		at, seconds = c.until, seconds-stretch
	}
}

// takes returns the seconds that works would need for so many seconds of work.
func (c *cursor) takes(at engine.Time, work float64) (seconds float64) {
	for {
		c.advance(at)
		stretch := (c.until - at).Seconds()
		if c.until == engine.Never || float64(c.speed*stretch) >= work {
			return seconds + work/c.speed
		}
		seconds += stretch
		work -= float64(c.speed * stretch)
		at = c.until
	}
}

// throttled returns how long a client computes between two instants at less than its usual speed by its machine. Its
// present use must have begun by the first of them.
func (m *machines) throttled(client int, from, to engine.Time) (slow engine.Time) {
	if m == nil {
		return 0
	}
	for c, at := m.at(client, from), from; at < to; at = c.until {
		c.advance(at)
		if c.use.Computes() && c.speed < 1 {
			slow += min(c.until, to) - at
		}
	}
	return slow
}

// change returns when the power of a client that computes changes; engine.Never if it does not.
func (m *machines) change(client int, now engine.Time) engine.Time {
	if m == nil || !m.each.At(client).use.Computes() {
		return engine.Never
	}
	c := m.at(client, now)
	return c.until
}

// changed reports whether the power of a client that computes has changed now.
func (m *machines) changed(client int, now engine.Time) bool {
	if m == nil || !m.each.At(client).use.Computes() {
		return false
	}
	c := m.at(client, now)
	return c.since == now && m.each.At(client).since < now
}
