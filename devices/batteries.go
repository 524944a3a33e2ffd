package devices

import (
	"fmt"

	"fedsim/engine"
	"fedsim/internal/invariants"
	"fedsim/internal/rng"
)

const joulesPerWattHour = 3600

// Batteries is the state of every device's energy: what it draws, what is left
// and what it has been charged with. A device is either up, and draws the power
// last set, or flat, and draws none: its charger is plugged in after a while and
// stays until the device is revived.
//
// Energy is accounted when a device's power is set, when it dies or is revived,
// and by Drain; the figures read are as of then. The instant at which a battery
// is empty is decided when its power is set, so that accounting in between
// cannot move it by a rounding. The caller must let the device die then: it is
// a programmer's error, and a panic, to account for a time after it.
type Batteries struct {
	mains    bool
	capacity float64 // J
	charger  float64 // W
	delay    engine.Time
	comeback float64 // J at which a flat device may come back
	meters   []meter
	cells    []cell // none on mains
}

// meter is what a device draws.
type meter struct {
	drained float64 // J drawn so far
	watts   float64 // power drawn
	since   engine.Time
}

// cell is the state of a battery.
type cell struct {
	left    float64     // J in the battery, in [0, capacity]
	initial float64     // J at the start
	charged float64     // J charged so far
	due     engine.Time // up: when the battery is empty; flat: when the device may come back
	plugged engine.Time // flat: when the charger is plugged in
	flat    bool
}

// Energy is a balance in joules: DrainedJ + LeftJ = InitialJ + ChargedJ. Mains
// counts as a charger that always gives what is drawn.
type Energy struct {
	InitialJ, ChargedJ, DrainedJ, LeftJ float64
}

// NewBatteries returns the batteries of n devices of a valid configuration at
// time 0, no power drawn. The seed decides how full each is when
// InitialChargeSpread is set.
func NewBatteries(cfg Config, n int, seed uint64) *Batteries {
	capacity := cfg.Device().BatteryWh * joulesPerWattHour
	b := &Batteries{
		mains:    capacity == 0,
		capacity: capacity,
		charger:  cfg.ChargeW,
		delay:    engine.FromSeconds(cfg.ChargeDelayS),
		comeback: cfg.ReturnLevel * capacity,
		meters:   make([]meter, n),
	}
	if b.mains {
		return b
	}
	b.cells = make([]cell, n)
	for t := range b.cells {
		s := rng.New(seed, rng.Battery, t, 0)
		share := cfg.InitialCharge + float64(cfg.InitialChargeSpread*(2*s.Float64()-1))
		c := &b.cells[t]
		c.initial = min(max(share, 0), 1) * capacity
		c.left = c.initial
		c.due = emptyAt(c, &b.meters[t])
	}
	return b
}

// SetPower makes device t draw watts from now on. It panics when the device is
// flat, when its battery was empty before now, when now lies before the last
// account, and on a power that is negative or no number.
func (b *Batteries) SetPower(t int, now engine.Time, watts float64) {
	if !(watts >= 0) {
		panic(fmt.Sprintf("devices: device %d draws %g W: must be a number, not negative", t, watts))
	}
	if b.Flat(t) {
		panic(fmt.Sprintf("devices: device %d draws power at %v: it is flat", t, now))
	}
	b.account(t, now)
	m := &b.meters[t]
	m.watts = watts
	if !b.mains {
		b.cells[t].due = emptyAt(&b.cells[t], m)
	}
}

// EmptyAt returns when the battery of device t will be empty under the present
// power: the first nanosecond at which nothing is left. ok is false when that
// will not happen, when the device runs on mains, and when it is flat already.
func (b *Batteries) EmptyAt(t int) (at engine.Time, ok bool) {
	if b.mains || b.cells[t].flat || b.cells[t].due == engine.Never {
		return engine.Never, false
	}
	return b.cells[t].due, true
}

// Die makes device t flat; now must be its EmptyAt.
func (b *Batteries) Die(t int, now engine.Time) {
	if at, ok := b.EmptyAt(t); !ok || at != now {
		panic(fmt.Sprintf("devices: device %d dies at %v: its battery is empty at %v", t, now, at))
	}
	b.account(t, now)
	c := &b.cells[t]
	c.flat = true
	b.meters[t].watts = 0
	c.plugged, c.due = engine.Never, engine.Never
	if b.charger > 0 {
		c.plugged = now.Add(b.delay)
		c.due = c.plugged.Add(engine.CeilSeconds(b.comeback / b.charger))
	}
}

