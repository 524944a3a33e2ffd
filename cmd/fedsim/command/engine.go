package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/outside/driven"
	"fedsim/results"
	"fedsim/results/rundir"
)

type engineFlags struct {
	line []string // the command line
	set  []string
	directoryFlags
	resumeFlags

	cmd       *cobra.Command
	directory *into.Directory // nil before the op hello
}

func init() { ofRooms = append(ofRooms, newEngine) }

// newEngine returns the command. The manifest records line, the command line.
func newEngine(line []string) *cobra.Command {
	f := engineFlags{line: line}
	cmd := takesOne(&cobra.Command{
		Use:   "engine SCENARIO",
		Short: "Let another program drive a run over JSON lines",
		Long: `Let another program, the driver, run its own method on the devices and links of a
scenario. The driver writes requests as JSON lines to standard input, and gets one
line back for each on standard output (docs/protocols.md#engine). It sends messages
with bytes and FLOPs; fedsim simulates them in virtual time and says when responses
arrive. pyfedsim and pyfedsim.flower are such drivers.

The methods of the scenario are ignored, as are run.rounds, run.stop_at and all
budgets of [run]: the driver is the method and ends the run. The scenario must have
one point: choose among sweeps with --set.

The results are written to a run directory as by "fedsim run". If the input ends
before the op finish, the run is interrupted (exit code 75). Start the driver again
with --resume DIR to continue: it must send the same lines again from the first on.`,
		Example: `  fedsim engine quickstart < lines.jsonl
  fedsim engine quickstart --set network.profile=3g --out runs/3g < lines.jsonl`,
	}, oneScenario, completeScenario, func(cmd *cobra.Command, name string) error {
		f.cmd = cmd
		return f.serve(name)
	})
	addSet(cmd, &f.set, "")
	f.directoryFlags.add(cmd, "runs/<scenario name>-<method>")
	f.addNoFigures(cmd)
	f.resumeFlags.add(cmd)
	return cmd
}

func (f *engineFlags) serve(name string) (err error) {
	if err := f.resumeFlags.check(f.cmd); err != nil {
		return err
	}
	input := f.cmd.InOrStdin()
	if file, ok := input.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		// A person sees an error of the scenario before the first line.
		if _, err := scenario.LoadDriven(name, f.set, scenario.Program{Method: "driver"}); err != nil {
			return err
		}
	}
	ignoreBrokenPipe() // a driver that has ended is an error of a write
	defer func() {
		if f.directory != nil {
			err = f.directory.Close(err)
		}
	}()
	err = driven.Serve(f.cmd.Context(), input, flushing{f.cmd.OutOrStdout()}, driven.Options{
		Version: readVersion().String(), Clock: time.Now,
		Open: func(h driven.Hello) (*driven.Directory, *driven.Error) { return f.open(name, h) },
	})
	if failed, ok := errors.AsType[*driven.Error](err); ok && failed.Code == driven.CodeVersion {
		return usageError{err}
	}
	if err != nil || f.directory == nil {
		return err
	}
	runs := f.directory.Writer.Runs()
	for _, r := range runs {
		for _, w := range r.Warnings {
			printError(f.cmd.ErrOrStderr(), fmt.Errorf("%s: %s", w.Level(), w.Text))
		}
	}
	return errors.Join(f.directory.Undrawn, stalls(runs))
}

// flushing writes each line at once.
type flushing struct{ io.Writer }

func (f flushing) Write(line []byte) (int, error) {
	n, err := f.Writer.Write(line)
	if err == nil {
		err = flush(f.Writer)
	}
	return n, err
}

// open opens the run directory of the run that hello describes.
func (f *engineFlags) open(file string, h driven.Hello) (*driven.Directory, *driven.Error) {
	s, err := scenario.LoadDriven(file, f.set, scenario.Program{Method: h.Method, Seed: h.Seed})
	if err != nil {
		return nil, &driven.Error{Code: driven.CodeScenario, Message: err.Error(), Cause: err}
	}
	printNotes(f.cmd.ErrOrStderr(), s)
	if f.directory, err = f.create(s, h); err != nil {
		return nil, &driven.Error{Code: driven.CodeDirectory, Message: err.Error(), Cause: err}
	}
	return &driven.Directory{
		Run: &s.Experiments[0].Jobs[0].Candidates[0], Options: f.directory.Options(), Finish: f.finish,
		Suspend: f.suspend,
	}, nil
}

// create creates the run directory, or opens that of an unfinished run.
func (f *engineFlags) create(s *scenario.Scenario, h driven.Hello) (*into.Directory, error) {
	o := f.options(f.line)
	o.Program, o.Every = &rundir.Program{Name: h.Program, Notes: h.Notes}, f.every()
	o.Permit = requireMemory // a driven scenario starts no program
	if f.resume != "" {
		return f.reopen(f.cmd.ErrOrStderr(), s, o)
	}
	if o.Dir == "" {
		o.Dir = filepath.Join("runs", s.Name+"-"+h.Method)
	}
	return into.Create(s, o)
}

// finish stores the run of a driver that is done or has failed.
func (f *engineFlags) finish(rows results.Rows, r results.Run, failed bool) (string, error) {
	d := f.directory
	if failed && dropped(d.Writer, &r) {
		return "", nil
	}
	if err := rows.End(r); err != nil {
		return "", err
	}
	if failed {
		return d.Writer.Dir(), d.Save()
	}
	return d.Writer.Dir(), d.Complete()
}

// dropped drops the checkpoint of a driver that ended before the end of round 1, and reports
// whether it cannot be resumed. The state of an earlier driver remains.
func dropped(w *rundir.Writer, r *results.Run) bool {
	if n := len(r.Rounds); n > 0 && r.Rounds[n-1].Round > 0 {
		return false
	}
	w.DropCheckpoint()
	return !w.Resumable()
}

// suspend stores the rounds of a run that was interrupted, and why.
func (f *engineFlags) suspend(rows results.Rows, r results.Run, why string) error {
	d := f.directory
	if dropped(d.Writer, &r) {
		return interrupted{why + ": interrupted before the end of the first round; nothing is saved",
			driven.ErrInterrupted}
	}
	hint := fmt.Sprintf("resume by starting the driver with --resume %s", d.Writer.Dir())
	if len(r.Rounds) > 0 {
		if err := rows.End(r); err != nil {
			return err
		}
	}
	if err := d.Save(); err != nil {
		return err
	}
	if len(r.Rounds) == 0 {
		return interrupted{why + ": interrupted before the end of the first round; " + hint, driven.ErrInterrupted}
	}
	return interrupted{fmt.Sprintf("%s: interrupted after round %d; results so far: %s; %s", why,
		r.Rounds[len(r.Rounds)-1].Round, d.Writer.Dir(), hint), driven.ErrInterrupted}
}
