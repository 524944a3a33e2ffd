package traces

import (
	"fmt"
	"math"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/lognormal"
	"fedsim/internal/rng"
)

// Synthesis describes generated traces. Availability is a two-state Markov
// chain in continuous time whose rates follow the hour of the day: at the local
// hour h a device that is away comes back at the rate
//
//	(1 + Daily cos(2 pi (h - PeakHour)/24)) / MeanDown
//
// and one that is there leaves at the rate
//
//	(1 - Daily cos(2 pi (h - PeakHour)/24)) / MeanUp.
//
// With Daily = 0 the times up and down are exponential with those means, and
// the share of time up is MeanUp/(MeanUp + MeanDown). Chargers, when
// ChargeHours is positive, are plugged in once a day. Rates, when they are
// positive, are a log-normal number of that mean, and drawn anew after
// exponential times. Time 0 is midnight of the zone with offset 0.
type Synthesis struct {
	Devices int
	Days    float64 // span of the traces
	Seed    uint64

	MeanUp   float64   // mean time up, hours
	MeanDown float64   // mean time down, hours
	Daily    float64   // how much the rates follow the day, in [0, 1]
	PeakHour float64   // local hour at which the most devices are available
	Zones    []float64 // offsets of the local time in hours; a device has one of them, each as likely

	ChargeHours  float64 // mean time on the charger a day; 0: charging is not generated
	PlugHour     float64 // mean local hour at which the charger is plugged in
	ChargeSpread float64 // standard deviation of either, hours

	DownMbps  float64 // mean rates; 0: not generated
	UpMbps    float64
	RateCV    float64 // sigma/mu of a rate over time
	RateHours float64 // mean time for which a rate holds
}

// SynthesisDefaults returns a day of a hundred devices in one zone. The
// variation of rates is what FLASH measured (sigma/mu about 0.45); mean times,
// pattern and charging are ours.
func SynthesisDefaults() Synthesis {
	return Synthesis{
		Devices: 100, Days: 1, MeanUp: 2, MeanDown: 6, Daily: 0.8, PeakHour: 2, Zones: []float64{0},
		PlugHour: 22, ChargeSpread: 1, RateCV: 0.45, RateHours: 0.25,
	}
}

// Validate reports what is wrong, by the names of the flags that set it.
func (s *Synthesis) Validate(c *config.Checker) {
	hour := func(key string, h float64) { c.Require(h >= 0 && h < 24, key, h, "must be in [0, 24), hours") }
	span := func(key string, h float64) {
		c.Require(h >= 0.01 && h <= 1e6, key, h, "must be in [0.01, 1000000], hours")
	}
	rate := func(key string, r float64) { c.Require(r >= 0 && r <= 1e9, key, r, "must be in [0, 1e9], Mbps") }
	c.Require(s.Devices >= 1, "devices", s.Devices, "must be at least 1")
	c.Require(s.Days > 0 && s.Days <= maxDays, "days", s.Days, wantDays)
	span("mean-up-h", s.MeanUp)
	span("mean-down-h", s.MeanDown)
	c.Require(s.Daily >= 0 && s.Daily <= 1, "daily", s.Daily, "must be in [0, 1]")
	hour("peak-hour", s.PeakHour)
	c.Require(len(s.Zones) > 0, "zones", s.Zones, "must name at least one offset")
	for _, z := range s.Zones {
		c.Require(z >= -12 && z <= 14, "zones", z, "must be in [-12, 14], hours from UTC")
	}
	c.Require(s.ChargeHours >= 0 && s.ChargeHours <= 24, "charge-h", s.ChargeHours, "must be in [0, 24], hours a day")
	hour("plug-hour", s.PlugHour)
	c.Require(s.ChargeSpread >= 0 && s.ChargeSpread <= 12, "charge-spread-h", s.ChargeSpread, "must be in [0, 12], hours")
	rate("down-mbps", s.DownMbps)
	rate("up-mbps", s.UpMbps)
	c.Require(s.RateCV >= 0 && s.RateCV <= 10, "rate-cv", s.RateCV, "must be in [0, 10]")
	span("rate-h", s.RateHours)
}

// Synthesise returns the devices of a valid description, d0, d1 and so on. The
// draws of a device depend on the seed and its number alone, so that more
// devices leave the first ones as they were.
func Synthesise(s Synthesis) Recordings {
	return func(yield func(*Recording, error) bool) {
		r := &Recording{}
		for d := range s.Devices {
			r.reset(fmt.Sprintf("d%d", d), hours(s.Days*24))
			zones := s.draws(d, 0)
			zone := s.Zones[zones.IntN(len(s.Zones))]
			s.available(r, d, zone)
			if s.ChargeHours > 0 {
				s.charge(r, d, zone)
			}
			s.rates(r, d, DownMbps, s.DownMbps)
			s.rates(r, d, UpMbps, s.UpMbps)
			if !yield(r, nil) {
				return
			}
		}
	}
}

// draws returns the stream of a part of a device's trace: 0 is its zone, 1 + k
// the kind k.
func (s *Synthesis) draws(device, part int) rng.Stream {
	return rng.New(s.Seed, rng.Trace, device, part)
}

func hours(h float64) engine.Time { return max(1, engine.FromSeconds(h*3600)) }

// available draws the chain by thinning (Lewis and Shedler 1979): candidates at
// the highest rate, each taken with the share that the rate has of it.
func (s *Synthesis) available(r *Recording, device int, zone float64) {
	draws := s.draws(device, 1+int(Available))
	wave := func(hour float64) float64 {
		return float64(s.Daily * math.Cos(2*math.Pi*(hour+zone-s.PeakHour)/24))
	}
	now := wave(0)
	come, leave := (1+now)/s.MeanDown, (1-now)/s.MeanUp
	on := 0.0
	if draws.Float64()*(come+leave) < come {
		on = 1
	}
	r.add(Available, 0, on)
	for hour := 0.0; ; {
		mean, sign := s.MeanDown, 1.0
		if on == 1 {
			mean, sign = s.MeanUp, -1
		}
		hour += exponential(&draws) * mean / (1 + s.Daily)
		if hours(hour) >= r.Span {
			return
		}
		if draws.Float64()*(1+s.Daily) < 1+sign*wave(hour) {
			on = 1 - on
			r.add(Available, hours(hour), on)
		}
	}
}

// charge plugs the charger in once a day, from the day before the first on.
func (s *Synthesis) charge(r *Recording, device int, zone float64) {
	draws := s.draws(device, 1+int(Charging))
	var plugged []interval
	for day := -2.0; (day-1)*24 < s.Days*24+24; day++ {
		from := day*24 + s.PlugHour - zone + float64(s.ChargeSpread*draws.Normal())
		to := from + max(0, s.ChargeHours+float64(s.ChargeSpread*draws.Normal()))
		if to > 0 && hours(max(0, from)) < r.Span {
			plugged = append(plugged, interval{engine.FromSeconds(max(0, from) * 3600), min(hours(to), r.Span)})
		}
	}
	r.union(Charging, plugged)
}

func (s *Synthesis) rates(r *Recording, device int, k Kind, mean float64) {
	if mean == 0 {
		return
	}
	draws := s.draws(device, 1+int(k))
	spread := lognormal.Of(s.RateCV)
	for at := engine.Time(0); at < r.Span; at = at.Add(hours(exponential(&draws) * s.RateHours)) {
		r.add(k, at, mean*spread.At(draws.Normal()))
	}
}

// exponential returns an exponential number of mean 1.
func exponential(s *rng.Stream) float64 { return -math.Log1p(-s.Float64()) }
