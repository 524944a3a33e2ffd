package traces

import (
	"cmp"
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/tools/lognormal"
	"fedsim/internal/tools/rng"
)

// Synthesis describes generated traces. Availability generates when devices are
// available. If ChargeH is positive, chargers are plugged in once a day. If rates are
// positive, they are log-normal with that mean and change after exponential times. Time
// 0 is midnight of the zone with offset 0.
type Synthesis struct {
	Devices int
	Days    float64 // span of the traces
	Seed    uint64

	Availability AvailabilityConfig

	ChargeH       float64 // mean hours per day on the charger; 0: charging is not generated
	PlugHour      float64 // mean local hour at which the charger is plugged in
	ChargeSpreadH float64 // standard deviation of both, hours

	DownMbps float64 // mean rates; 0: not generated
	UpMbps   float64
	RateCV   float64 // sigma/mu of a rate over time
	RateS    float64 // mean time for which a rate holds, seconds
}

// SynthesisDefaults returns a day of a hundred devices in one zone. The variation of
// rates was measured by FLASH (sigma/mu about 0.45). Mean times, daily pattern and
// charging are our choice.
func SynthesisDefaults() Synthesis {
	s := Synthesis{Devices: 100, Days: 1, Availability: DefaultAvailability(), PlugHour: 22, ChargeSpreadH: 1,
		RateCV: 0.45, RateS: 900}
	s.Availability.MeanUpS, s.Availability.Daily = 2*3600, 0.8
	return s
}

// maxDays is a hundred years.
const maxDays = 36525

// Validate reports all errors under the names of the command-line flags.
func (s *Synthesis) Validate(c *config.Checker) {
	rate := func(key string, r float64) { c.Require(r >= 0 && r <= 1e9, key, r, "must be in [0, 1e9], Mbps") }
	c.Require(s.Devices >= 1, "devices", s.Devices, "must be at least 1")
	c.Require(s.Days > 0 && s.Days <= maxDays, "days", s.Days, "must be in (0, 36525], days")
	s.Availability.Validate(c)
	c.Require(s.Availability.Generated() || s.ChargeH > 0 || s.DownMbps > 0 || s.UpMbps > 0, "mean_up_s",
		s.Availability.MeanUpS,
		"must be positive when neither charging nor rates are generated")
	c.Require(s.ChargeH >= 0 && s.ChargeH <= 24, "charge_h", s.ChargeH, "must be in [0, 24], hours a day")
	c.Require(s.PlugHour >= 0 && s.PlugHour < 24, "plug_hour", s.PlugHour, "must be in [0, 24), hours")
	c.Require(s.ChargeSpreadH >= 0 && s.ChargeSpreadH <= 12, "charge_spread_h", s.ChargeSpreadH,
		"must be in [0, 12], hours")
	rate("down_mbps", s.DownMbps)
	rate("up_mbps", s.UpMbps)
	c.Require(s.RateCV >= 0 && s.RateCV <= 10, "rate_cv", s.RateCV, "must be in [0, 10]")
	c.Require(s.RateS >= 1 && s.RateS <= 1e9, "rate_s", s.RateS, "must be in [1, 1e9], seconds")
}

// Synthesize generates the devices d0, d1 and so on of a valid description. The draws of
// a device depend only on the seed and its number, so adding devices does not change the
// others. Availability is that of [NewAvailability] for the same seed.
func Synthesize(s Synthesis) Sequence {
	return func(yield func(*Trace, error) bool) {
		r := &Trace{}
		x := newChain(s.Availability, s.Seed)
		for d := range s.Devices {
			r.reset(fmt.Sprintf("d%d", d), atLeast1ns(s.Days*86400))
			if s.Availability.Generated() {
				x.record(r, d)
			}
			if s.ChargeH > 0 {
				zone, _ := x.zone(d)
				s.charge(r, d, s.Availability.ZonesH[zone])
			}
			s.rates(r, d, DownMbps, s.DownMbps)
			s.rates(r, d, UpMbps, s.UpMbps)
			if !yield(r, nil) {
				return
			}
		}
	}
}

// record adds the intervals of a device up to the end of its span.
func (ch *chain) record(r *Trace, device int) {
	for c := ch.first(device, 0); c.from < r.Span; c = ch.next(device, c) {
		on := 0.0
		if c.turn > 0 {
			on = 1
		}
		r.add(Available, c.from, on)
	}
}

// draws returns the random stream of a kind of a device's trace.
func (s *Synthesis) draws(device int, k Kind) rng.Stream {
	return rng.New(s.Seed, rng.Recorded, device, int(k))
}

// charge plugs the charger in once a day.
func (s *Synthesis) charge(r *Trace, device int, zone float64) {
	draws := s.draws(device, Charging)
	var plugged []interval
	// Charging that began up to three days before may still last.
	for day := -3.0; day < s.Days+3; day++ {
		from := float64(day*24) + s.PlugHour - zone + float64(s.ChargeSpreadH*draws.Normal())
		to := from + max(0, s.ChargeH+float64(s.ChargeSpreadH*draws.Normal()))
		if to > 0 {
			plugged = append(plugged,
				interval{engine.FromSeconds(max(0, from) * 3600), min(engine.FromSeconds(to*3600), r.Span)})
		}
	}
	r.union(Charging, plugged)
}

func (s *Synthesis) rates(r *Trace, device int, k Kind, mean float64) {
	if mean == 0 {
		return
	}
	draws := s.draws(device, k)
	spread := lognormal.Of(s.RateCV)
	for at := engine.Time(0); at < r.Span; at = at.Add(atLeast1ns(exponential(&draws) * s.RateS)) {
		r.add(k, at, mean*spread.At(draws.Normal()))
	}
}

type interval struct{ from, to engine.Time }

// union makes a binary value that is on within any of the intervals. It sorts them.
func (tr *Trace) union(k Kind, intervals []interval) {
	slices.SortFunc(intervals, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	tr.add(k, 0, 0)
	end := engine.Time(0) // of the union so far
	for _, x := range intervals {
		if x.to <= x.from || x.to <= end {
			continue
		}
		tr.add(k, max(x.from, end), 1) // replaces an end at the same instant
		if end = x.to; end < tr.Span {
			tr.add(k, end, 0)
		}
	}
}
