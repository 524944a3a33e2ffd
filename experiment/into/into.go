// Package into runs a scenario into a run directory: it creates or resumes the directory, records
// the runs and their checkpoints, makes tables, draws the figures and
// completes the directory, or saves what an interrupted run has finished.
//
// [Run] does all of it. Others take the steps that they need: they [Create] or [Resume] a
// [Directory], compute with its [Directory.Options], and then [Directory.Complete] or
// [Directory.Save] it.
//
// It must not know flags, terminals and signals.
package into

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/quote"
	"fedsim/mtl"
	"fedsim/results"
	"fedsim/results/rundir"
)

// Options say where a scenario is run into, and how. They do not change its results. The zero
// value runs it into its default directory.
type Options struct {
	Dir       string        // the run directory; empty: runs/ and the name of the scenario
	Force     bool          // overwrite an existing run or checkpoint
	Whole     bool          // an interrupted run cannot be resumed
	Every     time.Duration // least time between two checkpoints; 0: no unfinished run is saved
	NoFigures bool          // draw no figures
	Over      []string      // settings over those of a resumed run, which must not change its runs

	// Compute sets how runs and tables are computed. Recorder and Checkpoints are those of the
	// directory. Clock may be nil: that of the system.
	Compute experiment.Options

	Version string            // of the program, for the manifest
	Command []string          // its command line, likewise
	Program *rundir.Program   // the other program that drives the run; nil: none
	End     func() rundir.End // how the run ended, for the manifest; nil: the time

	// Permit says whether a scenario may run, which may start programs; nil: each may. Nothing
	// is created after an error.
	Permit func(*scenario.Scenario) error
	// Note is told when Resume starts a run from the beginning, because its directory has no checkpoint, and when a
	// checkpoint was cut off; nil: not called.
	Note func(string)
}

// Directory is the run directory of a scenario that is being run. The caller closes it.
type Directory struct {
	Scenario *scenario.Scenario
	Writer   *rundir.Writer // the recorder of the runs
	Tables   []string       // file names of those made
	Figures  []string       // likewise
	Undrawn  error          // why figures are not drawn, and how to draw them
	State    rundir.State   // empty before Complete or Save wrote results

	// Unsettled means that the seeds that were allowed did not make the results certain: it can be resumed with more.
	Unsettled bool

	options Options
}

// Run checks a scenario and runs it into a new directory. It returns the runs in the order of the
// scenario, also after an interruption: the error then wraps that of ctx, and [Resume] continues
// the run.
func Run(ctx context.Context, s *scenario.Scenario, o Options) (runs []results.Run, err error) {
	if _, err := experiment.Check(ctx, s.Experiments); err != nil {
		return nil, err
	}
	d, err := Create(s, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = d.Close(err) }()
	err = d.Run(ctx)
	return d.Writer.Runs(), errors.Join(err, d.Undrawn)
}

// Run makes the runs, and completes the directory. When ctx ends it saves it
// instead, and returns the error of ctx.
func (d *Directory) Run(ctx context.Context) error {
	err := experiment.Run(ctx, d.Scenario.Experiments, d.Options())
	switch {
	case err == nil:
		return d.Complete()
	case experiment.Interrupted(err):
		return errors.Join(d.Save(), err)
	default:
		return err
	}
}

// Options returns the options of computations whose runs the directory records.
func (d *Directory) Options() experiment.Options {
	o := d.options.Compute
	o.Recorder = d.Writer
	if d.Scenario.Settings.Run.Seeds.UntilCertain() {
		o.Next = func() ([]int, error) {
			c, err := Settle(d.Scenario, d.Writer.Runs())
			if err != nil {
				return nil, err
			}
			return c.Places, nil
		}
	}
	if d.options.Every > 0 && !d.options.Whole {
		o.Checkpoints = checkpoint.Policy{Store: d.Writer, Every: d.options.Every, Clock: o.Clock}
	}
	return o
}

// Tables returns the errors of the experiments of a scenario that ask for a table of them.
func Tables(s *scenario.Scenario, runs []results.Run) (all []*results.ErrorGrid) {
	for i := range s.Experiments {
		if e := &s.Experiments[i]; e.Table != nil {
			if own := of(e, runs); len(own) > 0 {
				all = append(all, results.NewErrorGrid(own, *e.Table, e.Sources()))
			}
		}
	}
	return all
}

