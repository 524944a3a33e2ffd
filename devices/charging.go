package devices

import (
	"fmt"
	"math"

	"fedsim/engine"
	"fedsim/internal/rng"
)

// When devices are charged.
const (
	// WhenDepleted plugs the charger in a while after the battery has run empty, until
	// the device comes back.
	WhenDepleted = "when-depleted"
	// Daily plugs the charger in at a time of the day for some hours.
	Daily = "daily"
)

// ChargingSchedule says when devices are plugged in, whether they are up or flat.
//
// Different devices may be asked about at once.
type ChargingSchedule interface {
	// PluggedIn reports whether a device is plugged in at an instant, and when that
	// changes next: later than at, Never when it does not. For each device it is
	// asked about instants in order, from 0 on.
	PluggedIn(device int, at engine.Time) (plugged bool, change engine.Time)
}

// charging returns the plan of a valid configuration; nil for chargers that wait
// until a battery is empty, and for none.
func (d *Config) charging(seed uint64) ChargingSchedule {
	if d.Charging != Daily || d.ChargeW == 0 {
		return nil
	}
	const hour = 3600e9
	return &daily{
		start: d.ChargeHour * hour, spread: d.ChargeHourSpread * hour,
		length: engine.Time(math.Round(d.ChargeHours * hour)), seed: seed,
	}
}

// day is the period of daily charging.
const day engine.Time = 24 * 3600e9

// daily charges for the same hours of every day. Time 0 is midnight.
type daily struct {
	start, spread float64     // ns after midnight
	length        engine.Time // below a day
	seed          uint64
}

// PluggedIn draws when device t is plugged in from the stream (seed, rng.Charging,
// t, 0): nothing is kept for a device, and any instant may be asked about.
func (d *daily) PluggedIn(t int, at engine.Time) (plugged bool, change engine.Time) {
	start := d.start
	if d.spread > 0 {
		s := rng.New(d.seed, rng.Charging, t, 0)
		start += float64(d.spread * (2*s.Float64() - 1))
	}
	begin := engine.Time(math.Round(start)) % day
	if begin < 0 {
		begin += day
	}
	since := (at - begin) % day // the start of its last charging
	if since < 0 {
		since += day
	}
	if since < d.length {
		return true, at.Add(d.length - since)
	}
	return false, at.Add(day - since)
}

// replug asks the plan for what follows the instant at which a device's charger
// was to be plugged in or out.
func (b *Batteries) replug(t int, c *cell, now engine.Time) {
	if b.charging == nil {
		c.plugged, c.change = true, engine.Never // of a flat device
		return
	}
	c.plugged, c.change = b.charging.PluggedIn(t, now)
	if c.change <= now {
		panic(fmt.Sprintf("devices: device %d is plugged in = %t at %v until %v: must be later", t, c.plugged, now, c.change))
	}
}
