package report

import (
	"math"
	"slices"
	"strconv"

	"fedsim/experiment/scenario"
	"fedsim/results"
)

// sweptPage is the part of an experiment about its axes: what every run measured at its place
// on them.
type sweptPage struct {
	Axes     []sweptAxis `json:"axes"`     // in which runs differ
	Measures []measure   `json:"measures"` // that some run has
	Trials   []trial     `json:"trials"`   // by run of the experiment
}

// sweptAxis is the methods, a swept or sampled key, or a named axis.
type sweptAxis struct {
	Name    string    `json:"name"`
	Values  []string  `json:"values"`
	Numbers []float64 `json:"numbers"` // the values; empty unless all are numbers
	Sampled bool      `json:"sampled"` // a key of a sample
}

// measure is a number of a run: the cost of reaching a target, or the end of the run.
type measure struct {
	Name   string `json:"name"`
	Units  string `json:"units"`  // name of the quantity with its units; empty: none
	Target bool   `json:"target"` // an ended run without a value stalled before the target
	of     func(*results.Run) (value float64, bound bool)
}

// trial is a run at its place.
type trial struct {
	At     []int     `json:"at"`     // index of the value on each axis
	Ended  bool      `json:"ended"`  // the run reached its end, or stalled
	Values []float64 `json:"values"` // by measure; null: none
	Bounds []bool    `json:"bounds"` // by measure: the run ended before the target, and its cost is above the value
}

// sweptOf returns the page about the axes of an experiment. It has no trials without an axis
// in which runs differ.
func sweptOf(e *scenario.Experiment, runs []results.Run, targets results.Targets) sweptPage {
	page := sweptPage{Axes: axesOf(e, runs), Measures: []measure{}, Trials: []trial{}}
	if len(page.Axes) == 0 {
		return page
	}
	for _, m := range measuresOf(runs, targets) {
		if slices.ContainsFunc(runs,
			func(r results.Run) bool { v, bound := m.of(&r); return !math.IsNaN(v) && !math.IsInf(v, 1) && !bound }) {
			page.Measures = append(page.Measures, m)
		}
	}
	for i := range runs {
		r := &runs[i]
		t := trial{At: []int{}, Values: []float64{}, Bounds: []bool{}, Ended: r.Status == results.Done ||
			r.Status == results.Stalled}
		for _, a := range page.Axes {
			t.At = append(t.At, slices.Index(a.Values, r.ValueOf(a.Name)))
		}
		for _, m := range page.Measures {
			value, bound := m.of(r)
			t.Values, t.Bounds = append(t.Values, value), append(t.Bounds, bound)
		}
		page.Trials = append(page.Trials, t)
	}
	return page
}

// axesOf returns the axes in which runs differ, the methods last. The number of a sampled point
// is none: the values at the point are.
func axesOf(e *scenario.Experiment, runs []results.Run) []sweptAxis {
	axes := []sweptAxis{}
	for _, name := range append(results.SweptKeys(runs), "method") {
		if slices.ContainsFunc(e.Axes, func(a scenario.Axis) bool { return a.Name == name && a.Keys != nil }) {
			continue
		}
		a := sweptAxis{Name: name, Values: []string{}, Numbers: []float64{}}
		a.Sampled = slices.ContainsFunc(e.Axes, func(x scenario.Axis) bool { return slices.Contains(x.Keys, name) })
		for i := range runs {
			if v := runs[i].ValueOf(name); !slices.Contains(a.Values, v) {
				a.Values = append(a.Values, v)
			}
		}
		for _, v := range a.Values {
			x, err := strconv.ParseFloat(v, 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || name == "method" {
				a.Numbers = a.Numbers[:0]
				break
			}
			a.Numbers = append(a.Numbers, x)
		}
		if len(a.Values) > 1 {
			axes = append(axes, a)
		}
	}
	return axes
}

// measuresOf returns the measures of runs: of each target, then of the end.
func measuresOf(runs []results.Run, targets results.Targets) []measure {
	var all []measure
	byP := results.ComparableByP(runs)
	for _, t := range targets {
		if t.MeasuresP() && !byP {
			continue
		}
		text := t.Text(runs...)
		cost := func(name, units string, of func(results.Amounts) float64) {
			all = append(all, measure{name + " to " + text, units, true, func(r *results.Run) (float64, bool) {
				spent, state := r.Spent(t)
				if r.Status == results.UnderWay && state == results.Ended {
					return math.NaN(), false
				}
				return of(spent), state == results.Ended
			}})
		}
		cost("time", "time_s", func(a results.Amounts) float64 { return a.TimeS })
		cost("rounds", "", func(a results.Amounts) float64 { return a.Rounds })
		cost("data sent", "bytes_up", func(a results.Amounts) float64 { return a.Bytes })
		cost("energy", "energy_j", func(a results.Amounts) float64 { return a.EnergyJ })
	}
	end := func(name, units string, of func(*results.Run) float64) {
		all = append(all, measure{name, units, false, func(r *results.Run) (float64, bool) { return of(r), false }})
	}
	atEnd := results.NamedMetrics(runs)
	for _, m := range append([]results.Metric{results.Main(runs)}, results.Metrics()...) {
		there := slices.ContainsFunc(atEnd, func(x results.Metric) bool { return x.Name == m.Name })
		if !there && (m.Share || m.Name == results.Suboptimality && byP) {
			atEnd = append(atEnd, m)
		}
	}
	for _, m := range atEnd {
		end(m.LabelFor(runs[0].Real)+" at the end", "", func(r *results.Run) float64 { return r.AtEnd(&m).Mean })
	}
	total := func(name, units string, of func(*results.Run) float64) {
		end(name, units, func(r *results.Run) float64 {
			if len(r.Rounds) == 0 {
				return math.NaN()
			}
			return of(r)
		})
	}
	total("total virtual time", "time_s", func(r *results.Run) float64 { return r.Rounds[len(r.Rounds)-1].TimeS })
	total("total energy", "energy_j", func(r *results.Run) float64 { return r.Total().EnergyJ })
	return all
}
