package calibration

import (
	"math"
	"slices"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/orderstat"
	"fedsim/plots"
	"fedsim/results"
)

// The names of the files of figures, without extension.
const (
	measuredFigure  = "measured"
	residualsFigure = "residuals"
	fleetFigure     = "fleet"
)

// Figure is a figure of a calibration.
type Figure struct {
	*plots.Picture
	Name string // of its files, without extension
	Text string // its caption
}

// mostSeries is the largest number of clients, or of classes, that differ in color.
const mostSeries = 8

// Figures returns the figures of a calibration and a log: predicted against measured times of
// attempts, their errors over the time of the runs, and the distributions over clients.
func (c *Calibration) Figures(log *attemptlog.Log) (all []Figure, err error) {
	t, x := newTable(log), c.index()
	for _, f := range []struct {
		text string
		of   plots.Scatter
	}{
		{"Predicted against measured times of the attempts of the log.", x.measured(t)},
		{"Errors by the instant at which an attempt began. Drift is the speed of the day.", x.residuals(t)},
		{"Estimates of each client.", c.distributions()},
	} {
		if len(f.of.Panels) == 0 {
			continue
		}
		picture, err := plots.DrawScatter(f.of)
		if err != nil {
			return nil, err
		}
		all = append(all, Figure{picture, f.of.File, f.text})
	}
	return all, nil
}

// seriesOf returns the names of the series of clients, and the one of each client: a series for each
// of at most mostSeries clients or else classes, or one for all.
func seriesOf(clients []clientKey, classes []string) (names []string, of []int) {
	of = make([]int, len(clients))
	switch {
	case len(clients) <= mostSeries:
		for i, k := range clients {
			names, of[i] = append(names, k.name), i
		}
	case len(classes) > 1 && len(classes) <= mostSeries:
		for i, k := range clients {
			of[i] = k.class
		}
		names = classNames(classes)
	default:
		names = []string{columns.Count(len(clients), "client")}
	}
	return names, of
}

// classNames returns the names of classes as a reader sees them.
func classNames(classes []string) []string {
	names := slices.Clone(classes)
	for i := range names {
		if names[i] == "" {
			names[i] = "no class"
		}
	}
	return names
}

// timesOf returns the measured and the predicted times of the parts of an attempt, in the order of
// parts.
func (in *index) timesOf(a *attemptlog.Attempt) (measured, predicted [4]float64) {
	p := in.predict(a)
	return [4]float64{a.Receive, a.Compute, directions[1].seconds(a), a.Seen - a.Sent},
		[4]float64{p.Download, p.Compute, p.Upload, p.Total()}
}

// panels returns a panel for each part with points. of has the series of each client; place returns
// the point of a time.
func (in *index) panels(
	t *table, of []int, series int, which []string, place func(r *row, m, p float64) (x, y float64),
) (all []plots.ScatterPanel) {
	for _, part := range which {
		k := slices.Index(parts, part)
		panel, points := plots.ScatterPanel{Title: part, Points: make([]plots.Points, series)}, 0
		for i := range t.rows {
			r := &t.rows[i]
			measured, predicted := in.timesOf(r.Attempt)
			if m, p := measured[k], predicted[k]; m > 0 && !math.IsNaN(p) && !math.IsInf(p, 0) {
				q := &panel.Points[of[r.client]]
				x, y := place(r, m, p)
				q.X, q.Y = append(q.X, x), append(q.Y, y)
				points++
			}
		}
		if points > 0 {
			all = append(all, panel)
		}
	}
	return all
}

func (in *index) measured(t *table) plots.Scatter {
	names, of := seriesOf(t.clients, t.classes)
	return plots.Scatter{
		File: measuredFigure, Title: "Predicted and measured times", XLabel: "measured (s)", YLabel: "predicted (s)",
		Diagonal: true, Series: names, Note: plots.DiagonalNote,
		Panels: in.panels(t, of, len(names), parts, func(_ *row, m, p float64) (float64, float64) { return m, p }),
	}
}

