package devices

import (
	"cmp"
	"fmt"

	"fedsim/engine"
	"fedsim/internal/tools/rng"
	"fedsim/internal/tools/roster"
)

// Batteries is the energy state of all devices: the power they draw, the energy left and
// the energy charged. A device is up and draws the power last set, or it is depleted and
// draws none until it is restored. Its charger is plugged in some time after the battery
// is empty, until the device is restored, or it follows a schedule. The charger feeds
// the device first and charges the battery with the rest.
//
// Energy is accounted when the power of a device is set, when it is depleted or
// restored, and by Account and AccountAll. Spent, Left and Total refer to that time. The
// instant at which a battery is empty is determined when the power is set or the charger
// changes, so accounting in between cannot move it by a rounding. The caller must call
// Deplete at that instant: accounting for a later time panics.
type Batteries struct {
	sizes     []size // of the batteries, by class
	classes   classes
	delay     engine.Time
	charging  ChargingSchedule // nil: the charger, if any, waits until the battery is empty
	common    *daily           // charging, if it is the same for all devices: cells do not store it
	roster    *roster.Roster
	meters    *roster.Column[meter]
	rest      meter                                            // of each device of a lazy population that has no state
	changes   *roster.Column[powerChanges]                     // nil until a device has a sequence of powers
	nextPower func(device int) (at engine.Time, watts float64) // nil: changes has the power changes ahead
	cells     cells
	drawn     func(device int, from, to engine.Time, joules float64) // nil: nobody asks
	initial   float64                                                // J at the start, in all batteries
	charged   sum                                                    // J from all chargers so far
}

// size describes the batteries of a class, in joules, and their chargers.
type size struct {
	capacity float64 // 0: on mains, no battery
	low      float64 // below this a battery is low
	restore  float64 // at this a depleted device may be restored
	charger  float64 // W; 0: none
}

// meter measures the consumption of a device.
type meter struct {
	drained float64 // J consumed so far
	watts   float64 // current power
	since   engine.Time
}

// Energy is a balance in joules: DrainedJ + LeftJ = InitialJ + ChargedJ. Mains counts as
// a charger that supplies exactly the consumption.
type Energy struct {
	InitialJ, ChargedJ, DrainedJ, LeftJ float64
}

// NewBatteries returns the batteries of n devices at time 0, with no power drawn. The
// configuration must be valid. The seed determines the initial charge of each if
// InitialChargeSpread is set, and its charging hours if ChargeHourSpread is set. Chargers
// have ChargeW, or else their profile's, and follow the schedule; nil stands for the
// configuration's.
func NewBatteries(cfg Config, n int, seed uint64, schedule ChargingSchedule) *Batteries {
	return newBatteries(&cfg, []Profile{cfg.Device()}, nil, roster.New(n, false), seed, schedule)
}

// NewMixedBatteries is NewBatteries of the devices of a mix.
func NewMixedBatteries(cfg Config, mix Mix, seed uint64, schedule ChargingSchedule) *Batteries {
	return newBatteries(&cfg, mix.Profiles, mix.Class, roster.New(len(mix.Class), false), seed, schedule)
}

func newBatteries(cfg *Config, profiles []Profile, of classes, r *roster.Roster, seed uint64,
	schedule ChargingSchedule) *Batteries {
	var common *daily
	if own := cfg.charging(seed); schedule == nil && own != nil {
		schedule = own
		if own.spread == 0 {
			common = own
		}
	}
	b := &Batteries{
		classes:  of,
		delay:    engine.FromSeconds(cfg.ChargeDelayS),
		charging: schedule,
		common:   common,
		roster:   r,
	}
	b.meters = roster.NewColumn(r, func(int) meter { return b.rest })
	mains, chargers := true, schedule != nil || cfg.Charging != Never
	for _, p := range profiles {
		capacity := p.BatteryWh * joulesPerWattHour
		s := size{capacity: capacity, low: cfg.LowBattery * capacity, restore: cfg.ReturnLevel * capacity}
		if chargers {
			s.charger = cmp.Or(cfg.ChargeW, p.ChargeW)
		}
		b.sizes = append(b.sizes, s)
		mains = mains && capacity == 0
	}
	if mains {
		return b
	}
	b.cells = newCells(r.Len(), chargers && common == nil)
	for device := range r.Len() {
		c := cell{due: engine.Never, change: engine.Never}
		if !b.OnMains(device) {
			s := rng.New(seed, rng.Battery, device, 0)
			share := cfg.InitialCharge + float64(cfg.InitialChargeSpread*(2*s.Float64()-1))
			c.left = float64(min(max(share, 0), 1) * b.size(device).capacity)
			b.initial += c.left
			if schedule != nil {
				b.updateCharger(device, &c, 0)
			}
			b.setDue(device, &c, b.meters.At(device), nil)
		}
		b.cells.put(device, &c)
	}
	return b
}

