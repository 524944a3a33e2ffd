package plots

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/results"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"pgregory.net/rapid"
)

func TestBandOfTwoSeeds(t *testing.T) {
	b := newBand([]curve{
		{x: []float64{0, 2, 4}, y: []float64{4, 2, 0}},
		{x: []float64{0, 4, 8}, y: []float64{8, 4, -90}},
	}, math.Inf(1), -2, ofMean, false)
	want := band{
		// After 4, the first seed stays at 0; the -90 of the second counts as the floor.
		x:    []float64{0, 2, 4, 8},
		mean: []float64{6, 4, 2, -1},
		low:  []float64{4, 2, 0, -2},
		high: []float64{8, 6, 4, 0},
	}
	d := cmp.Diff(want, b, cmp.AllowUnexported(band{}))
	expect.That(t, d == "", "%v", d)
}

func TestBandEnds(t *testing.T) {
	long := curve{x: []float64{0, 10}, y: []float64{1, 0}}
	short := curve{x: []float64{0, 4}, y: []float64{1, 0}}
	cut := short
	cut.end = unfinished
	late := curve{x: []float64{6, 7}, y: []float64{1, 0}}
	for _, c := range []struct {
		name        string
		curves      []curve
		end         float64
		first, last float64
	}{
		{"the longest run ends the line", []curve{long, short}, 99, 0, 10},
		{"an interrupted run ends the line", []curve{long, cut}, 99, 0, 4},
		{"the axis ends the line", []curve{long, short}, 3, 0, 3},
		{"the latest start", []curve{long, late}, 99, 6, 10},
	} {
		b := newBand(c.curves, c.end, -9, ofMean, false)
		n := len(b.x)
		expect.That(t, n != 0 && b.x[0] == c.first && b.x[n-1] == c.last, "%s: places %v", c.name, b.x)
	}
	if b := newBand([]curve{cut, late}, 99, -9, ofMean, false); len(b.x) != 0 {
		t.Errorf("curves without overlap: %v", b.x)
	}
	if b := newBand(nil, 99, -9, ofMean, false); len(b.x) != 0 {
		t.Errorf("no curves: %v", b.x)
	}
}

// TestBandAgainstSlowTwin compares every point of a band with a linear search through all
// points of all curves, as steps and as straight lines.
func TestBandAgainstSlowTwin(t *testing.T) {
	const floor = -5
	slow := func(c curve, x float64, steps bool) float64 {
		y := math.Max(c.y[len(c.y)-1], floor)
		if steps {
			for i := range c.x {
				if c.x[i] <= x {
					y = math.Max(c.y[i], floor)
				}
			}
			return y
		}
		for i := len(c.x) - 2; i >= 0; i-- {
			if x <= c.x[i+1] {
				share := (x - c.x[i]) / (c.x[i+1] - c.x[i])
				y = (1-share)*math.Max(c.y[i], floor) + share*math.Max(c.y[i+1], floor)
			}
		}
		return y
	}
	rapid.Check(t, func(t *rapid.T) {
		curves := make([]curve, rapid.IntRange(1, 4).Draw(t, "seeds"))
		for i := range curves {
			x := 0.0
			for range rapid.IntRange(1, 500).Draw(t, "points") {
				curves[i].x = append(curves[i].x, x)
				curves[i].y = append(curves[i].y, rapid.Float64Range(-10, 10).Draw(t, "y"))
				x += rapid.Float64Range(0.01, 1).Draw(t, "step")
			}
		}
		steps := rapid.Bool().Draw(t, "steps")
		b := newBand(curves, math.Inf(1), floor, ofRange, steps)
		expect.Must(t, len(b.x) <= maxPlaces, "%d places", len(b.x))
		measured := map[float64]bool{}
		for _, c := range curves {
			for _, x := range c.x {
				measured[x] = true
			}
		}
		for i, x := range b.x {
			expect.Must(t, measured[x], "nothing was measured at %v", x)
			if i > 0 && x <= b.x[i-1] {
				t.Fatalf("places %v and %v", b.x[i-1], x)
			}
			low, high, sum := math.Inf(1), math.Inf(-1), 0.0
			for _, c := range curves {
				y := slow(c, x, steps)
				low, high, sum = math.Min(low, y), math.Max(high, y), sum+y
			}
			for _, c := range curves { // what is between places is in the band, too
				for k := range c.x {
					if steps && len(curves) > 1 && i+1 < len(b.x) && c.x[k] > x && c.x[k] < b.x[i+1] {
						low, high = math.Min(low, math.Max(c.y[k], floor)), math.Max(high, math.Max(c.y[k], floor))
					}
				}
			}
			// Values are at most 10, so rounding errors are far below 1e-12.
			for _, pair := range [][2]float64{{b.low[i], low}, {b.high[i], high},
				{b.mean[i], sum / float64(len(curves))}} {
				expect.Must(t, math.Abs(pair[0]-pair[1]) <= 1e-12, "at %v: %v, want %v", x, pair[0], pair[1])
			}
		}
	})
}

