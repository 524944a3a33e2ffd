package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// Labels collects the labels or real targets of the rows of a table.
type Labels struct {
	real  bool // targets are numbers, not classes
	two   bool // a third class is an error
	index map[string]int
	known []label // in order of appearance
	// numbered is the class of a number, for tables that have numbers.
	numbered map[float64]int
}

// label is a class of a table.
type label struct {
	name   string
	number float64 // NaN: the name is not a number
}

// NewLabels returns the labels of the configuration's target.
func (c *Config) NewLabels() *Labels {
	return &Labels{
		real: c.Target == TargetReal, two: c.Target == TargetClass && c.PositiveClass == "",
		index: map[string]int{}, numbered: map[float64]int{},
	}
}

// text returns the target of a row, or its class by order of appearance. It is NaN if it
// is missing. problem is empty or names a fault.
func (l *Labels) text(field string) (y float64, problem string) {
	if code, ok := l.index[field]; ok {
		return float64(code), ""
	}
	if input.Missing(field) {
		return math.NaN(), ""
	}
	if l.real {
		if y, problem = input.Value(field); problem != "" {
			problem = "the target " + problem
		}
		return y, problem
	}
	// Numbers have one name for all ways of writing them: 1 and +1.0 are one class.
	next := label{name: strings.Clone(field), number: math.NaN()}
	if number, err := input.Number(field); err == nil {
		next = label{strconv.FormatFloat(number+0, 'g', -1, 64), number}
	}
	code, known := l.index[next.name]
	if !known {
		if problem := l.refuse(&next); problem != "" {
			return 0, problem
		}
		code = len(l.known)
		l.known = append(l.known, next)
		l.index[next.name] = code
	}
	l.index[strings.Clone(field)] = code
	return float64(code), ""
}

// Required is text for files that must have every label.
func (l *Labels) Required(field string) (y float64, problem string) {
	y, problem = l.text(field)
	if problem == "" && math.IsNaN(y) {
		problem = fmt.Sprintf("the label %s is a missing value", quote.Text(field))
	}
	return y, problem
}

// number is text for a label or target that is a number.
func (l *Labels) number(value float64) (y float64, problem string) {
	if code, ok := l.numbered[value]; ok && !l.real {
		return float64(code), ""
	}
	y, problem = l.text(strconv.FormatFloat(value, 'g', -1, 64))
	if problem == "" && !math.IsNaN(y) && !l.real {
		l.numbered[value] = int(y)
	}
	return y, problem
}

// refuse returns why a new class is not allowed, or "".
func (l *Labels) refuse(next *label) string {
	if problem := input.RefuseName(next.name); problem != "" {
		return "the label " + problem
	}
	switch {
	case l.two && len(l.known) == 2:
		return fmt.Sprintf("the label %s is a third class, besides %s and %s: data.positive_class must name one of "+
			"them, or data.target be \"classes\" or \"real\"",
			quote.Text(next.name), quote.Text(l.known[0].name), quote.Text(l.known[1].name))
	case len(l.known) == mostClasses:
		return fmt.Sprintf("the label %s is one of more than %d: data.target must be \"real\" for numbers",
			quote.Text(next.name), mostClasses)
	}
	return ""
}

// Finish gives a set its classes, in ascending order if all are numbers, otherwise in
// the order of their bytes, and changes the targets from orders of appearance to classes.
func (l *Labels) Finish(set *Set) {
	if l.real {
		return
	}
	order := make([]int, len(l.known))
	for i := range order {
		order[i] = i
	}
	byName := slices.ContainsFunc(l.known, func(x label) bool { return math.IsNaN(x.number) })
	slices.SortFunc(order, func(i, j int) int {
		a, b := &l.known[i], &l.known[j]
		if byName {
			return strings.Compare(a.name, b.name)
		}
		return cmp.Compare(a.number, b.number)
	})
	class := make([]float64, len(order))
	set.Classes = []string{}
	for k, i := range order {
		class[i] = float64(k)
		set.Classes = append(set.Classes, l.known[i].name)
	}
	for t := range set.Clients {
		y := set.Clients[t].Y
		for i := range y {
			y[i] = class[int(y[i])]
		}
	}
}

// Label is a label with the name of its class.
type Label struct {
	Value int    `json:"value"` // -1 or +1, or the number of the class, from 0
	Class string `json:"class"`
}

// Labels returns the labels in ascending order with the names of their classes. It is nil
// for real targets, and for labels without names.
func (s *Set) Labels() []Label {
	if s.Classes == nil && s.Signs[1] != "" {
		return []Label{{-1, s.Signs[0]}, {1, s.Signs[1]}}
	}
	var list []Label
	for i, name := range s.Classes {
		list = append(list, Label{i, name})
	}
	return list
}
