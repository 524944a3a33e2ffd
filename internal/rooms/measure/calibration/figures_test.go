package calibration

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/plots"
)

// The figure of times has the point of each part of each attempt, the figure of errors the runs
// one after the other. Rows of evaluation and parts that were not measured have no points.
func TestFiguresOfTimes(t *testing.T) {
	log :=
		parse(
			`run,round,client,kind,bytes_down,bytes_up,flops,sent_s,reply_first_s,seen_s,receive_s,compute_s,down_mbps,up_mbps
one,0,a,,1e6,1e6,1e9,100,102,103,1,1,8,8
one,0,b,,1e6,1e6,1e9,100,103,104,1,2,8,8
one,1,a,,1e6,1e6,1e9,105,107,108,1,1,8,8
one,1,b,,1e6,1e6,1e9,105,108,109,1,2,8,8
one,2,a,,1e6,1e6,1e9,110,112,113,1,1,8,8
one,2,b,,1e6,1e6,1e9,110,113,114,1,,8,8
two,0,a,,1e6,1e6,1e9,7,9.2,10,1,1.25,8,8
two,0,b,,1e6,1e6,1e9,8,11,12,1,2,8,8
two,1,a,evaluate,1e6,1e6,1e9,20,22,23,1,9,8,8
`)
	c := expect.Value(Fit(log, Options{Resamples: -1}))(t)
	x, table := c.index(), newTable(log)
	s := x.measured(table)
	var titles []string
	for _, p := range s.Panels {
		titles = append(titles, p.Title)
	}
	expect.Must(t, slices.Equal(titles, parts) && slices.Equal(s.Series, []string{"a", "b"}),
		"panels %q, series %q", titles, s.Series)
	a, b := &log.Runs[1].Attempts[0], s.Panels[1].Points[1]
	if got, want := s.Panels[1].Points[0].Y[3], c.index().predict(a).Compute; s.Panels[1].Points[0].X[3] != 1.25 ||
		got != want {
		t.Errorf("the last computation of a is %g for %g, want %g for 1.25", got, s.Panels[1].Points[0].X[3], want)
	}
	expect.That(t, slices.Equal(b.X, []float64{2, 2, 2}),
		"computations of b: %v, want all but that of round 2 of run one", b.X)
	// Run one takes 14 s, from 100 to 114. Run two begins with its message at 7.
	s = x.residuals(table)
	expect.Must(t, len(s.Panels) == 2 && s.Parts[1] == (plots.ScatterPart{Name: "two", Begin: 14}),
		"panels %d, parts %v", len(s.Panels), s.Parts)
	if q := s.Panels[1].Points[1]; !slices.Equal(q.X, []float64{0, 5, 10, 15}) {
		t.Errorf("attempts of b begin at %v, want 0, 5, 10, 15", q.X)
	}
	if q := s.Panels[1].Points[0]; math.Abs(q.Y[3]-100*(c.index().predict(a).Total()/3-1)) > 1e-12 {
		t.Errorf("the error of the last attempt of a is %g %%", q.Y[3])
	}
}

// Up to eight clients differ in color, else up to eight classes.
func TestSeries(t *testing.T) {
	clients := func(n, classes int) (all []clientKey) {
		for i := range n {
			all = append(all, clientKey{string(rune('a' + i)), i % classes})
		}
		return all
	}
	for _, c := range []struct {
		clients []clientKey
		classes []string
		names   string
		of      []int
	}{
		{clients(3, 1), []string{""}, "a b c", []int{0, 1, 2}},
		{clients(9, 2), []string{"", "phone"}, "no class phone", []int{0, 1, 0, 1, 0, 1, 0, 1, 0}},
		{clients(9, 1), []string{""}, "9 clients", make([]int, 9)},
		{clients(9, 9), strings.Fields("a b c d e f g h i"), "9 clients", make([]int, 9)},
	} {
		if names, of := seriesOf(c.clients, c.classes); strings.Join(names, " ") != c.names || !slices.Equal(of, c.of) {
			t.Errorf("%d clients of %d classes: %q %v, want %s %v", len(c.clients), len(c.classes), names, of, c.names,
				c.of)
		}
	}
}

