package command

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"fedsim/experiment"
	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
)

// fakeClock is a clock that the test sets.
type fakeClock struct{ at time.Time }

func (c *fakeClock) now() time.Time { return c.at }

// progressOf returns a display, its clock and its output.
func progressOf(kind string) (*progress, *fakeClock, *bytes.Buffer) {
	clock, out := &fakeClock{at: time.Unix(1e9, 0)}, &bytes.Buffer{}
	return newProgress(out, kind, clock.now), clock, out
}

func step(done int, share float64, phase, run string) experiment.Progress {
	return experiment.Progress{Done: done, Total: 30, Share: share, Phase: phase, Run: run}
}

func TestPlainProgressIsALineEveryFiveSeconds(t *testing.T) {
	p, clock, out := progressOf(progressAuto)
	for i := range 13 { // 0 to 12 s
		p.update(step(i, float64(i)/30, "running", "e/mocha/seed=1"))
		clock.at = clock.at.Add(time.Second)
	}
	p.end()
	// A thirtieth per second: 25 s remain at 5 s, 20 s at 10 s.
	want := "5/30 runs, 17 %, 5s, about 25s left, running e/mocha/seed=1\n" +
		"10/30 runs, 33 %, 10s, about 20s left, running e/mocha/seed=1\n"
	expect.That(t, out.String() == want, "got\n%swant\n%s", out.String(), want)
}

func TestJSONProgress(t *testing.T) {
	p, clock, out := progressOf(progressJSON)
	for i := range 5 { // 0 to 6 s
		p.update(step(i, float64(i)/40, "running", "e/mocha/seed=1"))
		clock.at = clock.at.Add(1500 * time.Millisecond)
	}
	p.end()
	var got []progressLine
	for line := range strings.Lines(out.String()) {
		var x progressLine
		err := json.Unmarshal([]byte(line), &x)
		expect.Must(t, err == nil, "%s: %v", line, err)
		got = append(got, x)
	}
	expect.Must(t, len(got) == 4, "got %d lines, want 4:\n%s", len(got), out.String())
	if left := got[3].LeftS; math.Abs(float64(left)-54) > 1e-9 { // a share of 1/60 a second
		t.Errorf("%v s remain, want 54", left)
	}
	want := progressLine{Done: 4, Total: 30, What: "runs", Share: 0.1, ElapsedS: 6, LeftS: got[3].LeftS,
		Phase: "running", Run: "e/mocha/seed=1"}
	expect.That(t, got[3] == want, "got %+v, want %+v", got[3], want)
	expect.That(t, strings.Contains(out.String(), `"elapsed_s":1.5,"left_s":null`),
		"the first line has an estimate:\n%s", out.String())
}

func TestTerminalProgressIsOneLine(t *testing.T) {
	p, clock, out := progressOf(progressAuto)
	p.width, p.every = func() int { return 60 }, 100*time.Millisecond
	for i := range 4 { // 0, 80, 160, 240 ms: drawn at the third
		p.update(step(i, 0.1, "tuning", "fig1-statistical/mocha/network.profile=3g/seed=1"))
		clock.at = clock.at.Add(80 * time.Millisecond)
	}
	p.end()
	want := "\r2/30 runs, 10 %, 0s, tuning fig1-statistica…ofile=3g/seed=1\x1b[K" + "\r\x1b[K"
	expect.That(t, out.String() == want, "got  %q\nwant %q", out.String(), want)
}

func TestNoProgress(t *testing.T) {
	p, clock, out := progressOf(progressNone)
	clock.at = clock.at.Add(time.Hour)
	p.update(step(1, 1, "running", "x"))
	p.end()
	expect.That(t, out.Len() <= 0, "got %q", out.String())
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		width int
		want  string
	}{
		{12, "text abcdefg"}, {11, "text ab…efg"}, {8, "text a…g"}, {7, "text"}, {6, "text"}, {5, "text"}, {4, "text"},
		{2, "te"}, {0, ""}, {-1, ""},
	} {
		got := fit("text", "abcdefg", c.width)
		expect.That(t, got == c.want, "fit in %d: got %q, want %q", c.width, got, c.want)
	}
}

// A line that is too wide would scroll the terminal.
func TestFitNeverExceedsTheWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, name := rapid.String().Draw(t, "text"), rapid.String().Draw(t, "name")
		width := rapid.IntRange(0, 40).Draw(t, "width")
		got := fit(text, name, width)
		n := utf8.RuneCountInString(got)
		expect.Must(t, n <= width, "%q has %d columns, must be at most %d", got, n, width)
		whole := text + " " + name
		expect.Must(t, utf8.RuneCountInString(whole) > width || got == whole, "%q fits but became %q", whole, got)
		expect.Must(t, strings.HasPrefix(got, text) || strings.HasPrefix(text, got),
			"%q lost the start of %q", got, text)
	})
}

// An estimate of at least ten seconds of processor time is printed on separate lines, with its
// parts and omissions.
func TestEstimateIsPrinted(t *testing.T) {
	clock := &fakeClock{at: time.Unix(1e9, 0)}
	for _, c := range []struct {
		e       experiment.Estimate
		figures float64
		workers int
		want    string
	}{
		{experiment.Estimate{Runs: 9}, 0.9, 2, ""},
		{experiment.Estimate{Runs: 9}, 1.1, 1,
			"estimate: 10s of processor time (runs 9 s, figures 1.1 s); by a model of sizes\n"},
		{experiment.Estimate{Runs: 30, Tuning: 84, Optima: 2, Early: true, Grows: true}, 4, 2,
			"estimate: 2m0s of processor time (tuning 1m20s, runs 30s, reference optima 2 s,\n" +
				"figures 4 s), at least 1m0s on 2 cores; by a model of sizes, less if runs end\n" +
				"early, more if grids grow\n"},
		{experiment.Estimate{Runs: 5400, Learners: true}, 0, 1,
			"estimate: 1h30m0s of processor time (runs 1h30m0s); by a model of sizes, without\nthe work of learners\n"},
		{experiment.Estimate{Runs: 60, Early: true, First: true}, 0, 1,
			"estimate: 1m0s of processor time (runs 1m0s); by a model of sizes, less if runs\n" +
				"end early, more if more seeds are needed\n"},
	} {
		var out bytes.Buffer
		newProgress(&out, progressPlain, clock.now).estimate(c.figures, c.workers)(c.e)
		expect.That(t, out.String() == c.want, "got %q, want %q", out.String(), c.want)
	}
	expect.That(t, newProgress(&bytes.Buffer{}, progressNone, clock.now).estimate(0, 1) == nil,
		"an estimate is made for nobody")
}
