package carbon

import (
	"fmt"
	"math"
	"strings"

	"fedsim/internal/rooms/traces"
	"fedsim/internal/tools/elementary"
)

// generated returns an example of carbon intensities over a day, as a file. No grid has them, and all numbers
// are our choice. The place generated-M has the mean M g CO2e per kWh, and in the hour h
//
//	M (1 + swing cos(2 pi (h + 1/2 - peak)/24))
func generated() traces.Sequence {
	const swing, peak, hours = 0.3, 19, 24
	var b strings.Builder
	b.WriteString("device,time_s,kind,value\n")
	for _, mean := range []float64{20, 240, 1200} {
		for h := range hours {
			angle := 2 * math.Pi * (float64(h) + 0.5 - peak) / hours
			fmt.Fprintf(&b, "generated-%g,%d,grid_g_per_kwh,%v\n", mean, 3600*h,
				mean*(1+float64(swing*elementary.Cos(angle))))
		}
		fmt.Fprintf(&b, "generated-%g,%d,end,\n", mean, 3600*hours)
	}
	return traces.CSV(strings.NewReader(b.String()), Generated)
}
