package into

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/results"
	"fedsim/results/rundir"
)

const small = `
[data.synthetic]
clients = 4
features = 5
rows_min = 10
rows_max = 20
[problem]
regularizer_options.warm_start = 0
[run]
rounds = 20
devices = true
save_model = true
seeds = [1, 2, 3]
[methods.mocha]
`

func parse(t *testing.T, set ...string) *scenario.Scenario {
	t.Helper()
	s := expect.Value(scenario.Parse("small.toml", []byte(small), set))(t)
	return s
}

// stopped returns a context that ends in the third run, and options that end it there.
func stopped(t *testing.T, dir string) (context.Context, Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	o := Options{Dir: dir, Every: time.Nanosecond}
	o.Compute.Workers = 1
	o.Compute.Progress = func(p experiment.Progress) {
		if p.Done == 2 && p.Share > 0.75 {
			cancel()
		}
	}
	return ctx, o
}

// An interrupted run is resumed, with the same results as a whole one.
func TestRunsAreResumed(t *testing.T) {
	t.Parallel()
	s, dir := parse(t), t.TempDir()
	whole, err := Run(t.Context(), s, Options{Dir: filepath.Join(dir, "whole")})
	expect.Must(t, err == nil && len(whole) == 3, "%d runs: %v", len(whole), err)
	parts := filepath.Join(dir, "parts")
	ctx, o := stopped(t, parts)
	runs, err := Run(ctx, s, o)
	expect.Must(t, errors.Is(err, context.Canceled) && Finished(runs) == 2 && len(runs) == 3,
		"%d of %d runs finished: %v", Finished(runs), len(runs), err)
	if there, err := rundir.ReadManifest(parts); err != nil || there.State != rundir.Incomplete {
		t.Fatalf("%+v: %v", there, err)
	}
	if _, err := Run(t.Context(), s, o); !errors.Is(err, rundir.ErrUnfinished) {
		t.Errorf("an unfinished run is overwritten: %v", err)
	}
	if _, err := Resume(parse(t, "run.rounds=21"), Options{Dir: parts}); !errors.Is(err, ErrOther) ||
		!strings.Contains(err.Error(), "omit SCENARIO to resume it") {
		t.Errorf("another scenario: %v", err)
	}
	refused := errors.New("refused")
	if _, err := Resume(nil,
		Options{Dir: parts, Permit: func(*scenario.Scenario) error { return refused }}); !errors.Is(err, refused) {
		t.Errorf("it runs without permission: %v", err)
	}
	d, err := Resume(nil, Options{Dir: parts, Note: func(text string) { t.Error(text) }})
	expect.NoError(t, err)
	if err := d.Close(d.Run(t.Context())); err != nil || d.State != rundir.Complete || d.Undrawn != nil ||
		len(d.Figures) == 0 {
		t.Fatalf("state %q, figures %v, %v: %v", d.State, d.Figures, d.Undrawn, err)
	}
	for i, r := range d.Writer.Runs() {
		if r.ID != whole[i].ID || r.EventHash != whole[i].EventHash || r.ModelHash != whole[i].ModelHash ||
			r.Model == "" {
			t.Errorf("run %s is %+v", whole[i].ID, r)
		}
	}
	rows := 0
	if err := rundir.Devices(parts, func(string, *results.DeviceRow) error { rows++; return nil }); err != nil ||
		rows != 3*20*4 {
		t.Errorf("%d rows by device: %v", rows, err)
	}
	if _, err := Resume(s, Options{Dir: parts}); !errors.Is(err, rundir.ErrComplete) {
		t.Errorf("resumed a complete run: %v", err)
	}
}

// Without a finished run there are no results: the checkpoint stays, unless the run is whole.
func TestRunsWithoutResults(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{false, true} {
		s, dir := parse(t), filepath.Join(t.TempDir(), "run")
		ctx, cancel := context.WithCancel(t.Context())
		o := Options{Dir: dir, Whole: whole, Every: time.Nanosecond}
		d, err := Create(s, o)
		expect.NoError(t, err)
		if !whole {
			expect.NoError(t, d.Options().Checkpoints.Saver(ctx, "x").Save(func(*algorithms.Coder) {}))
		}
		cancel()
		err = d.Close(d.Run(ctx))
		expect.That(t, experiment.Interrupted(err) && d.State == "", "state %q: %v", d.State, err)
		began := 0
		again, err := Resume(s, Options{Dir: dir, Note: func(string) { began++ }})
		expect.NoError(t, err)
		want := map[bool]int{false: 0, true: 1}[whole]
		expect.That(t, began == want, "whole %t: begun %d times", whole, began)
		if err := again.Close(nil); err != nil {
			t.Error(err)
		}
	}
}

// The error of a run with a checkpoint says how to resume it, unless the scenario is at fault.
func TestErrorsSayHowToResume(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause   error
		program *rundir.Program
		want    string
	}{
		{errors.New("the disk is full"), nil,
			"the disk is full; the checkpoint is saved: fix the cause, then resume with: fedsim run --resume %s"},
		{errors.New("the disk is full"), &rundir.Program{Name: "x"},
			"the disk is full; the checkpoint is saved: fix the cause, then start the driver with --resume %s"},
		{config.Problem{Key: "run.save_model", Value: true, Want: "must be false"}, nil,
			"run.save_model = true: must be false"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		d := expect.Value(Create(parse(t), Options{Dir: dir, Program: c.program}))(t)
		expect.NoError(t, d.Writer.Save("x", func(io.Writer) error { return nil }))
		want := c.want
		if strings.Contains(want, "%") {
			want = fmt.Sprintf(want, dir)
		}
		err := d.Close(c.cause)
		expect.That(t, err.Error() == want, "%v\nwant %s", err, want)
	}
}
