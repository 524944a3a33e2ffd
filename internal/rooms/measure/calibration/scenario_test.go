package calibration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/expect"
)

// write writes the calibration of a log to a directory.
func write(t *testing.T, log *attemptlog.Log) (*Calibration, string) {
	t.Helper()
	c := expect.Value(Fit(log, Options{Resamples: -1}))(t)
	dir := filepath.Join(t.TempDir(), "cal")
	expect.NoError(t, c.Write(dir, log, Results{Text: c.Sections(c.InSample(log), nil).Text(80)}, false))
	return c, dir
}

// The scenario of a calibration runs, and its rounds take as long as those of the log, without the
// gaps between them.
func TestScenarioTakesAsLong(t *testing.T) {
	w := draw(9)
	w.jitter, w.link, w.traffic = 1e-6, 1e-6, 0
	runs := []work{{"base", 1e5, 2, 32, 3e5, 0}, {"long", 1e5, 3, 32, 3e5, 0}, {"large", 2e5, 2, 32, 6e5, 0}}
	log := w.log(9, 4, runs...)
	_, dir := write(t, log)
	s := expect.Value(scenario.Load(filepath.Join(dir, ScenarioFile), nil))(t)
	simulated :=
		expect.Value(into.Run(context.Background(), s, into.Options{Dir: filepath.Join(dir, "run"), NoFigures: true}))(
			t)
	last := simulated[0].Rounds[len(simulated[0].Rounds)-1]
	var real float64
	for _, round := range log.Runs[0].Rounds() {
		longest := 0.0
		for _, a := range round {
			longest = max(longest, a.Seen-a.Sent)
		}
		real += longest
	}
	expect.That(t, last.Round == 4 && math.Abs(last.TimeS/real-1) <= 1e-3,
		"%d simulated rounds take %g s, those of the log %g s", last.Round, last.TimeS, real)
}

// A run with other nominal values has the constants of the calibration at its own speed and rates,
// and a client that was not calibrated those of its class.
func TestFleetOfAnotherRun(t *testing.T) {
	const header = "round,client,bytes_down,bytes_up,flops,sent_s,reply_first_s,seen_s,receive_s,compute_s,down_mbps," +
		"up_mbps,gflops\n"
	rows := func(client string, seconds, mbps, gflops float64) (text string) {
		for round := range 3 {
			at := 10 * float64(round)
			text += fmt.Sprintf("%d,%s,1e6,1e6,1e9,%v,%v,%v,1,%v,%v,%v,%v\n", round, client, at, at+1+seconds,
				at+2+seconds, seconds, mbps, mbps, gflops)
		}
		return text
	}
	c, err := Fit(parse(header+rows("a", 0.5, 8, 2)+rows("b", 1, 8, 1)), Options{Resamples: -1})
	expect.NoError(t, err)
	f, notes, err := c.Fleet(parse(header + rows("a", 0.5, 16, 4) + rows("new", 1, 4, 0.5)).Runs[0])
	expect.NoError(t, err)
	if a := f.Classes[0]; math.Abs(a.ClockGHz-4) > 1e-9 || math.Abs(a.DownlinkMbps-16) > 1e-9 {
		t.Errorf("twice the nominal speed and rate: %+v", a)
	}
	if b := f.Classes[1]; math.Abs(b.ClockGHz-0.5) > 1e-9 || b.UplinkMbps != 4 {
		t.Errorf("a client of half the nominal speed of b: %+v", b)
	}
	expect.That(t, len(notes) == 1 && strings.Contains(notes[0], "new is not in the calibration"), "notes: %q", notes)
	naive, _, err := Nominal(parse(header + rows("a", 0.5, 16, 4)).Runs[0])
	expect.NoError(t, err)
	if k := naive.Classes[0]; k.ClockGHz != 4 || k.DownlinkMbps != 16 || k.TaskS != 0 || k.BurstBytes != 0 {
		t.Errorf("nominal values: %+v", k)
	}
}

