package devices

import (
	"fmt"
	"math"

	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// Values of the key charging: when devices are charged.
const (
	// Daily plugs the charger in at an hour of the day for some hours.
	Daily = "daily"
	// WhenDepleted plugs the charger in some time after the battery is empty, until the
	// device is restored.
	WhenDepleted = "when-depleted"
	// Never leaves devices without a charger.
	Never = "never"
)

// ChargingSchedule says when the chargers of devices are plugged in, whether the devices
// are up or depleted.
//
// It may be called concurrently for different devices.
type ChargingSchedule interface {
	// PluggedIn reports whether a device is plugged in at an instant, and when that
	// changes next: later than at, or Never. For each device it is called for instants
	// in ascending order from 0.
	PluggedIn(device int, at engine.Time) (plugged bool, change engine.Time)
}

// charging returns the schedule of a valid configuration. It is nil unless that is daily.
func (cfg *Config) charging(seed uint64) *daily {
	if cfg.Charging != Daily {
		return nil
	}
	const hour = 3600e9
	return &daily{
		start: cfg.ChargeHour * hour, begin: begins(cfg.ChargeHour * hour), spread: cfg.ChargeHourSpread * hour,
		length: engine.Time(math.Round(cfg.ChargeHours * hour)), seed: seed,
	}
}

// day is the period of daily charging.
const day engine.Time = 24 * 3600e9

// daily charges during the same hours of every day. Time 0 is midnight.
type daily struct {
	start, spread float64     // ns after midnight
	begin         engine.Time // without spread
	length        engine.Time // less than a day
	seed          uint64
}

// PluggedIn draws the charging hour of a device from the stream (seed, rng.Charging, device,
// 0). It stores nothing and accepts instants in any order.
func (d *daily) PluggedIn(device int, at engine.Time) (plugged bool, change engine.Time) {
	begin := d.begin
	if d.spread > 0 {
		s := rng.New(d.seed, rng.Charging, device, 0)
		begin = begins(d.start + float64(d.spread*(2*s.Float64()-1)))
	}
	return d.at(at, begin)
}

// at is PluggedIn of a device whose charging begins at an instant of the day.
func (d *daily) at(at, begin engine.Time) (plugged bool, change engine.Time) {
	since := (at - begin) % day // time since the last charging began
	if since < 0 {
		since += day
	}
	if since < d.length {
		return true, at.Add(d.length - since)
	}
	return false, at.Add(day - since)
}

// begins returns an instant in [0, day) from the nanoseconds after midnight.
func begins(ns float64) engine.Time { return (engine.Time(math.Round(ns))%day + day) % day }

// updateCharger sets the state of a device's charger at now, and its next change.
func (b *Batteries) updateCharger(device int, c *cell, now engine.Time) {
	if b.charging == nil {
		c.plugged, c.change = true, engine.Never // of a depleted device
		return
	}
	c.plugged, c.change = b.charging.PluggedIn(device, now)
	if c.change <= now {
		panic(fmt.Sprintf("devices: device %d: plugged in = %t at %v until %v: the end must be later", device,
			c.plugged, now, c.change))
	}
}
