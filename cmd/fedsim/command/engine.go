package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fedsim/experiment"
	"fedsim/federation"
	"fedsim/internal/driven"
	"fedsim/results"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// engineFlags are the flags of fedsim engine.
type engineFlags struct {
	runFlags
	cmd     *cobra.Command
	writer  *rundir.Writer // nil before the op hello
	watched *watch         // nil: no timelines
	drawing error          // of figures
}

// newEngine returns the command. The manifest records line, the command line.
func newEngine(line []string) *cobra.Command {
	f := engineFlags{runFlags: runFlags{line: line}}
	cmd := &cobra.Command{
		Use:   "engine SCENARIO",
		Short: "Let another program drive a run over JSON lines",
		Long: `Let another program, the driver, run its own method on the devices and links of a
scenario. The driver writes requests as JSON lines to standard input, and gets one
line back for each on standard output (docs/engine-protocol.md). It sends messages
with bytes and FLOPs; fedsim simulates them in virtual time and says when responses
arrive. pyfedsim and pyfedsim.flower are such drivers.

The methods of the scenario are ignored, as are run.rounds, run.stop_at and
run.max_time_s: the driver is the method and ends the run. The scenario must have one
point: choose among sweeps with --set.

The results are written to a run directory as by "fedsim run". If the input ends
before the op finish, the run is interrupted (exit code 75). Start the driver again
with --resume DIR to continue: it must send the same lines again from the first on.`,
		Example: `  fedsim engine quickstart < lines.jsonl
  fedsim engine quickstart --set network.profile=3g --out runs/3g < lines.jsonl`,
		Args:              takes(1, 1, "one scenario (a file or the name of a shipped scenario)"),
		ValidArgsFunction: first(completeScenario),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.cmd = cmd
			return f.serve(args[0])
		},
	}
	addSet(cmd, &f.set, "")
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "run directory (default runs/<scenario name>-<method>)")
	completeFlag(cmd, "out", completeDirectory)
	flags.BoolVar(&f.force, "force", false, "overwrite an existing run or checkpoint")
	flags.BoolVar(&f.plain, "no-figures", false, "do not draw figures; \"fedsim plot\" draws them later")
	f.timeline.add(flags)
	f.resumeFlags.add(cmd)
	flags.Lookup("resume").Usage = "resume the interrupted or killed run in this directory, or start it if there is no checkpoint"
	return cmd
}

// serve runs the command.
func (f *engineFlags) serve(scenario string) (err error) {
	if err := f.resumeFlags.check(f.cmd); err != nil {
		return err
	}
	input := f.cmd.InOrStdin()
	if file, ok := input.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		// A person sees an error of the scenario before the first line.
		if _, err := scenarios.LoadDriven(scenario, f.set, scenarios.Driver{Method: "driver"}); err != nil {
			return err
		}
	}
	signal.Ignore(syscall.SIGPIPE) // a driver that has ended is an error of a write
	defer func() {
		if f.writer != nil {
			err = discardDriven(f.writer, err)
		}
	}()
	err = driven.Serve(f.cmd.Context(), input, flushing{f.cmd.OutOrStdout()}, driven.Options{
		Version: readVersion().String(), Clock: time.Now,
		Open: func(h driven.Hello) (*driven.Directory, *driven.Error) { return f.open(scenario, h) },
	})
	if failed, ok := errors.AsType[*driven.Error](err); ok && failed.Code == driven.CodeVersion {
		return usageError{err}
	}
	if err != nil || f.writer == nil {
		return err
	}
	for _, r := range f.writer.Runs() {
		for _, w := range r.Warnings {
			printError(f.cmd.ErrOrStderr(), fmt.Errorf("warning: %s", w.Text))
		}
	}
	return errors.Join(f.drawing, f.watched.write(f.cmd.ErrOrStderr()), stalls(f.writer.Runs()))
}

// flushing writes each line at once.
type flushing struct{ io.Writer }

func (w flushing) Write(line []byte) (int, error) {
	n, err := w.Writer.Write(line)
	if buffered, ok := w.Writer.(*bufio.Writer); ok && err == nil {
		err = buffered.Flush()
	}
	return n, err
}

