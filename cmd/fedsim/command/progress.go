package command

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"fedsim/experiment"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/plainjson"
)

// The values of --progress.
const (
	progressAuto  = "auto"  // one updated line on a terminal, plain elsewhere
	progressPlain = "plain" // a line every five seconds
	progressJSON  = "json"  // the same as JSON, twenty times a second
	progressNone  = "none"
)

var progressNames = []string{progressAuto, progressPlain, progressJSON, progressNone}

// progress displays the progress of a scenario. A terminal has one line that is
// updated; other outputs have a new line for each update.
type progress struct {
	out         io.Writer
	width       func() int // of the terminal; nil if there is none
	now         func() time.Time
	json        bool
	every       time.Duration // minimum time between two updates
	start, last time.Time
	left        remaining
}

// newProgress returns a display on out; kind is one of progressNames.
func newProgress(out io.Writer, kind string, now func() time.Time) *progress {
	p := &progress{out: out, now: now, every: 5 * time.Second, start: now()}
	p.last = p.start
	switch kind {
	case progressNone:
		p.out = nil
	case progressJSON:
		p.json, p.every = true, 50*time.Millisecond
	}
	if f, ok := out.(*os.File); ok && kind == progressAuto && term.IsTerminal(int(f.Fd())) {
		p.every = 100 * time.Millisecond
		p.width = func() int {
			if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
				return width
			}
			return 80 // unknown
		}
	}
	return p
}

// minEstimate is the shortest time for which an estimate is printed.
const minEstimate = 10 * time.Second

// estimate returns a function that prints the estimated time of the runs and of their figures,
// which take so many seconds, on some workers; nil if progress is not shown.
func (p *progress) estimate(figures float64, workers int) func(experiment.Estimate) {
	if p.out == nil {
		return nil
	}
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return func(e experiment.Estimate) {
		total := e.Tuning + e.Runs + e.Optima + figures
		if total < minEstimate.Seconds() {
			return
		}
		var parts []string
		for _, part := range []struct {
			name    string
			seconds float64
		}{{"tuning", e.Tuning}, {"runs", e.Runs}, {"reference optima", e.Optima}, {"figures", figures}} {
			if part.seconds > 0 {
				parts = append(parts, part.name+" "+planTime(part.seconds))
			}
		}
		text := fmt.Sprintf("estimate: %s of processor time (%s)", planTime(total), strings.Join(parts, ", "))
		if workers > 1 {
			text += fmt.Sprintf(", at least %s on %d cores", planTime(total/float64(workers)), workers)
		}
		text += "; by a model of sizes"
		for _, about := range []struct {
			is   bool
			text string
		}{{e.Early, "less if runs end early"}, {e.Grows, "more if grids grow"},
			{e.First, "more if more seeds are needed"}, {e.Learners, "without the work of learners"}} {
			if about.is {
				text += ", " + about.text
			}
		}
		p.end() // clear the line on a terminal
		_, _ = fmt.Fprintln(p.out, columns.Wrap(text, columns.Width, 0))
	}
}

// progressLine is a line of progress in JSON (docs/reference/json.md).
type progressLine struct {
	Done     int     `json:"done"`
	Total    int     `json:"total"`
	What     string  `json:"what"`
	Share    float64 `json:"share"`
	ElapsedS float64 `json:"elapsed_s"`
	LeftS    float64 `json:"left_s"`
	Phase    string  `json:"phase"`
	Run      string  `json:"run"`
}

// update displays x, unless the last update is too recent.
func (p *progress) update(x experiment.Progress) {
	now := p.now()
	p.left.note(x.Share, x.Before, now)
	if p.out == nil || now.Sub(p.last) < p.every {
		return
	}
	p.last = now
	elapsed := now.Sub(p.start)
	if p.json {
		_ = plainjson.Line(p.out, progressLine{
			Done: x.Done, Total: x.Total, What: "runs", Share: x.Share,
			ElapsedS: elapsed.Seconds(), LeftS: p.left.seconds(now), Phase: x.Phase, Run: x.Run,
		})
		return
	}
	text := fmt.Sprintf("%d/%d runs, %.0f %%, %s%s, %s",
		x.Done, x.Total, 100*x.Share, elapsed.Round(time.Second), p.left.text(now), x.Phase)
	// Ignore write errors: they must not stop the runs.
	if p.width == nil {
		_, _ = fmt.Fprintf(p.out, "%s %s\n", text, x.Run)
		return
	}
	_, _ = fmt.Fprintf(p.out, "\r%s\x1b[K", fit(text, x.Run, p.width()-1))
}

// end clears the line on a terminal.
func (p *progress) end() {
	if p.out != nil && p.width != nil {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// note prints a text after the progress, if there is one and it is text.
func (p *progress) note(text string) {
	if p.out != nil && !p.json && text != "" {
		_, _ = fmt.Fprintln(p.out, columns.Wrap(text, columns.Width, 0))
	}
}

// fit joins text and the name of a run in at most width columns. It cuts the middle of
// a long name: the start and the end identify the run.
func fit(text, name string, width int) string {
	if n := utf8.RuneCountInString(text); n >= width {
		return string([]rune(text)[:max(width, 0)])
	}
	room := width - utf8.RuneCountInString(text) - 1
	if room < 3 && utf8.RuneCountInString(name) > room {
		return text
	}
	return text + " " + columns.Middle(name, room)
}
