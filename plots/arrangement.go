package plots

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fedsim/results"
)

// Arrangement assigns the runs of a figure to panels and lines.
type Arrangement struct {
	Figure  results.Figure // with all defaults
	Panels  []string       // titles; one empty title without a panel key
	Lines   []Line
	Legend  string // names of the keys that the lines are values of; empty for methods alone
	Ordered bool   // the lines are sorted numbers
	Runs    []Place
}

// Line is an entry of the legend, with a line in each panel.
type Line struct {
	Label    string // values of the keys of Arrangement.Legend
	Text     string // with the names of these keys, where no legend names them
	Emphasis bool   // emphasized; these come last
}

// Place is the panel and line of a run, by index.
type Place struct{ Panel, Line int }

// Arrange assigns the runs of a figure to panels and lines. Runs that differ in a key
// other than the panel and the series of the figure get separate lines, labeled with
// the values of both. It fails without runs, for an unknown quantity or scale, and if no run has the
// key of the panels or of the series.
func Arrange(fig results.Figure, runs []results.Run) (*Arrangement, error) {
	if err := complete(&fig, runs); err != nil {
		return nil, err
	}
	a := &Arrangement{Figure: fig, Runs: make([]Place, len(runs))}
	if len(runs) == 0 {
		return nil, errorf(&fig, "there are no runs to draw")
	}
	for _, role := range []struct{ name, key string }{{"series", fig.Series}, {"panel", fig.Panel}} {
		if err := requireKey(&fig, role.name, role.key, runs); err != nil {
			return nil, err
		}
	}
	keys := append([]string{fig.Series}, otherKeys(runs, fig.Series, fig.Panel)...)
	panelOf, lineOf := make(map[string]int), make(map[string]int)
	var lines [][]string // the values of the keys
	for i := range runs {
		v := panelValue(&runs[i], fig.Panel)
		if _, ok := panelOf[v]; !ok {
			panelOf[v] = len(a.Panels)
			a.Panels = append(a.Panels, panelTitle(fig.Panel, v))
		}
		values := lineValues(&runs[i], keys)
		if line := fmt.Sprintf("%q", values); lineOf[line] == 0 {
			lines = append(lines, values)
			lineOf[line] = len(lines) // plus one
			emphasis := fig.Emphasis != "" && values[0] == fig.Emphasis
			a.Lines = append(a.Lines, Line{strings.Join(values, ", "), lineText(keys, values), emphasis})
		}
	}
	at := a.order(lines)
	if fig.Series != "method" || len(keys) > 1 {
		a.Legend = legendTitle(keys, lines, a.Ordered)
	}
	for i := range runs {
		line := lineOf[fmt.Sprintf("%q", lineValues(&runs[i], keys))] - 1
		a.Runs[i] = Place{panelOf[panelValue(&runs[i], fig.Panel)], at[line]}
	}
	return a, nil
}

// lineValues returns the values of keys of a run, which are its line.
func lineValues(r *results.Run, keys []string) (values []string) {
	for _, key := range keys {
		values = append(values, r.ValueOf(key))
	}
	return values
}

// lineText returns the values of keys, each after its name. Methods and words of a named axis have no name before them.
func lineText(keys, values []string) string {
	var text []string
	for k, key := range keys {
		_, err := strconv.ParseFloat(values[k], 64)
		if strings.Contains(key, ".") || err == nil && key != "method" {
			text = append(text, settingText(key, values[k]))
		} else {
			text = append(text, values[k])
		}
	}
	return strings.Join(text, ", ")
}

// legendTitle returns the names of the keys that the lines are values of, with the units of numbers: of one key, if
// the lines are sorted.
func legendTitle(keys []string, lines [][]string, sorted bool) string {
	var title []string
	for k, key := range keys {
		name, unit := keyName(key)
		numbers := sorted || len(keys) > 1 && !slices.ContainsFunc(lines, func(values []string) bool {
			_, err := strconv.ParseFloat(values[k], 64)
			return err != nil
		})
		if numbers && unit != "" {
			name += " (" + unit + ")"
		}
		title = append(title, name)
	}
	return capital(strings.Join(title, ", "))
}

func errorf(fig *results.Figure, format string, args ...any) error {
	return fmt.Errorf("figure %q: %s", fig.File, fmt.Sprintf(format, args...))
}

