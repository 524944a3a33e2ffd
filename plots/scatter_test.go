package plots

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// timesFigure is predicted against measured times of four clients: from 0.1 to 10 s, and from 2 to 3 s.
func timesFigure() Scatter {
	s := Scatter{
		File: "times", Title: "Predicted and measured times", XLabel: "measured (s)", YLabel: "predicted (s)",
		Diagonal: true, Series: []string{"ann", "bob", "cyd", "dan"}, Note: DiagonalNote,
	}
	for p, of := range []func(x float64) float64{func(x float64) float64 { return math.Pow(10, 2*x-1) },
		func(x float64) float64 { return 2 + x }} {
		panel := ScatterPanel{Title: []string{"download", "compute"}[p]}
		for k := range s.Series {
			var q Points
			for i := range 12 {
				x := of((float64(i) + float64(k)/4) / 12)
				q.X, q.Y = append(q.X, x), append(q.Y, x*(1+0.05*math.Sin(float64(7*i+k))))
			}
			panel.Points = append(panel.Points, q)
		}
		s.Panels = append(s.Panels, panel)
	}
	return s
}

// driftFigure is errors over an hour of two runs.
func driftFigure() Scatter {
	s := Scatter{
		File: "drift", Title: "Errors over time", XLabel: "time of the runs, one after another",
		YLabel: "predicted/measured − 1 (%)", Instants: true, Series: []string{"fast", "slow"},
		Parts: []ScatterPart{{"monday", 0}, {"tuesday", 2400}},
	}
	for _, title := range []string{"compute", "attempt"} {
		panel := ScatterPanel{Title: title, Points: make([]Points, 2)}
		for i := range 200 {
			x, q := 3600*float64(i)/200, &panel.Points[i%2]
			q.X, q.Y = append(q.X, x), append(q.Y, x/300+float64(i%2)*8+6*math.Sin(float64(i*i)))
		}
		s.Panels = append(s.Panels, panel)
	}
	return s
}

// dotsFigure is estimates of five clients with intervals, of which two are not known.
func dotsFigure() Scatter {
	s := Scatter{
		File: "dots", Title: "Clients", YLabel: "client", Series: []string{"phone", "tablet"},
		Note:  "bars: 95 % intervals",
		Names: []string{"ann", "bob", "cyd", "dan", "a client of a long name"},
	}
	for _, title := range []string{"speed (GFLOP/s)", "downlink (Mbit/s)", "round trip (ms)"} {
		p := ScatterPanel{Title: title, Points: make([]Points, 2)}
		for i := range s.Names {
			v, q := float64(len(s.Panels)+1)*math.Pow(2.5, float64(i)), &p.Points[i%2]
			q.X, q.Y = append(q.X, v), append(q.Y, float64(i))
			low, high := v*0.8, v*1.3
			if i == 2 {
				low, high = math.NaN(), math.NaN()
			}
			q.Low, q.High = append(q.Low, low), append(q.High, high)
		}
		s.Panels = append(s.Panels, p)
	}
	s.Panels[2].Points[1] = Points{}
	return s
}

// stepsFigure is the distributions of forty clients of two classes, and of one of a third.
func stepsFigure() Scatter {
	s := Scatter{File: "steps", Title: "Clients", YLabel: "clients at or below (%)",
		Series: []string{"phone", "tablet", "car"}, Steps: true}
	for _, title := range []string{"speed (GFLOP/s)", "downlink (Mbit/s)"} {
		p := ScatterPanel{Title: title, Points: []Points{{}, {}, {X: []float64{3, 3}, Y: []float64{0, 100}}}}
		for i := range 40 {
			q := &p.Points[i%2]
			q.X, q.Y = append(q.X, math.Exp(float64(i)/float64(10+5*len(s.Panels)))), append(q.Y, 5*float64(i/2+1))
		}
		s.Panels = append(s.Panels, p)
	}
	return s
}

