package command

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/plainjson"
	"fedsim/internal/tools/quote"
	"fedsim/results"
	"fedsim/results/rundir"
)

type runFlags struct {
	line []string // the command line, for the manifest
	set  []string
	seed uint64
	directoryFlags
	computeFlags
	outputFlags
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
				if f.seed > math.MaxInt64 {
					return usagef("--seed=%d: must be at most %d, as the integers of a scenario", f.seed, int64(math.MaxInt64))
				}
				sets = append(slices.Clone(sets), fmt.Sprintf("run.seeds=[%d]", f.seed))
			}
			return f.run(cmd, args, sets)
		},
	}
	addSet(cmd, &f.set, "")
	flags := cmd.Flags()
	flags.Uint64Var(&f.seed, "seed", 0, "run with one seed; same as --set run.seeds=[N]")
	f.directoryFlags.add(cmd, "runs/<scenario name>")
	f.computeFlags.add(cmd)
	f.addQuiet(cmd)
	f.addNoFigures(cmd)
	flags.BoolVar(&f.all, "all", false, "print the tables of all targets; without it, those of the last target. \"fedsim results show\" prints them later")
	f.addJSON(cmd)
	f.timeline.add(flags)
	f.resumeFlags.add(cmd)
	addOtherProgram(cmd, &f.otherProgram, resumeOther)
	return cmd
}

// addSet adds the flag --set for keys with the prefix.
func addSet(cmd *cobra.Command, into *[]string, prefix string) {
	cmd.Flags().StringArrayVar(into, "set", nil, "set a scenario key, as in --set network.profile=3g; repeatable, the last value wins")
	completeFlag(cmd, "set", completeSet(prefix))
}

