package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fedsim/data"
	"fedsim/engine"
	"fedsim/experiment"
	"fedsim/mtl/crossval"
	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// runFlags are the flags of fedsim run.
type runFlags struct {
	line     []string // the command line they are from
	set      []string
	seed     uint64
	out      string
	workers  int
	force    bool
	quiet    bool
	json     bool
	queue    string
	progress string
	profiles profiles
	timeline timelineFlags
	resumeFlags
}

// newRun returns the command; line is the command line, for the manifest.
func newRun(line []string) *cobra.Command {
	f := runFlags{line: line}
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Run a scenario: simulate, draw its figures, print its table",
		Long: `Run a scenario: simulate, draw its figures, print its table.

SCENARIO is a file, or the bare name of a scenario that is shipped (see
"fedsim scenarios list"). What comes of it goes to a directory of its own:
manifest.json, scenario.toml, rounds.csv, rounds.parquet, runs.csv, figures and crossval. The first
interrupt (Ctrl-C) ends the runs after their round, and tables in the middle of a fit,
and saves them. --resume DIR resumes them, and a run that was killed or whose disk was
full, from the last checkpoint; the results are those of a run without the interruption.
Given SCENARIO as well, it starts the run when there is nothing to resume: a command
that can be repeated until the run is complete. A checkpoint is never overwritten
without --force.

A scenario of several methods begins with an estimate when its runs take over 10 s: the
first rounds of each method are timed, for about a second in all.`,
		Example: `  fedsim run quickstart
  fedsim run scenarios/lte-high-var.toml --out runs/tonight
  fedsim run fig1-statistical --set data.source=uci-har --set data.path=har.zip
  fedsim run quickstart --set network.profile=3g --set 'run.seeds=[1, 2]'
  fedsim run outage --timeline outage.json --timeline-rounds 1:20
  fedsim run --resume runs/quickstart
  fedsim run quickstart --resume runs/quickstart`,
		Args:              f.arguments,
		ValidArgsFunction: first(completeScenario),
		RunE: func(cmd *cobra.Command, args []string) error {
			sets := f.set
			if cmd.Flags().Changed("seed") {
				sets = append(slices.Clone(sets), fmt.Sprintf("run.seeds=[%d]", f.seed))
			}
			return f.run(cmd, args, sets)
		},
	}
	addSet(cmd, &f.set, "")
	flags := cmd.Flags()
	flags.Uint64Var(&f.seed, "seed", 0, "run with this seed alone: short for --set run.seeds=[N]")
	flags.StringVar(&f.out, "out", "", "directory for the results (default runs/<scenario name>)")
	completeFlag(cmd, "out", completeDirectory)
	flags.BoolVar(&f.force, "force", false, "overwrite a run that is there, complete or unfinished")
	f.addComputing(cmd)
	f.addQuiet(cmd)
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON (docs/json.md)")
	f.timeline.add(flags)
	f.resumeFlags.add(cmd)
	return cmd
}

// addQuiet gives cmd the flag --quiet.
func (f *runFlags) addQuiet(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "no progress, and of what came of it no text: errors alone, and JSON where it is asked for")
}

// addComputing gives cmd the flags that say how, not what, is computed.
func (f *runFlags) addComputing(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.workers, "workers", 0, "how many cores to use; 0: all; changes no result")
	flags.StringVar(&f.queue, "queue", engine.DefaultQueue, "event queue: "+strings.Join(engine.Queues(), ", ")+"; changes no result")
	f.profiles.add(flags)
	flags.StringVar(&f.progress, "progress", progressAuto, "progress on standard error: "+strings.Join(progressNames, ", "))
	completeFlag(cmd, "queue", oneOf(engine.Queues()))
	completeFlag(cmd, "progress", oneOf(progressNames))
}

// addSet gives cmd the flag --set, for keys under the prefix.
func addSet(cmd *cobra.Command, into *[]string, prefix string) {
	cmd.Flags().StringArrayVar(into, "set", nil, "set a key of the scenario, as in --set network.profile=3g; repeatable, the last one counts")
	completeFlag(cmd, "set", completeSet(prefix))
}

// check reports flags with values that mean nothing.
func (f *runFlags) check() error {
	switch {
	case f.quiet && f.progress == progressPlain:
		return usagef("--quiet: must be left out with --progress=%s, which is its contrary", progressPlain)
	case f.workers < 0:
		return usagef("--workers=%d: must not be negative; 0 is one per core", f.workers)
	case !slices.Contains(engine.Queues(), f.queue):
		return usagef("--queue=%s: must be one of %s", f.queue, strings.Join(engine.Queues(), ", "))
	case !slices.Contains(progressNames, f.progress):
		return usagef("--progress=%s: must be one of %s", f.progress, strings.Join(progressNames, ", "))
	default:
		return nil
	}
}

