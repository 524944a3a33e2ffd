package command

import (
	"slices"
	"testing"

	"fedsim/experiment"
	"fedsim/results"
	"fedsim/theory"
)

// The chart of the bounds names what its panels differ in, and the lines it has.
func TestChartOfTheTheorems(t *testing.T) {
	at := func(name, method, p string, smooth bool) experiment.Comparison {
		c := experiment.Comparison{Experiment: name, Method: method}
		if p != "" {
			c.Point = []results.Setting{{Key: "faults.drop_probability", Value: p}}
		}
		if smooth {
			c.Corollary = []float64{1}
		}
		c.Constants = &theory.Constants{}
		return c
	}
	const measured, corollary = "measured: mean and range over seeds", "Corollary 8, measured θ"
	for _, c := range []struct {
		found         []experiment.Comparison
		titles, lines []string
	}{
		{[]experiment.Comparison{at("x", "MOCHA", "", true)}, []string{"MOCHA"}, []string{measured, "Theorem 1", corollary}},
		{[]experiment.Comparison{at("x", "MOCHA", "0", false), at("x", "MOCHA", "0.5", false)},
			[]string{"drop probability = 0", "drop probability = 0.5"}, []string{measured, "Theorem 2"}},
		{[]experiment.Comparison{at("x", "MOCHA", "0", false), at("x", "CoCoA", "0", true)},
			[]string{"MOCHA, drop probability = 0", "CoCoA, drop probability = 0"}, []string{measured, "Theorem 1 or 2", corollary}},
		{[]experiment.Comparison{at("x", "MOCHA", "", true), at("y", "MOCHA", "", true)}, []string{"x", "y"}, []string{measured, "Theorem 1", corollary}},
	} {
		var titles []string
		for i := range c.found {
			titles = append(titles, panelTitle(&c.found[i], c.found))
		}
		if !slices.Equal(titles, c.titles) {
			t.Errorf("titles %q, want %q", titles, c.titles)
		}
		if got := chartLines(c.found); !slices.Equal(got, c.lines) {
			t.Errorf("lines %q, want %q", got, c.lines)
		}
	}
}
