package results

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"fedsim/config"
)

// Figure describes a figure of an experiment: one panel for each value of Panel, one line
// for each value of Series. A line of kind "lines" is the mean over seeds with a Band. A
// line of kind "distribution" is the share of clients, those of
// all seeds together, at or below a value of Y at the end of the runs. One of kind "new-clients" is Y of new
// clients at the end, against their training rows.
type Figure struct {
	// "lines": y against x; "distribution": the share of clients at or below a value of y, a
	// metric by client, at its last evaluation. Then the horizontal axis is y, with x_scale and
	// x_max, and x, y_scale, y_min and y_max have no effect. "new-clients": y of new clients
	// (data.new_clients) at the last evaluation, against the rows from which they get their model: y is
	// new_error, new_worst, new_spread, new_flops, new_bytes, new_time_s or new_energy_j
	Kind string `toml:"kind"`
	// file name without extension: letters, digits, -, _ and .
	File string `toml:"file" absent:"\"\": the experiment's name; of [[experiment.figures]], with -2, -3, ..."`
	// title above the panels
	Title string `toml:"title"`
	// swept key or axis with one panel per value
	Panel string `toml:"panel" absent:"\"\": one panel"`
	// swept key or axis with one line per value, or "method"
	Series string `toml:"series"`
	// horizontal axis: time_s, round, or an amount of rounds.parquet, cumulated (such as flops,
	// bytes_up or energy_j), or epsilon (privacy.mechanism)
	X string `toml:"x"`
	// vertical axis: a metric as in run.stop_at, a count of rounds.parquet (such as participants, dropped
	// or late: clients in a round), or theta (accuracy of the local solves: median over clients and seeds,
	// quartiles, 5 to 95 %; needs run.theta_every)
	Y string `toml:"y" absent:"\"\": suboptimality if a target is of it, or else the metric of the targets"`
	// linear or log
	XScale string `toml:"x_scale"`
	// linear or log
	YScale string `toml:"y_scale" absent:"\"\": log for the sub-optimality and the duality gap, linear for others"`
	// right end of the horizontal axis, noted in the figure
	XMax float64 `toml:"x_max" absent:"0: all data"`
	// lower end of the vertical axis. The figure notes data below it
	YMin float64 `toml:"y_min" absent:"0: chosen from the data"`
	// upper end of the vertical axis. The figure notes data above it
	YMax float64 `toml:"y_max" absent:"0: chosen from the data"`
	// a thin dashed line for each line of the figure: y of the model at the optimum of its problem,
	// mean over seeds (docs/methods.md#tuning). For errors and their statistics over clients
	Limits bool `toml:"limits"`
	// value of the series drawn as a dotted line in a separate color
	Emphasis string `toml:"emphasis" absent:"\"\": none"`

	// around the mean over seeds: se (standard error), ci (95 % confidence interval of Student's t), range
	// (lowest to highest) or none
	Band string `toml:"band"`
	// of the figure: "one" or "two" columns of a paper (84 and 174 mm), or millimeters
	Width Width `toml:"width" absent:"0: by the number of panels"`

	Caption string `toml:"-"` // below the legend: the description of the experiment; empty: none
	Source  string `toml:"-"` // what SVG files have as metadata: the claim of their runs; empty: none
}

// Width is the width of a figure in millimeters; 0: none is asked for.
type Width float64

// columnWidths are those of papers, in millimeters.
var columnWidths = map[string]Width{"one": 84, "two": 174}

// leastWidth is the least width of a figure: a panel with its axis and labels.
const leastWidth = 50

// DecodeTOML reads a name of columnWidths or a number.
func (w *Width) DecodeTOML(n *config.Node, key string) config.Errors {
	var name string
	var number float64
	if len(config.Decode(n, key, &name)) > 0 {
		problems := config.Decode(n, key, &number)
		*w = Width(number)
		return problems
	}
	known := false
	if *w, known = columnWidths[name]; known {
		return nil
	}
	var problems config.Errors
	problems.AddProblem(n.Place,
		config.Problem{Key: key, Value: name, Want: `must be "one", "two" or a number of millimeters`})
	return problems
}

// TypeTOML describes the TOML type of a width.
func (Width) TypeTOML() string { return "float or string" }

// MarshalTOML writes the width in millimeters.
func (w Width) MarshalTOML() ([]byte, error) { return []byte(config.Literal(float64(w))), nil }

var _ config.Custom = (*Width)(nil)

// The values of Figure.Band.
const (
	BandSE    = "se"
	BandCI    = "ci"
	BandRange = "range"
	BandNone  = "none"
)

// Bands are the values of Figure.Band.
var Bands = []string{BandSE, BandCI, BandRange, BandNone}

// DefaultFigure returns the quality of models against time, a line per method.
func DefaultFigure() Figure {
	return Figure{Kind: Lines, Series: "method", X: "time_s", XScale: "linear", Band: BandSE}
}