// Flat reports whether device t has died and not been revived.
func (b *Batteries) Flat(t int) bool { return !b.mains && b.cells[t].flat }

// ReturnAt returns when the battery of device t, which is flat, will be charged
// enough for the device to come back. ok is false when it never will, and when
// the device is not flat.
func (b *Batteries) ReturnAt(t int) (at engine.Time, ok bool) {
	if !b.Flat(t) || b.cells[t].due == engine.Never {
		return engine.Never, false
	}
	return b.cells[t].due, true
}

// Revive unplugs the charger of device t, which is flat, and brings the device
// up, drawing no power yet. now must not lie before its ReturnAt; the battery
// is charged until now, at most until it is full.
func (b *Batteries) Revive(t int, now engine.Time) {
	if at, ok := b.ReturnAt(t); !ok || now < at {
		panic(fmt.Sprintf("devices: device %d is revived at %v: it may come back at %v", t, now, at))
	}
	b.account(t, now)
	c := &b.cells[t]
	c.flat = false
	c.due = emptyAt(c, &b.meters[t])
}

// Drain accounts for all devices up to now.
func (b *Batteries) Drain(now engine.Time) {
	for t := range b.meters {
		b.account(t, now)
	}
}

// Spent returns the energy in joules that device t has drawn so far, from its
// battery or from mains.
func (b *Batteries) Spent(t int) float64 { return b.meters[t].drained }

// Left returns the energy in joules that is left in the battery of device t, which
// is not on mains.
func (b *Batteries) Left(t int) float64 { return b.cells[t].left }

// Level returns how full the battery of device t is, in [0, 1]; 1 on mains.
func (b *Batteries) Level(t int) float64 {
	if b.mains {
		return 1
	}
	return b.cells[t].left / b.capacity
}

// Total returns the balance of all devices together.
func (b *Batteries) Total() Energy {
	var sum Energy
	for t := range b.meters {
		sum.DrainedJ += b.meters[t].drained
	}
	if b.mains {
		sum.ChargedJ = sum.DrainedJ
		return sum
	}
	for t := range b.cells {
		c := &b.cells[t]
		sum.InitialJ += c.initial
		sum.ChargedJ += c.charged
		sum.LeftJ += c.left
	}
	return sum
}

// emptyAt returns when nothing is left of a cell that is up.
func emptyAt(c *cell, m *meter) engine.Time {
	switch {
	case c.left == 0:
		return m.since
	case m.watts == 0:
		return engine.Never
	default:
		return m.since.Add(engine.CeilSeconds(c.left / m.watts))
	}
}

// account brings the figures of device t up to now.
func (b *Batteries) account(t int, now engine.Time) {
	m := &b.meters[t]
	if now < m.since {
		panic(fmt.Sprintf("devices: device %d at %v: its energy is accounted up to %v already", t, now, m.since))
	}
	if b.mains {
		m.drained += float64(m.watts * (now - m.since).Seconds())
	} else {
		b.accountCell(t, now)
	}
	m.since = now
	if invariants.Enabled && !(m.drained >= 0) {
		panic(fmt.Sprintf("devices: device %d at %v: energy out of bounds: %+v", t, now, *m))
	}
}

// accountCell moves the energy of the time since the last account between the
// battery of device t, its charger and what it feeds.
func (b *Batteries) accountCell(t int, now engine.Time) {
	c, m := &b.cells[t], &b.meters[t]
	switch {
	case c.flat:
		b.charge(c, max(m.since, c.plugged), now)
	case now > c.due:
		panic(fmt.Sprintf("devices: device %d is up at %v: its battery was empty at %v", t, now, c.due))
	default:
		energy := c.left // what is left at the instant at which nothing is
		if now < c.due {
			energy = min(energy, m.watts*(now-m.since).Seconds())
		}
		c.left -= energy
		m.drained += energy
	}
	if invariants.Enabled && !(c.left >= 0 && c.left <= b.capacity && c.charged >= 0) {
		panic(fmt.Sprintf("devices: device %d at %v: energy out of bounds: %+v of %g J", t, now, *c, b.capacity))
	}
}

// charge charges a flat device's battery between two instants.
func (b *Batteries) charge(c *cell, from, to engine.Time) {
	if to <= from {
		return
	}
	energy := min(b.capacity-c.left, b.charger*(to-from).Seconds())
	c.left = min(b.capacity, c.left+energy)
	c.charged += energy
}