// The mean on a logarithmic axis is geometric.
func TestGeometricMean(t *testing.T) {
	run := func(seed uint64, sub float64) results.Run {
		return results.Run{Method: "m", Seed: seed, Status: results.Done,
			Rounds: []results.Round{{Suboptimality: 1}, {Round: 1, TimeS: 1, Suboptimality: sub}}}
	}
	m := expect.Value(newModel(results.Figure{YScale: "log"}, []results.Run{run(1, 1e-1), run(2, 1e-3)}))(t)
	b := newBand(m.panels[0].curves[0], 1, -6, ofMean, false)
	if got := b.mean[len(b.mean)-1]; math.Abs(got+2) > 1e-15 { // sqrt(1e-1 1e-3) = 1e-2
		t.Errorf("mean 10^%v, want 1e-2", got)
	}
}

func TestCurve(t *testing.T) {
	nan := math.NaN()
	r := results.Run{Method: "m", Rounds: []results.Round{
		{TimeS: 0, Suboptimality: 1, BytesUp: 0},
		{TimeS: 1, Suboptimality: nan, BytesUp: 10},
		{TimeS: 2, Suboptimality: 0.1, BytesUp: 10},
		{TimeS: 2, Suboptimality: 0.01, BytesUp: 0}, // same time: the later one counts
		{TimeS: 1.5, Suboptimality: 7, BytesUp: 5},  // a step back in time, not in bytes
		{TimeS: 3, Suboptimality: 0, BytesUp: 10},
		{TimeS: 4, Suboptimality: math.Inf(1), BytesUp: 10},
	}}
	for _, c := range []struct {
		name string
		fig  results.Figure
		want curve
	}{
		{"log", results.Figure{YScale: "log"}, curve{x: []float64{0, 2, 3}, y: []float64{0, -2, math.Inf(-1)}}},
		{"linear", results.Figure{YScale: "linear"}, curve{x: []float64{0, 2, 3}, y: []float64{1, 0.01, 0}}},
		{"no time 0 on a log axis", results.Figure{XScale: "log", YScale: "linear"},
			curve{x: []float64{math.Log10(2), math.Log10(3)}, y: []float64{0.01, 0}}},
		{"cumulative", results.Figure{X: "bytes_up", YScale: "linear"},
			curve{x: []float64{0, 20, 25, 35}, y: []float64{1, 0.01, 7, 0}}},
	} {
		m := expect.Value(newModel(c.fig, []results.Run{r}))(t)
		c.want.end = atBudget
		d := cmp.Diff(c.want, m.panels[0].curves[0][0], cmp.AllowUnexported(curve{}))
		expect.That(t, d == "", "%s: %s", c.name, d)
	}
}

// Between two evaluations, a line stays at the first value, also in the mean over seeds.
func TestSteps(t *testing.T) {
	var runs []results.Run
	for seed := uint64(1); seed <= 2; seed++ {
		at := float64(seed)
		runs = append(runs,
			results.Run{Method: "m", Seed: seed, Status: results.Done,
				Reporting: results.Reporting{StopAt: results.ToSuboptimality(0.1)},
				Rounds: []results.Round{
					{Suboptimality: 1}, {Round: 1, TimeS: at, Suboptimality: 0.5},
					{Round: 2, TimeS: 20 + at, Suboptimality: 0.1},
				}})
	}
	m := expect.Value(newModel(results.Figure{YScale: "linear"}, runs))(t)
	b := newBand(m.panels[0].curves[0], 99, -9, m.shows, m.steps)
	want := band{
		x:     []float64{0, 1, 2, 21, 22},
		mean:  []float64{1, 0.75, 0.5, 0.3, 0.1},
		low:   []float64{1, 0.5, 0.5, 0.1, 0.1},
		high:  []float64{1, 1, 0.5, 0.5, 0.1},
		steps: true,
	}
	d := cmp.Diff(want, b, cmp.AllowUnexported(band{}))
	expect.That(t, d == "", "%v", d)
	// The line stays at 0.5 through the outage from 2 s to 21 s.
	path := b.path(points(b.x, b.mean, inPoints, inPoints))
	for i := 1; i < len(path); i++ {
		if path[i].X != path[i-1].X && path[i].Y != path[i-1].Y {
			t.Errorf("the line slopes from %v to %v", path[i-1], path[i])
		}
	}
	if want := (vg.Point{X: 21, Y: 0.5}); path[5] != want {
		t.Errorf("at the end of the outage the line is at %v, want %v", path[5], want)
	}
}

// Markers are at points in the panel, with a distance of at least markGap.
func TestMarkers(t *testing.T) {
	c := &draw.Canvas{Rectangle: vg.Rectangle{Max: vg.Point{X: 200, Y: 100}}}
	rapid.Check(t, func(t *rapid.T) {
		var points []vg.Point
		x := vg.Length(0)
		for range rapid.IntRange(1, 60).Draw(t, "points") {
			points = append(points, vg.Point{X: x, Y: vg.Length(rapid.Float64Range(-20, 120).Draw(t, "y"))})
			x += vg.Length(rapid.Float64Range(0.1, 80).Draw(t, "step"))
		}
		at := spread(c, points, 0.5)
		for i, p := range at {
			expect.Must(t, slices.Contains(points, p) && c.Contains(p), "a marker at %v", p)
			if i > 0 && distance(p, at[i-1]) < float64(markGap) {
				t.Fatalf("markers at %v and %v", at[i-1], p)
			}
		}
		expect.Must(t, len(at) != 0 || !slices.ContainsFunc(points, c.Contains), "no marker")
	})
}