// of returns the runs of an experiment.
func of(e *scenario.Experiment, runs []results.Run) []results.Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r results.Run) bool { return r.Experiment != e.Name })
}

// Certain says how certain the results of a scenario are whose seeds are added until they are.
type Certain struct {
	Places   []int // of the runs that must be there before more can be decided; none: no more are made
	Settled  bool
	Report   any // as JSON
	Sections results.Sections
	Leaders  []results.Settled
	Caption  func(experiment string) string // what is settled, in a line
}

// untilCertain judges runs; the file of a room sets it.
var untilCertain func(s *scenario.Scenario, runs []results.Run) (*Certain, error)

// Settle judges the runs of a scenario; nil: it has a list of seeds.
func Settle(s *scenario.Scenario, runs []results.Run) (*Certain, error) {
	if untilCertain == nil || !s.Settings.Run.Seeds.UntilCertain() {
		return nil, nil
	}
	return untilCertain(s, runs)
}

// Summarize summarizes the runs of a scenario.
func Summarize(s *scenario.Scenario, runs []results.Run) results.Summary {
	summary := results.Summarize(runs, s.Targets())
	if c, err := Settle(s, runs); err == nil && c != nil {
		summary.Settle(c.Leaders)
	}
	return summary
}

// ofRooms make sections with files of the runs of a scenario: the file of each adds its own. Their order is that of
// the names of the files.
var ofRooms []func(s *scenario.Scenario, runs []results.Run) results.Sections

// hasRanks is set by the file of ranks, without which a program cannot make them.
var hasRanks bool

// requireRanks reports an experiment that asks for ranks of a program without them.
func requireRanks(s *scenario.Scenario) error {
	for i := range s.Experiments {
		if s.Experiments[i].Ranks && !hasRanks {
			return fmt.Errorf("experiment %q: ranks = true: this fedsim was built without ranks: leave the key out",
				s.Experiments[i].Name)
		}
	}
	return nil
}

// made returns the sections that have files: tables, then those of rooms.
func made(s *scenario.Scenario, runs []results.Run) (list results.Sections) {
	for _, t := range Tables(s, runs) {
		list = append(list, t.Section())
	}
	for _, of := range ofRooms {
		list = append(list, of(s, runs)...)
	}
	return list
}

// Sections returns what is to be said of the runs of a scenario; without all, what fits a screen.
func Sections(s *scenario.Scenario, runs []results.Run, all bool) (list results.Sections) {
	if summary := Summarize(s, runs); all {
		list = summary.Sections()
	} else {
		list = summary.Short()
	}
	for _, e := range s.Experiments {
		if all && e.Description != "" {
			list = append(list, results.Section{Title: e.Name + ": " + e.Description})
		}
	}
	return slices.Concat(list, made(s, runs), results.Details(runs, all))
}

// Shown returns what fedsim show says of the runs: all targets, and the ends of the runs.
func Shown(s *scenario.Scenario, runs []results.Run) results.Sections {
	return slices.Concat(Summarize(s, runs).Shown(), made(s, runs), results.Details(runs, false))
}

// Complete makes tables, ranks methods, draws the figures and completes the directory. Its State is complete, or
// incomplete where runs are absent. The results are saved even if drawing failed: see Undrawn.
func (d *Directory) Complete() error {
	for _, file := range made(d.Scenario, d.Writer.Runs()).Files() {
		if err := d.Writer.AddTable(file.Name, file.Write); err != nil {
			return err
		}
		d.Tables = append(d.Tables, file.Name)
	}
	if !d.options.NoFigures {
		d.Figures, d.Undrawn = d.draw()
	}
	state := rundir.Complete
	settled, err := Settle(d.Scenario, d.Writer.Runs())
	if err != nil {
		return err
	}
	if settled != nil {
		d.Unsettled = !settled.Settled
		if err := d.Writer.Settle(settled.Report); err != nil {
			return err
		}
	}
	if d.Unsettled || len(d.Writer.Absent()) > 0 {
		state = rundir.Incomplete
	}
	return d.finish(state)
}

