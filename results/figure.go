package results

import (
	"fmt"
	"math"
	"slices"

	"fedsim/config"
)

// Figure describes a figure of an experiment: one panel for each value of Panel, one line
// for each value of Series. A line of kind "lines" is the mean over seeds with a band from
// the lowest to the highest. A line of kind "distribution" is the share of clients, those of
// all seeds together, at or below a value of Y at the end of the runs.
type Figure struct {
	Kind     string  `toml:"kind" doc:"\"lines\": y against x; or \"distribution\": the share of clients at or below a value of y, a metric by client, at its last evaluation. Then the horizontal axis is y, with x_scale and x_max, and x, y_scale, y_min and y_max have no effect"`
	File     string  `toml:"file" doc:"file name without extension: letters, digits, -, _ and .; empty: the experiment's name; of [[experiment.figures]], with -2, -3, ..."`
	Title    string  `toml:"title" doc:"title above the panels"`
	Panel    string  `toml:"panel" doc:"swept key or axis with one panel per value; empty: one panel"`
	Series   string  `toml:"series" doc:"swept key or axis with one line per value, or \"method\""`
	X        string  `toml:"x" doc:"horizontal axis: time_s, round, or an amount of rounds.csv, cumulated (such as flops, bytes_up or energy_j), or epsilon (privacy.mechanism)"`
	Y        string  `toml:"y" doc:"vertical axis: a metric as in run.stop_at, a count of rounds.csv (such as participants, dropped or late: clients in a round), or theta (accuracy of the local solves: median over clients and seeds, quartiles, 5 to 95 %; needs run.theta_every)"`
	XScale   string  `toml:"x_scale" doc:"linear or log"`
	YScale   string  `toml:"y_scale" doc:"linear or log"`
	XMax     float64 `toml:"x_max" doc:"right end of the horizontal axis, noted in the figure; 0: all data"`
	YMin     float64 `toml:"y_min" doc:"lower end of the vertical axis; 0: chosen from the data. The figure notes data below it"`
	YMax     float64 `toml:"y_max" doc:"upper end of the vertical axis; 0: chosen from the data. The figure notes data above it"`
	Limits   bool    `toml:"limits" doc:"a thin dashed line for each line of the figure: y of the model at the optimum of its problem, mean over seeds (docs/tuning.md). For errors and their statistics over clients"`
	Emphasis string  `toml:"emphasis" doc:"value of the series drawn as a dotted line in a separate color; empty: none"`

	Caption string `toml:"-"` // below the legend: the description of the experiment; empty: none
}

// DefaultFigure returns sub-optimality on a log axis against time, a line per
// method.
func DefaultFigure() Figure {
	return Figure{Kind: Lines, Series: "method", X: "time_s", Y: "suboptimality", XScale: "linear", YScale: "log"}
}

// DefaultDistribution returns the distribution of the test error over clients, a line per
// method.
func DefaultDistribution() Figure {
	return Figure{Kind: Distribution, Series: "method", Y: "test_error", XScale: "linear", YScale: "linear"}
}

// Lines and Distribution are the values of Figure.Kind.
const (
	Lines        = "lines"
	Distribution = "distribution"
)

// XNames and YNames are the quantities of the axes.
var XNames, YNames []string

func init() { nameAxes() }

func nameAxes() {
	XNames, YNames = axisColumns(true), slices.Concat(MetricNames(), axisColumns(false), []string{theta})
}

const theta = "theta"

// axisColumns returns the names of the columns for horizontal axes, or of the counts for vertical
// ones.
func axisColumns(horizontal bool) (names []string) {
	for i := range RoundColumns {
		if c := &RoundColumns[i]; c.Label != "" && c.Horizontal() == horizontal {
			names = append(names, c.Name)
		}
	}
	return names
}

// hasLimit reports whether a vertical axis may have a value at the optimum: an error, or a
// metric that a run declares.
func hasLimit(y string) bool {
	m, known := column(y)
	return known && m.Share || !known && (IsAccuracy(y) || !slices.Contains(YNames, y))
}

// Validate reports all problems of a figure, except the names of its panel, series and
// emphasis, which only an experiment can check. The vertical axis may be a metric that a
// learner declares; see CheckColumn.
func (f *Figure) Validate(c *config.Checker) {
	c.Require(config.IsName(f.File), "file", f.File, config.NameRule)
	c.OneOf("kind", f.Kind, Lines, Distribution)
	c.OneOf("x_scale", f.XScale, "linear", "log")
	if f.Kind == Distribution {
		f.checkDistribution(c)
		return
	}
	if f.X != Epsilon {
		c.OneOf("x", f.X, XNames...)
	}
	if _, old := Renamed(f.Y); old || !isMetricName(f.Y) {
		f.CheckColumn(c)
	}
	c.OneOf("y_scale", f.YScale, "linear", "log")
	for _, end := range []struct {
		key   string
		value float64
	}{{"x_max", f.XMax}, {"y_min", f.YMin}, {"y_max", f.YMax}} {
		c.Require(end.value >= 0 && !math.IsInf(end.value, 0), end.key, end.value, "must be a number that is not negative")
	}
	if f.Limits {
		c.Require(hasLimit(f.Y), "limits", f.Limits, fmt.Sprintf("must be false with y = %q: the optimum has limits of errors", f.Y))
	}
	c.Require(f.YMin == 0 || f.YMax == 0 || f.YMin < f.YMax, "y_min", f.YMin, "must be below y_max")
}

// checkDistribution reports keys without an effect, and a metric that no client can have.
func (f *Figure) checkDistribution(c *config.Checker) {
	const idle = "has no effect with kind = \"distribution\": the horizontal axis is y, the vertical one the share of clients: remove the key"
	c.Require(f.X == "", "x", f.X, idle)
	c.Require(f.YScale == "linear", "y_scale", f.YScale, idle)
	c.Require(f.YMin == 0, "y_min", f.YMin, idle)
	c.Require(f.YMax == 0, "y_max", f.YMax, idle)
	c.Require(!f.Limits, "limits", f.Limits, idle)
	c.Require(f.XMax >= 0 && !math.IsInf(f.XMax, 0), "x_max", f.XMax, "must be a number that is not negative")
	c.Require(isMetricName(f.Y), "y", f.Y, "must be a metric by client, such as test_error")
}

// CheckColumn reports a vertical axis that is not one of YNames.
func (f *Figure) CheckColumn(c *config.Checker) {
	if slices.Contains(YNames, f.Y) {
		c.OneOf("y", f.Y, YNames...)
	} else {
		c.Require(false, "y", f.Y, wantMetric(f.Y, YNames))
	}
}