// The axes show every value, also of a method that is a thousand times slower, and a
// figure with limits notes omitted values.
func TestAxisNotes(t *testing.T) {
	run := func(method string, seconds float64) results.Run {
		r := results.Run{Method: method}
		for h := range 11 {
			r.Rounds = append(r.Rounds,
				results.Round{Round: h, TimeS: seconds * float64(h), Suboptimality: math.Pow10(-h)})
		}
		return r
	}
	runs := []results.Run{run("fast", 1), run("slow", 1000)}
	for _, c := range []struct {
		fig  results.Figure
		x, y string // the labels
	}{
		{results.Figure{YScale: "linear"}, "virtual time (h)", "primal sub-optimality"},
		{results.Figure{XMax: 2400, YMax: 0.5, YScale: "linear"}, "virtual time (min)\ncut at 40 min of 167 min",
			"primal sub-optimality\ncut at 0.5, highest 1"},
		{results.Figure{X: "round", XMax: 4, YScale: "log", YMin: 1e-4}, "rounds\ncut at 4 of 10",
			"primal sub-optimality\ncut at 0.0001, lowest 1e-10"},
		// below the accuracy of P*
		{results.Figure{X: "round", YScale: "log"}, "rounds", "primal sub-optimality\ncut at 5.75e-07, lowest 1e-10"},
		{results.Figure{X: "round", YScale: "log", Y: "primal"}, "rounds", "primal objective"},
	} {
		p := expect.Value(Draw(c.fig, runs))(t)
		axes := p.plots[0][0]
		expect.That(t, axes.X.Label.Text == c.x && axes.Y.Label.Text == c.y,
			"%+v: labels %q and %q, want %q and %q", c.fig, axes.X.Label.Text, axes.Y.Label.Text, c.x, c.y)
		expect.That(t, c.fig.XMax != 0 || c.fig.X != "" || axes.X.Max >= 10000,
			"the horizontal axis ends at %v s, the slow method at 10000 s", axes.X.Max)
	}
}

// Errors start after round 0, which has no model.
func TestErrorsStart(t *testing.T) {
	for _, y := range []string{"test_error", "train_error"} {
		m := expect.Value(newModel(results.Figure{Y: y}, methodRuns(1)[:1]))(t)
		if first := methodRuns(1)[0].Rounds[1].TimeS; m.panels[0].curves[0][0].x[0] != first {
			t.Errorf("%s starts at %v s, the first round ends at %v s", y, m.panels[0].curves[0][0].x[0], first)
		}
	}
}

// Panels of one method each have one horizontal axis, so that their methods can be compared;
// panels of a setting have their own.
func TestMethodsSideBySideShareTheirAxis(t *testing.T) {
	runs := methodRuns(1)
	last := &runs[len(runs)-1]
	last.Rounds = last.Rounds[:len(last.Rounds)/2]
	m := expect.Value(newModel(results.Figure{Panel: "method"}, runs))(t)
	first, ok := m.xLimits(&m.panels[0])
	expect.Must(t, ok && len(m.panels) >= 2, "%d panels", len(m.panels))
	for i := range m.panels {
		x, _ := m.xLimits(&m.panels[i])
		expect.That(t, x == first, "panel %q has the limits %v, the first %v", m.panels[i].title, x, first)
	}
}

func TestLimits(t *testing.T) {
	runs := methodRuns(1)
	m, err := newModel(results.Figure{YScale: "log", YMin: 1e-2, YMax: 10, XMax: 5}, runs)
	expect.NoError(t, err)
	y, ok := m.yLimits()
	if x, okX := m.xLimits(&m.panels[0]); !ok || !okX || (y != interval{-2, 1}) || (x != interval{0, 5}) {
		t.Errorf("limits of the figure: x %v, y %v", x, y)
	}
	// The floor of a sub-optimality is 1e-6, with a margin of 0.04 of the length.
	for i := range runs[0].Rounds {
		runs[0].Rounds[i].Suboptimality = math.Pow(10, -float64(i)/10)
	}
	m, err = newModel(results.Figure{YScale: "log"}, runs[:1])
	expect.NoError(t, err)
	if y, _ := m.yLimits(); math.Abs(y.min+6.24) > 1e-9 || math.Abs(y.max-0.24) > 1e-9 {
		t.Errorf("limits %v, want -6.24 to 0.24", y)
	}
	// The axis of errors starts at zero.
	m, err = newModel(results.Figure{Y: "test_error"}, methodRuns(1))
	expect.NoError(t, err)
	if y, _ := m.yLimits(); y.min != 0 {
		t.Errorf("limits %v", y)
	}
	// A limit beyond all data does not invert the axis.
	for _, fig := range []results.Figure{{YScale: "log", YMin: 1e6}, {YScale: "log", YMax: 1e-9}, {YMax: -4},
		{XScale: "log", XMax: 1e-9}} {
		if m, err = newModel(fig, methodRuns(1)); err != nil {
			t.Fatal(err)
		}
		y, _ := m.yLimits()
		x, _ := m.xLimits(&m.panels[0])
		expect.That(t, y.max > y.min && x.max > x.min, "%+v: x %v, y %v", fig, x, y)
		if _, err := Draw(fig, methodRuns(1)); err != nil {
			t.Error(err)
		}
	}
}

