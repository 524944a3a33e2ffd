package traces

import (
	"fmt"
	"math"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/tools/elementary"
)

// GridSynthesis describes generated carbon intensities. They are examples: no grid has them. The
// place generated-M has the mean M, and in the hour h of a day
//
//	M (1 + swing cos(2 pi (h + 1/2 - peak_hour)/24))
type GridSynthesis struct {
	GPerKWh  []float64 // mean of each place, g CO2e per kWh
	Swing    float64
	PeakHour float64 // the hour of the largest intensity
	Days     float64
}

// GridSynthesisDefaults returns a day of three places. All values are our choice.
func GridSynthesisDefaults() GridSynthesis {
	return GridSynthesis{GPerKWh: []float64{20, 240, 1200}, Swing: 0.3, PeakHour: 19, Days: 1}
}

// Validate reports all errors under the names of the command-line flags.
func (s *GridSynthesis) Validate(c *config.Checker) {
	c.Require(len(s.GPerKWh) > 0, "g_per_kwh", s.GPerKWh, "must have a mean for each place")
	taken := map[float64]bool{}
	for _, mean := range s.GPerKWh {
		c.Require(mean >= 0 && mean <= 1e6 && !taken[mean], "g_per_kwh", mean, "must be in [0, 1e6], and different for each place")
		taken[mean] = true
	}
	c.Require(s.Swing >= 0 && s.Swing <= 1, "swing", s.Swing, "must be in [0, 1]")
	c.Require(s.PeakHour >= 0 && s.PeakHour < 24, "peak_hour", s.PeakHour, "must be in [0, 24), hours")
	c.Require(s.Days > 0 && s.Days <= maxDays, "days", s.Days, "must be in (0, 36525], days")
}

// SynthesizeGrid generates the places of a valid description.
func SynthesizeGrid(s GridSynthesis) Sequence {
	return func(yield func(*Trace, error) bool) {
		r := &Trace{}
		for _, mean := range s.GPerKWh {
			r.reset(fmt.Sprintf("generated-%g", mean), atLeast1ns(s.Days*86400))
			for h := engine.Time(0); h*hour < r.Span; h++ {
				angle := 2 * math.Pi * (float64(h%dayHours) + 0.5 - s.PeakHour) / dayHours
				r.add(GridGPerKWh, h*hour, max(0, mean*(1+float64(s.Swing*elementary.Cos(angle)))))
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}
