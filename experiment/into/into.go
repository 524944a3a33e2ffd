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

	"fedsim/config"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/outside/external"
	"fedsim/internal/rooms/ranking"
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

	// Compute sets how runs and tables are computed. Recorder and Checkpoints are those of the
	// directory. Clock may be nil: that of the system.
	Compute experiment.Options

	Version string            // of the program, for the manifest
	Command []string          // its command line, likewise
	Driver  *rundir.Driver    // the other program that drives the run; nil: none
	End     func() rundir.End // how the run ended, for the manifest; nil: the time

	// Permit says whether a scenario may run, which may start programs; nil: each may. Nothing
	// is created after an error.
	Permit func(*scenario.Scenario) error
	// Begins is called when Resume starts a run from the beginning, because its directory has
	// no checkpoint; nil: not called.
	Begins func()
}

type (
	// Table has the errors of an experiment with a table, by method and point.
	Table = results.ErrorGrid
	// Ranking has the ranks of the methods of an experiment.
	Ranking = ranking.Table
)

// Directory is the run directory of a scenario that is being run. The caller closes it.
type Directory struct {
	Scenario *scenario.Scenario
	Writer   *rundir.Writer // the recorder of the runs
	Tables   []*Table       // of experiments with a table, after Complete
	Ranks    []*Ranking     // of experiments with ranks, likewise
	Figures  []string       // file names of those drawn
	Undrawn  error          // why figures are not drawn, and how to draw them
	State    rundir.State   // empty before Complete or Save wrote results

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
	if d.options.Every > 0 && !d.options.Whole {
		o.Checkpoints = checkpoint.Policy{Store: d.Writer, Every: d.options.Every, Clock: o.Clock}
	}
	return o
}

// Tables returns the tables of the experiments of a scenario that ask for them.
func Tables(s *scenario.Scenario, runs []results.Run) (all []*Table) {
	for i := range s.Experiments {
		e := &s.Experiments[i]
		own := slices.DeleteFunc(slices.Clone(runs), func(r results.Run) bool { return r.Experiment != e.Name })
		if e.Table != nil && len(own) > 0 {
			all = append(all, results.NewErrorGrid(own, *e.Table, e.Sources()))
		}
	}
	return all
}

// Ranks returns the ranks of the experiments of a scenario that ask for them.
func Ranks(s *scenario.Scenario, runs []results.Run) (all []*Ranking) {
	for _, e := range s.Experiments {
		own := slices.DeleteFunc(slices.Clone(runs), func(r results.Run) bool { return r.Experiment != e.Name })
		if e.Ranks && len(own) > 0 {
			all = append(all, ranking.New(own, e.Jobs[0].Candidates[0].Settings.Run.Targets, overlapIn(&e)))
		}
	}
	return all
}

// overlapIn returns the overlap of the runs of an experiment whose seeds split given rows: t/((1-t)(1-v)) for shares t
// of test rows and v of validation rows in the others, on which winners train with experiment.tuning.refit.
func overlapIn(e *scenario.Experiment) ranking.Overlap {
	return func(r *results.Run) float64 {
		at := slices.IndexFunc(e.Jobs, func(j scenario.Job) bool {
			return j.Candidates[0].Label == r.Method && slices.Equal(j.Candidates[0].Point, r.Point)
		})
		s := &e.Jobs[at].Candidates[0].Settings
		given, _ := s.Data.OrFallback()
		if s.Run.Vary == results.VarySystem || s.Run.Vary == results.VaryAll && given.Generates() {
			return 0
		}
		training := 1 - s.Data.TestFraction
		if !e.Tuning.Refit {
			training *= 1 - s.Data.Validation
		}
		return s.Data.TestFraction / training
	}
}

// Complete makes tables, ranks methods, draws the figures and completes the directory. Its State is complete, or incomplete
// where runs are absent. The results are saved even if drawing failed: see Undrawn.
func (d *Directory) Complete() error {
	d.Tables, d.Ranks = Tables(d.Scenario, d.Writer.Runs()), Ranks(d.Scenario, d.Writer.Runs())
	for _, t := range d.Tables {
		for _, file := range t.Files() {
			if err := d.Writer.AddTable(file.Name, file.Write); err != nil {
				return err
			}
		}
	}
	for _, t := range d.Ranks {
		for _, file := range t.Files() {
			if err := d.Writer.AddTable(file.Name, file.Write); err != nil {
				return err
			}
		}
	}
	if !d.options.NoFigures {
		d.Figures, d.Undrawn = d.draw()
	}
	state := rundir.Complete
	if len(d.Writer.Absent()) > 0 {
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
	if err == nil || experiment.Interrupted(err) || errors.Is(err, rundir.ErrCheckpoint) || !w.Resumable() {
		return err
	}
	return fmt.Errorf("%w; the checkpoint is saved: fix the cause, then %s", err, d.hint(true))
}

// Hint says how to resume the run as it is.
func (d *Directory) Hint() string { return d.hint(false) }

// hint says how to resume the run, with the flags that it needs for the programs that it starts. A model that has
// been corrected is another program than before.
func (d *Directory) hint(corrected bool) string {
	dir := quote.Shell(d.Writer.Dir())
	if d.options.Driver != nil {
		return "start the driver with --resume " + dir
	}
	allow := [2]string{}
	for _, e := range d.Scenario.Experiments {
		for _, j := range e.Jobs {
			run := &j.Candidates[0]
			model := run.Settings.Problem.Model == mtl.ModelExternal
			if _, learner := external.Of(run.Options); model || learner {
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
	resolved, err := s.Resolved()
	if err != nil {
		return about, err
	}
	o.complete()
	sources := s.DataSources(false)
	if o.Driver != nil { // the data of the scenario say how many clients there are
		sources = []string{"of the driver, " + o.Driver.Name}
	}
	return rundir.About{
		Version: o.Version, Command: o.Command, Driver: o.Driver,
		Seeds: s.Settings.Run.Seeds, Data: strings.Join(sources, "; "),
		Scenario: resolved, Targets: s.Targets(), Started: o.Compute.Clock(),
		Runs: experiment.Total(s.Experiments), Every: o.Every, Resumable: !o.Whole,
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
	if o.Begins == nil {
		o.Begins = func() {}
	}
}

// DirOf returns the run directory of a scenario.
func (o *Options) DirOf(s *scenario.Scenario) string {
	if o.Dir != "" {
		return o.Dir
	}
	return filepath.Join("runs", s.Name)
}
