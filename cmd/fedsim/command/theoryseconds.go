package command

import (
	"errors"
	"fmt"
	"math"

	"fedsim/experiment"
)

// boundsText returns the table of bounds in seconds, with a column for each comparison.
func boundsText(found []experiment.Timed) string {
	heads := make([]string, len(found))
	for i := range found {
		heads[i] = placeOf(found[i].Method, found[i].Point)
	}
	var rows [][]string
	for _, row := range []struct {
		name  string
		value func(*experiment.Timed) string
	}{
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
	} {
		cells := []string{row.name}
		for i := range found {
			cells = append(cells, row.value(&found[i]))
		}
		rows = append(rows, cells)
	}
	return tableText(heads, rows)
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
				placeOf(t.Method, t.Point), t.Measured, t.Seconds.Seconds))
		}
	}
	return errors.Join(wrong...)
}
