package command

import (
	"errors"
	"fmt"
	"math"

	"fedsim/experiment"
)

// boundRows are the rows of the table of bounds in seconds.
var boundRows = []tableRow[experiment.Timed]{
	{"least T_k in s", func(t *experiment.Timed) string { return short(t.Tau[0]) }},
	{"largest T_k in s", func(t *experiment.Timed) string { return short(t.Tau[len(t.Tau)-1]) }},
	{"L", func(t *experiment.Timed) string { return short(t.L) }},
	{"Delta", func(t *experiment.Timed) string { return short(t.Delta) }},
	{"sigma^2", func(t *experiment.Timed) string { return short(t.Noise2) }},
	{"bias^2", func(t *experiment.Timed) string { return short(t.Bias2) }},
	{"target", func(t *experiment.Timed) string { return short(t.Eps) }},
	{"R or B", func(t *experiment.Timed) string {
		if t.Gradients == 0 {
			return "-"
		}
		return fmt.Sprint(t.Gradients)
	}},
	{"old gradients", func(t *experiment.Timed) string {
		switch {
		case t.Gradients == 0:
			return "-"
		case t.Stops:
			return "stopped"
		}
		return "refused"
	}},
	{"step", func(t *experiment.Timed) string { return short(t.Gamma) }},
	{"largest step", func(t *experiment.Timed) string { return ofTheorem(t.Step) }},
	{"bound, steps", func(t *experiment.Timed) string { return ofTheorem(t.Steps) }},
	{"bound in s", func(t *experiment.Timed) string { return ofTheorem(t.Seconds.Seconds) }},
	{"order in s", func(t *experiment.Timed) string { return ofTheorem(t.Order) }},
	{"measured in s", func(t *experiment.Timed) string { return short(t.Measured) }},
	{"measured / bound", func(t *experiment.Timed) string { return short(t.Ratio()) }},
}

// ofTheorem formats a number of a theorem.
func ofTheorem(v float64) string {
	switch {
	case math.IsNaN(v):
		return "not found"
	case math.IsInf(v, 1):
		return "step too large"
	}
	return short(v)
}

// late returns an error for each comparison whose measurement exceeds its bound.
func late(found []experiment.Timed) error {
	var wrong []error
	for i := range found {
		if t := &found[i]; t.Broken() {
			wrong = append(wrong, fmt.Errorf("%s: the target is reached after %.3g s, the bound is %.3g s",
				whereTimed(t), t.Measured, t.Seconds.Seconds))
		}
	}
	return errors.Join(wrong...)
}
