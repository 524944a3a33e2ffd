package traces

import "fedsim/config"

// AvailabilityConfig describes devices that come and go: a two-state Markov chain
// in continuous time whose rates follow the hour of the day. At the local hour h
// a device that is down comes back at the rate
//
//	(1 + Daily cos(2 pi (h - PeakHour)/24)) / MeanDownS
//
// and one that is up leaves at the rate
//
//	(1 - Daily cos(2 pi (h - PeakHour)/24)) / MeanUpS.
//
// With Daily = 0 the times up and down are exponential with those means, and
// the share of time up is MeanUpS/(MeanUpS + MeanDownS). Time 0 is midnight of
// the zone with offset 0.
type AvailabilityConfig struct {
	MeanUpS   float64   `toml:"mean_up_s" doc:"mean time in seconds for which a device is available; 0: devices do not come and go by chance"`
	MeanDownS float64   `toml:"mean_down_s" doc:"mean time in seconds for which it is not"`
	Daily     float64   `toml:"daily" doc:"how much coming and going follow the day: at the peak a device comes back 1 + daily times as often as on average and leaves 1 - daily times as often, half a day later the reverse; 0: not at all"`
	PeakHour  float64   `toml:"peak_hour" doc:"local hour at which devices come back most and leave least"`
	ZonesH    []float64 `toml:"zones_h" doc:"offsets of local time in hours from that of time 0, which is midnight; each device draws one"`
}

// DefaultAvailability returns devices that do not come and go; once mean_up_s is
// set, without regard to the day. The mean time down and the peak, when phones
// lie on their chargers at night, are ours.
func DefaultAvailability() AvailabilityConfig {
	return AvailabilityConfig{MeanDownS: 6 * 3600, PeakHour: 2, ZonesH: []float64{0}}
}

// generated reports whether devices come and go.
func (c *AvailabilityConfig) generated() bool { return c.MeanUpS != 0 }

// The bounds of mean times in seconds: below, the changes of a day would take minutes.
const (
	leastMean, mostMean = 1e-3, 1e9
	wantMean            = "must be in [0.001, 1e9], seconds"
)

// Validate reports everything that is wrong.
func (c *AvailabilityConfig) Validate(check *config.Checker) {
	mean := func(key string, s float64, zero bool) {
		check.Require(s >= leastMean && s <= mostMean || zero && s == 0, key, s, wantMean)
	}
	mean("mean_up_s", c.MeanUpS, true)
	mean("mean_down_s", c.MeanDownS, false)
	check.Require(c.Daily >= 0 && c.Daily <= 1, "daily", c.Daily, "must be in [0, 1]")
	check.Require(c.PeakHour >= 0 && c.PeakHour < 24, "peak_hour", c.PeakHour, "must be in [0, 24), hours")
	check.Require(len(c.ZonesH) > 0, "zones_h", c.ZonesH, "must name at least one offset")
	for _, z := range c.ZonesH {
		check.Require(z >= -12 && z <= 14, "zones_h", z, "must be in [-12, 14], hours from UTC")
	}
}