// labels joins the labels of ticks.
func labels(t ticks) string {
	var s []string
	for _, x := range t {
		if x.Label != "" {
			s = append(s, x.Label)
		}
	}
	return strings.Join(s, " ")
}

func TestTicks(t *testing.T) {
	one := unit{Size: 1}
	lin := func(lo, hi float64, u unit) string { return labels(linearTicks(interval{lo, hi}, u, 5)) }
	log := func(lo, hi float64, powers bool) string {
		return labels(logTicks(interval{math.Log10(lo), math.Log10(hi)}, one, 7, powers))
	}
	for _, c := range []struct{ got, want string }{
		{lin(0, 1, one), "0.0 0.2 0.4 0.6 0.8 1.0"},
		{lin(0, 27, one), "0 10 20"},
		{lin(0, 25000, one), "0 5,000 10,000 15,000 20,000 25,000"},
		{lin(0, 7200, unit{"h", 3600}), "0.0 0.5 1.0 1.5 2.0"},
		{lin(-0.3, 0.3, one), "−0.2 0.0 0.2"},
		{lin(0, 3e9, one), "0 1·10^9 2·10^9 3·10^9"},
		{lin(0, 2e-8, one), "0 5·10^−9 1·10^−8 1.5·10^−8 2·10^−8"},
		{log(1e-3, 2, true), "10^−3 10^−2 10^−1 10^0"},
		{log(1e-9, 1e6, true), "10^−9 10^−6 10^−3 10^0 10^3 10^6"},
		{log(0.05, 30, false), "0.1 1 10"},
		{log(100, 2e5, false), "100 1,000 10,000 100,000"},
		{lin(0, 24.5, unit{"h", 1}), "0 6 12 18 24"},
		{lin(0, 24.5*3600, unit{"h", 3600}), "0 6 12 18 24"},
		{lin(0, 75, unit{"min", 1}), "0 15 30 45 60 75"},
		{lin(0, 1.2, unit{"h", 1}), "0.0 0.5 1.0"},
		{log(0.15, 0.9, true), "0.2 0.4 0.6 0.8"},
		{log(1.1, 8, false), "2 3 4 5 6 7 8"},
		{log(2.1, 2.9, false), "2.2 2.4 2.6 2.8"},
	} {
		expect.That(t, c.got == c.want, "labels %q, want %q", c.got, c.want)
	}
}

// Ticks have distinct labels within the limits: at least three, at most the requested
// number.
func TestTicksProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-1e9, 1e9).Draw(t, "lo")
		r := interval{lo, lo + math.Pow(10, rapid.Float64Range(-3, 9).Draw(t, "length"))}
		most := rapid.IntRange(2, 9).Draw(t, "most")
		check := func(t *rapid.T, r interval, marks ticks, most int) {
			n := 0
			seen := map[string]bool{}
			for _, m := range marks {
				expect.Must(t, r.holds(m.Value), "%v outside %v", m, r)
				if m.Label != "" {
					n++
					expect.Must(t, !seen[m.Label], "label %q twice", m.Label)
					seen[m.Label] = true
				}
			}
			expect.Must(t, n >= 3 && n <= most, "%d labels in %v: want 3 to %d", n, r, most)
			expect.Must(t, len(marks) <= 120, "%d marks", len(marks))
		}
		if math.Abs(lo) < 1e6 || r.length() > 1e3 { // otherwise neighbors have the same label
			// with two multiples of 5, up to seven of 2
			check(t, r, linearTicks(r, unit{Size: 1}, most), max(most+1, 7))
		}
		decades := rapid.Float64Range(0.01, 12).Draw(t, "decades")
		at := rapid.Float64Range(-9, 9).Draw(t, "at")
		r = interval{at, at + decades}
		check(t, r, logTicks(r, unit{Size: 1}, most, true), max(most+1, 7))
	})
}

func TestNumberText(t *testing.T) {
	for _, c := range []struct {
		v, step float64
		want    string
	}{
		{0, 1, "0"}, {-0.0001, 0.01, "0.00"}, {1234567, 1, "1,234,567"}, {-1234.5, 0.5, "−1,234.5"}, {123, 1, "123"},
		{-123, 1, "−123"}, {2.5e7, 5e6, "2.5·10^7"}, {20000001, 1, "20,000,001"}, {-3e-7, 1e-7, "−3·10^−7"},
		{3e8, 1e8, "3·10^8"}, {1.0000002, 1e-7, "1.0000002"}, {0, 1e-7, "0"},
	} {
		got := numberText(c.v, c.step)
		expect.That(t, got == c.want, "%v in steps of %v: %q, want %q", c.v, c.step, got, c.want)
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		axis, want string
		most       float64
	}{
		{"time_s", "virtual time (µs)", 1e-9}, {"time_s", "virtual time (ms)", 0.9}, {"time_s", "virtual time (s)", 80},
		{"time_s", "virtual time (min)", 91}, {"time_s", "virtual time (h)", 3600 * 30},
		{"time_s", "virtual time (d)", 86400 * 3}, {"round", "rounds", 1e6},
		{"flops", "work of all devices (GFLOP)", 5e9}, {"bytes_up", "data sent to the server (MB)", 4e6},
		{"energy_j", "energy of all devices (kJ)", 2e3},
	} {
		q := quantityOf(c.axis, nil)
		got := q.labelIn(q.unitFor(c.most))
		expect.That(t, got == c.want, "%q, want %q", got, c.want)
	}
}

