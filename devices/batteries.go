package devices

import (
	"fmt"

	"fedsim/engine"
	"fedsim/internal/rng"
)

// Batteries is the state of every device's energy: what it draws, what is left
// and what it has been charged with. A device is either up, and draws the load
// last set, or flat, and draws none until it is revived. Its charger is plugged in
// a while after it ran empty, until it is revived, or as a plan says, up or flat;
// then a battery that is full is spared and the charger feeds the device.
//
// Energy is accounted when a device's load is set, when it dies or is revived,
// and by Account and Drain; Spent, Left and Total are as of then. The instant at which a
// battery is empty is decided when its load is set or its charger plugged in or
// out, so that accounting in between cannot move it by a rounding. The caller must
// let the device die then: it is a programmer's error, and a panic, to account for
// a time after it.
type Batteries struct {
	sizes    []size // of the batteries, by class
	classes  classes
	charger  float64 // W
	delay    engine.Time
	charging ChargingSchedule // nil: a charger that waits until the battery is empty
	meters   []meter
	plans    []plan // none as long as no load had a stage
	change   Change // nil: plans say what is to come
	cells    cells
	initial  float64 // J at the start, in all batteries
	charged  sum     // J from all chargers so far
}

// size is what batteries of a class hold, in joules.
type size struct {
	capacity float64 // 0: there is none, the device is on mains
	low      float64 // below which a battery is low
	comeback float64 // at which a flat device may come back
}

// meter is what a device draws.
type meter struct {
	drained float64 // J drawn so far
	watts   float64 // power drawn
	since   engine.Time
}

// Energy is a balance in joules: DrainedJ + LeftJ = InitialJ + ChargedJ. Mains
// counts as a charger that always gives what is drawn.
type Energy struct {
	InitialJ, ChargedJ, DrainedJ, LeftJ float64
}

// NewBatteries returns the batteries of n devices of a valid configuration at
// time 0, no power drawn. The seed decides how full each is when
// InitialChargeSpread is set, and when each is charged when ChargeHourSpread is.
func NewBatteries(cfg Config, n int, seed uint64) *Batteries {
	return NewChargedBatteries(cfg, n, seed, cfg.charging(seed))
}

// NewChargedBatteries is NewBatteries with chargers of ChargeW that are plugged in
// as a plan says, in place of the configuration's.
func NewChargedBatteries(cfg Config, n int, seed uint64, plan ChargingSchedule) *Batteries {
	return newBatteries(&cfg, []Profile{cfg.Device()}, nil, n, seed, plan)
}

// NewMixedBatteries returns the batteries of the devices of a mix, charged as a
// plan says; nil: as the configuration does.
func NewMixedBatteries(cfg Config, mix Mix, seed uint64, plan ChargingSchedule) *Batteries {
	if plan == nil {
		plan = cfg.charging(seed)
	}
	return newBatteries(&cfg, mix.Profiles, mix.Class, len(mix.Class), seed, plan)
}

func newBatteries(cfg *Config, profiles []Profile, of classes, n int, seed uint64, plan ChargingSchedule) *Batteries {
	b := &Batteries{
		classes:  of,
		charger:  cfg.ChargeW,
		delay:    engine.FromSeconds(cfg.ChargeDelayS),
		charging: plan,
		meters:   make([]meter, n),
	}
	mains := true
	for _, p := range profiles {
		capacity := p.BatteryWh * joulesPerWattHour
		b.sizes = append(b.sizes, size{capacity: capacity, low: cfg.LowBattery * capacity, comeback: cfg.ReturnLevel * capacity})
		mains = mains && capacity == 0
	}
	if mains {
		return b
	}
	b.cells = newCells(n, plan != nil || cfg.ChargeW > 0)
	for t := range n {
		c := cell{due: engine.Never, change: engine.Never}
		if !b.OnMains(t) {
			s := rng.New(seed, rng.Battery, t, 0)
			share := cfg.InitialCharge + float64(cfg.InitialChargeSpread*(2*s.Float64()-1))
			c.left = float64(min(max(share, 0), 1) * b.size(t).capacity)
			b.initial += c.left
			if plan != nil {
				b.replug(t, &c, 0)
			}
			b.plan(t, &c, &b.meters[t], nil)
		}
		b.cells.put(t, &c)
	}
	return b
}