// DefaultDistribution returns the distribution of the test error over clients, a line per
// method.
func DefaultDistribution() Figure {
	return Figure{Kind: Distribution, Series: "method", Y: "test_error", XScale: "linear", Band: BandSE}
}

// DefaultNewClients returns the error of new clients against their rows, a line per method.
func DefaultNewClients() Figure {
	return Figure{Kind: NewClients, Series: "method", Y: "new_error", XScale: "linear", YScale: "linear", Band: BandSE}
}

// Lines, Distribution and NewClients are the values of Figure.Kind.
const (
	Lines        = "lines"
	Distribution = "distribution"
	NewClients   = "new-clients"
)

// newClientMetrics are what a figure of kind "new-clients" can show: each with "_" and the number of rows is a metric.
var newClientMetrics = []string{"new_error", "new_worst", "new_spread", "new_flops", "new_bytes", "new_time_s",
	"new_energy_j"}

// ByNewRows returns what a run has at its end of new clients, by the number of their rows: those of new_error_0,
// new_error_5 and so on for "new_error".
func (r *Run) ByNewRows(name string) (rows, values []float64) {
	for i := range r.Metrics {
		m := r.Metrics[i].Metric()
		of, is := strings.CutPrefix(m.Name, name+"_")
		n, err := strconv.Atoi(of)
		if !is || err != nil {
			continue
		}
		at := sort.SearchFloat64s(rows, float64(n))
		rows = slices.Insert(rows, at, float64(n))
		values = slices.Insert(values, at, r.AtEnd(&m).Mean)
	}
	return rows, values
}

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
	c.OneOf("kind", f.Kind, Lines, Distribution, NewClients)
	c.OneOf("x_scale", f.XScale, "linear", "log")
	c.OneOf("band", f.Band, Bands...)
	c.Require(f.Width == 0 || f.Width >= leastWidth && f.Width <= 1000, "width", float64(f.Width),
		fmt.Sprintf("must be from %d to 1000 mm", leastWidth))
	if f.Kind == Distribution {
		f.checkDistribution(c)
		return
	}
	if f.Kind == NewClients {
		c.OneOf("y", f.Y, newClientMetrics...)
		c.Require(f.X == "", "x", f.X, "has no effect with kind = \"new-clients\": it is the rows of a new client")
		c.Require(!f.Limits, "limits", f.Limits, "must be false with kind = \"new-clients\": an optimum has none")
	} else {
		f.checkAxes(c)
	}
	if f.YScale != "" {
		c.OneOf("y_scale", f.YScale, "linear", "log")
	}
	for _, end := range []struct {
		key   string
		value float64
	}{{"x_max", f.XMax}, {"y_min", f.YMin}, {"y_max", f.YMax}} {
		c.Require(end.value >= 0 && !math.IsInf(end.value, 0), end.key, end.value,
			"must be a number that is not negative")
	}
	c.Require(f.YMin == 0 || f.YMax == 0 || f.YMin < f.YMax, "y_min", f.YMin, "must be below y_max")
}

// checkAxes reports axes that no run has.
func (f *Figure) checkAxes(c *config.Checker) {
	if f.X != Epsilon {
		c.OneOf("x", f.X, XNames...)
	}
	if _, old := Renamed(f.Y); old || f.Y != "" && !isMetricName(f.Y) {
		f.CheckColumn(c)
	}
	if f.Limits {
		c.Require(hasLimit(f.Y), "limits", f.Limits,
			fmt.Sprintf("must be false with y = %q: the optimum has limits of errors", f.Y))
	}
}

// checkDistribution reports keys without an effect, and a metric that no client can have.
func (f *Figure) checkDistribution(c *config.Checker) {
	const idle = "has no effect with kind = \"distribution\": the horizontal axis is y, the vertical one the share " +
		"of clients: remove the key"
	c.Require(f.X == "", "x", f.X, idle)
	c.Require(f.YScale == "", "y_scale", f.YScale, idle)
	c.Require(f.Band == BandSE, "band", f.Band, idle)
	c.Require(f.YMin == 0, "y_min", f.YMin, idle)
	c.Require(f.YMax == 0, "y_max", f.YMax, idle)
	c.Require(!f.Limits, "limits", f.Limits, idle)
	c.Require(f.XMax >= 0 && !math.IsInf(f.XMax, 0), "x_max", f.XMax, "must be a number that is not negative")
	c.Require(isMetricName(f.Y), "y", f.Y, "must be a metric by client, such as test_error")
}

// CheckColumn reports a vertical axis that is not one of YNames.
func (f *Figure) CheckColumn(c *config.Checker) {
	if f.Y == "" || slices.Contains(YNames, f.Y) {
		c.OneOfOrEmpty("y", f.Y, YNames...)
	} else {
		c.Require(false, "y", f.Y, wantMetric(f.Y, YNames))
	}
}
