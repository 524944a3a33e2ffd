package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/rooms/report"
	"fedsim/internal/tools/expect"
	"fedsim/results"
	"fedsim/results/rundir"
)

// A plan is served with its state and the runs of its groups, before and after they are done.
// Its version changes with both.
func TestServesPlan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plan")
	s, err := scenario.Parse("x.toml", []byte(source), nil)
	expect.NoError(t, err)
	p, err := plan.New(t.Context(), s, plan.Options{Version: "v", Command: []string{"fedsim", "run", "x.toml"}})
	if err == nil {
		err = p.Write(dir, s)
	}
	expect.Must(t, err == nil && len(p.Groups()) == 2, "%d groups, %v", len(p.Groups()), err)
	d, err := work.Open(dir, "v")
	expect.NoError(t, err)
	now := time.Now()
	from := PlanSource(d.View(func() time.Time { now = now.Add(2 * time.Second); return now }))
	server, err := New(from)
	expect.NoError(t, err)
	versions := map[string]bool{}
	look := func(groups work.Counts, status rundir.Status, runs ...results.Status) {
		t.Helper()
		info, err := from.Stat()
		expect.That(t, err == nil && info.Status == status && !versions[info.Version],
			"%+v, %v: must be %s with a new version", info, err, status)
		versions[info.Version] = true
		if again, err := from.Stat(); again != info || err != nil {
			t.Errorf("%+v, then %+v (%v)", info, again, err)
		}
		got := report.Report{Plan: new(work.State)}
		r := ask(server, "GET", "/data")
		text := body(t, r)
		if err := json.Unmarshal([]byte(text), &got); r.StatusCode != 200 || err != nil {
			t.Fatalf("status %d, %v: %.200s", r.StatusCode, err, text)
		}
		expect.Must(t, got.Plan.(*work.State).Groups == groups && got.Expected == 2 && len(got.Runs) == len(runs),
			"%+v, %d runs: must be %+v, %d", got.Plan, len(got.Runs), groups, len(runs))
		for i, want := range runs {
			expect.That(t, got.Runs[i].Status == want, "run %d is %s, must be %s", i, got.Runs[i].Status, want)
		}
	}
	look(work.Counts{Total: 2, Waiting: 2}, rundir.Writing)

	// An attempt that was stopped in the second run has the runs of both groups.
	id := p.Groups()[1].ID
	attempt := filepath.Join(d.AttemptsDir(id), "w")
	run := startTo(t, attempt, false, (*rundir.Writer).Suspend)
	<-run.reached
	claim := filepath.Join(dir, "claims", id+".json")
	expect.NoError(t, os.Mkdir(filepath.Dir(claim), 0o777))
	write(t, claim, `{"worker": "w", "host": "h"}`)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if r, err := from.Read(); err == nil && len(r.Runs) == 2 && r.Rows == 9+6 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%v", err)
		}
	}
	look(work.Counts{Total: 2, Waiting: 1, Running: 1}, rundir.Writing, results.Done, results.UnderWay)
	close(run.proceed)
	<-run.ended
	look(work.Counts{Total: 2, Waiting: 1, Running: 1}, rundir.Writing, results.Done, results.Done)
	write(t, claim, `{"worker": "w", "host": "h", "ended": true}`)
	look(work.Counts{Total: 2, Waiting: 1, Stopped: 1}, rundir.Writing, results.Done, results.Done)
	for i, g := range p.Groups() {
		expect.NoError(t, os.MkdirAll(filepath.Dir(d.DoneDir(id)), 0o777))
		expect.NoError(t, os.CopyFS(d.DoneDir(g.ID), os.DirFS(attempt)))
		if i == 0 {
			look(work.Counts{Total: 2, Done: 1, Stopped: 1}, rundir.Writing, results.Done, results.Done)
		}
	}
	look(work.Counts{Total: 2, Done: 2}, rundir.Finished, results.Done, results.Done)
}
