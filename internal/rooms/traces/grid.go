package traces

import (
	"fmt"
	"math"

	"fedsim/engine"
	"fedsim/internal/tools/elementary"
)

// GeneratedGrid returns an example of carbon intensities over a day. No grid has them, and all numbers
// are our choice. The place generated-M has the mean M g CO2e per kWh, and in the hour h
//
//	M (1 + swing cos(2 pi (h + 1/2 - peak)/24))
func GeneratedGrid() Sequence {
	const swing, peak = 0.3, 19
	return func(yield func(*Trace, error) bool) {
		r := &Trace{}
		for _, mean := range []float64{20, 240, 1200} {
			r.reset(fmt.Sprintf("generated-%g", mean), dayHours*hour)
			for h := range engine.Time(dayHours) {
				angle := 2 * math.Pi * (float64(h) + 0.5 - peak) / dayHours
				r.add(GridGPerKWh, h*hour, mean*(1+float64(swing*elementary.Cos(angle))))
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}
