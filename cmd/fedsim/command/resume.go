package command

import (
	"errors"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/plainjson"
	"fedsim/results/rundir"
)

type resumeFlags struct {
	resume     string  // run directory to resume; empty: none
	checkpoint float64 // minimum seconds between checkpoints; 0: none
}

func (f *resumeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.resume, "resume", "",
		"`DIR` continue an interrupted run; with SCENARIO, or start it")
	completeFlag(cmd, "resume", completeDirectory)
	f.addCheckpoint(cmd)
}

const checkpointEvery = 60

// resumeOther is what --allow-other-program does where runs are resumed.
const resumeOther = "resume runs of an external model with another program than before"

func (f *resumeFlags) addCheckpoint(cmd *cobra.Command) {
	cmd.Flags().Float64Var(&f.checkpoint, "checkpoint", checkpointEvery,
		"`S` least seconds between checkpoints; 0: none")
}

// check checks the values and the combination of flags.
func (f *resumeFlags) check(cmd *cobra.Command) error {
	if f.checkpoint < 0 || math.IsNaN(f.checkpoint) || f.checkpoint > math.MaxInt64/1e9 {
		return usagef("--checkpoint=%g: must be in [0, 9.2e9] (seconds)", f.checkpoint)
	}
	if f.resume == "" {
		return nil
	}
	names := []string{"out", "force"}
	if cmd.Flags().NArg() == 0 {
		names = append(names, "set", "seed")
	}
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return usagef("--%s: cannot be combined with --resume, which resumes the run in %s unchanged", name,
				f.resume)
		}
	}
	return nil
}

// arguments requires a scenario, which is optional with --resume.
func (f *resumeFlags) arguments(cmd *cobra.Command, args []string) error {
	if f.resume != "" {
		return takes(0, 1, "at most one SCENARIO with --resume")(cmd, args)
	}
	return takes(1, 1, oneScenario)(cmd, args)
}

// every returns the least time between two checkpoints; 0: there are none.
func (f *resumeFlags) every() time.Duration {
	return time.Duration(f.checkpoint * float64(time.Second))
}

// reopen resumes the unfinished run of a scenario, or starts it if there is none. If the
// scenario is nil, it is that of the run directory.
func (f *resumeFlags) reopen(notes io.Writer, s *scenario.Scenario, o into.Options) (*into.Directory, error) {
	o.Dir = f.resume
	o.Note = func(text string) { printError(notes, errors.New(text)) }
	return into.Resume(s, o)
}

// alreadyComplete reports that a run is complete, and prints which runs stalled. It draws
// missing figures. It is not an error, so that a script can resume until it succeeds.
func (f *runFlags) alreadyComplete(cmd *cobra.Command, complete error) error {
	there, err := rundir.Read(f.resume)
	if err != nil {
		return err
	}
	printError(f.notes(cmd), stalls(there.Runs))
	drew, err := f.drawMissing(f.text(cmd), f.resume, there)
	if err != nil {
		return err
	}
	if f.json {
		return f.summarizeAgain(cmd, there)
	}
	if drew {
		return nil
	}
	return printf(f.text(cmd), "%v\n", complete)
}

// summarizeAgain prints the summary of a complete run as JSON.
func (f *runFlags) summarizeAgain(cmd *cobra.Command, there *rundir.Results) error {
	s, err := scenario.ParseRecorded(f.resume, there.Scenario)
	if err != nil {
		return err
	}
	m, err := rundir.ReadManifest(f.resume) // with figures that were missing
	if err != nil {
		return err
	}
	return plainjson.Print(cmd.OutOrStdout(),
		newSummary(s, m.State, f.resume, there.Runs, m.Absent, m.Tables, m.Figures))
}