// run does everything: all that can be refused is, before anything is computed.
func (f *runFlags) run(cmd *cobra.Command, args []string, sets []string) (err error) {
	if err := errors.Join(f.check(), f.resumeFlags.check(cmd)); err != nil {
		return err
	}
	scenario, w, watched, err := f.open(cmd, args, sets)
	if err != nil {
		if errors.Is(err, rundir.ErrComplete) {
			return f.nothingToResume(cmd, err)
		}
		return err
	}
	defer func() { err = discard(w, err) }()
	stop, err := f.profiles.start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	p := f.newProgress(cmd)
	estimate := p.estimate()
	if f.resume != "" {
		estimate = nil // a part is done, and progress tells what is left
	}
	err = experiment.Run(cmd.Context(), scenario.Experiments, f.keeping(w, experiment.Options{
		Estimate: estimate,
		Workers:  f.workers, Queue: f.queue, Journal: watched.journal(),
		Progress: p.update, Rounds: w.Rounds, Devices: devicesOf(w), Model: modelsOf(w), Clock: time.Now,
	}))
	var made []*crossval.Result
	if err == nil {
		made, err = f.makeTables(cmd.Context(), w, scenario, p)
	}
	p.end()
	if unseen := w.Followed(); unseen != nil { // no reason to fail: nothing is missing in the end
		complain(cmd.ErrOrStderr(), fmt.Errorf("warning: %w", unseen))
	}
	if err != nil {
		if experiment.Interrupted(err) {
			return errors.Join(f.keep(cmd, w, scenario, made, err), watched.write(f.text(cmd)))
		}
		return err
	}
	figures, drawn := draw(w, scenario)
	// What was computed is kept even when it could not be drawn.
	if err := w.Finish(rundir.Complete, ended()); err != nil {
		return errors.Join(drawn, err)
	}
	return errors.Join(drawn, f.summarise(cmd, w, rundir.Complete, scenario, made, figures), watched.write(f.text(cmd)), stalls(w.Runs()))
}

// discard closes a run directory after err, which may be nil. A checkpoint that can be
// resumed stays, and the error says how to resume it. An error of the scenario removes it:
// with another scenario nobody can resume it.
func discard(w *rundir.Writer, err error) error {
	if isUsage(err) {
		w.Forget()
	}
	err = errors.Join(err, w.Discard())
	if err == nil || experiment.Interrupted(err) || errors.Is(err, rundir.ErrKept) || !w.Resumable() {
		return err
	}
	return fmt.Errorf("%w; the checkpoint stays: fix the cause, then resume with: fedsim run --resume %s", err, w.Dir())
}

// text is where is said what came of a run, in words.
func (f *runFlags) text(cmd *cobra.Command) io.Writer {
	if f.quiet || f.json {
		return io.Discard
	}
	return cmd.OutOrStdout()
}

// newProgress returns the display that the flags ask for.
func (f *runFlags) newProgress(cmd *cobra.Command) *progress {
	kind := f.progress
	if f.quiet {
		kind = progressNone
	}
	return newProgress(cmd.ErrOrStderr(), kind, time.Now)
}

// devicesOf lets the rows by device of runs go to the run directory.
func devicesOf(w *rundir.Writer) func(int, results.Run) (experiment.DeviceRows, error) {
	return func(index int, run results.Run) (experiment.DeviceRows, error) {
		rows, err := w.Devices(index, run)
		if err != nil {
			return nil, err
		}
		return rows, nil
	}
}

// modelsOf lets the final models of runs go to the run directory.
func modelsOf(w *rundir.Writer) func(int, *data.Matrix) error {
	return func(index int, m *data.Matrix) error {
		return w.Model(index, m.Rows, m.Cols, m.Row)
	}
}

// open makes the run directory of a scenario, or opens that of an unfinished run.
func (f *runFlags) open(cmd *cobra.Command, args []string, sets []string) (*scenarios.Scenario, *rundir.Writer, *watch, error) {
	if f.resume != "" {
		s, w, err := f.reopen(cmd, args, sets)
		return s, w, nil, err
	}
	s, err := scenarios.Load(args[0], sets)
	if err != nil {
		return nil, nil, nil, err
	}
	if !f.quiet {
		tell(cmd.ErrOrStderr(), s)
	}
	timeline, err := f.timeline.plan(cmd.Flags(), s)
	if err != nil {
		return nil, nil, nil, err
	}
	w, err := f.create(s, true)
	return s, w, timeline, err
}

// create makes the run directory, which keeps what is unfinished or does not.
func (f *runFlags) create(s *scenarios.Scenario, keeps bool) (*rundir.Writer, error) {
	about, err := f.about(s)
	if err != nil {
		return nil, err
	}
	about.Keeps = keeps
	dir := f.out
	if dir == "" {
		dir = filepath.Join("runs", s.Name)
	}
	return rundir.Create(dir, f.force, about)
}