// An outlier does not hide the other errors: it is drawn at the edge and counted. The 95th
// percentile of the sizes 1, ..., 100 and 5000 is 96.
func TestOutliersAtTheEdge(t *testing.T) {
	var q plots.Points
	for i := range 100 {
		q.Y = append(q.Y, float64(1+i))
	}
	q.Y = append(q.Y, -5000)
	if n := clamp([]plots.Points{q}); n != 1 || q.Y[100] != -4*96 || q.Y[99] != 100 {
		t.Errorf("%d errors are beyond, the last at %g, want 1 at -384", n, q.Y[100])
	}
}

// Few clients are rows with intervals; of many, the figure has the share up to each value, by class.
func TestFigureOfTheFleet(t *testing.T) {
	client := func(name, class string, gflops float64) Client {
		k := Client{Name: name, Class: class}
		for _, v := range []*Value{&k.TaskOverheadS, &k.StepOverheadS, &k.TrafficSPerGB, &k.DownMbps, &k.UpMbps,
			&k.RTTms} {
			*v = unknown("", "no")
		}
		k.StepOverheadS = known(0, "", "")
		k.GFLOPS = Value{gflops, gflops / 2, 2 * gflops, "", ""}
		return k
	}
	c := &Calibration{Classes: []Class{{Name: "fast"}, {Name: "slow"}}}
	c.Clients = []Client{client("a", "slow", 2), client("b", "fast", 8)}
	s := c.distributions()
	if len(s.Panels) != 1 || s.Panels[0].Title != "speed (GFLOP/s)" || !slices.Equal(s.Names, []string{"a", "b"}) {
		t.Fatalf("names %q, panels %+v", s.Names, s.Panels)
	}
	if q := s.Panels[0].Points[1]; q.X[0] != 2 || q.Y[0] != 0 || q.Low[0] != 1 || q.High[0] != 4 ||
		s.Note != "bars: 95 % intervals" {
		t.Errorf("points of class slow: %+v; note %q", q, s.Note)
	}
	for range 24 {
		c.Clients = append(c.Clients, client("more", "fast", 4))
	}
	s = c.distributions()
	if q := s.Panels[0].Points[0]; s.Names != nil || s.Note != "" || !slices.Equal(q.X, []float64{4, 4, 8}) ||
		!slices.Equal(q.Y, []float64{0, 96, 100}) || q.Low != nil {
		t.Errorf("names %q, note %q, points of class fast: %+v", s.Names, s.Note, q)
	}
	c.RowsAsFLOPs = true
	if s = c.distributions(); s.Panels[0].Title != "speed (rows/s)" || s.Panels[0].Points[1].X[0] != 2e9 {
		t.Errorf("%q %v", s.Panels[0].Title, s.Panels[0].Points[1].X)
	}
}

// The figures of a log are the same bytes each time. With force, a directory with a file that is no
// figure of a calibration stays.
func TestFiguresOfADirectory(t *testing.T) {
	w := draw(3)
	log := w.log(3, 3, calibrationRuns...)
	c := expect.Value(Fit(log, Options{Resamples: 10}))(t)
	var first map[string][]byte
	dir := filepath.Join(t.TempDir(), "cal")
	for range 2 {
		figures := expect.Value(c.Figures(log))(t)
		expect.NoError(t, c.Write(dir, log, Results{Figures: figures}, true))
		files := map[string][]byte{}
		for _, name := range []string{"measured", "residuals", "fleet"} {
			for _, extension := range plots.Extensions {
				text := expect.Value(os.ReadFile(filepath.Join(dir, FiguresDir, name+extension)))(t)
				files[name+extension] = text
				expect.That(t, first == nil || bytes.Equal(text, first[name+extension]),
					"%s has other bytes", name+extension)
			}
		}
		first = files
	}
	expect.NoError(t, os.WriteFile(filepath.Join(dir, FiguresDir, "mine.png"), nil, 0o666))
	if err := c.Write(dir, log, Results{}, true); !errors.Is(err, ErrExists) ||
		!strings.Contains(err.Error(), "holds "+filepath.Join(FiguresDir, "mine.png")) {
		t.Errorf("a directory with another figure: %v", err)
	}
}
