package command

import (
	"cmp"
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
	"fedsim/internal/clusters/submit"
	"fedsim/internal/crossval"
	"fedsim/results"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// runFlags are the flags of fedsim run.
type runFlags struct {
	line     []string       // the command line, for the manifest
	driver   *rundir.Driver // of fedsim engine; nil: fedsim runs the methods
	set      []string
	seed     uint64
	out      string
	workers  int
	force    bool
	quiet    bool
	plain    bool // draw no figures
	json     bool
	all      bool // print all tables
	queue    string
	progress string

	allowExternal bool // start the programs of the scenario without asking

	profiles profiles
	timeline timelineFlags
	resumeFlags
}

// newRun returns the command. The manifest records line, the command line.
func newRun(line []string) *cobra.Command {
	f := runFlags{line: line}
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Run a scenario and draw its figures",
		Long: `Run a scenario, print the time to its last target and which method was first, and
draw its figures. --all prints the tables of all targets.

SCENARIO is a file or the name of a shipped scenario ("fedsim scenarios list").
Results are written to a run directory: manifest.json, scenario.toml, rounds.csv,
rounds.parquet, runs.csv, figures/ and tables/; metrics.csv and clients.parquet
for run.client_metrics and for learners with metrics of their own. An existing
run is never overwritten without --force.

An interrupt (Ctrl-C) ends each run after its current round and saves a
checkpoint. To continue after an interrupt, a kill or a full disk, use
--resume DIR. A resumed run gives the same results as an uninterrupted one.
"fedsim run SCENARIO --resume DIR" starts the run if there is no checkpoint, so
the command can be repeated until the run is complete. With a complete run it draws
figures that are missing.

A scenario varies keys by sweeps, all combinations of lists of values, or by
[experiment.sample], points that spread over ranges of keys ("fedsim run sample";
docs/tutorial.md).

An estimate of the processor time is printed if it is over 10 s: that of tuning,
runs, reference optima and figures, from the sizes of data, models and rounds.`,
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
	flags.Uint64Var(&f.seed, "seed", 0, "run with one seed; same as --set run.seeds=[N]")
	flags.StringVar(&f.out, "out", "", "run directory (default runs/<scenario name>)")
	completeFlag(cmd, "out", completeDirectory)
	flags.BoolVar(&f.force, "force", false, "overwrite an existing run or checkpoint")
	f.addComputing(cmd)
	f.addQuiet(cmd)
	flags.BoolVar(&f.plain, "no-figures", false, "do not draw figures; \"fedsim plot\" draws them later")
	flags.BoolVar(&f.all, "all", false, "print the tables of all targets; without it, those of the last target. \"fedsim results show\" prints them later")
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON (docs/json.md)")
	f.timeline.add(flags)
	f.resumeFlags.add(cmd)
	return cmd
}

// addQuiet adds the flag --quiet.
func (f *runFlags) addQuiet(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print errors only, programs that are started, and JSON if --json is given")
}

// addComputing adds the flags that affect how results are computed, not the results.
func (f *runFlags) addComputing(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.workers, "workers", 0, "number of cores to use; 0: all (does not change results)")
	flags.StringVar(&f.queue, "queue", engine.DefaultQueue, "event queue: "+strings.Join(engine.Queues(), ", ")+" (does not change results)")
	f.addAllow(cmd)
	f.profiles.add(flags)
	flags.StringVar(&f.progress, "progress", progressAuto, "show progress on standard error: "+strings.Join(progressNames, ", "))
	completeFlag(cmd, "queue", oneOf(engine.Queues()))
	completeFlag(cmd, "progress", oneOf(progressNames))
}

// addSet adds the flag --set for keys with the prefix.
func addSet(cmd *cobra.Command, into *[]string, prefix string) {
	cmd.Flags().StringArrayVar(into, "set", nil, "set a scenario key, as in --set network.profile=3g; repeatable, the last value wins")
	completeFlag(cmd, "set", completeSet(prefix))
}

