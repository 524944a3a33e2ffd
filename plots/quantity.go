package plots

import (
	"math"
	"sort"
	"strconv"

	"fedsim/results"
)

// quantity is what an axis can show.
type quantity struct {
	label string
	real  string // the label for runs on real targets; empty: the same
	of    func(*results.Round) float64
	total bool // summed up over the rounds so far
	count bool // of what happens in a round, not after it
	// each returns the values by device of a quantity that devices have; of is nil
	// then. Lines show how it is distributed.
	each  func(*results.Round) []results.Theta
	units []unit // smallest first; nil when the numbers have none
	floor float64
}

// unit is a name and how many base units it has.
type unit struct {
	name string
	size float64
}

// Quantity is what an axis of a figure can show, by its name in a scenario.
type Quantity struct {
	Name    string
	Label   string  // as on the axis, without the unit
	Total   bool    // summed up over the rounds so far
	Floor   float64 // what lies below counts as so much on a logarithmic axis; 0: none
	Units   []Unit  // smallest first; nil when the numbers have none
	X, Y    bool    // which axes can show it
	Devices bool    // every device has a value of its own
}

// Unit is a name and how many base units it has.
type Unit struct {
	Name string
	Size float64
}

// Quantities returns all of them, as they are labelled for runs.
func Quantities(runs []results.Run) []Quantity {
	var list []Quantity
	add := func(name string, x, y bool) {
		q := quantities[name].on(runs)
		of := Quantity{Name: name, Label: q.label, Total: q.total, Floor: q.floor, X: x, Y: y, Devices: q.each != nil}
		for _, u := range q.units {
			of.Units = append(of.Units, Unit{u.name, u.size})
		}
		list = append(list, of)
	}
	for _, name := range results.XNames {
		add(name, true, false)
	}
	for _, name := range results.YNames {
		add(name, false, true)
	}
	return list
}

var (
	timeUnits   = []unit{{"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}
	flopUnits   = []unit{{"FLOP", 1}, {"kFLOP", 1e3}, {"MFLOP", 1e6}, {"GFLOP", 1e9}, {"TFLOP", 1e12}, {"PFLOP", 1e15}}
	byteUnits   = []unit{{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}
	energyUnits = []unit{{"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}, {"MJ", 1e6}, {"GJ", 1e9}}
)

const timeLabel = "estimated time"

// quantities are the values of x and y in a figure.
var quantities = map[string]quantity{
	"time_s":   {label: timeLabel, of: func(r *results.Round) float64 { return r.TimeS }, units: timeUnits},
	"round":    {label: "rounds", of: func(r *results.Round) float64 { return float64(r.Round) }},
	"flops":    {label: "work of all devices", of: func(r *results.Round) float64 { return r.FLOPs }, total: true, units: flopUnits},
	"bytes_up": {label: "data sent to the server", of: func(r *results.Round) float64 { return r.BytesUp }, total: true, units: byteUnits},
	"energy_j": {label: "energy of all devices", of: func(r *results.Round) float64 { return r.EnergyJ }, total: true, units: energyUnits},

	"suboptimality": {label: "primal sub-optimality", of: func(r *results.Round) float64 { return r.Suboptimality }, floor: 1e-6},
	"primal":        {label: "primal objective", of: func(r *results.Round) float64 { return r.Primal }},
	"gap":           {label: "duality gap", of: func(r *results.Round) float64 { return r.Gap }},
	"train_error":   {label: "training error", real: "root mean square error in training", of: func(r *results.Round) float64 { return trained(r, r.TrainError) }},
	"participants":  {label: "answers taken", of: func(r *results.Round) float64 { return counted(r, r.Participants) }, count: true},
	"dropped":       {label: "devices dropped", of: func(r *results.Round) float64 { return counted(r, r.Dropped) }, count: true},
	"late":          {label: "late answers", of: func(r *results.Round) float64 { return counted(r, r.Late) }, count: true},
	"test_error":    {label: "test error", real: "root mean square test error", of: func(r *results.Round) float64 { return trained(r, r.TestError) }},
	"theta":         {label: "θ of local solves", each: func(r *results.Round) []results.Theta { return r.Thetas }},
}

// counted returns a number of devices of a round; round 0 has none.
func counted(r *results.Round, n int) float64 {
	if r.Round == 0 {
		return math.NaN()
	}
	return float64(n)
}

// trained returns an error of the model after a round; round 0 has no model yet, W is
// zero.
func trained(r *results.Round, e float64) float64 {
	if r.Round == 0 {
		return math.NaN()
	}
	return e
}

// on returns the quantity labelled for what it is on the runs: an error is that
// of classes or of real targets, a time is in seconds or in relative units.
func (q quantity) on(runs []results.Run) quantity {
	all := func(is func(*results.Run) bool) (some, all bool) {
		n := 0
		for i := range runs {
			if is(&runs[i]) {
				n++
			}
		}
		return n > 0, n == len(runs)
	}
	if some, every := all(func(r *results.Run) bool { return r.Real }); q.real != "" && some {
		if !every {
			q.real = q.label + " or " + q.real
		}
		q.label = q.real
	}
	if some, every := all(func(r *results.Run) bool { return r.Relative }); q.label == timeLabel && some {
		q.units = nil
		q.label += " (relative units)"
		if !every {
			q.label = timeLabel + " (s or relative units)"
		}
	}
	return q
}

// unitFor returns the largest unit of which most is at least one and a half.
func (q quantity) unitFor(most float64) unit {
	if q.units == nil {
		return unit{size: 1}
	}
	i := sort.Search(len(q.units), func(i int) bool { return q.units[i].size*1.5 > most })
	return q.units[max(i-1, 0)]
}

// labelIn returns the label with its unit.
func (q quantity) labelIn(u unit) string {
	if u.name == "" {
		return q.label
	}
	return q.label + " (" + u.name + ")"
}

// amount writes a number of base units with three digits, in the unit.
func (u unit) amount(v float64) string {
	text := strconv.FormatFloat(v/u.size, 'g', 3, 64)
	if u.name != "" {
		text += " " + u.name
	}
	return text
}

// scale maps values to places on an axis, "axis space": the value itself or
// its decimal logarithm.
type scale int

const (
	linear scale = iota
	logarithmic
)

// scales are the values of x_scale and y_scale in a figure.
var scales = map[string]scale{"linear": linear, "log": logarithmic}

// place returns where v lies. On a logarithmic axis everything up to zero lies
// infinitely far below.
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