func TestPanelTitle(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"network", "3g", "3G"}, {"network.profile", "lte", "LTE"}, {"network", "wifi", "WiFi"},
		{"variability", "high", "High"}, {"faults.drop_probability", "0.5", "Drop probability = 0.5"},
		{"solver.kind", "exact", "Kind = exact"}, {"tasks", "30", "Tasks = 30"}, {"method", "MOCHA", "MOCHA"},
		{"", "", ""}, {"federation.deadline_s", "0.1", "Deadline = 0.1 s"}, {"network.rtt_ms", "30", "Rtt = 30 ms"},
		{"network.wire.header_bytes", "96", "Header = 96 B"}, {"heterogeneity", "sigma/mu = 0.5", "sigma/mu = 0.5"},
		{"outage", "from 5 s to 25 s", "From 5 s to 25 s"}, {"drops", "p = 0.1", "p = 0.1"},
		{"kind", "a single point", "A single point"}, {"size", "b", "b"},
		// not the seeds of repetitions
		{"protocol", "async-mocha", "async-mocha"},
		{"cycle", "fixed, late responses used", "Fixed, late responses used"}, {"data.seed", "1", "Data seed = 1"},
		{"data.split_seed", "2", "Data split = 2"},
	} {
		got := panelTitle(c.key, c.value)
		expect.That(t, got == c.want, "%s, %s: %q, want %q", c.key, c.value, got, c.want)
	}
}

// Numbers are sorted, the emphasized line comes last, and methods are in the order of the
// scenario.
func TestSeries(t *testing.T) {
	point := func(method string, settings ...results.Setting) results.Run {
		return results.Run{Method: method, Point: settings, Rounds: []results.Round{{Suboptimality: 1}}}
	}
	p := func(v string) results.Setting { return results.Setting{Key: "a.p", Value: v} }
	step := func(v string) results.Setting { return results.Setting{Key: "b.step", Value: v} }
	at := func(v string) results.Setting { return results.Setting{Key: "c.at", Value: v} }
	for _, c := range []struct {
		name, series, want string
		runs               []results.Run
		ordered            bool
	}{
		{"numbers", "a.p", "0.1 0.25 1 never",
			[]results.Run{point("m", p("1")), point("m", p("never")), point("m", p("0.25")), point("m", p("0.1"))},
			true},
		{"words", "a.p", "low high never",
			[]results.Run{point("m", p("low")), point("m", p("never")), point("m", p("high"))}, false},
		{"methods", "method", "B A", []results.Run{point("B", p("1")), point("A", p("1"))}, false},
		{"one more key", "a.p", "1, x|1, y",
			[]results.Run{point("m", p("1"), step("x")), point("m", p("1"), step("y"))}, false},
		{"a sampled key", "b.step", "0.1 0.2",
			[]results.Run{point("m", p("1"), step("0.2"), at("7")), point("m", p("2"), step("0.1"), at("7"))}, true},
		{"a sampled point", "method", "B, 1|B, 2",
			[]results.Run{point("B", p("1"), step("0.2")), point("B", p("2"), step("0.1"))}, false},
		{"a sampled key twice", "b.step", "0.1, 1|0.1, 2",
			[]results.Run{point("m", p("1"), step("0.1")), point("m", p("2"), step("0.1"))}, false},
		{"and methods", "a.p", "1, B|1, A", []results.Run{point("B", p("1")), point("A", p("1"))}, false},
	} {
		m := expect.Value(newModel(results.Figure{Series: c.series, Emphasis: "never"}, c.runs))(t)
		var got []string
		for _, s := range m.series {
			got = append(got, s.Label)
		}
		sep := " "
		if strings.Contains(c.want, "|") {
			sep = "|"
		}
		expect.That(t, strings.Join(got, sep) == c.want && m.ordered == c.ordered,
			"%s: %q, ordered %v", c.name, got, m.ordered)
		for i, s := range m.series {
			n := len(m.panels[0].curves[i])
			expect.That(t, n == 1, "%s: %s has %d runs", c.name, s.Label, n)
		}
	}
}