// check checks the values of flags.
func (f *runFlags) check() error {
	switch {
	case f.quiet && (f.progress == progressPlain || f.progress == progressJSON):
		return usagef("--quiet: cannot be combined with --progress=%s", f.progress)
	case f.workers < 0:
		return usagef("--workers=%d: must not be negative; 0 uses all cores", f.workers)
	case !slices.Contains(engine.Queues(), f.queue):
		return usagef("--queue=%s: must be one of %s", f.queue, strings.Join(engine.Queues(), ", "))
	case !slices.Contains(progressNames, f.progress):
		return usagef("--progress=%s: must be one of %s", f.progress, strings.Join(progressNames, ", "))
	default:
		return nil
	}
}

// run runs a scenario. It checks everything that it can before it computes anything.
func (f *runFlags) run(cmd *cobra.Command, args []string, sets []string) (err error) {
	if err := errors.Join(f.check(), f.resumeFlags.check(cmd)); err != nil {
		return err
	}
	scenario, w, watched, err := f.open(cmd, args, sets)
	if err != nil {
		if errors.Is(err, rundir.ErrComplete) {
			return f.alreadyComplete(cmd, err)
		}
		return err
	}
	defer func() { err = discard(w, err) }()
	stop, err := f.profiles.start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	waitsForRounds(cmd.Context())
	p := f.newProgress(cmd)
	figures := 0.0
	if !f.plain {
		figures = experiment.FigureSeconds(scenario.Experiments)
	}
	estimate := p.estimate(figures, f.workers)
	if f.resume != "" {
		estimate = nil // a part is done; progress shows the remaining time
	}
	err = experiment.Run(cmd.Context(), scenario.Experiments, experiment.Options{
		Memory:   machineMemory(),
		Estimate: estimate,
		Workers:  f.workers, Queue: f.queue, Journal: watched.journal(),
		Progress: p.update, Clock: time.Now, Stderr: cmd.ErrOrStderr(), Waits: waitsOf(cmd),
		Recorder: w, Checkpoints: f.policy(w),
	})
	var made []*crossval.Result
	if err == nil {
		made, err = f.makeTables(cmd.Context(), w, scenario, p)
	}
	p.end()
	if unseen := w.ProgressErr(); unseen != nil { // only a warning: the results are complete
		printError(cmd.ErrOrStderr(), fmt.Errorf("warning: %w", unseen))
	}
	if err != nil {
		if experiment.Interrupted(err) {
			return errors.Join(f.saveInterrupted(cmd, w, scenario, made, err), watched.write(f.text(cmd)))
		}
		return err
	}
	return f.conclude(cmd, w, scenario, made, watched)
}

// conclude draws the figures, completes the run directory and prints the summary and the
// timelines.
func (f *runFlags) conclude(cmd *cobra.Command, w *rundir.Writer, s *scenarios.Scenario, made []*crossval.Result, watched *watch) error {
	state := rundir.Complete
	if len(w.Absent()) > 0 {
		state = rundir.Incomplete
	}
	var figures []string
	var drawn error
	if !f.plain {
		figures, drawn = draw(w, s)
	}
	// Save the results even if drawing failed.
	if err := w.Finish(state, ended()); err != nil {
		return errors.Join(drawn, err)
	}
	return errors.Join(drawn, f.summarize(cmd, w, state, s, made, figures), watched.write(f.text(cmd)), stalls(w.Runs()))
}

// discard closes a run directory after err, which may be nil. A checkpoint is preserved,
// and the error says how to resume it. After an error in the scenario the checkpoint is
// removed, because a checkpoint cannot be resumed with another scenario.
func discard(w *rundir.Writer, err error) error {
	if isUsage(err) {
		w.DropCheckpoint()
	}
	err = errors.Join(err, w.Discard())
	if err == nil || experiment.Interrupted(err) || errors.Is(err, rundir.ErrCheckpoint) || !w.Resumable() {
		return err
	}
	return fmt.Errorf("%w; the checkpoint is saved: fix the cause, then resume with: fedsim run --resume %s", err, w.Dir())
}