func scatterPicture(t *testing.T, s Scatter) *Picture {
	t.Helper()
	p := expect.Value(DrawScatter(s))(t)
	return p
}

// A point that moves, a line that is missing and an interval that is missing are seen.
func TestScatterPictures(t *testing.T) {
	for _, c := range []struct {
		figure func() Scatter
		change func(*Scatter)
	}{
		{timesFigure, func(s *Scatter) { s.Panels[0].Points[1].Y[3] *= 1.5 }},
		{driftFigure, func(s *Scatter) { s.Parts = nil }},
		{stepsFigure, func(s *Scatter) { s.Steps = false }},
		{dotsFigure, func(s *Scatter) { s.Panels[1].Points[0].Low[0] = math.NaN() }},
	} {
		s := c.figure()
		want := compareGolden(t, s.File, scatterPicture(t, s))
		c.change(&s)
		expect.That(t, differing(decoded(t, encoded(t, scatterPicture(t, s))), want) != 0,
			"%s: the figure does not show a change", s.File)
	}
}

// Lines of steps have no marks, which are filled, in panels and in the legend.
func TestStepsWithoutMarks(t *testing.T) {
	for steps, want := range map[bool]int{true: 0, false: 41} { // 20 points of a color in two panels, and the legend
		s := stepsFigure()
		s.Steps = steps
		var text strings.Builder
		expect.NoError(t, scatterPicture(t, s).WriteSVG(&text))
		n := strings.Count(text.String(), "fill:#0072B2")
		expect.That(t, n == want, "steps %t: %d marks, want %d", steps, n, want)
	}
}

// Axes are logarithmic over more than a decade of positive values, and have the ends of intervals
// unless these are very long.
func TestScatterAxes(t *testing.T) {
	for _, c := range []struct {
		values, ends []float64
		straight     bool
		want         scatterAxis
	}{
		{values: []float64{1, 10}, want: scatterAxis{limits: interval{0, 10.45}}},
		{values: []float64{1, 100}, want: scatterAxis{on: logarithmic, limits: interval{-0.1, 2.1}}},
		{values: []float64{1, 1e5}, want: scatterAxis{on: logarithmic, limits: interval{-0.25, 5.25}, powers: true}},
		{values: []float64{1, 100}, straight: true, want: scatterAxis{limits: interval{0, 104.95}}},
		{values: []float64{0, 100}, want: scatterAxis{limits: interval{0, 105}}},
		{values: []float64{-20, 20}, want: scatterAxis{limits: interval{-22, 22}}},
		{values: []float64{80, 100}, want: scatterAxis{limits: interval{79, 101}}},
		{values: []float64{0.002, 0.002}, want: scatterAxis{limits: interval{0.00178, 0.00222}}},
		{values: []float64{4, math.Nextafter(4, 5)}, want: scatterAxis{limits: interval{3.56, 4.44}}},
		{values: []float64{0, 0}, want: scatterAxis{limits: interval{-1.1, 1.1}}},
		{values: []float64{80, 100}, ends: []float64{70, 500, math.NaN()},
			want: scatterAxis{limits: interval{0, 311.5}}},
		{values: []float64{1, 100}, ends: []float64{0, 1e9},
			want: scatterAxis{on: logarithmic, limits: interval{-2.3, 4.3}}},
		{want: scatterAxis{limits: interval{0, 1}}},
	} {
		got := axisOf(c.values, c.ends, c.straight)
		near := math.Abs(got.limits.min-c.want.limits.min) < 1e-9 && math.Abs(got.limits.max-c.want.limits.max) < 1e-9
		expect.That(t, near && got.on == c.want.on && got.powers == c.want.powers,
			"axis of %v with intervals to %v is %+v, want %+v", c.values, c.ends, got, c.want)
	}
	p := scatterPicture(t, driftFigure()).plots[1][0]
	expect.That(t, p.X.Min == 0 && p.X.Max >= 3582 && p.X.Label.Text == "time of the runs, one after another (min)",
		"instants are from %g to %g: %q", p.X.Min, p.X.Max, p.X.Label.Text)
	if p := scatterPicture(t, timesFigure()).plots[0][1]; p.X.Min != p.Y.Min || p.X.Max != p.Y.Max {
		t.Errorf("the axes of a panel with a diagonal are from %g to %g and from %g to %g", p.X.Min, p.X.Max, p.Y.Min,
			p.Y.Max)
	}
}

