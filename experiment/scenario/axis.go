package scenario

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/results"
	"fedsim/results/rundir"
)

// Axis is one dimension of an experiment's grid: a swept key, or a named axis
// of the scenario.
type Axis struct {
	Name string   // the dotted key, or the name of the axis
	Keys []string // those of a sample, whose labels are numbers: runs also have the value of each
}

// axis is an axis with the assignments of its points.
type axis struct {
	name   string
	swept  config.Path // the key of a sweep; nil for a named axis and a sample
	sample *sample     // of the points; nil for others. Results then have the values by key
	points []point
}

type point struct {
	label string
	set   []config.Assignment
}

// namedAxis reads an [[experiment.axis]] found at the place.
func namedAxis(table axisTable, at config.Place, problems *config.Errors) axis {
	a := axis{name: table.Name}
	switch {
	case !config.IsName(table.Name) || strings.Contains(table.Name, "."):
		problems.Add(at, fmt.Sprintf("axis name %q %s; a name with . is that of a key", table.Name, config.NameRule))
	case isMethod(table.Name) || rundir.Reserved(table.Name):
		problems.Add(at, fmt.Sprintf("axis name %q is that of a column of the results: choose another", table.Name))
	}
	if len(table.Points) == 0 {
		problems.Add(at, fmt.Sprintf("axis %s has no points", table.Name))
	}
	for _, p := range table.Points {
		if p.Label == "" {
			problems.Add(at, fmt.Sprintf("axis %s has a point without a label", table.Name))
		} else if a.find(p.Label) >= 0 {
			problems.Add(at, fmt.Sprintf("axis %s has two points labeled %q", table.Name, p.Label))
		}
		a.points = append(a.points, point{label: p.Label, set: assignmentsOf(p.Set, problems)})
	}
	return a
}

// sweepAxes reads a table of sweeps: one axis for each key.
func sweepAxes(table *config.Node, problems *config.Errors) []axis {
	var axes []axis
	for _, a := range assignmentsOf(table, problems) {
		if values := sweptValues(a, problems); values != nil {
			axes = append(axes, sweepAxis(a.Path, values))
		}
	}
	return axes
}

// sweepAxis returns the axis on which a key takes each of the values.
func sweepAxis(key config.Path, values []*config.Node) axis {
	a := axis{name: key.String(), swept: key}
	for _, value := range values {
		a.points = append(a.points, point{
			label: config.Label(value.Value()),
			set:   []config.Assignment{{Path: key, Value: value}},
		})
	}
	return a
}

// sweptValues returns the values of a sweep or a tuning grid, nil after a problem.
func sweptValues(a config.Assignment, problems *config.Errors) []*config.Node {
	if !a.Value.IsList() || len(a.Value.Items()) == 0 {
		problems.AddProblem(a.Value.Place,
			config.Problem{Key: a.Path.String(), Want: "must be a list of the values to run with"})
		return nil
	}
	var labels []string
	for _, value := range a.Value.Items() {
		if value.IsTable() {
			problems.Add(value.Place,
				fmt.Sprintf("%s: a value must not be a table: name the single keys, or use an [[experiment.axis]]",
					a.Path))
			return nil
		}
		label := config.Label(value.Value())
		if slices.Contains(labels, label) {
			problems.Add(value.Place, fmt.Sprintf("%s: the value %s occurs twice", a.Path, label))
			return nil
		}
		labels = append(labels, label)
	}
	return a.Value.Items()
}

// find returns the index of the point with the label, -1 when there is none.
func (a *axis) find(label string) int {
	return slices.IndexFunc(a.points, func(p point) bool { return p.label == label })
}

func (a *axis) labels() []string {
	labels := make([]string, len(a.points))
	for i, p := range a.points {
		labels[i] = p.label
	}
	return labels
}

func (a *axis) sets(key config.Path) bool {
	return slices.ContainsFunc(a.points, func(p point) bool { return index(p.set, key) >= 0 })
}

// alone reports whether every point sets the key and nothing else.
func (a *axis) alone(key config.Path) bool {
	return !slices.ContainsFunc(a.points, func(p point) bool { return len(p.set) != 1 || !p.set[0].Path.Equal(key) })
}

// collapse replaces the points of the axis by one with a value of its key.
func (a *axis) collapse(to config.Assignment) {
	a.points = []point{{label: config.Label(to.Value.Value()), set: []config.Assignment{to}}}
}

// choose removes points with other labels from the axis.
func (a *axis) choose(labels []string) {
	a.points = slices.DeleteFunc(slices.Clone(a.points),
		func(p point) bool { return !slices.Contains(labels, p.label) })
}

// settings returns the settings that results have of a point: its label on the axis, and the
// values of a sample by key.
func (a *axis) settings(p *point) []results.Setting {
	at := []results.Setting{{Key: a.name, Value: p.label}}
	if a.sample != nil {
		for _, s := range p.set {
			at = append(at, results.Setting{Key: s.Path.String(), Value: config.Label(s.Value.Value())})
		}
	}
	return at
}

// isMethod reports whether the panel or series of a figure is the methods.
func isMethod(name string) bool { return name == "method" }