// text returns the writer for text output.
func (f *runFlags) text(cmd *cobra.Command) io.Writer {
	if f.quiet || f.json {
		return io.Discard
	}
	return cmd.OutOrStdout()
}

// notes returns the writer for notes.
func (f *runFlags) notes(cmd *cobra.Command) io.Writer {
	if f.quiet {
		return io.Discard
	}
	return cmd.ErrOrStderr()
}

// newProgress returns the display that the flags request.
func (f *runFlags) newProgress(cmd *cobra.Command) *progress {
	kind := f.progress
	if f.quiet {
		kind = progressNone
	}
	return newProgress(cmd.ErrOrStderr(), kind, time.Now)
}

// open creates the run directory of a scenario, or opens that of an unfinished run.
func (f *runFlags) open(cmd *cobra.Command, args []string, sets []string) (*scenarios.Scenario, *rundir.Writer, *watch, error) {
	if f.resume != "" {
		s, w, err := f.reopen(cmd, args, sets)
		return s, w, nil, err
	}
	s, err := scenarios.Load(args[0], sets)
	if err != nil {
		return nil, nil, nil, err
	}
	printNotes(f.notes(cmd), s)
	timeline, err := f.timeline.plan(cmd.Flags(), s)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := f.permit(cmd, s); err != nil {
		return nil, nil, nil, err
	}
	if err := checkRuns(cmd.Context(), f.notes(cmd), s); err != nil {
		return nil, nil, nil, err
	}
	w, err := f.create(s, true)
	return s, w, timeline, err
}

// create creates the run directory; checkpoints reports whether the run can be resumed.
func (f *runFlags) create(s *scenarios.Scenario, checkpoints bool) (*rundir.Writer, error) {
	if err := requireMemory(s); err != nil {
		return nil, err
	}
	about, err := f.about(s)
	if err != nil {
		return nil, err
	}
	about.Resumable = checkpoints
	return f.createAs(s, about)
}

// createAs creates the run directory of a scenario, as about describes it.
func (f *runFlags) createAs(s *scenarios.Scenario, about rundir.About) (*rundir.Writer, error) {
	return rundir.Create(f.dirOf(s), f.force, about)
}

// dirOf returns the run directory of a scenario.
func (f *runFlags) dirOf(s *scenarios.Scenario) string {
	return cmp.Or(f.out, filepath.Join("runs", s.Name))
}

// about returns the facts that the run directory records about a scenario.
func (f *runFlags) about(s *scenarios.Scenario) (about rundir.About, err error) {
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
		Driver:   f.driver,
		Seeds:    s.Settings.Run.Seeds,
		Data:     from,
		Scenario: resolved,
		Targets:  s.Targets(),
		Started:  time.Now(),
		Runs:     experiment.Total(s.Experiments),
		Every:    f.every(),
	}, nil
}

// saveInterrupted saves the finished results of an interrupted run.
func (f *runFlags) saveInterrupted(cmd *cobra.Command, w *rundir.Writer, s *scenarios.Scenario, made []*crossval.Result, interrupt error) error {
	if len(w.Runs()) == 0 && len(made) == 0 {
		first := "run"
		if len(s.Experiments) == 0 {
			first = "table"
		}
		outcome := fmt.Sprintf("interrupted before the end of the first %s; ", first)
		if w.Resumable() {
			if err := w.Suspend(); err != nil {
				return err
			}
			return interrupted{outcome + resumeHint(w), interrupt}
		}
		return interrupted{outcome + "nothing is saved", interrupt}
	}
	if err := w.Finish(rundir.Incomplete, ended()); err != nil {
		return err
	}
	if err := f.summarize(cmd, w, rundir.Incomplete, s, made, nil); err != nil {
		return err
	}
	progress := fmt.Sprintf("%d of %d runs", finishedOf(w.Runs()), experiment.Total(s.Experiments))
	if len(s.Tables) > 0 {
		progress += fmt.Sprintf(" and %d of %d tables", len(made), len(s.Tables))
	}
	outcome := fmt.Sprintf("interrupted with %s finished; results so far: %s", progress, w.Dir())
	if w.Resumable() {
		outcome += "; " + resumeHint(w)
	}
	return interrupted{outcome, interrupt}
}