// discardDriven is discard for a driven run, which its driver resumes.
func discardDriven(w *rundir.Writer, err error) error {
	if isUsage(err) {
		w.DropCheckpoint()
	}
	err = errors.Join(err, w.Discard())
	if err == nil || experiment.Interrupted(err) || errors.Is(err, rundir.ErrCheckpoint) || !w.Resumable() {
		return err
	}
	return fmt.Errorf("%w; the checkpoint is saved: fix the cause, then start the driver with --resume %s", err, w.Dir())
}

// open opens the run directory of the run that hello describes.
func (f *engineFlags) open(scenario string, h driven.Hello) (*driven.Directory, *driven.Error) {
	s, err := scenarios.LoadDriven(scenario, f.set, scenarios.Driver{Method: h.Method, Seed: h.Seed})
	if err != nil {
		return nil, &driven.Error{Code: driven.CodeScenario, Message: err.Error(), Cause: err}
	}
	if f.watched, err = f.timeline.plan(f.cmd.Flags(), s); err != nil {
		return nil, &driven.Error{Code: driven.CodeDirectory, Message: err.Error(), Cause: err}
	}
	printNotes(f.cmd.ErrOrStderr(), s)
	f.driver = &rundir.Driver{Name: h.Driver, Notes: h.Notes}
	w, err := f.directory(s, h.Method)
	if err != nil {
		return nil, &driven.Error{Code: driven.CodeDirectory, Message: err.Error(), Cause: err}
	}
	f.writer = w
	run := &s.Experiments[0].Jobs[0].Candidates[0]
	return &driven.Directory{
		Run:         run,
		Journal:     func(devices int) federation.Journal { return f.journal(run, devices) },
		Checkpoints: f.policy(w),
		Recorder:    w,
		Finish: func(rows results.Rows, r results.Run, failed bool) (string, error) {
			return f.finish(s, rows, r, failed)
		},
		Suspend: f.suspend,
	}, nil
}

// journal returns the journal of the timelines; nil: there are none.
func (f *engineFlags) journal(run *scenarios.Run, devices int) federation.Journal {
	if f.watched == nil {
		return nil
	}
	return f.watched.journal()(run, devices)
}

// directory creates the run directory, or opens that of an unfinished run.
func (f *engineFlags) directory(s *scenarios.Scenario, method string) (*rundir.Writer, error) {
	if f.resume == "" {
		if f.out == "" {
			f.out = filepath.Join("runs", s.Name+"-"+method)
		}
		return f.create(s, true)
	}
	_, w, err := f.reopenAs(f.cmd, s)
	return w, err
}

// finish stores the run of a driver that is done or has failed.
func (f *engineFlags) finish(s *scenarios.Scenario, rows results.Rows, r results.Run, failed bool) (string, error) {
	w, state := f.writer, rundir.Complete
	if failed {
		if dropped(w, &r) {
			return "", nil
		}
		state = rundir.Incomplete
	}
	if err := rows.End(r); err != nil {
		return "", err
	}
	if !f.plain && !failed {
		_, f.drawing = draw(w, s)
	}
	return w.Dir(), w.Finish(state, ended())
}

// dropped drops the checkpoint of a driver that ended before the end of round 1, and reports
// whether nothing is left to resume. What an earlier driver has saved stays.
func dropped(w *rundir.Writer, r *results.Run) bool {
	if n := len(r.Rounds); n > 0 && r.Rounds[n-1].Round > 0 {
		return false
	}
	w.DropCheckpoint()
	return !w.Resumable()
}

// suspend stores the rounds of a run that was interrupted, and why.
func (f *engineFlags) suspend(rows results.Rows, r results.Run, why string) error {
	w := f.writer
	if dropped(w, &r) {
		return interrupted{why + ": interrupted before the end of the first round; nothing is saved", driven.ErrInterrupted}
	}
	hint := fmt.Sprintf("resume by starting the driver with --resume %s", w.Dir())
	if len(r.Rounds) == 0 {
		if err := w.Suspend(); err != nil {
			return err
		}
		return interrupted{why + ": interrupted before the end of the first round; " + hint, driven.ErrInterrupted}
	}
	if err := errors.Join(rows.End(r), w.Finish(rundir.Incomplete, ended())); err != nil {
		return err
	}
	return interrupted{fmt.Sprintf("%s: interrupted after round %d; results so far: %s; %s", why, r.Rounds[len(r.Rounds)-1].Round, w.Dir(), hint), driven.ErrInterrupted}
}