// Of many points, about 600 are drawn, from the whole series, of each of ten clients whose rows
// take turns about as many, and the figure says so.
func TestManyPoints(t *testing.T) {
	var many, few Points
	for i := range 1_000_000 {
		many.X, many.Y = append(many.X, float64(i)), append(many.Y, float64(i%10))
	}
	few.X, few.Y = []float64{1, 2, 3}, []float64{1, 2, 3}
	s := Scatter{File: "many", Series: []string{"many", "few"}, Panels: []ScatterPanel{{Points: []Points{many, few}}}}
	drawn, _, note := s.thinned()
	q := drawn.Panels[0].Points[0]
	count := [10]int{}
	for i := range q.X {
		count[int(q.Y[i])]++
		if step := 1e6 / float64(len(q.X)); q.X[i] < float64(i)*step-1 || q.X[i] > float64(i+1)*step+1 {
			t.Fatalf("point %d is that of row %g, want one of step %d", i, q.X[i], i)
		}
	}
	if n := len(q.X); n < 590 || n > 601 || len(drawn.Panels[0].Points[1].X) != 1 {
		t.Errorf("%d and %d points are drawn, want about 600 and 1", n, len(drawn.Panels[0].Points[1].X))
	}
	for client, n := range count {
		expect.That(t, n >= 40 && n <= 80, "%d of 600 points are of client %d, want about 60", n, client)
	}
	want := "about 600 of 1,000,003 points are drawn, in equal steps"
	expect.That(t, note == want, "note %q, want %q", note, want)
	s = timesFigure()
	if same, _, note := s.thinned(); note != "" || fmt.Sprint(same.Panels) != fmt.Sprint(s.Panels) {
		t.Errorf("48 points are thinned: %q", note)
	}
}

func TestScatterRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(*Scatter)
		want   string
	}{
		{func(s *Scatter) { s.Panels = nil }, `figure "dots": has no panel`},
		{func(s *Scatter) { s.Panels[1].Points = s.Panels[1].Points[:1] },
			`figure "dots": panel 2 has 1 series: must have 2`},
		{func(s *Scatter) { s.Panels[0].Points[0].Y = nil },
			`figure "dots": series "phone" has 3, 0, 3 and 3 values: must have one for each point`},
		{func(s *Scatter) { s.Panels[0].Points[0].Low = nil },
			`figure "dots": series "phone" has 3, 3, 0 and 3 values: must have one for each point`},
		{func(s *Scatter) { s.Panels[0].Points[1].X[1] = math.Inf(1) },
			`figure "dots": series "tablet" has point 1 at (+Inf, 3): must be finite`},
	} {
		s := dotsFigure()
		c.change(&s)
		_, err := DrawScatter(s)
		expect.That(t, err != nil && err.Error() == c.want, "error %v, want %s", err, c.want)
	}
}

// A panel without points says so, and the only series needs no name.
func TestScatterWithoutPoints(t *testing.T) {
	var text strings.Builder
	p := scatterPicture(t,
		Scatter{File: "empty", Series: []string{""},
			Panels: []ScatterPanel{{Title: "nothing", Points: make([]Points, 1)}}})
	expect.NoError(t, p.WriteSVG(&text))
	expect.That(t, strings.Contains(text.String(), ">no values to draw<") && len(p.legend.rows) == 0,
		"legend %v in %s", p.legend.rows, &text)
}