// complete sets the defaults of empty fields, and checks axes and scales. A metric that a
// learner declares gets a linear axis if it has values up to zero.
func complete(fig *results.Figure, runs []results.Run) error {
	if fig.Series == "" {
		fig.Series = "method"
	}
	if fig.Kind != "" && fig.Kind != results.Lines {
		if fig.XScale == "" {
			fig.XScale = "linear"
		}
		return nil
	}
	all := slices.Concat(quantities(), namedQuantities(runs))
	scale := "linear"
	if fig.Y == "" || bestOf(fig.Y, runs) < 0 && fig.Y != "primal" {
		scale = "log"
	}
	for _, a := range []struct {
		key, value string // value is the default
		name       *string
		names      []string
	}{
		{"x", "time_s", &fig.X, names(all, func(q *Quantity) bool { return q.X })},
		{"y", "suboptimality", &fig.Y, names(all, func(q *Quantity) bool { return q.Y })},
		{"x_scale", "linear", &fig.XScale, []string{"linear", "log"}},
		{"y_scale", scale, &fig.YScale, []string{"linear", "log"}},
	} {
		if *a.name == "" {
			*a.name = a.value
		}
		if !slices.Contains(a.names, *a.name) {
			return errorf(fig, "%s = %q: must be one of %s", a.key, *a.name, strings.Join(a.names, ", "))
		}
	}
	if q := quantityOf(fig.Y, runs); fig.YScale == "log" && !q.fitsLog(runs) {
		fig.YScale = "linear"
	}
	return nil
}

// names returns the names of the selected quantities.
func names(of []Quantity, selected func(*Quantity) bool) (list []string) {
	for i := range of {
		if selected(&of[i]) {
			list = append(list, of[i].Name)
		}
	}
	return list
}

// requireKey returns an error if no run has a key. An empty key is valid.
func requireKey(fig *results.Figure, role, key string, runs []results.Run) error {
	if key == "" || key == "method" {
		return nil
	}
	names := []string{"method"}
	for i := range runs {
		for _, s := range runs[i].Point {
			if s.Key == key {
				return nil
			}
			if !slices.Contains(names, s.Key) {
				names = append(names, s.Key)
			}
		}
	}
	return errorf(fig, "%s = %q: no run has this key: must be one of %s", role, key, strings.Join(names, ", "))
}

func panelValue(r *results.Run, key string) string {
	if key == "" {
		return ""
	}
	return r.ValueOf(key)
}

// otherKeys returns the keys, other than series and panel, in which the runs differ. It leaves
// out swept keys that have one value for the values of those before: the number of a sampled
// point stands for the values at the point.
func otherKeys(runs []results.Run, series, panel string) []string {
	var keys []string
	seen := map[string]bool{series: true, panel: true}
	group := make([]string, len(runs)) // by run, the values of the keys so far
	join := func(key string) {
		for i := range runs {
			if key != "" && key != "method" {
				group[i] += "\n" + runs[i].ValueOf(key)
			}
		}
	}
	join(series)
	join(panel)
	differs := func(key string) bool {
		first := map[string]string{}
		for i := range runs {
			v := runs[i].ValueOf(key)
			if had, ok := first[group[i]]; ok && had != v {
				return true
			}
			first[group[i]] = v
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
			join(k)
		}
		seen[k] = true
	}
	return keys
}

// order sorts lines with numeric values of one key and moves emphasized lines to the end. Other lines stay in the
// order of the scenario. It returns the place of each line of those that it is given.
func (a *Arrangement) order(lines [][]string) []int {
	type numbered struct {
		Line
		from   int
		number float64
	}
	all := make([]numbered, len(lines))
	a.Ordered = a.Figure.Series != "method"
	for i, values := range lines {
		n, err := strconv.ParseFloat(values[0], 64)
		all[i] = numbered{a.Lines[i], i, n}
		a.Ordered = a.Ordered && len(values) == 1 && (err == nil || a.Lines[i].Emphasis)
	}
	slices.SortStableFunc(all, func(x, y numbered) int {
		switch {
		case x.Emphasis && !y.Emphasis:
			return 1
		case y.Emphasis && !x.Emphasis:
			return -1
		case a.Ordered && !x.Emphasis:
			return cmp.Compare(x.number, y.number)
		}
		return 0
	})
	places := make([]int, len(lines))
	for at, line := range all {
		a.Lines[at] = line.Line
		places[line.from] = at
	}
	return places
}
