package plots

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"fedsim/results"
)

// Arrangement says where the runs of a figure are: in which panel, on which line.
type Arrangement struct {
	Figure  results.Figure // with all defaults filled in
	Panels  []string       // their titles; one that is empty without a panel key
	Lines   []Line
	Legend  string // what the lines are values of; empty for methods
	Ordered bool   // the lines are numbers, in their order
	Runs    []Place
}

// Line is an entry of the legend: one line in each panel.
type Line struct {
	Label    string
	Emphasis bool // drawn apart; those come last
}

// Place is where a run is, by index.
type Place struct{ Panel, Line int }

// Arrange sorts the runs of a figure into panels and lines. Runs that differ in a
// key that is neither the figure's panel nor its series get lines of their own,
// named by both. It is an error when there are no runs, when an axis is none of
// results.XNames and results.YNames, or when no run has the key of the panels or
// of the series.
func Arrange(fig results.Figure, runs []results.Run) (*Arrangement, error) {
	if err := complete(&fig); err != nil {
		return nil, err
	}
	a := &Arrangement{Figure: fig, Runs: make([]Place, len(runs))}
	if len(runs) == 0 {
		return nil, errorf(&fig, "has no runs to draw")
	}
	for _, role := range []struct{ name, key string }{{"series", fig.Series}, {"panel", fig.Panel}} {
		if err := requireKey(&fig, role.name, role.key, runs); err != nil {
			return nil, err
		}
	}
	extra := otherKeys(runs, fig.Series, fig.Panel)
	panelOf, lineOf := make(map[string]int), make(map[string]int)
	values := []string{} // of the lines
	for i := range runs {
		v := panelValue(&runs[i], fig.Panel)
		if _, ok := panelOf[v]; !ok {
			panelOf[v] = len(a.Panels)
			a.Panels = append(a.Panels, panelTitle(fig.Panel, v))
		}
		label := lineLabel(&runs[i], fig.Series, extra)
		if _, ok := lineOf[label]; !ok {
			v := valueOf(&runs[i], fig.Series)
			lineOf[label] = len(a.Lines)
			values = append(values, v)
			a.Lines = append(a.Lines, Line{Label: label, Emphasis: fig.Emphasis != "" && v == fig.Emphasis})
		}
	}
	a.order(values, lineOf, len(extra) == 0)
	if fig.Series != "method" {
		a.Legend = legendTitle(fig.Series, a.Ordered)
	}
	for i := range runs {
		a.Runs[i] = Place{panelOf[panelValue(&runs[i], fig.Panel)], lineOf[lineLabel(&runs[i], fig.Series, extra)]}
	}
	return a, nil
}

// legendTitle says what the lines are values of, with the unit of numbers.
func legendTitle(key string, numbers bool) string {
	name, unit := keyName(key)
	if numbers && unit != "" {
		name += " (" + unit + ")"
	}
	return capital(name)
}

func errorf(fig *results.Figure, format string, args ...any) error {
	return fmt.Errorf("figure %q: %s", fig.File, fmt.Sprintf(format, args...))
}

// complete fills in what is empty, time_s, suboptimality, linear and method, and
// checks axes and scales.
func complete(fig *results.Figure) error {
	for _, a := range []struct {
		key, otherwise string
		name           *string
		names          []string
	}{
		{"x", "time_s", &fig.X, results.XNames},
		{"y", "suboptimality", &fig.Y, results.YNames},
		{"x_scale", "linear", &fig.XScale, []string{"linear", "log"}},
		{"y_scale", "linear", &fig.YScale, []string{"linear", "log"}},
	} {
		if *a.name == "" {
			*a.name = a.otherwise
		}
		known := false
		for _, n := range a.names {
			known = known || n == *a.name
		}
		if !known {
			return errorf(fig, "%s = %q: must be one of %s", a.key, *a.name, strings.Join(a.names, ", "))
		}
	}
	if fig.Series == "" {
		fig.Series = "method"
	}
	return nil
}

// requireKey requires a key that some run has; the empty one is always fine.
func requireKey(fig *results.Figure, role, key string, runs []results.Run) error {
	if key == "" || key == "method" {
		return nil
	}
	names := []string{"method"}
	seen := map[string]bool{"method": true}
	for i := range runs {
		for _, s := range runs[i].Point {
			if s.Key == key {
				return nil
			}
			if !seen[s.Key] {
				seen[s.Key] = true
				names = append(names, s.Key)
			}
		}
	}
	return errorf(fig, "%s = %q: no run has it: must be one of %s", role, key, strings.Join(names, ", "))
}

// valueOf returns the value a run has for a key or "method".
func valueOf(r *results.Run, key string) string {
	if key == "method" {
		return r.Method
	}
	v, _ := r.Value(key)
	return v
}

func panelValue(r *results.Run, key string) string {
	if key == "" {
		return ""
	}
	return valueOf(r, key)
}

// otherKeys returns what the runs differ in beside series and panel.
func otherKeys(runs []results.Run, series, panel string) []string {
	var keys []string
	seen := map[string]bool{series: true, panel: true}
	differs := func(key string) bool {
		for i := range runs {
			if valueOf(&runs[i], key) != valueOf(&runs[0], key) {
				return true
			}
		}
		return false
	}
	candidates := []string{"method"}
	for i := range runs {
		for _, s := range runs[i].Point {
			candidates = append(candidates, s.Key)
		}
	}
	for _, k := range candidates {
		if !seen[k] && differs(k) {
			keys = append(keys, k)
		}
		seen[k] = true
	}
	return keys
}

func lineLabel(r *results.Run, key string, extra []string) string {
	label := valueOf(r, key)
	for _, k := range extra {
		if k == "method" {
			label += ", " + r.Method
		} else {
			label += ", " + settingText(k, valueOf(r, k))
		}
	}
	return label
}

// order sorts lines that are numbers and puts the emphasised ones last; others
// keep the order of the scenario.
func (a *Arrangement) order(values []string, lineOf map[string]int, alone bool) {
	numbers := make([]float64, len(values))
	a.Ordered = alone && a.Figure.Series != "method"
	for i, v := range values {
		n, err := strconv.ParseFloat(v, 64)
		numbers[i] = n
		a.Ordered = a.Ordered && (err == nil || a.Lines[i].Emphasis)
	}
	index := make([]int, len(values))
	for i := range index {
		index[i] = i
	}
	sort.SliceStable(index, func(x, y int) bool {
		i, j := index[x], index[y]
		if a.Lines[i].Emphasis != a.Lines[j].Emphasis {
			return a.Lines[j].Emphasis
		}
		return a.Ordered && !a.Lines[i].Emphasis && numbers[i] < numbers[j]
	})
	sorted := make([]Line, len(values))
	for at, i := range index {
		sorted[at] = a.Lines[i]
		lineOf[a.Lines[i].Label] = at
	}
	a.Lines = sorted
}