// run runs a scenario. It checks everything that it can before it computes anything.
func (f *runFlags) run(cmd *cobra.Command, args []string, sets []string) (err error) {
	if err := errors.Join(f.computeFlags.check(f.quiet), f.resumeFlags.check(cmd)); err != nil {
		return err
	}
	if f.otherProgram && f.resume == "" {
		return usagef("--allow-other-program: needs --resume")
	}
	p := f.display(cmd, f.quiet)
	d, watched, err := f.open(cmd, args, sets, p)
	if errors.Is(err, rundir.ErrComplete) {
		return f.alreadyComplete(cmd, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = d.Close(err) }()

	waitsForRounds(cmd.Context())
	err = d.Run(cmd.Context())
	p.end()
	p.note(results.ProgramTimeText(d.Writer.Runs()))
	if unseen := d.Writer.ProgressErr(); unseen != nil { // only a warning: the results are complete
		printError(cmd.ErrOrStderr(), fmt.Errorf("warning: %w", unseen))
	}
	switch {
	case experiment.Interrupted(err):
		return errors.Join(f.interrupted(cmd, d, err), watched.write(f.text(cmd)))
	case err != nil:
		return err
	}
	return f.conclude(cmd, d, watched)
}

// open creates the run directory of a scenario, or opens that of an unfinished run.
func (f *runFlags) open(cmd *cobra.Command, args []string, sets []string, p *progress) (*into.Directory, *watch, error) {
	o := f.directoryFlags.options(f.line)
	o.Compute, o.Permit, o.Every = f.computeFlags.options(cmd), f.permit(cmd), f.every()
	o.Compute.Progress = p.update
	var s *scenario.Scenario
	if len(args) > 0 {
		var err error
		if s, err = scenario.Load(args[0], sets); err != nil {
			return nil, nil, err
		}
	}
	if f.resume != "" {
		d, err := f.reopen(f.notes(cmd), s, o)
		return d, nil, err
	}
	printNotes(f.notes(cmd), s)
	watched, err := f.timeline.plan(cmd.Flags(), s)
	if err != nil {
		return nil, nil, err
	}
	if err := checkRuns(cmd.Context(), f.notes(cmd), s); err != nil {
		return nil, nil, err
	}
	figures := 0.0
	if !f.noFigures {
		figures = experiment.FigureSeconds(s.Experiments)
	}
	o.Compute.Journal, o.Compute.Estimate = watched.journal(), p.estimate(figures, f.workers)
	d, err := into.Create(s, o)
	return d, watched, err
}

// conclude prints the summary and the timelines of runs that are complete.
func (f *outputFlags) conclude(cmd *cobra.Command, d *into.Directory, watched *watch) error {
	return errors.Join(d.Undrawn, f.summarize(cmd, d), watched.write(f.text(cmd)), stalls(d.Writer.Runs()))
}

// interrupted prints the summary of the results that an interrupted run has saved, and returns
// the error that says how to resume it.
func (f *outputFlags) interrupted(cmd *cobra.Command, d *into.Directory, interrupt error) error {
	s, resumable := d.Scenario, d.Writer.Resumable()
	if d.State == "" {
		hint := "nothing is saved"
		if resumable {
			hint = d.Hint()
		}
		return interrupted{"interrupted before the end of the first run; " + hint, interrupt}
	}
	if err := f.summarize(cmd, d); err != nil {
		return err
	}
	outcome := fmt.Sprintf("interrupted with %d of %d runs finished; results so far: %s", into.Finished(d.Writer.Runs()), experiment.Total(s.Experiments), d.Writer.Dir())
	if resumable {
		outcome += "; " + d.Hint()
	}
	return interrupted{outcome, interrupt}
}

// summarize prints the summary in the format of the flags.
func (f *outputFlags) summarize(cmd *cobra.Command, d *into.Directory) error {
	w, runs := d.Writer, d.Writer.Runs()
	if f.json {
		return plainjson.Print(cmd.OutOrStdout(), newSummary(d.Scenario, d.State, w.Dir(), runs, w.Absent(), d.Tables, d.Figures))
	}
	width, table := textWidth(), results.Summarize(runs, d.Scenario.Targets())
	var b strings.Builder
	if f.all {
		b.WriteString(table.Text(width) + descriptions(d.Scenario, width) + tablesText(d.Tables) + results.ErrorsText(runs, width) +
			ranksText(d.Ranks) + results.SearchedText(runs, width) + results.EdgesText(runs) + droppedText(runs))
	} else {
		b.WriteString(table.Short(width) + descriptions(d.Scenario, width) + tablesText(d.Tables) + shortErrors(runs, width) + ranksText(d.Ranks) +
			shortEdges(runs) + droppedText(runs))
		if len(runs) > 0 {
			fmt.Fprintf(&b, "\nall tables: fedsim results show %s\n", quote.Shell(w.Dir()))
		}
	}
	return printText(f.text(cmd), b.String()+pathsText(d, d.Figures))
}

// descriptions returns what experiments say about themselves.
func descriptions(s *scenario.Scenario, width int) (text string) {
	for _, e := range s.Experiments {
		if e.Description != "" {
			text += "\n" + columns.Wrap(e.Name+": "+e.Description, width, 0) + "\n"
		}
	}
	return text
}

// shortErrors returns the errors at the end with their uncertainty, without those of experiments
// that P compares.
func shortErrors(runs []results.Run, width int) string {
	runs = slices.Clone(runs)
	for _, e := range results.Summarize(runs, nil).Experiments {
		if e.ByP {
			runs = slices.DeleteFunc(runs, func(r results.Run) bool { return r.Experiment == e.Experiment })
		}
	}
	return results.ErrorsText(runs, width)
}

// shortEdges lists the tuned values at an edge, or says how many there are.
func shortEdges(runs []results.Run) string {
	n := 0
	for _, x := range results.EdgesOf(runs) {
		n += len(x.Edges)
	}
	if n < 4 {
		return results.EdgesText(runs)
	}
	return fmt.Sprintf("\ntuned to an edge of the values tried: %d options (docs/tuning.md; --all)\n", n)
}

func tablesText(made []*into.Table) (text string) {
	for _, t := range made {
		text += t.Text(textWidth())
	}
	return text
}

func ranksText(made []*into.Ranking) (text string) {
	for _, t := range made {
		text += t.Text(textWidth())
	}
	return text
}

// droppedText names the rows of data files that the runs are without, since values were missing.
func droppedText(runs []results.Run) (text string) {
	noted := map[string]bool{}
	for i := range runs {
		if d := runs[i].Data; d != nil && d.DroppedRows > 0 && !noted[d.Name] {
			noted[d.Name] = true
			text += fmt.Sprintf("missing: %d rows of %s are left out; \"fedsim data describe\" counts the missing values by column\n",
				d.DroppedRows, quote.Text(d.Name))
		}
	}
	return text
}

// pathsText lists the paths of a run directory, its figures and tables, and its absent runs.
func pathsText(d *into.Directory, figures []string) string {
	var b strings.Builder
	dir := d.Writer.Dir()
	fmt.Fprintf(&b, "\nresults: %s\n", dir)
	for _, name := range figures {
		fmt.Fprintf(&b, "figure:  %s\n", filepath.Join(dir, "figures", name))
	}
	table := func(name string) { fmt.Fprintf(&b, "table:   %s\n", filepath.Join(dir, "tables", name)) }
	for _, t := range d.Tables {
		for _, file := range t.Files() {
			table(file.Name)
		}
	}
	for _, t := range d.Ranks {
		for _, file := range t.Files() {
			table(file.Name)
		}
	}
	if absent := d.Writer.Absent(); len(absent) > 0 {
		fmt.Fprintf(&b, "absent:  %s\n", absentText(absent))
	}
	return b.String()
}

// ended returns the end of a run: the time now and the peak memory.
func ended() rundir.End { return rundir.End{At: time.Now(), PeakMemoryBytes: peakMemory()} }