// size returns what the battery of device t holds.
func (b *Batteries) size(t int) *size { return &b.sizes[b.classes.of(t)] }

// OnMains reports whether device t has no battery.
func (b *Batteries) OnMains(t int) bool { return b.Mains() || b.size(t).capacity == 0 }

// Mains reports whether no device has a battery.
func (b *Batteries) Mains() bool { return b.cells.none() }

const joulesPerWattHour = 3600

// Change returns the last or the next instant at which the power of device t changes
// on its own, and the power from then on.
type Change func(t int) (at engine.Time, watts float64)

// SetNextPower makes b ask for changes of power whenever it needs them, in place of
// keeping those of each device. The answer for a device must stay the same until
// Account has brought the device up to the present, which it must before SetPower gives
// the device another power. Loads have no stages then.
func (b *Batteries) SetNextPower(change Change) { b.change = change }

// SetPower makes device t draw watts from now on. It panics when the device is
// flat, when its battery was empty before now, when now lies before the last
// account, and on a power that is negative or no number.
func (b *Batteries) SetPower(t int, now engine.Time, watts float64) {
	b.set(t, now, watts, &constant)
}

// set makes device t draw watts from now on, and then what a plan says, if plans are kept.
func (b *Batteries) set(t int, now engine.Time, watts float64, p *plan) {
	if !(watts >= 0) {
		panic(fmt.Sprintf("devices: device %d draws %g W: must be a number, not negative", t, watts))
	}
	if b.Depleted(t) {
		panic(fmt.Sprintf("devices: device %d draws power at %v: it is flat", t, now))
	}
	if b.plans == nil {
		b.account(t, now, nil) // what is foretold is that of the new load already
	} else {
		b.account(t, now, &b.plans[t])
		b.plans[t] = *p
	}
	b.meters[t].watts = watts
	b.replan(t)
}

// replan is plan for device t under its present load, once it is accounted for; of
// one on mains nothing is due.
func (b *Batteries) replan(t int) {
	if !b.OnMains(t) {
		c := b.cells.at(t)
		b.plan(t, &c, &b.meters[t], b.planOf(t, &plan{}))
		b.cells.put(t, &c)
	}
}

// SetPowerSequence is SetPower for a power that will change. It panics after SetNextPower.
func (b *Batteries) SetPowerSequence(t int, now engine.Time, load PowerSequence) {
	if b.change != nil {
		panic(fmt.Sprintf("devices: device %d is given a load of stages: what is to come is foretold", t))
	}
	watts, p := load.plan(now)
	if p != constant && b.plans == nil {
		b.plans = make([]plan, len(b.meters)) // most runs have none
		for t := range b.plans {
			b.plans[t] = constant
		}
	}
	b.set(t, now, watts, &p)
}

// PowerChangeAt returns when the load of device t changes next, as SetPowerSequence was told;
// engine.Never when it does not.
func (b *Batteries) PowerChangeAt(t int) engine.Time {
	if b.plans == nil {
		return engine.Never
	}
	return b.plans[t].at[0]
}

// Spend takes energy from device t, which is up, at once: as much of it as its
// battery has, which may be empty now.
func (b *Batteries) Spend(t int, now engine.Time, joules float64) {
	if !(joules >= 0) {
		panic(fmt.Sprintf("devices: device %d spends %g J: must be a number, not negative", t, joules))
	}
	if b.Depleted(t) {
		panic(fmt.Sprintf("devices: device %d spends energy at %v: it is flat", t, now))
	}
	b.Account(t, now)
	m := &b.meters[t]
	if b.OnMains(t) {
		m.drained += joules
		return
	}
	c := b.cells.at(t)
	joules = min(joules, c.left)
	c.left -= joules
	m.drained += joules
	b.plan(t, &c, m, b.planOf(t, &plan{}))
	b.cells.put(t, &c)
}