func (b *Batteries) size(device int) *size { return &b.sizes[b.classes.of(device)] }

// cell returns the state of the battery of a device at the last update of its meter.
func (b *Batteries) cell(device int) cell {
	c := b.cells.at(device)
	b.follow(&c, b.meters.At(device).since)
	return c
}

// follow sets the next change of a charger that all devices share.
func (b *Batteries) follow(c *cell, since engine.Time) {
	if b.common != nil {
		_, c.change = b.common.at(since, b.common.begin)
	}
}

// OnMains reports whether a device has no battery.
func (b *Batteries) OnMains(device int) bool { return b.Mains() || b.size(device).capacity == 0 }

// Mains reports whether no device has a battery.
func (b *Batteries) Mains() bool { return b.cells.none() }

const joulesPerWattHour = 3600

// SetNextPower makes b call next to learn when power changes, instead of storing the
// changes of each device. next returns the last or next instant at which the power of
// a device changes, and the power from then on. Its result for a device must not change
// until Account has updated the device to the current time; call Account before
// SetPower. Power sequences cannot be used then.
func (b *Batteries) SetNextPower(next func(device int) (at engine.Time, watts float64)) {
	b.nextPower = next
}

// SetDrawn makes b report the energy that a device draws: joules evenly from one instant to another.
func (b *Batteries) SetDrawn(drawn func(device int, from, to engine.Time, joules float64)) {
	b.drawn = drawn
}

// drain adds energy to the consumption of a device, from the last update of its meter until an
// instant. A copy of the meter reports nothing.
func (b *Batteries) drain(device int, m *meter, until engine.Time, joules float64) {
	m.drained += joules
	if b.drawn != nil && m == b.meters.At(device) {
		b.drawn(device, m.since, until, joules)
	}
}

// SetPower sets the power of a device, in watts, from now on. It panics if the device is
// depleted, if its battery was empty before now, if now is before the last update, or if
// the power is negative or not a number.
func (b *Batteries) SetPower(device int, now engine.Time, watts float64) {
	b.set(device, now, watts, &noChanges)
}

// set sets the power of a device from now on, and its changes ahead if they are stored.
func (b *Batteries) set(device int, now engine.Time, watts float64, p *powerChanges) {
	if !(watts >= 0) {
		panic(fmt.Sprintf("devices: device %d draws %g W: must be a number, not negative", device, watts))
	}
	if b.Depleted(device) {
		panic(fmt.Sprintf("devices: device %d draws power at %v: it is depleted", device, now))
	}
	if b.changes == nil {
		b.account(device, now, nil) // nextPower already refers to the new power
	} else {
		b.account(device, now, b.changes.At(device))
		*b.changes.At(device) = *p
	}
	b.meters.At(device).watts = watts
	b.reschedule(device)
}

// reschedule updates the next battery event of a device after accounting, if it has a
// battery.
func (b *Batteries) reschedule(device int) {
	if !b.OnMains(device) {
		c, m := b.cells.at(device), b.meters.At(device)
		b.follow(&c, m.since)
		b.setDue(device, &c, m, b.changesOf(device, &powerChanges{}))
		b.cells.put(device, &c)
	}
}

// SetPowerSequence is SetPower for a power that changes at known times. It panics after
// SetNextPower.
func (b *Batteries) SetPowerSequence(device int, now engine.Time, load PowerSequence) {
	if b.nextPower != nil {
		panic(fmt.Sprintf("devices: device %d has a power sequence: not possible after SetNextPower", device))
	}
	watts, p := load.start(now)
	if p != noChanges && b.changes == nil {
		b.changes = roster.NewColumn(b.roster, func(int) powerChanges { return noChanges }) // most runs have none
	}
	b.set(device, now, watts, &p)
}

// PowerChangeAt returns the next change of a sequence set by SetPowerSequence, or
// engine.Never.
func (b *Batteries) PowerChangeAt(device int) engine.Time {
	if b.changes == nil {
		return engine.Never
	}
	return b.changes.At(device).at[0]
}

// Spend takes energy from a device, which is up, at once. It takes at most the energy
// left, so the battery may then be empty.
func (b *Batteries) Spend(device int, now engine.Time, joules float64) {
	if !(joules >= 0) {
		panic(fmt.Sprintf("devices: device %d spends %g J: must be a number, not negative", device, joules))
	}
	if b.Depleted(device) {
		panic(fmt.Sprintf("devices: device %d spends energy at %v: it is depleted", device, now))
	}
	b.Account(device, now)
	m := b.meters.At(device)
	if b.OnMains(device) {
		b.drain(device, m, now, joules)
		return
	}
	c := b.cell(device)
	joules = min(joules, c.left)
	c.left -= joules
	b.drain(device, m, now, joules)
	b.setDue(device, &c, m, b.changesOf(device, &powerChanges{}))
	b.cells.put(device, &c)
}

