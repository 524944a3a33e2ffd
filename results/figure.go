package results

import (
	"math"
	"slices"

	"fedsim/config"
)

// Figure describes the figure of an experiment: one panel for each value of Panel, one
// line for each value of Series, the mean over seeds with a band from the lowest to the
// highest.
type Figure struct {
	File     string  `toml:"file" doc:"file name without extension: letters, digits, -, _ and .; empty: the experiment's name"`
	Title    string  `toml:"title" doc:"title above the panels"`
	Panel    string  `toml:"panel" doc:"swept key or axis with one panel per value; empty: one panel"`
	Series   string  `toml:"series" doc:"swept key or axis with one line per value, or \"method\""`
	X        string  `toml:"x" doc:"horizontal axis: time_s, round, flops, bytes_up or energy_j (the last three cumulated)"`
	Y        string  `toml:"y" doc:"vertical axis: suboptimality, primal, gap, train_error or test_error (root mean square errors for real targets), a metric that a learner declares (such as test_accuracy), participants, dropped or late (devices in a round), or theta (accuracy of the local solves: median over devices and seeds, quartiles, 5 to 95 %; needs run.theta_every)"`
	XScale   string  `toml:"x_scale" doc:"linear or log"`
	YScale   string  `toml:"y_scale" doc:"linear or log"`
	XMax     float64 `toml:"x_max" doc:"right end of the horizontal axis, noted in the figure; 0: all data"`
	YMin     float64 `toml:"y_min" doc:"lower end of the vertical axis; 0: chosen from the data. The figure notes data below it"`
	YMax     float64 `toml:"y_max" doc:"upper end of the vertical axis; 0: chosen from the data. The figure notes data above it"`
	Emphasis string  `toml:"emphasis" doc:"value of the series drawn as a dotted line in a separate color; empty: none"`
}

// DefaultFigure returns sub-optimality on a log axis against time, a line per
// method.
func DefaultFigure() Figure {
	return Figure{Series: "method", X: "time_s", Y: "suboptimality", XScale: "linear", YScale: "log"}
}

// XNames and YNames are the quantities of the axes.
var (
	XNames = []string{"time_s", "round", "flops", "bytes_up", "energy_j"}
	YNames = slices.Concat(MetricNames(), []string{"participants", "dropped", "late", "theta"})
)

// Validate reports all problems of a figure, except the names of its panel, series and
// emphasis, which only an experiment can check. The vertical axis may be a metric that a
// learner declares; see CheckColumn.
func (f *Figure) Validate(c *config.Checker) {
	c.Require(config.IsName(f.File), "file", f.File, config.NameRule)
	c.OneOf("x", f.X, XNames...)
	if !isMetricName(f.Y) {
		f.CheckColumn(c)
	}
	c.OneOf("x_scale", f.XScale, "linear", "log")
	c.OneOf("y_scale", f.YScale, "linear", "log")
	for _, end := range []struct {
		key   string
		value float64
	}{{"x_max", f.XMax}, {"y_min", f.YMin}, {"y_max", f.YMax}} {
		c.Require(end.value >= 0 && !math.IsInf(end.value, 0), end.key, end.value, "must be a number that is not negative")
	}
	c.Require(f.YMin == 0 || f.YMax == 0 || f.YMin < f.YMax, "y_min", f.YMin, "must be below y_max")
}

// CheckColumn reports a vertical axis that is not one of YNames.
func (f *Figure) CheckColumn(c *config.Checker) { c.OneOf("y", f.Y, YNames...) }
