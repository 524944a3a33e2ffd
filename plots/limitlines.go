package plots

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedsim/results"
)

// setLimits sets the values at the optima of runs, means over the runs of a line.
func (f *figureContent) setLimits(a *Arrangement, runs []results.Run) {
	if !f.fig.Limits {
		return
	}
	metric, _ := results.MetricOf(runs, f.fig.Y)
	count := make(map[Place]float64)
	for i := range f.panels {
		f.panels[i].limits = make([]float64, len(f.series))
	}
	drawn := false
	for i := range runs {
		at := a.Runs[i]
		sum := &f.panels[at.Panel].limits[at.Line]
		if runs[i].AtOptimum == nil {
			*sum = math.NaN()
			continue
		}
		count[at]++
		*sum += metric.Of(runs[i].AtOptimum)
	}
	for i := range f.panels {
		for line, sum := range f.panels[i].limits {
			limit := f.yScale.place(sum / count[Place{i, line}])
			f.panels[i].limits[line] = limit
			drawn = drawn || !math.IsNaN(limit)
		}
	}
	if drawn {
		f.notes = append(f.notes, "thin dashes: the model at the optimum of the method's own problem")
	}
}

// limit draws the limit of series i across the panel.
func (d *drawing) limit(c *draw.Canvas, toY func(float64) vg.Length, i int) {
	y := toY(d.limits[i])
	if math.IsNaN(d.limits[i]) || !c.ContainsY(y) {
		return
	}
	c.StrokeLine2(draw.LineStyle{Color: d.styles[i].line.Color, Width: 0.6, Dashes: []vg.Length{2, 2.5}}, c.Min.X, y,
		c.Max.X, y)
}
