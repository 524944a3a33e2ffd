package main

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/results"
	"fedsim/results/rundir"
)

// often is the least time between two messages of a run.
const often = 80 * time.Millisecond

// message is the progress of a run, and the points of its curves since the last message.
type message struct {
	Share  float64 `json:"share"`
	Done   int     `json:"done"`
	Total  int     `json:"total"`
	Phase  string  `json:"phase"`
	Run    string  `json:"run"`
	Curves []curve `json:"curves,omitempty"`
}

// curve is a part of the curve of a run: y, a metric, against x, virtual time or rounds.
type curve struct {
	Run    string    `json:"run"`
	Method string    `json:"method"`
	X      []float64 `json:"x"`
	Y      []float64 `json:"y"`
	XLabel string    `json:"xlabel"`
	YLabel string    `json:"ylabel"`
	Log    bool      `json:"log"`
}

// part is a part of the summary.
type part struct {
	Title string     `json:"title"`
	Cells [][]string `json:"cells,omitempty"` // heads first
	Notes []string   `json:"notes,omitempty"`
}

// figure is a figure of a run directory.
type figure struct {
	Name string `json:"name"`
	SVG  string `json:"svg"`
}

// outcome is what came of a run.
type outcome struct {
	checked
	State    rundir.State `json:"state"` // empty: nothing is there
	Hash     string       `json:"hash"`
	Claim    string       `json:"claim"` // the fragment of a link; empty: runs are missing
	Numerics int          `json:"numerics"`
	Canceled bool         `json:"canceled"`
	Ended    int          `json:"ended"` // runs that have ended
	Summary  []part       `json:"summary"`
	Figures  []figure     `json:"figures"`
	Memory   uint64       `json:"memory"` // bytes
}

// run runs a scenario in a directory, and tells of its progress.
func run(ctx context.Context, text string, sets []string, dir string, tell func(any)) (o outcome) {
	s, c := check(ctx, text, sets)
	o.checked, o.Numerics = c, rundir.Numerics
	if len(c.Problems) > 0 || c.Refused != "" {
		return o
	}
	failed := func(err error) outcome {
		o.Problems = problemsOf(err)
		return o
	}
	tells := &teller{tell: tell, s: s}
	d, err := into.Create(s, into.Options{Dir: dir, Force: true, Whole: true, Version: version(),
		Command: []string{"fedsim-web", file}, End: func() rundir.End {
			return rundir.End{At: time.Now(), PeakMemoryBytes: int64(memory())}
		}})
	if err != nil {
		return failed(err)
	}
	options := d.Options()
	options.Workers, options.Clock = runtime.GOMAXPROCS(0), time.Now
	options.Recorder, options.Progress = recorder{d.Writer, tells}, tells.progress
	err = experiment.Run(ctx, s.Experiments, options)
	tells.end()
	switch o.Canceled = experiment.Interrupted(err); {
	case err == nil:
		err = errors.Join(d.Complete(), d.Undrawn)
	case o.Canceled:
		tell(map[string]bool{"stopped": true})
		err = d.Save()
	}
	if err = d.Close(err); err != nil {
		return failed(err)
	}
	runs := d.Writer.Runs()
	o.State, o.Ended, o.Memory = d.State, into.Finished(runs), memory()
	if o.State == "" {
		return o
	}
	o.Hash = rundir.HashOf(runs).String()
	if o.Claim, err = into.Claim(s, runs); err != nil {
		return failed(err)
	}
	if o.Figures, err = drawn(dir, d.Figures); err != nil {
		return failed(err)
	}
	sections := into.Sections(s, runs, false)
	for i := range sections {
		p := part{Title: sections[i].Title, Notes: sections[i].Notes}
		if len(sections[i].Table.Groups) > 0 {
			p.Cells = sections[i].Cells()
		}
		o.Summary = append(o.Summary, p)
	}
	return o
}

// drawn reads the figures in SVG of a directory of runs.
func drawn(dir string, names []string) (figures []figure, err error) {
	for _, name := range names {
		if filepath.Ext(name) != ".svg" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, "figures", name))
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure{name, string(text)})
	}
	return figures, nil
}

// memory returns the bytes that the program has of the system.
func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

// teller collects the points of curves and sends them now and then.
type teller struct {
	tell func(any)
	s    *scenario.Scenario

	mu     sync.Mutex
	last   time.Time
	next   message
	curves map[string]*curve // with points that have not been sent
	order  []string
}

// progress sends a message, unless the last is too recent.
func (t *teller) progress(p experiment.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = message{Share: p.Share, Done: p.Done, Total: p.Total, Phase: p.Phase, Run: p.Run}
	if time.Since(t.last) >= often {
		t.send()
	}
}

// end sends what is left.
func (t *teller) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.send()
}

func (t *teller) send() {
	t.next.Curves = nil
	for _, id := range t.order {
		t.next.Curves = append(t.next.Curves, *t.curves[id])
	}
	t.order, t.curves = nil, nil
	t.tell(t.next)
	time.Sleep(time.Millisecond) // in a worker: only now a message can come, such as to cancel
	t.last = time.Now()
}

// recorder records runs, and their curves.
type recorder struct {
	results.Recorder
	to *teller
}

func (r recorder) Begin(index int, run results.Run) (results.Rows, error) {
	rows, err := r.Recorder.Begin(index, run)
	if err != nil {
		return nil, err
	}
	c := &curve{Run: run.ID, Method: run.Method}
	y := r.to.metric(&run, c)
	return &curveRows{rows, r.to, c, y}, nil
}

// metric returns the metric of the curve of a run: that of the first figure with lines, else the main one.
func (t *teller) metric(run *results.Run, c *curve) results.Metric {
	name := run.MainMetric
	if targets := t.s.Targets(); len(targets) > 0 && name == "" {
		name = targets[0].Metric
	}
	c.XLabel = "virtual time, s"
	if run.Relative {
		c.XLabel = "virtual time, relative units"
	}
	for _, e := range t.s.Experiments {
		if e.Name != run.Experiment || len(e.Figures) == 0 {
			continue
		}
		f := &e.Figures[0]
		if _, known := run.Metric(f.Y); known {
			name = f.Y
		}
		if f.X == "round" {
			c.XLabel = "rounds"
		}
		c.Log = f.YScale == "log"
		c.Log = c.Log || f.YScale == "" && (name == results.Suboptimality || name == "gap")
	}
	if name == "" {
		name = results.DefaultMetric
	}
	m, _ := run.Metric(name)
	c.YLabel = m.LabelFor(run.Real)
	return m
}

type curveRows struct {
	results.Rows
	to *teller
	c  *curve
	y  results.Metric
}

func (r *curveRows) Round(round *results.Round) error {
	x, y := round.TimeS, r.y.Of(round)
	if r.c.XLabel == "rounds" {
		x = float64(round.Round)
	}
	if !math.IsNaN(y) && !math.IsInf(y, 0) {
		r.to.point(r.c, x, y)
	}
	return r.Rows.Round(round)
}

// point adds a point to a curve.
func (t *teller) point(c *curve, x, y float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.curves[c.Run]
	if own == nil {
		if t.curves == nil {
			t.curves = map[string]*curve{}
		}
		first := *c
		own = &first
		t.curves[c.Run] = own
		t.order = append(t.order, c.Run)
	}
	own.X, own.Y = append(own.X, x), append(own.Y, y)
}
