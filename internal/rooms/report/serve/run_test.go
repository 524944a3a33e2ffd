package serve

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/report"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
	"fedsim/results/rundir"
)

const source = `
name = "x"
[data.synthetic]
clients = 3
features = 4
rows_min = 8
rows_max = 12
[problem]
optimum.when = "never"
[run]
rounds = 8
seeds = [1, 2]
[methods.mocha]
`

// pausedRun is a run that waits after round 5 of its second seed.
type pausedRun struct {
	reached chan struct{} // closed when the run waits
	proceed chan struct{} // closed by the test to continue the run
	ended   chan struct{} // closed when the run directory is complete
}

// startRun starts a run in dir, which ends at the latest with the test.
func startRun(t *testing.T, dir string, force bool) *pausedRun {
	t.Helper()
	return startTo(t, dir, force,
		func(w *rundir.Writer) error { return w.Finish(rundir.Complete, rundir.End{At: time.Now()}) })
}

// startTo starts a run that end ends.
func startTo(t *testing.T, dir string, force bool, end func(*rundir.Writer) error) *pausedRun {
	t.Helper()
	s := expect.Value(scenario.Parse("x.toml", []byte(source), nil))(t)
	text := expect.Value(s.Resolved())(t)
	w := expect.Value(rundir.Create(dir, force, rundir.About{
		Version: "test", Command: []string{"fedsim", "run", "x.toml"}, Seeds: s.Settings.Run.Seeds, Scenario: text,
		Targets: s.Settings.Run.Targets, Started: time.Now(), Runs: experiment.Total(s.Experiments),
	}))(t)
	p := &pausedRun{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(p.ended)
		err := experiment.Run(context.Background(), s.Experiments, experiment.Options{
			Workers: 1, Clock: time.Now,
			Recorder: &recordtest.Recorder{To: w, Rounds: func(index int, run results.Run) func(results.Round) {
				return func(r results.Round) {
					if index == 1 && r.Round == 5 {
						close(p.reached)
						<-p.proceed
					}
				}
			}},
		})
		expect.That(t, err == nil, "%v", err)
		if err := end(w); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		select {
		case <-p.proceed:
		default:
			close(p.proceed)
		}
		<-p.ended
	})
	return p
}

// finishedRun returns a complete run directory.
func finishedRun(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "x")
	p := startRun(t, dir, false)
	close(p.proceed)
	<-p.ended
	return dir
}

// encoded returns the expected data of a directory.
func encoded(t *testing.T, dir string) string {
	t.Helper()
	r := expect.Value(report.Read(dir))(t)
	var b bytes.Buffer
	expect.NoError(t, report.Encode(&b, r))
	return b.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	filetest.Write(t, path, text)
}