// The title of a legend names the keys of its lines once, with the units of numbers.
func TestLegendTitle(t *testing.T) {
	deadline, profile := "federation.deadline_s", "network.profile"
	for _, c := range []struct {
		keys   []string
		lines  [][]string
		sorted bool
		want   string
	}{
		{[]string{deadline}, [][]string{{"1"}, {"never"}}, true, "Deadline (s)"}, // never is emphasized
		{[]string{deadline}, [][]string{{"1"}, {"never"}}, false, "Deadline"},
		{[]string{"method", deadline}, [][]string{{"B", "1"}, {"B", "2"}}, false, "Method, deadline (s)"},
		{[]string{"method", deadline}, [][]string{{"B", "1"}, {"B", "never"}}, false, "Method, deadline"},
		{[]string{profile, deadline}, [][]string{{"3g", "1"}, {"lte", "1"}}, false, "Profile, deadline (s)"},
	} {
		got := legendTitle(c.keys, c.lines, c.sorted)
		expect.That(t, got == c.want, "%v: %q, want %q", c.keys, got, c.want)
	}
	keys := []string{"method", "network", "network.profile", "p", deadline}
	values := []string{"7", "slow", "3g", "1", "2"}
	const want = "7, slow, profile = 3g, p = 1, deadline = 2 s"
	expect.That(t, lineText(keys, values) == want, "%q, want %q", lineText(keys, values), want)
}

// Lines of two keys are apart where their labels are equal.
func TestLinesWithCommas(t *testing.T) {
	run := func(p, step string) results.Run {
		return results.Run{Method: "m", Point: []results.Setting{{Key: "p", Value: p}, {Key: "step", Value: step}},
			Rounds: []results.Round{{Suboptimality: 1}}}
	}
	runs := []results.Run{run("a, b", "c"), run("a, b", "d"), run("a", "b, c")}
	a := expect.Value(Arrange(results.Figure{Series: "p"}, runs))(t)
	expect.That(t, len(a.Lines) == 3 && a.Runs[0].Line != a.Runs[2].Line, "%v of %v", a.Runs, a.Lines)
}

// The first 42 methods have distinct styles, and the colors of numbers get lighter, also
// in grayscale.
func TestStylesDiffer(t *testing.T) {
	m := &figureContent{series: make([]Line, 42)}
	type style struct{ color, dash int }
	seen := map[style]int{}
	for i, s := range m.lineStyles() {
		l := style{-1, -1}
		for k, c := range categoryColors {
			if c == s.line.Color {
				l.color = k
			}
		}
		for k, d := range categoryDashes {
			if cmp.Equal(d, s.line.Dashes) {
				l.dash = k
			}
		}
		j, ok := seen[l]
		expect.That(t, !ok, "series %d looks like series %d", i, j)
		seen[l] = i
	}
	m = &figureContent{series: make([]Line, 9), ordered: true}
	before := -1.0
	for i, s := range m.lineStyles() {
		r, g, b, _ := s.line.Color.RGBA()
		lightness := 0.299*float64(r) + 0.587*float64(g) + 0.114*float64(b) // ITU-R BT.601
		// two lines of a color differ in their dashes
		if lightness < before || lightness == before && i%2 == 0 {
			t.Errorf("series %d is not lighter than the one before", i)
		}
		before = lightness
	}
}

func TestSimplified(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := band{}
		for i := range rapid.IntRange(1, 200).Draw(t, "points") {
			b.x = append(b.x, float64(i))
			b.mean = append(b.mean, rapid.Float64Range(-1, 1).Draw(t, "y"))
		}
		line := points(b.x, b.mean, inPoints, inPoints)
		short := simplified(line)
		expect.Must(t, len(short) <= len(line) && short[0] == line[0] && short[len(short)-1] == line[len(line)-1],
			"%d points of %d", len(short), len(line))
		for _, p := range line {
			near := math.Inf(1)
			for i := range short {
				near = math.Min(near, offset(p, short[max(i-1, 0)], short[i]))
			}
			expect.Must(t, near <= 0.05+1e-9, "%v is %v off", p, near)
		}
	})
}

func inPoints(v float64) vg.Length { return vg.Length(v) }

// The label of an error axis depends on the kind of labels.
func TestErrorLabel(t *testing.T) {
	for _, c := range []struct {
		y    string
		real []bool
		want string
	}{
		{"test_error", []bool{false, false}, "test error by rows"},
		{"test_error", []bool{true, true}, "test RMSE by rows"},
		{"test_error", []bool{false, true}, "test error by rows or test RMSE by rows"},
		{"train_error", []bool{true}, "training RMSE by rows"},
		{"suboptimality", []bool{true}, "primal sub-optimality"},
	} {
		var runs []results.Run
		for i, real := range c.real {
			r := methods[i].run(1, 0.5)
			r.Real = real
			runs = append(runs, r)
		}
		m := expect.Value(newModel(results.Figure{File: "x", Y: c.y}, runs))(t)
		expect.That(t, m.y.Label == c.want, "%s on %v: labeled %q, want %q", c.y, c.real, m.y.Label, c.want)
	}
}

// The cost models of the paper and of its authors have relative units of time.
func TestTimeLabel(t *testing.T) {
	for _, c := range []struct {
		relative []bool
		want     string
	}{
		{[]bool{false, false}, "virtual time (s)"},
		{[]bool{true, true}, "virtual time (relative units)"},
		{[]bool{false, true}, "virtual time (s or relative units)"},
	} {
		var runs []results.Run
		for i, relative := range c.relative {
			runs = append(runs,
				results.Run{Method: methods[i].method, Relative: relative,
					Rounds: []results.Round{{}, {Round: 1, TimeS: 2}}})
		}
		p := expect.Value(Draw(results.Figure{File: "x"}, runs))(t)
		got := p.plots[0][0].X.Label.Text
		expect.That(t, got == c.want, "%v: labeled %q, want %q", c.relative, got, c.want)
	}
}