// More clients than a fleet has classes become devices of the classes of the log.
func TestFleetOfManyClients(t *testing.T) {
	var text strings.Builder
	text.WriteString("round,client,class,bytes_down,bytes_up,flops,sent_s,seen_s,receive_s,compute_s\n")
	for i := range 300 {
		for round := range 2 {
			fmt.Fprintf(&text, "%d,%d,%s,1e6,1e6,1e9,%d,%d,1,%d\n", round, i, []string{"fast", "slow", "slow"}[i%3],
				10*round, 10*round+8, 1+min(i%3, 1)+i%2)
		}
	}
	log := parse(text.String())
	c, dir := write(t, log)
	f, notes, err := c.Fleet(log.Runs[0])
	if err != nil || len(notes) == 0 {
		t.Fatal(err, notes)
	}
	if len(f.Classes) != 2 || f.Classes[0].Name != "fast" || math.Abs(f.Classes[0].Share-1./3) > 1e-9 ||
		len(f.InTurn) > 0 || !(f.Classes[1].SpeedSpread > 0.1) {
		t.Errorf("%+v", f)
	}
	if _, err := scenario.Load(filepath.Join(dir, ScenarioFile), nil); err != nil {
		t.Error(err)
	}
}

// A directory reads back, is not replaced, and is absent if the settings of the log are wrong.
func TestDirectory(t *testing.T) {
	w := draw(2)
	log := w.log(2, 3, calibrationRuns...)
	c, dir := write(t, log)
	read := expect.Value(Read(dir))(t)
	a := log.Runs[1].Attempts[3]
	if got, want := read.index().predict(&a), c.index().predict(&a); got != want || !(want.Compute > 0) {
		t.Errorf("the calibration that was read predicts %+v, the other one %+v", got, want)
	}
	expect.That(t, !read.Waiting.ClientPollS.Known() && read.Waiting.ClientPollS.Why != "",
		"%+v", read.Waiting.ClientPollS)
	if err := c.Write(dir, log, Results{}, false); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	if err := c.Write(dir, log, Results{Text: "other"}, true); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, ReportFile)); err != nil || string(text) != "other" {
		t.Errorf("%q, %v", text, err)
	}
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o666))
	if err := c.Write(dir, log, Results{}, true); !errors.Is(err, ErrExists) {
		t.Errorf("a directory with another file: %v", err)
	}
	expect.NoError(t, os.WriteFile(filepath.Join(dir, CalibrationFile), []byte("{}"), 0o666))
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "must have format 1") {
		t.Error(err)
	}
}

// The report has at most 80 columns.
func TestReportWidth(t *testing.T) {
	w := draw(4)
	log := w.log(4, 3, calibrationRuns...)
	c := expect.Value(Fit(log, Options{Resamples: 20}))(t)
	held := expect.Value(c.HoldOut(log, ByRuns))(t)
	for line := range strings.Lines(c.Sections(c.InSample(log), held).Text(80)) {
		n := len([]rune(strings.TrimSuffix(line, "\n")))
		expect.That(t, n <= 80, "%d columns: %s", n, line)
	}
}

// A launch that the log tells replaces all parts of that of the runtime: otherwise the work of a
// launch under flower-1.41, 3 GFLOP, would count beside it.
func TestLaunchReplacesThatOfTheRuntime(t *testing.T) {
	text := "#! overhead.runtime = \"flower-1.41\"\nround,client,bytes_down,bytes_up,flops,sent_s,seen_s,receive_s," +
		"wait_s,compute_s,reply_s\n"
	for round := range 4 {
		at := 10 * float64(round)
		text += fmt.Sprintf("%d,a,1e6,1e6,1e9,%v,%v,1,1.5,1,1\n", round, at, at+4.5)
	}
	_, dir := write(t, parse(text))
	s := expect.Value(scenario.Load(filepath.Join(dir, ScenarioFile), nil))(t)
	n := s.Experiments[0].Jobs[0].Candidates[0].Settings.Network
	if r := n.InForce(); math.Abs(r.LaunchS-1.5) > 1e-9 || r.LaunchPollS != 0 || r.LaunchGFLOP != 0 ||
		r.ColdStartS != 0 || r.ClientPollS != 3.010 {
		t.Errorf("in force: %+v", r)
	}
}
