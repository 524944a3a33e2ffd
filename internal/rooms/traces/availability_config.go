package traces

import "fedsim/config"

// AvailabilityConfig describes generated availability: a two-state Markov chain in
// continuous time whose rates depend on the hour of the day. At the local hour h, an
// unavailable device becomes available at the rate
//
//	(1 + Daily cos(2 pi (h - PeakHour)/24)) / MeanDownS
//
// and an available device becomes unavailable at the rate
//
//	(1 - Daily cos(2 pi (h - PeakHour)/24)) / MeanUpS.
//
// With Daily = 0 the durations are exponential with those means, and the share of time
// available is MeanUpS/(MeanUpS + MeanDownS). Time 0 is midnight of the zone with offset
// 0.
type AvailabilityConfig struct {
	// level of unavailability, instead of mean_up_s: "none", "mild", "middle" or "severe"
	// (docs/time.md#fleets)
	Level string `toml:"level" absent:"\"\": no level"`
	// mean time in seconds for which a device is available
	MeanUpS float64 `toml:"mean_up_s" absent:"0: none, availability is not generated"`
	// mean time in seconds for which a device is unavailable
	MeanDownS float64 `toml:"mean_down_s"`
	// daily variation of the rates, from 0 to 1: at peak_hour a device becomes available 1 + daily
	// times as often as on average and unavailable 1 - daily times as often; half a day later the
	// reverse
	Daily float64 `toml:"daily"`
	// local hour at which most devices become available
	PeakHour float64 `toml:"peak_hour"`
	// time zones as offsets in hours; each device draws one. Time 0 is midnight at offset 0
	ZonesH []float64 `toml:"zones_h"`
}

// DefaultAvailability generates nothing. With mean_up_s set, it ignores the hour of the
// day. The mean time down and the peak at night, when phones are on their chargers, are
// our choice.
func DefaultAvailability() AvailabilityConfig {
	return AvailabilityConfig{MeanDownS: 6 * 3600, PeakHour: 2, ZonesH: []float64{0}}
}

// Generated reports whether availability is generated.
func (c *AvailabilityConfig) Generated() bool { return c.MeanUpS != 0 || levels[c.Level].MeanUpS != 0 }

// levels have the mean times and the daily variation of each level, which are our choice.
var levels = map[string]AvailabilityConfig{
	"none":   {},
	"mild":   {MeanUpS: 6 * 3600, MeanDownS: 3600},
	"middle": {MeanUpS: 2 * 3600, MeanDownS: 2 * 3600, Daily: 0.5},
	"severe": {MeanUpS: 600, MeanDownS: 5400, Daily: 0.8},
}

// Levels are the names of the levels, from none to the most.
var Levels = []string{"none", "mild", "middle", "severe"}

// AtLevel returns the table with the times of its level, if it has one.
func (c AvailabilityConfig) AtLevel() AvailabilityConfig {
	if at, ok := levels[c.Level]; ok && at.MeanUpS > 0 {
		c.MeanUpS, c.MeanDownS, c.Daily = at.MeanUpS, at.MeanDownS, at.Daily
	}
	return c
}

// The bounds of mean times in seconds. With less, the changes of a day would take
// minutes.
const (
	leastMean, mostMean = 1e-3, 1e9
	wantMean            = "must be in [0.001, 1e9], seconds"
)

// Validate reports all errors.
func (c *AvailabilityConfig) Validate(check *config.Checker) {
	check.OneOfOrEmpty("level", c.Level, Levels...)
	own := DefaultAvailability()
	check.Require(c.Level == "" || c.MeanUpS == 0 && c.MeanDownS == own.MeanDownS && c.Daily == own.Daily, "level",
		c.Level,
		"cannot be combined with mean_up_s, mean_down_s and daily, which it sets")
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
