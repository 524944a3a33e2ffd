package command

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/internal/checkpoint"
	"fedsim/results"
	"fedsim/scenarios"
)

// resumeFlags are the flags of fedsim run about interruptions.
type resumeFlags struct {
	resume     string  // the directory of the run to go on with
	checkpoint float64 // seconds
}

func (f *resumeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.resume, "resume", "", "go on with the interrupted or killed run in this directory, instead of a SCENARIO")
	completeFlag(cmd, "resume", completeDirectory)
	cmd.Flags().Float64Var(&f.checkpoint, "checkpoint", 60, "keep what is unfinished at the end of a round, or of a fit of a table, at most once in so many seconds; 0: never")
}

// check reports flags that mean nothing, or nothing together.
func (f *resumeFlags) check(cmd *cobra.Command) error {
	if f.checkpoint < 0 || math.IsNaN(f.checkpoint) || f.checkpoint > math.MaxInt64/1e9 {
		return usagef("--checkpoint=%g: must be in [0, 9.2e9]: seconds", f.checkpoint)
	}
	if f.resume == "" {
		return nil
	}
	for _, name := range []string{"set", "seed", "out", "force", "timeline", "gantt", "timeline-run", "timeline-devices", "timeline-rounds"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s: must not be given with --resume, which goes on with the scenario in %s as it is", name, f.resume)
		}
	}
	return nil
}

// arguments accepts a scenario, or none with --resume.
func (f *resumeFlags) arguments(cmd *cobra.Command, args []string) error {
	if f.resume != "" {
		return takes(0, 0, "no SCENARIO with --resume, which goes on with the one in the directory")(cmd, args)
	}
	return takes(1, 1, "one scenario, a file or the name of a shipped one")(cmd, args)
}

// reopen goes on with an unfinished run.
func (f *runFlags) reopen() (s *scenarios.Scenario, w *results.Writer, err error) {
	left, err := results.Reopen(f.resume, readVersion().String())
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, left.Close()) }()
	// No such file is there, but it is what would be there.
	s, err = scenarios.Parse(filepath.Join(f.resume, "scenario.toml"), left.Scenario, nil)
	if err != nil {
		return nil, nil, err
	}
	about, err := f.about(s)
	if err != nil {
		return nil, nil, err
	}
	about.Command, about.Started = left.Command, left.Started
	w, err = left.Resume(about, experiment.Places(s.Experiments))
	return s, w, err
}

// policy lets what is unfinished go to the run directory.
func (f *resumeFlags) policy(w *results.Writer) checkpoint.Policy {
	if f.checkpoint == 0 {
		return checkpoint.Policy{}
	}
	return checkpoint.Policy{Keeper: w, Every: time.Duration(f.checkpoint * float64(time.Second)), Clock: time.Now}
}

// keeping lets runs that are finished or not go to the run directory.
func (f *resumeFlags) keeping(w *results.Writer, o experiment.Options) experiment.Options {
	had := map[string]bool{}
	for _, run := range w.Runs() {
		had[run.ID] = true
	}
	o.Had = func(id string) bool { return had[id] }
	o.Finished = w.Add
	if f.checkpoint == 0 {
		return o
	}
	o.Keep = f.policy(w)
	last := time.Now()
	o.Finished = func(index int, run results.Run) error {
		if err := w.Add(index, run); err != nil {
			return err
		}
		if time.Since(last) < o.Keep.Every {
			return nil
		}
		last = time.Now()
		return w.Checkpoint()
	}
	return o
}

// goOn says how to go on with what a run directory keeps.
func goOn(w *results.Writer) string {
	return fmt.Sprintf("go on with: fedsim run --resume %s", w.Dir())
}
