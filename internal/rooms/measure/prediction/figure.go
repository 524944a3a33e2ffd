package prediction

import (
	"math"

	"fedsim/plots"
)

// Figure draws predicted against measured responses of attempts and makespans of runs, by the
// calibrated model and, for runs whose log has them, by nominal values.
func Figure(all []*Checked) (*plots.Picture, error) { return plots.DrawScatter(compared(all)) }

// compared returns the points of the figure: a panel of attempts, and one of makespans.
func compared(all []*Checked) plots.Scatter {
	series := []string{"calibrated model", "nominal values"}
	points := [2][2]plots.Points{} // by panel and series
	add := func(to *plots.Points, measured, predicted float64) {
		if measured > 0 && !math.IsNaN(predicted) {
			to.X, to.Y = append(to.X, measured), append(to.Y, predicted)
		}
	}
	nominal := 0 // runs
	for _, c := range all {
		for k, by := range []*Played{c.Predicted, c.ByNominal} {
			if by == nil {
				continue
			}
			for i := range c.Measured.Attempts { // a simulated client may have further ones
				add(&points[0][k], c.Measured.Attempts[i].Response(), by.Attempts[i].Response())
			}
		}
		add(&points[1][0], c.MeasuredS, c.PredictedS)
		if c.ByNominal != nil {
			add(&points[1][1], c.MeasuredS, c.ByNominal.Makespan)
			nominal++
		}
	}
	if nominal == 0 {
		series = series[:1]
	}
	return plots.Scatter{
		File: "check", XLabel: "measured (s)", YLabel: "predicted (s)", Diagonal: true,
		Series: series, Note: plots.DiagonalNote,
		Panels: []plots.ScatterPanel{
			{Title: "responses of clients", Points: points[0][:len(series)]},
			{Title: "makespans of runs", Points: points[1][:len(series)]},
		},
	}
}