// A figure has one time unit and one format of decades.
func TestUnitAndFormat(t *testing.T) {
	run := func(kind string, scale float64) results.Run {
		r := results.Run{Method: "m", Point: []results.Setting{{Key: "kind", Value: kind}}}
		for h := range 20 {
			r.Rounds = append(r.Rounds,
				results.Round{Round: h, TimeS: scale * float64(h+1), Suboptimality: 1 / float64(h+1)})
		}
		return r
	}
	for _, c := range []struct {
		name, x, y string
		fig        results.Figure
		runs       []results.Run
	}{
		{"the unit of the shortest panel", "ms", "10^−2 10^−1 10^0", results.Figure{YScale: "log", YMin: 5e-3},
			[]results.Run{run("a", 0.01), run("b", 0.1)}},
		{"the longest would need five digits", "h", "10^−2 10^−1 10^0", results.Figure{YScale: "log", YMin: 5e-3},
			[]results.Run{run("a", 0.01), run("b", 1000)}},
		{"a short axis", "s", "0.01 0.1 1", results.Figure{XScale: "log", YScale: "log", YMin: 5e-3},
			[]results.Run{run("a", 0.3)}},
		{"the middle of a logarithmic axis", "s", "10^−2 10^−1 10^0",
			results.Figure{XScale: "log", YScale: "log", YMin: 5e-3}, []results.Run{run("a", 0.05), run("b", 5)}},
		{"all powers", "s", "10^−4 10^−3 10^−2 10^−1 10^0", results.Figure{XScale: "log", YScale: "log", YMin: 5e-5},
			[]results.Run{run("a", 0.3)}},
	} {
		c.fig.Panel = "kind"
		p := expect.Value(Draw(c.fig, c.runs))(t)
		for i, plot := range p.plots[0][:len(c.runs)] {
			if want := "virtual time (" + c.x + ")"; plot.X.Label.Text != want {
				t.Errorf("%s: panel %d is labeled %q, want %q", c.name, i, plot.X.Label.Text, want)
			}
		}
		got := labels(p.plots[0][0].Y.Tick.Marker.(ticks))
		expect.That(t, got == c.y, "%s: vertical labels %q, want %q", c.name, got, c.y)
	}
}

// The default figure depends on the methods and the swept keys.
func TestDefaultFigure(t *testing.T) {
	point := func(method string, settings ...results.Setting) results.Run {
		return results.Run{Experiment: "e", Method: method, Point: settings,
			Rounds: []results.Round{{}, {Round: 1, Suboptimality: 1}}}
	}
	p := func(v string) results.Setting { return results.Setting{Key: "faults.p", Value: v} }
	net := func(v string) results.Setting { return results.Setting{Key: "network.profile", Value: v} }
	for _, c := range []struct {
		name, series, panel string
		runs                []results.Run
	}{
		{"methods", "method", "", []results.Run{point("a"), point("b")}},
		{"methods and a key", "method", "faults.p", []results.Run{point("a", p("0")), point("b", p("1"))}},
		{"the key with more values", "faults.p", "network.profile", []results.Run{
			point("a", net("3g"), p("0")), point("a", net("lte"), p("1")), point("a", net("lte"), p("2")),
		}},
		{"one run", "method", "", []results.Run{point("a")}},
	} {
		fig := Default(c.runs, results.ToSuboptimalities(0.1))
		if fig.Series != c.series || fig.Panel != c.panel || fig.Y != "suboptimality" || fig.YScale != "" ||
			fig.File != "e" {
			t.Errorf("%s: %+v, want series %s and panel %q", c.name, fig, c.series, c.panel)
		}
		_, err := Draw(fig, c.runs)
		expect.That(t, err == nil, "%s: %v", c.name, err)
	}
	if _, err := Draw(Default(nil, nil), nil); err == nil {
		t.Error("Draw succeeded without runs")
	}
}

// Counts hold from the start to the end of their round.
func TestCounts(t *testing.T) {
	r := results.Run{Method: "m",
		Rounds: []results.Round{{Participants: 99}, {Round: 1, TimeS: 2, Participants: 20},
			{Round: 2, TimeS: 5, Participants: 19}}}
	for _, c := range []struct {
		x    string
		want curve
	}{
		{"linear", curve{x: []float64{0, 2, 5}, y: []float64{20, 19, 19}, end: atBudget}},
		{"log", curve{x: []float64{math.Log10(2), math.Log10(5)}, y: []float64{19, 19}, end: atBudget}},
	} {
		m := expect.Value(newModel(results.Figure{Y: "participants", XScale: c.x}, []results.Run{r}))(t)
		d := cmp.Diff(c.want, m.panels[0].curves[0][0], cmp.AllowUnexported(curve{}))
		expect.That(t, d == "", "%s: %s", c.x, d)
		y, _ := m.yLimits()
		expect.That(t, y.min == 0, "%s: the vertical axis starts at %v, must start at 0", c.x, y.min)
	}
}

