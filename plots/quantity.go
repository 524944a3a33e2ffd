package plots

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"sync"

	"fedsim/results"
)

// Quantity is a quantity that an axis of a figure can show.
type Quantity struct {
	Name    string  `json:"name"`  // as in a scenario
	Label   string  `json:"label"` // on the axis, without the unit
	Floor   float64 `json:"floor"` // smallest value shown on a logarithmic axis; 0: none
	Units   []unit  `json:"units"` // smallest first; empty for pure numbers
	X       bool    `json:"x"`     // a horizontal axis can show it
	Y       bool    `json:"y"`     // a vertical axis can show it
	Best    int     `json:"best"`  // of an objective: -1 if lower values are better, 1 if higher ones are; 0: not one
	Count   bool    `json:"count"` // it counts events during a round, and is not the state after it
	Devices bool    `json:"-"`     // every device has its own value
	Signed  bool    `json:"-"`     // values may be zero or negative: these need a linear axis

	real  string // label for real-valued targets; empty: Label
	base  string // unit of the values: "s", "J", "B" or "FLOP"; empty: none
	of    func(*results.Round) float64
	total bool // cumulative over the rounds
	// each returns the values of the devices if Devices is true; of is nil then. Lines
	// show the distribution of the values.
	each func(*results.Round) []float64
}

// unit is a unit of measurement and its size in base units.
type unit struct {
	Name string  `json:"name"`
	Size float64 `json:"size"`
}

// Quantities returns all quantities, with the labels that the runs need, the metrics that
// learners declare, statistics over clients, and accuracies.
func Quantities(runs []results.Run) []Quantity {
	var list []Quantity
	for _, q := range append(slices.Clip(quantities()), namedQuantities(runs)...) {
		q.Best = bestOf(q.Name, runs)
		list = append(list, q.on(runs))
	}
	return list
}

// bestOf returns Quantity.Best. The best error so far would be a choice by the rows that the error is
// measured on.
func bestOf(name string, runs []results.Run) int {
	switch metric, known := results.MetricOf(runs, name); {
	case !known || !metric.Couples:
		return 0
	case metric.Higher:
		return 1
	default:
		return -1
	}
}

// namedQuantities returns the quantities of results.NamedMetrics and results.Accuracies.
func namedQuantities(runs []results.Run) (list []Quantity) {
	for _, m := range results.NamedMetrics(runs) {
		q := Quantity{Name: m.Name, Label: m.Label, X: m.Name == results.Epsilon, Y: true, Signed: true, real: m.Real,
			of: m.Of}
		if m.Unit != "" {
			q.Units = []unit{{m.Unit, 1}}
		}
		if m.Higher && m.Name != results.Epsilon { // of which no direction is better
			q.Label += ", higher is better"
			if q.real != "" {
				q.real += ", higher is better"
			}
		}
		if m.Real != "" { // a statistic of an error
			q.of = func(r *results.Round) float64 { return afterStart(r, m.Of(r)) }
		}
		list = append(list, q)
	}
	for _, m := range results.Accuracies(runs) {
		of := func(r *results.Round) float64 { return afterStart(r, m.Of(r)) } // 1 minus an error
		list = append(list,
			Quantity{Name: m.Name, Label: m.Label + ", higher is better", Y: true, Signed: true, of: of})
	}
	return list
}