// finishedOf counts the runs that were not interrupted.
func finishedOf(runs []results.Run) (n int) {
	for i := range runs {
		if runs[i].Status == results.Done || runs[i].Status == results.Stalled {
			n++
		}
	}
	return n
}

// summarize prints the summary in the format of the flags.
func (f *runFlags) summarize(cmd *cobra.Command, w *rundir.Writer, state rundir.State, s *scenarios.Scenario, made []*crossval.Result, figures []string) error {
	if f.json {
		return writeJSON(cmd.OutOrStdout(), newSummary(w, state, s, made, figures))
	}
	out := f.text(cmd)
	table := results.Summary(w.Runs(), s.Targets())
	write := table.WriteShort
	if f.all {
		write = table.WriteText
	}
	if err := write(out, textWidth()); err != nil {
		return err
	}
	if err := printTables(out, made, len(w.Runs()) > 0); err != nil {
		return err
	}
	return errors.Join(f.printErrors(out, w.Runs()), f.printSearched(out, w.Runs()), f.printEdges(out, w.Runs()), printDropped(out, w.Runs()), f.printMore(out, w), printPaths(out, w, figures), printTablePaths(out, w, made), printAbsent(out, w))
}

// printErrors prints the errors at the end with their uncertainty. Without --all, those of
// experiments that P compares are left out.
func (f *runFlags) printErrors(out io.Writer, runs []results.Run) error {
	if !f.all {
		runs = slices.Clone(runs)
		for _, e := range results.Summary(runs, nil).Experiments {
			if e.ByP {
				runs = slices.DeleteFunc(runs, func(r results.Run) bool { return r.Experiment == e.Experiment })
			}
		}
	}
	return results.WriteErrors(out, runs, textWidth())
}

// printSearched prints with --all what tuning searched.
func (f *runFlags) printSearched(out io.Writer, runs []results.Run) error {
	if !f.all {
		return nil
	}
	return results.WriteSearched(out, runs, textWidth())
}

// printEdges prints the tuned values at an edge, or without --all how many there are.
func (f *runFlags) printEdges(out io.Writer, runs []results.Run) error {
	n := 0
	for _, x := range results.EdgesOf(runs) {
		n += len(x.Edges)
	}
	if f.all || n < 4 {
		return results.WriteEdges(out, runs)
	}
	_, err := fmt.Fprintf(out, "\ntuned to an edge of the values tried: %d options (docs/tuning.md; --all)\n", n)
	return err
}

// printMore says how to see all tables.
func (f *runFlags) printMore(out io.Writer, w *rundir.Writer) error {
	if f.all || len(w.Runs()) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "\nall tables: fedsim results show %s\n", submit.Quote(w.Dir()))
	return err
}

// printPaths prints the paths of the run directory and its figures.
func printPaths(out io.Writer, w *rundir.Writer, figures []string) error {
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

// sources describes the sources of the data of all runs and tables in one line.
func sources(s *scenarios.Scenario) (string, error) {
	of, err := tableSources(s)
	return strings.Join(append(runSources(s, false), of...), "; "), err
}

// runSources describes the sources of the data of runs; missing: only those of generated
// sets in place of missing files.
func runSources(s *scenarios.Scenario, missing bool) []string {
	var all []string
	for _, e := range s.Experiments {
		for _, j := range e.Jobs {
			of := j.Candidates[0].Settings.Data
			if _, inPlaceOf := of.OrFallback(); missing && inPlaceOf == "" {
				continue
			}
			if text := source(of); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

func source(c data.Config) string {
	if made, inPlaceOf := c.OrFallback(); inPlaceOf != "" {
		return source(made) + ", " + inPlaceOf
	}
	text := "generated"
	switch {
	case c.Source == data.SourceExternal:
		return fmt.Sprintf("of the learner, %d clients", c.External.Clients)
	case c.Source == data.SourceAlphaBeta:
		text += ", synthetic(alpha, beta)"
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