// EmptyAt returns when the battery of device t will be empty under the present
// load: the first nanosecond at which nothing is left. ok is false when that
// will not happen, when the device runs on mains, and when it is flat already.
//
// Where chargers follow a plan it looks no further than to the plan's next
// change: the battery is empty no earlier, and once the time until then is
// accounted for, EmptyAt knows more.
func (b *Batteries) EmptyAt(t int) (at engine.Time, ok bool) {
	if b.Mains() || b.cells.flat(t) || b.cells.due(t) == engine.Never {
		return engine.Never, false
	}
	return b.cells.due(t), true
}

// Deplete makes device t flat; now must be its EmptyAt, also after Account(t, now).
func (b *Batteries) Deplete(t int, now engine.Time) {
	if at, ok := b.EmptyAt(t); ok && at == now {
		b.Account(t, now)
	}
	if at, ok := b.EmptyAt(t); !ok || at != now {
		panic(fmt.Sprintf("devices: device %d dies at %v: its battery is empty at %v", t, now, at))
	}
	c := b.cells.at(t)
	c.flat, c.certain = true, false
	b.meters[t].watts = 0
	if b.plans != nil {
		b.plans[t] = constant
	}
	if b.charging == nil && b.charger > 0 {
		c.plugged, c.change = false, now.Add(b.delay)
	}
	b.plan(t, &c, &b.meters[t], nil)
	b.cells.put(t, &c)
}

// Depleted reports whether device t has died and not been revived.
func (b *Batteries) Depleted(t int) bool { return !b.Mains() && b.cells.flat(t) }

// RestoreAt returns when the battery of device t, which is flat, will be charged
// enough for the device to come back. ok is false when it never will, and when
// the device is not flat. Where chargers follow a plan it looks no further than
// EmptyAt does: the device comes back no earlier.
func (b *Batteries) RestoreAt(t int) (at engine.Time, ok bool) {
	if !b.Depleted(t) || b.cells.due(t) == engine.Never {
		return engine.Never, false
	}
	return b.cells.due(t), true
}

// Restore brings device t up, which is flat, drawing no power yet. A charger that
// was plugged in because the device was flat is unplugged. now must not lie before
// its RestoreAt, also after Account(t, now); the battery is charged until now, at
// most until it is full.
func (b *Batteries) Restore(t int, now engine.Time) {
	if at, ok := b.RestoreAt(t); ok && at <= now {
		b.Account(t, now)
	}
	if at, ok := b.RestoreAt(t); !ok || now < at {
		panic(fmt.Sprintf("devices: device %d is revived at %v: it may come back at %v", t, now, at))
	}
	c := b.cells.at(t)
	c.flat = false
	if b.charging == nil {
		c.plugged, c.change = false, engine.Never
	}
	b.plan(t, &c, &b.meters[t], nil)
	b.cells.put(t, &c)
}

// AccountAll accounts for all devices up to now.
func (b *Batteries) AccountAll(now engine.Time) {
	for t := range b.meters {
		b.Account(t, now)
	}
}

// Spent returns the energy in joules that device t has drawn so far, from its
// battery or from mains.
func (b *Batteries) Spent(t int) float64 { return b.meters[t].drained }

// Left returns the energy in joules that is left in the battery of device t, which
// is not on mains.
func (b *Batteries) Left(t int) float64 { return b.cells.left(t) }

// Total returns the balance of all devices together.
func (b *Batteries) Total() Energy {
	var all Energy
	for t := range b.meters {
		all.DrainedJ += b.meters[t].drained
	}
	if b.Mains() {
		all.ChargedJ = all.DrainedJ
		return all
	}
	all.InitialJ = b.initial
	charged := b.charged
	for t := range b.meters {
		if b.OnMains(t) {
			charged.add(b.meters[t].drained)
		} else {
			all.LeftJ += b.cells.left(t)
		}
	}
	all.ChargedJ = charged.value()
	return all
}