// EmptyAt returns the first nanosecond at which the battery of a device is empty under
// the current power. ok is false if that never happens, if the device runs on mains, and
// if it is already depleted.
//
// If chargers follow a schedule, the result is at most the schedule's next change. The
// battery is not empty earlier. After accounting up to the result, EmptyAt returns the
// next one.
func (b *Batteries) EmptyAt(device int) (at engine.Time, ok bool) {
	if b.Mains() || b.cells.depleted(device) || b.cells.due(device) == engine.Never {
		return engine.Never, false
	}
	return b.cells.due(device), true
}

// Deplete marks a device as depleted. now must be its EmptyAt, also after Account(device,
// now).
func (b *Batteries) Deplete(device int, now engine.Time) {
	if at, ok := b.EmptyAt(device); ok && at == now {
		b.Account(device, now)
	}
	if at, ok := b.EmptyAt(device); !ok || at != now {
		panic(fmt.Sprintf("devices: device %d is depleted at %v: its battery is empty at %v", device, now, at))
	}
	c := b.cell(device)
	c.depleted, c.certain = true, false
	b.meters.At(device).watts = 0
	if b.changes != nil {
		*b.changes.At(device) = noChanges
	}
	if b.charging == nil && b.size(device).charger > 0 {
		c.plugged, c.change = false, now.Add(b.delay)
	}
	b.setDue(device, &c, b.meters.At(device), nil)
	b.cells.put(device, &c)
}

// Depleted reports whether a device is depleted.
func (b *Batteries) Depleted(device int) bool { return !b.Mains() && b.cells.depleted(device) }

// RestoreAt returns when the battery of a device, which is depleted, has enough charge
// to restore the device. ok is false if that never happens, and if the device is not
// depleted. If chargers follow a schedule, the result is at most the schedule's next
// change, as for EmptyAt.
func (b *Batteries) RestoreAt(device int) (at engine.Time, ok bool) {
	if !b.Depleted(device) || b.cells.due(device) == engine.Never {
		return engine.Never, false
	}
	return b.cells.due(device), true
}

// Restore brings a depleted device up, drawing no power yet. A charger that was
// plugged in because the device was depleted is unplugged. now must not be before its
// RestoreAt, also after Account(device, now). The battery charges until now, or until it is
// full.
func (b *Batteries) Restore(device int, now engine.Time) {
	if at, ok := b.RestoreAt(device); ok && at <= now {
		b.Account(device, now)
	}
	if at, ok := b.RestoreAt(device); !ok || now < at {
		panic(fmt.Sprintf("devices: device %d is restored at %v: must not be before %v", device, now, at))
	}
	c := b.cell(device)
	c.depleted = false
	if b.charging == nil {
		c.plugged, c.change = false, engine.Never
	}
	b.setDue(device, &c, b.meters.At(device), nil)
	b.cells.put(device, &c)
}

// AccountAll updates the energy of all devices to now.
func (b *Batteries) AccountAll(now engine.Time) {
	if b.roster.Lazy() {
		b.accountRest(now)
		for _, device := range b.roster.Sorted() {
			b.Account(int(device), now)
		}
		return
	}
	for device := range b.roster.Len() {
		b.Account(device, now)
	}
}

// Spent returns the energy in joules that a device has consumed so far, from its battery
// or from mains.
func (b *Batteries) Spent(device int) float64 { return b.meters.At(device).drained }

// Left returns the energy in joules left in the battery of a device, which must have
// one.
func (b *Batteries) Left(device int) float64 { return b.cells.left(device) }

// Total returns the energy balance of all devices together.
func (b *Batteries) Total() Energy {
	var all Energy
	if b.roster.Lazy() {
		all.DrainedJ = b.drained()
		all.ChargedJ = all.DrainedJ
		return all
	}
	for device := range b.roster.Len() {
		all.DrainedJ += b.meters.At(device).drained
	}
	if b.Mains() {
		all.ChargedJ = all.DrainedJ
		return all
	}
	all.InitialJ = b.initial
	charged := b.charged
	for device := range b.roster.Len() {
		if b.OnMains(device) {
			charged.add(b.meters.At(device).drained)
		} else {
			all.LeftJ += b.cells.left(device)
		}
	}
	all.ChargedJ = charged.value()
	return all
}