// about is what the run directory records of a scenario that can be run here.
func (f *runFlags) about(s *scenarios.Scenario) (about rundir.About, err error) {
	if err := requireRoom(s); err != nil {
		return about, err
	}
	resolved, err := s.Resolved()
	if err != nil {
		return about, err
	}
	from, err := sources(s)
	if err != nil {
		return about, err
	}
	return rundir.About{
		Version:  readVersion().String(),
		Command:  f.line,
		Seeds:    s.Settings.Run.Seeds,
		Data:     from,
		Scenario: resolved,
		Targets:  s.Settings.Run.Targets,
		Started:  time.Now(),
		Runs:     experiment.Total(s.Experiments),
	}, nil
}

// keep writes what was finished when the user stopped the run.
func (f *runFlags) keep(cmd *cobra.Command, w *rundir.Writer, s *scenarios.Scenario, made []*crossval.Result, interrupt error) error {
	if len(w.Runs()) == 0 && len(made) == 0 {
		first := "run"
		if len(s.Experiments) == 0 {
			first = "table"
		}
		outcome := fmt.Sprintf("interrupted before the first %s, ", first)
		if w.Resumable() {
			if err := w.Leave(); err != nil {
				return err
			}
			return interrupted{outcome + goOn(w), interrupt}
		}
		return interrupted{outcome + "nothing is kept", interrupt}
	}
	if err := w.Finish(rundir.Incomplete, ended()); err != nil {
		return err
	}
	if err := f.summarise(cmd, w, rundir.Incomplete, s, made, nil); err != nil {
		return err
	}
	finished := 0
	for _, r := range w.Runs() {
		if r.Status != results.Interrupted {
			finished++
		}
	}
	progress := fmt.Sprintf("%d of %d runs", finished, experiment.Total(s.Experiments))
	if len(s.Tables) > 0 {
		progress += fmt.Sprintf(" and %d of %d tables", len(made), len(s.Tables))
	}
	outcome := fmt.Sprintf("interrupted with %s finished, which %s keeps", progress, w.Dir())
	if w.Resumable() {
		outcome += "; " + goOn(w)
	}
	return interrupted{outcome, interrupt}
}

// draw draws the figure of each experiment from its runs.
func draw(w *rundir.Writer, s *scenarios.Scenario) (files []string, err error) {
	dir, err := w.FiguresDir()
	if err != nil {
		return nil, err
	}
	return drawInto(dir, s, w.Runs())
}

// drawInto draws the figures of all experiments that have runs, those of
// [plots.Default] where the scenario describes none. The error tells of figures that
// cannot be drawn.
func drawInto(dir string, s *scenarios.Scenario, runs []results.Run) (files []string, err error) {
	for _, e := range s.Experiments {
		var own []results.Run
		for _, r := range runs {
			if r.Experiment == e.Name {
				own = append(own, r)
			}
		}
		if len(own) == 0 && e.Figure == nil {
			continue
		}
		figure := plots.Default(own)
		if e.Figure != nil {
			figure = *e.Figure
		}
		names, failed := plots.Save(dir, figure, own)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("figure of experiment %s: %w", e.Name, failed))
			continue
		}
		files = append(files, names...)
	}
	return files, err
}

// summarise prints the tables and where everything is, as the flags ask for it.
func (f *runFlags) summarise(cmd *cobra.Command, w *rundir.Writer, state rundir.State, s *scenarios.Scenario, made []*crossval.Result, figures []string) error {
	if f.json {
		return writeJSON(cmd.OutOrStdout(), newSummary(w, state, s, made, figures))
	}
	out := f.text(cmd)
	if err := results.Summary(w.Runs(), s.Settings.Run.Targets).WriteText(out, textWidth()); err != nil {
		return err
	}
	if err := printTables(out, made, len(w.Runs()) > 0); err != nil {
		return err
	}
	return errors.Join(results.WriteEdges(out, w.Runs()), located(out, w, figures), locatedTables(out, w, made))
}

// located prints where the results and figures are.
func located(out io.Writer, w *rundir.Writer, figures []string) error {
	if _, err := fmt.Fprintf(out, "\nresults: %s\n", w.Dir()); err != nil {
		return err
	}
	for _, name := range figures {
		if _, err := fmt.Fprintf(out, "figure:  %s\n", filepath.Join(w.Dir(), "figures", name)); err != nil {
			return err
		}
	}
	return nil
}

// sources says in one line where the data of all runs and tables come from.
func sources(s *scenarios.Scenario) (string, error) {
	var all []string
	for _, e := range s.Experiments {
		for _, j := range e.Jobs {
			if text := source(j.Candidates[0].Settings.Data); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	of, err := tableSources(s)
	return strings.Join(append(all, of...), "; "), err
}

func source(c data.Config) string {
	text := "generated"
	switch {
	case c.Source != data.SourceSynthetic:
		text = c.Source + " " + c.Path
		if c.Source == data.SourceCSV && data.GeneratedFile(c.Path) {
			text += ", generated"
		}
	case c.Preset != "":
		text += ", with the sizes of " + c.Preset
	}
	if c.Target == data.TargetReal {
		text += ", real targets"
	}
	return text
}
