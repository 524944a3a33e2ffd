package plots

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"fedsim/results"
)

// model is a figure in numbers: what lies where, but not how it looks.
type model struct {
	fig            results.Figure
	x, y           quantity
	xScale, yScale scale
	legend         string // what the series are values of; empty for methods
	ordered        bool   // the series are numbers, sorted
	series         []series
	panels         []panel
	shows          showing // of the curves of a line
}

// series is an entry of the legend: one line in each panel.
type series struct {
	label    string
	emphasis bool
}

// panel is one picture beside others.
type panel struct {
	title  string
	curves [][]curve // by series, one curve per seed, or per seed and device
}

// curve is a run in axis space, x increasing. On a logarithmic axis y may be
// minus infinity.
type curve struct {
	x, y        []float64
	interrupted bool
}

// newModel sorts the runs into panels and lines. Runs that differ in a key
// that is neither the figure's panel nor its series get lines of their own,
// named by both.
func newModel(fig results.Figure, runs []results.Run) (*model, error) {
	m := &model{fig: fig}
	if err := m.axes(); err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, m.errorf("has no runs to draw")
	}
	if m.y.each != nil {
		m.shows = ofQuantiles
	}
	m.y = m.y.on(runs)
	if fig.Series == "" {
		m.fig.Series = "method"
	}
	for _, role := range []struct{ name, key string }{{"series", m.fig.Series}, {"panel", fig.Panel}} {
		if err := m.requireKey(role.name, role.key, runs); err != nil {
			return nil, err
		}
	}
	extra := otherKeys(runs, m.fig.Series, fig.Panel)
	panelOf, seriesOf := make(map[string]int), make(map[string]int)
	values := []string{} // of the series
	for i := range runs {
		if v := panelValue(&runs[i], fig.Panel); !has(panelOf, v) {
			panelOf[v] = len(m.panels)
			m.panels = append(m.panels, panel{title: panelTitle(fig.Panel, v)})
		}
		if label := seriesLabel(&runs[i], m.fig.Series, extra); !has(seriesOf, label) {
			v := valueOf(&runs[i], m.fig.Series)
			seriesOf[label] = len(m.series)
			values = append(values, v)
			m.series = append(m.series, series{label: label, emphasis: fig.Emphasis != "" && v == fig.Emphasis})
		}
	}
	m.order(values, seriesOf, len(extra) == 0)
	if m.fig.Series != "method" {
		m.legend = keyName(m.fig.Series)
	}
	for i := range m.panels {
		m.panels[i].curves = make([][]curve, len(m.series))
	}
	for i := range runs {
		p := &m.panels[panelOf[panelValue(&runs[i], fig.Panel)]]
		s := seriesOf[seriesLabel(&runs[i], m.fig.Series, extra)]
		for _, c := range m.curvesOf(&runs[i]) {
			if len(c.x) > 0 {
				p.curves[s] = append(p.curves[s], c)
			}
		}
	}
	return m, nil
}

func has(m map[string]int, key string) bool { _, ok := m[key]; return ok }

func (m *model) errorf(format string, args ...any) error {
	return fmt.Errorf("figure %q: %s", m.fig.File, fmt.Sprintf(format, args...))
}

// axes looks up quantities and scales. Empty means time_s, suboptimality and linear.
func (m *model) axes() error {
	for _, a := range []struct {
		key, name, otherwise string
		names                []string
		to                   *quantity
	}{{"x", m.fig.X, "time_s", results.XNames, &m.x}, {"y", m.fig.Y, "suboptimality", results.YNames, &m.y}} {
		name := a.name
		if name == "" {
			name = a.otherwise
		}
		for _, n := range a.names {
			if n == name {
				*a.to = quantities[name]
			}
		}
		if a.to.label == "" {
			return m.errorf("%s = %q: must be one of %s", a.key, name, strings.Join(a.names, ", "))
		}
	}
	for _, s := range []struct {
		key, name string
		to        *scale
	}{{"x_scale", m.fig.XScale, &m.xScale}, {"y_scale", m.fig.YScale, &m.yScale}} {
		switch s.name {
		case "", "linear":
			*s.to = linear
		case "log":
			*s.to = logarithmic
		default:
			return m.errorf("%s = %q: must be one of linear, log", s.key, s.name)
		}
	}
	return nil
}

// requireKey requires a key that some run has; the empty one is always fine.
func (m *model) requireKey(role, key string, runs []results.Run) error {
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
	return m.errorf("%s = %q: no run has it: must be one of %s", role, key, strings.Join(names, ", "))
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

func seriesLabel(r *results.Run, key string, extra []string) string {
	label := valueOf(r, key)
	for _, k := range extra {
		if k == "method" {
			label += ", " + r.Method
		} else {
			label += ", " + keyName(k) + " = " + valueOf(r, k)
		}
	}
	return label
}

// order sorts series that are numbers and puts the emphasised ones last; others
// keep the order of the scenario.
func (m *model) order(values []string, seriesOf map[string]int, alone bool) {
	numbers := make([]float64, len(values))
	m.ordered = alone && m.fig.Series != "method"
	for i, v := range values {
		n, err := strconv.ParseFloat(v, 64)
		numbers[i] = n
		m.ordered = m.ordered && (err == nil || m.series[i].emphasis)
	}
	index := make([]int, len(values))
	for i := range index {
		index[i] = i
	}
	sort.SliceStable(index, func(a, b int) bool {
		i, j := index[a], index[b]
		if m.series[i].emphasis != m.series[j].emphasis {
			return m.series[j].emphasis
		}
		return m.ordered && !m.series[i].emphasis && numbers[i] < numbers[j]
	})
	sorted := make([]series, len(values))
	for at, i := range index {
		sorted[at] = m.series[i]
		seriesOf[m.series[i].label] = at
	}
	m.series = sorted
}

// curvesOf returns the curve of a run, or one for each device.
func (m *model) curvesOf(r *results.Run) []curve {
	if m.y.of != nil {
		return []curve{m.curve(r, m.y.of)}
	}
	devices := 0
	for i := range r.Rounds {
		devices = max(devices, len(m.y.each(&r.Rounds[i])))
	}
	curves := make([]curve, devices)
	for t := range curves {
		curves[t] = m.curve(r, func(x *results.Round) float64 {
			if values := m.y.each(x); t < len(values) {
				return values[t].Value
			}
			return math.NaN()
		})
	}
	return curves
}

// curve returns the evaluated rounds of a run in axis space. A place that does
// not exist (time 0 on a logarithmic axis) is skipped, and so is a step back.
func (m *model) curve(r *results.Run, y func(*results.Round) float64) curve {
	c := curve{interrupted: r.Status == results.Interrupted}
	var sum float64
	for i := range r.Rounds {
		x := m.x.of(&r.Rounds[i])
		if m.x.total {
			if !math.IsNaN(x) {
				sum += x
			}
			x = sum
		}
		px, py := m.xScale.place(x), m.yScale.place(y(&r.Rounds[i]))
		if math.IsNaN(px) || math.IsInf(px, 0) || math.IsNaN(py) || math.IsInf(py, 1) || py < -math.MaxFloat64 && m.yScale == linear {
			continue
		}
		switch n := len(c.x); {
		case n > 0 && px < c.x[n-1]:
			continue
		case n > 0 && px == c.x[n-1]:
			c.y[n-1] = py // the later of two rounds at one time counts
		default:
			c.x, c.y = append(c.x, px), append(c.y, py)
		}
	}
	return c
}