// Save saves the results so far, to be resumed unless the run is Whole. Without a finished run
// there are none, and State stays empty.
func (d *Directory) Save() error {
	switch {
	case len(d.Writer.Runs()) > 0:
		return d.finish(rundir.Incomplete)
	case d.Writer.Resumable():
		return d.Writer.Suspend()
	default:
		return nil
	}
}

func (d *Directory) finish(state rundir.State) error {
	end := rundir.End{At: d.options.Compute.Clock()}
	if d.options.End != nil {
		end = d.options.End()
	}
	if err := d.Writer.Finish(state, end); err != nil {
		return errors.Join(d.Undrawn, err)
	}
	if d.Undrawn != nil {
		hint := fmt.Errorf("the results are saved; draw the figures with: fedsim plot %s", quote.Shell(d.Writer.Dir()))
		d.Undrawn = errors.Join(d.Undrawn, hint)
	}
	d.State = state
	return nil
}

// Close closes the directory after an error, which may be nil, and returns the error. A checkpoint
// stays, and the error says how to resume it. After an error in the scenario the checkpoint is
// removed, because a checkpoint cannot be resumed with another scenario.
func (d *Directory) Close(err error) error {
	w := d.Writer
	_, several := errors.AsType[config.Errors](err)
	if _, one := errors.AsType[config.Problem](err); one || several {
		w.DropCheckpoint()
	}
	err = errors.Join(err, w.Discard())
	if err == nil || d.Unsettled || experiment.Interrupted(err) || errors.Is(err, rundir.ErrCheckpoint) ||
		!w.Resumable() {
		return err
	}
	return fmt.Errorf("%w; the checkpoint is saved: fix the cause, then %s", err, d.hint(true))
}

// Hint says how to resume the run with the same settings.
func (d *Directory) Hint() string { return d.hint(false) }

// hint says how to resume the run, with the flags that it needs for the programs that it starts. A model that has
// been corrected is another program than before.
func (d *Directory) hint(corrected bool) string {
	dir := quote.Shell(d.Writer.Dir())
	if d.options.Program != nil {
		return "start the driver with --resume " + dir
	}
	allow := [2]string{}
	for _, e := range d.Scenario.Experiments {
		for _, j := range e.Jobs {
			run := &j.Candidates[0]
			model := run.Settings.Problem.Model == mtl.ModelExternal
			if _, learner := run.Options.(algorithms.Outside); model || learner {
				allow[0] = " --allow-external"
			}
			if model && corrected {
				allow[1] = " --allow-other-program"
			}
		}
	}
	return "resume with: fedsim run --resume " + dir + allow[0] + allow[1]
}

// About returns the record of a scenario in the run directory.
func About(s *scenario.Scenario, o Options) (about rundir.About, err error) {
	if err := requireRanks(s); err != nil {
		return about, err
	}
	resolved, err := s.Resolved()
	if err != nil {
		return about, err
	}
	o.complete()
	sources := s.DataSources(false)
	if o.Program != nil { // the data of the scenario say how many clients there are
		sources = []string{"of the driver, " + o.Program.Name}
	}
	files, err := DataFiles(s)
	if err != nil {
		return about, err
	}
	seeds, total := s.Settings.Run.Seeds, experiment.Total(s.Experiments)
	if seeds.UntilCertain() {
		seeds = nil
		if _, err := Settle(s, nil); err != nil {
			return about, err
		}
	}
	return rundir.About{
		Version: o.Version, Command: o.Command, Program: o.Program,
		Seeds: seeds, Data: strings.Join(sources, "; "), DataFiles: files,
		Scenario: resolved, Targets: s.Targets(), Started: o.Compute.Clock(),
		Runs: total, Every: o.Every, Resumable: !o.Whole,
	}, nil
}

// complete sets the clock, and the functions that are nil.
func (o *Options) complete() {
	if o.Compute.Clock == nil {
		o.Compute.Clock = time.Now
	}
	if o.Permit == nil {
		o.Permit = func(*scenario.Scenario) error { return nil }
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
}

// DirOf returns the run directory of a scenario.
func (o *Options) DirOf(s *scenario.Scenario) string {
	if o.Dir != "" {
		return o.Dir
	}
	return filepath.Join("runs", s.Name)
}