// The legend describes the bands of repeated runs.
func TestBandNote(t *testing.T) {
	repeated := func(n uint64, vary results.Vary) []results.Run {
		var runs []results.Run
		for seed := range n {
			r := methods[0].run(seed, 0.6)
			r.Vary = vary
			runs = append(runs, r)
		}
		return runs
	}
	mixed := append(repeated(2, results.VarySplit), repeated(1, results.VaryAll)...)
	for _, c := range []struct {
		runs []results.Run
		y    string
		want string
	}{
		{repeated(1, results.VarySystem), "gap", ""},
		{repeated(3, results.VarySystem), "gap", "mean ± standard error of 3 seeds"},
		{repeated(3, ""), "gap", "mean ± standard error of 3 seeds"},
		{repeated(4, results.VarySplit), "gap", "mean ± standard error of 4 splits of the data"},
		{repeated(2, results.VaryAll), "gap", "mean ± standard error of 2 seeds of system and data"},
		{mixed, "gap", "mean ± standard error of 3 seeds"},
		{repeated(1, results.VarySystem), "theta", "line: median; bands: quartiles, 5 to 95 % of devices"},
		{repeated(3, results.VarySystem), "theta", "line: median; bands: quartiles, 5 to 95 % of devices and 3 seeds"},
	} {
		m := expect.Value(newModel(results.Figure{Y: c.y}, c.runs))(t)
		expect.That(t, m.bands == c.want, "%q, want %q", m.bands, c.want)
	}
}

// At every place of a line, its mean lies in its band, of whichever kind: both are of the same values, and where
// curves jump both are of the best values so far.
func TestLineIsInItsBand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var runs []results.Run
		for seed := range uint64(rapid.IntRange(1, 6).Draw(t, "seeds")) {
			r := results.Run{Method: "m", Seed: seed, Status: results.Done}
			for h := range rapid.IntRange(1, 900).Draw(t, "rounds") {
				r.Rounds = append(r.Rounds, results.Round{Round: h, TimeS: float64(h) + float64(seed)/7,
					Suboptimality: rapid.Float64Range(1e-9, 2).Draw(t, "y")})
			}
			runs = append(runs, r)
		}
		fig := results.Figure{Band: rapid.SampledFrom(results.Bands).Draw(t, "band"),
			YScale: rapid.SampledFrom([]string{"linear", "log"}).Draw(t, "scale")}
		m := expect.Value(newModel(fig, runs))(t)
		b := newBand(m.panels[0].curves[0], math.Inf(1), -9, m.shows, m.steps)
		spread := false
		for i := range b.x {
			expect.Must(t, b.low[i] <= b.mean[i] && b.mean[i] <= b.high[i],
				"at %g the line is at %g, the band from %g to %g",
				b.x[i], b.mean[i], b.low[i], b.high[i])
			spread = spread || b.low[i] < b.high[i]
		}
		expect.Must(t, !spread || len(runs) > 1 && fig.Band != results.BandNone, "%s has a band", fig.Band)
	})
}

// Bands of four values: 2, 4, 4 and 6 have a standard deviation of sqrt(8/3), and t of 3 degrees of freedom is 3.182.
func TestBands(t *testing.T) {
	values := []float64{2, 4, 4, 6}
	se := math.Sqrt(8./3) / 2
	for band, by := range map[string]float64{results.BandSE: se, results.BandCI: 3.182446305284263 * se,
		results.BandRange: 2, results.BandNone: 0} {
		low, high := bandsOf[band].around(values)
		expect.That(t, math.Abs(low-(4-by)) < 1e-9 && math.Abs(high-(4+by)) < 1e-9,
			"%s: %g to %g, want 4 ± %g", band, low,
			high, by)
	}
}

// A width is that of the files, and panels that would be too narrow are below each other.
func TestWidth(t *testing.T) {
	for width, want := range map[results.Width]int{0: 3, 84: 1, 174: 3, 100: 2} {
		fig := methodFigure()
		fig.Width = width
		p := expect.Value(Draw(fig, methodRuns(1)))(t)
		got := float64(p.width / vg.Millimeter)
		expect.That(t, len(p.plots[0]) == want && (width == 0 || math.Abs(got-float64(width)) < 0.01),
			"%g mm: %d columns of %g mm", width, len(p.plots[0]), got)
	}
	for _, size := range []vg.Length{titleSize, panelSize, labelSize, tickSize, legendSize} {
		expect.That(t, size >= 7, "text of %g pt", size)
	}
}

// Every metric of package results can be drawn.
func TestMetrics(t *testing.T) {
	for _, name := range append(results.MetricNames(), results.YNames...) {
		_, err := newModel(results.Figure{Y: name}, methodRuns(1))
		expect.That(t, err == nil, "%v", err)
	}
}

// Limits that differ by rounding alone have one tick: steps between them would be lost in rounding.
func TestTicksOfEqualLimits(t *testing.T) {
	for _, at := range []float64{0, 0.1 + 0.2, -3e9} {
		got := linearTicks(interval{at, at + math.Abs(at)*2e-16}, unit{Size: 1}, 5)
		expect.That(t, len(got) == 1 && got[0].Value == at && got[0].Label != "", "at %g: %v", at, got)
	}
}
