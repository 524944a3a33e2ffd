package command

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/internal/checkpoint"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// resumeFlags are the flags of fedsim run for checkpoints.
type resumeFlags struct {
	resume     string  // run directory to resume; empty: none
	checkpoint float64 // minimum seconds between checkpoints; 0: none
}

func (f *resumeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.resume, "resume", "", "resume the interrupted or killed run in this directory; with SCENARIO, start it if there is no checkpoint")
	completeFlag(cmd, "resume", completeDirectory)
	f.addCheckpoint(cmd)
}

// addCheckpoint adds the flag --checkpoint.
func (f *resumeFlags) addCheckpoint(cmd *cobra.Command) {
	cmd.Flags().Float64Var(&f.checkpoint, "checkpoint", 60, "minimum seconds between checkpoints; 0: none")
}

// check checks the values and the combination of flags.
func (f *resumeFlags) check(cmd *cobra.Command) error {
	if f.checkpoint < 0 || math.IsNaN(f.checkpoint) || f.checkpoint > math.MaxInt64/1e9 {
		return usagef("--checkpoint=%g: must be in [0, 9.2e9] (seconds)", f.checkpoint)
	}
	if f.resume == "" {
		return nil
	}
	names := []string{"out", "force", "timeline", "gantt", "timeline-run", "timeline-devices", "timeline-rounds"}
	if cmd.Flags().NArg() == 0 {
		names = append(names, "set", "seed")
	}
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return usagef("--%s: cannot be combined with --resume, which resumes the run in %s unchanged", name, f.resume)
		}
	}
	return nil
}

// arguments requires a scenario, which is optional with --resume.
func (f *resumeFlags) arguments(cmd *cobra.Command, args []string) error {
	if f.resume != "" {
		return takes(0, 1, "at most one SCENARIO with --resume")(cmd, args)
	}
	return takes(1, 1, "one scenario (a file or the name of a shipped scenario)")(cmd, args)
}

// reopen resumes an unfinished run. If there is none, it starts the scenario in args.
func (f *runFlags) reopen(cmd *cobra.Command, args, sets []string) (*scenarios.Scenario, *rundir.Writer, error) {
	var named *scenarios.Scenario
	if len(args) > 0 {
		var err error
		if named, err = scenarios.Load(args[0], sets); err != nil {
			return nil, nil, err
		}
	}
	return f.reopenAs(cmd, named)
}

// reopenAs resumes the unfinished run of a scenario, or starts it if there is none. If
// the scenario is nil, it is that of the run directory.
func (f *runFlags) reopenAs(cmd *cobra.Command, named *scenarios.Scenario) (*scenarios.Scenario, *rundir.Writer, error) {
	left, err := rundir.OpenCheckpoint(f.resume)
	switch {
	case err == nil:
		return f.resumeLeft(cmd, left, named)
	case named == nil:
		return nil, nil, err
	case errors.Is(err, rundir.ErrComplete):
		there, failed := rundir.Read(f.resume)
		if failed != nil {
			return nil, nil, failed
		}
		return nil, nil, cmp.Or(f.requireSame(named, there.Scenario), err)
	case errors.Is(err, rundir.ErrForeign):
		f.out = f.resume
		if err := f.permit(cmd, named); err != nil {
			return nil, nil, err
		}
		w, err := f.create(named, true)
		if err != nil {
			return nil, nil, err
		}
		f.noteStart(cmd)
		return named, w, nil
	default:
		return nil, nil, err
	}
}

// alreadyComplete reports that a run is complete, and prints which runs stalled. It draws
// missing figures. It is
// not an error, so that a script can resume until it succeeds.
func (f *runFlags) alreadyComplete(cmd *cobra.Command, complete error) error {
	there, err := rundir.Read(f.resume)
	if err != nil {
		return err
	}
	if !f.quiet {
		printError(cmd.ErrOrStderr(), stalls(there.Runs))
	}
	if drew, err := f.drawMissing(cmd, f.resume, there); drew || err != nil {
		return err
	}
	_, err = fmt.Fprintln(f.text(cmd), complete)
	return err
}

// noteStart prints that a run starts from the beginning because there is no checkpoint.
func (f *runFlags) noteStart(cmd *cobra.Command) {
	if !f.quiet {
		printError(cmd.ErrOrStderr(), fmt.Errorf("%s: no checkpoint yet: the run starts from the beginning", f.resume))
	}
}

// requireSame returns an error unless the scenario is that of the run directory.
func (f *runFlags) requireSame(s *scenarios.Scenario, there []byte) error {
	resolved, err := s.Resolved()
	if err == nil && !bytes.Equal(resolved, there) {
		err = usagef("--resume %s: the run in this directory has other settings than SCENARIO %s: omit SCENARIO to resume it, or choose another directory with --out", f.resume, s.Name)
	}
	return err
}

// resumeLeft resumes an unfinished run. If named is not nil, it must be the scenario of
// the run.
func (f *runFlags) resumeLeft(cmd *cobra.Command, left *rundir.Checkpoint, named *scenarios.Scenario) (s *scenarios.Scenario, w *rundir.Writer, err error) {
	defer func() { err = errors.Join(err, left.Close()) }()
	if named != nil {
		if err := f.requireSame(named, left.Scenario); err != nil {
			return nil, nil, err
		}
	}
	// The file does not exist before the run is complete; errors name it anyway.
	s, err = scenarios.ParseRecorded(f.resume, left.Scenario)
	if err != nil {
		return nil, nil, err
	}
	if err := f.permit(cmd, s); err != nil {
		return nil, nil, err
	}
	if f.driver == nil && left.Driver != nil {
		return nil, nil, usagef("--resume %s: another program drives this run: start %s again and let it start fedsim engine with --resume %s", f.resume, left.Driver.Name, f.resume)
	}
	if err := requireMemory(s); err != nil {
		return nil, nil, err
	}
	about, err := f.about(s)
	if err != nil {
		return nil, nil, err
	}
	about.Command, about.Started = left.Command, left.Started
	if left.Empty() {
		f.noteStart(cmd)
	}
	w, err = left.Resume(about, experiment.Places(s.Experiments))
	return s, w, err
}

// every returns the least time between two checkpoints; 0: there are none.
func (f *resumeFlags) every() time.Duration {
	return time.Duration(f.checkpoint * float64(time.Second))
}

// policy returns the policy that saves checkpoints to the run directory.
func (f *resumeFlags) policy(w *rundir.Writer) checkpoint.Policy {
	if f.checkpoint == 0 {
		return checkpoint.Policy{}
	}
	return checkpoint.Policy{Store: w, Every: f.every(), Clock: time.Now}
}

// resumeHint describes how to resume the run in a directory.
func resumeHint(w *rundir.Writer) string {
	return fmt.Sprintf("resume with: fedsim run --resume %s", w.Dir())
}