// units are those of amounts, by the unit of their column.
var units = map[string][]unit{
	"s":    {{"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}},
	"FLOP": {{"FLOP", 1}, {"kFLOP", 1e3}, {"MFLOP", 1e6}, {"GFLOP", 1e9}, {"TFLOP", 1e12}, {"PFLOP", 1e15}},
	"B":    {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}},
	"g":    {{"mg", 1e-3}, {"g", 1}, {"kg", 1e3}, {"t", 1e6}},
	"J":    {{"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}, {"MJ", 1e6}, {"GJ", 1e9}},
}

// quantities are all quantities: the values of x in a figure, and then those of y. Every
// metric of package results is one, and every column of a round with a label.
var quantities = sync.OnceValue(func() []Quantity {
	var list, counts []Quantity
	for i := range results.RoundColumns {
		c := &results.RoundColumns[i]
		value := func(r *results.Round) float64 { return c.Get(r).Real() }
		switch {
		case c.Label == "":
		case c.Horizontal():
			list = append(list,
				Quantity{Name: c.Name, Label: c.Label, X: true, base: c.Unit, Units: units[c.Unit], of: value,
					total: c.Kind == results.CostColumn})
		default:
			counts = append(counts,
				Quantity{Name: c.Name, Label: c.Label, Y: true,
					of: func(r *results.Round) float64 { return afterStart(r, value(r)) }, Count: true})
		}
	}
	for _, m := range results.Metrics() {
		q := Quantity{Name: m.Name, Label: m.Label, Y: true, real: m.Real, of: m.Of}
		if m.Name == results.Suboptimality {
			q.Floor = 1e-6
		}
		if m.Share { // an error of the model: round 0 has no model yet
			q.of = func(r *results.Round) float64 { return afterStart(r, m.Of(r)) }
		}
		list = append(list, q)
	}
	list = append(append(list, counts...),
		Quantity{Name: "theta", Label: "θ of local solves", Y: true, Devices: true,
			each: func(r *results.Round) []float64 { return r.Thetas }})
	return list
})

// quantityOf returns the quantity with a name; the zero Quantity if there is none.
func quantityOf(name string, runs []results.Run) Quantity {
	all, named := quantities(), func(q Quantity) bool { return q.Name == name }
	if !slices.ContainsFunc(all, named) {
		all = namedQuantities(runs)
	}
	if i := slices.IndexFunc(all, named); i >= 0 {
		return all[i]
	}
	return Quantity{}
}

// fitsLog reports whether every value of the quantity has a place on a logarithmic axis. Values
// of other quantities that reach zero leave the axis visibly.
func (q *Quantity) fitsLog(runs []results.Run) bool {
	if !q.Signed {
		return true
	}
	for i := range runs {
		for k := range runs[i].Rounds {
			if q.of(&runs[i].Rounds[k]) <= 0 {
				return false
			}
		}
	}
	return true
}

// afterStart returns v, or NaN for round 0.
func afterStart(r *results.Round, v float64) float64 {
	if r.Round == 0 {
		return math.NaN()
	}
	return v
}

// on returns the quantity with its label for the runs: errors of classes or of real
// targets, times in seconds or in relative units.
func (q Quantity) on(runs []results.Run) Quantity {
	count := func(is func(*results.Run) bool) (n int) {
		for i := range runs {
			if is(&runs[i]) {
				n++
			}
		}
		return n
	}
	if n := count(func(r *results.Run) bool { return r.Real }); q.real != "" && n > 0 {
		if n < len(runs) {
			q.real = q.Label + " or " + q.real
		}
		q.Label = q.real
	}
	if n := count(func(r *results.Run) bool { return r.Relative }); n > 0 && (q.base == "s" || q.base == "J") {
		q.Units = nil
		if n < len(runs) {
			q.Label += " (" + q.base + " or relative units)"
		} else {
			q.Label += " (relative units)"
		}
	}
	return q
}

// Values returns the values of a run by round: sums over the rounds of an amount, and NaN where
// nothing is known, or up to then. It is for quantities whose Devices is false.
func (q *Quantity) Values(r *results.Run) []float64 {
	values, sum := make([]float64, len(r.Rounds)), math.NaN()
	for i := range values {
		values[i] = q.of(&r.Rounds[i])
		if q.total {
			switch {
			case math.IsNaN(sum):
				sum = values[i]
			case !math.IsNaN(values[i]):
				sum += values[i]
			}
			values[i] = sum
		}
	}
	return values
}

// unitFor returns the largest unit in which most is at least 1.5.
func (q Quantity) unitFor(most float64) unit {
	if len(q.Units) == 0 {
		return unit{Size: 1}
	}
	i := sort.Search(len(q.Units), func(i int) bool { return q.Units[i].Size*1.5 > most })
	return q.Units[max(i-1, 0)]
}

// labelIn returns the label with its unit.
func (q Quantity) labelIn(u unit) string {
	if u.Name == "" {
		return q.Label
	}
	return q.Label + " (" + u.Name + ")"
}

// amount formats a number of base units in the unit, with three digits.
func (u unit) amount(v float64) string {
	text := strconv.FormatFloat(v/u.Size, 'g', 3, 64)
	if u.Name != "" {
		text += " " + u.Name
	}
	return text
}

// scale maps values to axis space: the value itself or its decimal logarithm.
type scale int

const (
	linear scale = iota
	logarithmic
)

// scales are the values of x_scale and y_scale in a figure.
var scales = map[string]scale{"linear": linear, "log": logarithmic}

// place maps a value to axis space. On a logarithmic axis, values up to zero map to minus
// infinity.
func (s scale) place(v float64) float64 {
	switch {
	case s == linear:
		return v
	case v <= 0:
		return math.Inf(-1)
	default:
		return math.Log10(v)
	}
}

// value is the inverse of place.
func (s scale) value(place float64) float64 {
	if s == linear {
		return place
	}
	return math.Pow(10, place)
}
