package plots

import (
	"math"
	"slices"
	"strings"

	"fedsim/results"
)

// preferred returns quantities of model quality in order of preference, and participants for
// runs without learning. If P does not compare the runs, the metrics of targets come first, and
// nothing that is derived from P is among them.
func preferred(runs []results.Run, targets results.Targets) []string {
	errors := []string{results.Main(runs).Name, "test_error", "validation_error", "train_error"}
	var list []string
	if byP(runs, targets) {
		list = append(list, "suboptimality")
	} else {
		for _, t := range targets {
			if !t.MeasuresP() {
				list = append(list, t.Metric)
			}
		}
	}
	list = append(list, errors...)
	if results.ComparableByP(runs) {
		list = append(list, "suboptimality", "gap")
	}
	list = append(list, names(namedQuantities(runs), func(q *Quantity) bool { return q.Y })...)
	return append(list, "participants")
}

// byP reports whether the runs are compared by their sub-optimality: all minimize the same P, and a target is of it.
func byP(runs []results.Run, targets results.Targets) bool {
	return results.ComparableByP(runs) && slices.ContainsFunc(targets, results.Target.MeasuresP)
}

// maxPanels is the maximum number of panels of a default figure.
const maxPanels = 9

// Default returns the figure of an experiment whose scenario has none. The vertical axis
// is the first recorded one of sub-optimality, run.metric, test error, validation error, training error,
// duality gap, metrics that learners declare, and participants. If P does not compare the runs
// ([results.ComparableByP]), it is the first recorded one of the metrics of the targets, run.metric, the
// errors, the declared metrics and participants. The horizontal axis is time. There is a line
// per method; with a single method, a line per value of the swept key with the most values.
// There is a panel per value of another swept key.
func Default(runs []results.Run, targets results.Targets) results.Figure {
	fig := results.DefaultFigure()
	fig = Available(fig, runs, targets)
	if len(runs) == 0 {
		return fig
	}
	fig.File = runs[0].Experiment
	keys := otherKeys(runs, "", "")
	values := func(key string) int {
		seen := make(map[string]bool)
		for i := range runs {
			seen[runs[i].ValueOf(key)] = true
		}
		return len(seen)
	}
	slices.SortStableFunc(keys, func(a, b string) int { return values(b) - values(a) })
	if i := slices.Index(keys, "method"); i >= 0 {
		keys = slices.Delete(keys, i, i+1)
	} else if len(keys) > 0 {
		fig.Series, keys = keys[0], keys[1:]
	}
	if len(keys) > 0 && values(keys[0]) <= maxPanels {
		fig.Panel = keys[0]
	}
	return fig
}

// Figures returns the figures of an experiment: those of the scenario or, if there are none,
// that of [Default]. If the runs have values by client and no figure shows their
// distribution, one more does, with the lines and panels of the first figure, of a metric on
// test rows if there is one. Its file has the name of the experiment and "-clients".
func Figures(given []results.Figure, runs []results.Run, targets results.Targets) []results.Figure {
	list := slices.Clone(given)
	if len(list) == 0 {
		list = append(list, Default(runs, targets))
	}
	for i := range list {
		if f := &list[i]; f.Y == "" && (f.Kind == "" || f.Kind == results.Lines) {
			scale, low, high := f.YScale, f.YMin, f.YMax
			*f = Available(*f, runs, targets)
			f.YScale, f.YMin, f.YMax = scale, low, high
		}
	}
	metrics := results.ClientMetrics(runs)
	if len(metrics) == 0 ||
		slices.ContainsFunc(list, func(f results.Figure) bool { return f.Kind == results.Distribution }) {
		return list
	}
	more, first := results.DefaultDistribution(), &list[0]
	more.File, more.Panel, more.Series, more.Emphasis = runs[0].Experiment+"-clients", first.Panel, first.Series,
		first.Emphasis
	more.Y =
		metrics[max(0, slices.IndexFunc(metrics, func(name string) bool { return strings.HasPrefix(name, "test_") }))]
	return append(list, more)
}

// Available returns fig, or, if no run records its vertical quantity, fig with that of
// Default. Where none is recorded and fig has none, it is run.metric.
func Available(fig results.Figure, runs []results.Run, targets results.Targets) results.Figure {
	if known(fig.Y, runs) {
		return fig
	}
	for _, y := range preferred(runs, targets) {
		if known(y, runs) {
			fig.Y, fig.YScale, fig.YMin, fig.YMax = y, "", 0, 0
			return fig
		}
	}
	if fig.Y == "" {
		fig.Y = results.Main(runs).Name
	}
	return fig
}

// known reports whether a round has a value of a quantity.
func known(name string, runs []results.Run) bool {
	q := quantityOf(name, runs)
	for i := range runs {
		for j := range runs[i].Rounds {
			if x := &runs[i].Rounds[j]; q.each != nil && len(q.each(x)) > 0 || q.of != nil && !math.IsNaN(q.of(x)) {
				return true
			}
		}
	}
	return false
}