// residuals returns the figure of errors over time, the runs one after the other.
func (in *index) residuals(t *table) plots.Scatter {
	names, of := seriesOf(t.clients, t.classes)
	s := plots.Scatter{
		File: residualsFigure, Title: "Errors over time", Instants: true, Series: names,
		XLabel: "time of the runs, one after another", YLabel: "predicted/measured − 1 (%)",
	}
	shift, end := make([]float64, len(t.runs)), 0.0 // from the clock of a run to the time of the figure
	for r, run := range t.runs {
		from, to := math.Inf(1), math.Inf(-1)
		for i := range run.Attempts {
			a := &run.Attempts[i]
			from, to = min(from, a.Sent), max(to, a.Sent)
			if a.Responded() {
				to = max(to, a.Seen)
			}
		}
		s.Parts = append(s.Parts, plots.ScatterPart{Name: run.Name, Begin: end})
		shift[r] = end - from
		end += to - from
	}
	place := func(r *row, m, p float64) (float64, float64) { return r.Sent + shift[r.run], 100 * (p/m - 1) }
	s.Panels = in.panels(t, of, len(names), []string{"compute", "attempt"}, place)
	beyond := 0
	for i := range s.Panels {
		beyond += clamp(s.Panels[i].Points)
	}
	if beyond > 0 {
		s.Note = columns.Count(beyond, "error") + " beyond four times the 95th percentile: drawn at the edge"
	}
	return s
}

// clamp limits heights to four times the 95th percentile of their sizes, so that outliers do not
// hide the others, and returns how many were beyond.
func clamp(points []plots.Points) (beyond int) {
	var sizes []float64
	for _, q := range points {
		for _, y := range q.Y {
			sizes = append(sizes, math.Abs(y))
		}
	}
	most := 4 * orderstat.Quantile(sizes, 0.95)
	for _, q := range points {
		for k, y := range q.Y {
			if math.Abs(y) > most {
				q.Y[k] = math.Copysign(most, y)
				beyond++
			}
		}
	}
	return beyond
}

// quantities are the estimates of a client that the figure of the fleet shows, in units of scale.
var quantities = []struct {
	title string
	scale float64
	of    func(*Client) *Value
}{
	{"speed (GFLOP/s)", 1, func(k *Client) *Value { return &k.GFLOPS }},
	{"overhead of a task (ms)", 1e3, func(k *Client) *Value { return &k.TaskOverheadS }},
	{"overhead of a step (µs)", 1e6, func(k *Client) *Value { return &k.StepOverheadS }},
	{"memory traffic (s/GB)", 1, func(k *Client) *Value { return &k.TrafficSPerGB }},
	{"downlink (Mbit/s)", 1, func(k *Client) *Value { return &k.DownMbps }},
	{"uplink (Mbit/s)", 1, func(k *Client) *Value { return &k.UpMbps }},
	{"round trip (ms)", 1, func(k *Client) *Value { return &k.RTTms }},
}

// mostNamed is the largest number of clients that the figure of the fleet names.
const mostNamed = 24

// distributions returns the figure of the distributions over clients: a row for each of few, else the
// share of the clients of a class up to each value.
func (c *Calibration) distributions() plots.Scatter {
	s := plots.Scatter{File: fleetFigure, Title: "Clients", Series: []string{""}}
	var classes []string
	for i := range c.Classes {
		classes = append(classes, c.Classes[i].Name)
	}
	if len(classes) > 1 && len(classes) <= mostSeries {
		s.Series = classNames(classes)
	}
	if len(c.Clients) <= mostNamed {
		s.YLabel = "client"
		for i := range c.Clients {
			s.Names = append(s.Names, c.Clients[i].Name)
		}
	} else {
		s.YLabel, s.Steps = "clients at or below (%)", true
	}
	for i, q := range quantities {
		if i == 0 && c.RowsAsFLOPs {
			q.title, q.scale = "speed (rows/s)", 1e9
		}
		panel := plots.ScatterPanel{Title: q.title, Points: make([]plots.Points, len(s.Series))}
		some := false
		for i := range c.Clients {
			k := &c.Clients[i]
			v := q.of(k)
			if !v.Known() {
				continue
			}
			p := &panel.Points[min(slices.Index(classes, k.Class), len(s.Series)-1)]
			p.X, p.Y = append(p.X, q.scale*v.Value), append(p.Y, float64(i))
			p.Low, p.High = append(p.Low, q.scale*v.Low), append(p.High, q.scale*v.High)
			some = some || v.Value > 0
			if !math.IsNaN(v.Low) && !s.Steps {
				s.Note = "bars: 95 % intervals"
			}
		}
		for i := range panel.Points {
			if q := &panel.Points[i]; s.Steps && len(q.X) > 0 {
				*q = upTo(q.X)
			}
		}
		if some {
			s.Panels = append(s.Panels, panel)
		}
	}
	return s
}

// upTo returns the share of values up to each one in percent, from zero on.
func upTo(values []float64) plots.Points {
	x, share := results.EmpiricalDistribution(values)
	for k := range share {
		share[k] *= 100
	}
	return plots.Points{X: slices.Insert(x, 0, x[0]), Y: slices.Insert(share, 0, 0)}
}
