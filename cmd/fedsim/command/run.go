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
	over []string // settings that replace those of a resumed run and change no result
	resumeFlags
	tuneOnly bool
}

// newRun returns the command. The manifest records line, the command line.
func newRun(line []string) *cobra.Command {
	f := runFlags{line: line}
	cmd := &cobra.Command{
		Use:   "run SCENARIO [FLAGS]       SCENARIO: a file or a shipped name\nrun --resume DIR",
		Short: "Run a scenario and draw its figures",
		Long:  "Run a scenario, print the time to its target, and draw its figures.",
		Example: `  fedsim run quickstart
  fedsim run mine.toml --set faults.drop_probability=0.3 --out runs/drops`,
		Annotations: map[string]string{
			ending: "Ctrl-C ends the round and saves a checkpoint. Exit codes: fedsim help codes."},
		Args:              f.arguments,
		ValidArgsFunction: first(completeScenario),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("seed") {
				return f.run(cmd, args, f.set)
			}
			if f.seed > math.MaxInt64 {
				return usagef("--seed=%d: must be at most %d, as the integers of a scenario",
					f.seed, int64(math.MaxInt64))
			}
			return f.run(cmd, args, append(slices.Clone(f.set), fmt.Sprintf("run.seeds=[%d]", f.seed)))
		},
	}
	flags := cmd.Flags()
	f.directoryFlags.add(cmd, "runs/NAME")
	addSet(cmd, &f.set, "")
	f.resumeFlags.add(cmd)
	f.computeFlags.add(cmd)
	f.addNoFigures(cmd)
	f.addJSON(cmd)
	f.addQuiet(cmd)
	flags.Uint64Var(&f.seed, "seed", 0, "`N` run with one seed; same as --set run.seeds=[N]")
	flags.BoolVar(&f.tuneOnly, "tune-only", false,
		"run the tuning grids and print them; --resume DIR runs the winners later")
	addOtherProgram(cmd, &f.otherProgram, resumeOther)
	hide(cmd, "seed", "tune-only", "checkpoint", "progress", "allow-other-program")
	return cmd
}

// addSet adds the flag --set for keys with the prefix.
func addSet(cmd *cobra.Command, into *[]string, prefix string) {
	cmd.Flags().StringArrayVar(into, "set", nil,
		"`KEY=VALUE` change a key; repeatable")
	completeFlag(cmd, "set", completeSet(prefix))
}

// run runs a scenario. It checks everything that it can before it computes anything.
func (f *runFlags) run(cmd *cobra.Command, args []string, sets []string) (err error) {
	if err := errors.Join(f.computeFlags.check(f.quiet), f.resumeFlags.check(cmd)); err != nil {
		return err
	}
	if f.tuneOnly && f.checkpoint == 0 {
		return usagef("--tune-only: cannot be combined with --checkpoint=0, which saves no trials")
	}
	if f.otherProgram && f.resume == "" {
		return usagef("--allow-other-program: needs --resume")
	}
	p := f.display(cmd, f.quiet)
	d, err := f.open(cmd, args, sets, p)
	if errors.Is(err, rundir.ErrComplete) {
		return f.alreadyComplete(cmd, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = d.Close(err) }()

	waitsForRounds(cmd.Context())
	if f.tuneOnly {
		return f.tune(cmd, d, p)
	}
	err = d.Run(cmd.Context())
	p.end()
	p.note(results.ProgramTimeText(d.Writer.Runs()))
	if unseen := d.Writer.ProgressErr(); unseen != nil { // only a warning: the results are complete
		printError(cmd.ErrOrStderr(), fmt.Errorf("warning: %w", unseen))
	}
	switch {
	case experiment.Interrupted(err):
		return f.interrupted(cmd, d, err)
	case err != nil:
		return err
	}
	return f.conclude(cmd, d)
}

// open creates the run directory of a scenario, or opens that of an unfinished run.
func (f *runFlags) open(cmd *cobra.Command, args []string, sets []string,
	p *progress) (d *into.Directory, err error) {
	o := f.directoryFlags.options(f.line)
	o.Compute, o.Permit, o.Every = f.computeFlags.options(cmd), f.permit(cmd), f.every()
	o.Compute.Progress, o.Over = p.update, f.over
	var s *scenario.Scenario
	if len(args) > 0 {
		if s, err = scenario.Load(args[0], sets); err != nil {
			return nil, err
		}
	}
	if f.resume != "" {
		d, err = f.reopen(f.notes(cmd), s, o)
		return d, err
	}
	printNotes(f.notes(cmd), s)
	if err := checkRuns(cmd.Context(), f.notes(cmd), s); err != nil {
		return nil, err
	}
	figures := 0.0
	if !f.noFigures && !f.tuneOnly {
		figures = experiment.FigureSeconds(s.Experiments)
	}
	o.Compute.Estimate = p.estimate(figures, f.workers)
	d, err = into.Create(s, o)
	return d, err
}

// conclude prints the summary of runs that are complete.
func (f *outputFlags) conclude(cmd *cobra.Command, d *into.Directory) error {
	return errors.Join(d.Undrawn, f.summarize(cmd, d), endingOf(d))
}

// endingOf returns the error of runs that stalled, or of results that are not settled, for which stalled runs count.
func endingOf(d *into.Directory) error {
	switch {
	case d.Unsettled:
		return fmt.Errorf("%w; more seeds: fedsim settle --resume %s --max-seeds N", errUnsettled,
			quote.Shell(d.Writer.Dir()))
	case d.Scenario.Settings.Run.Seeds.UntilCertain():
		return nil
	default:
		return stalls(d.Writer.Runs())
	}
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
	of := " runs"
	if total := experiment.Total(s.Experiments); total > 0 {
		of = fmt.Sprintf(" of %d runs", total)
	}
	text := fmt.Sprintf("interrupted with %d%s finished; results so far: %s", into.Finished(d.Writer.Runs()), of,
		d.Writer.Dir())
	if resumable {
		text += "; " + d.Hint()
	}
	return interrupted{text, interrupt}
}

// summarize prints the summary in the format of the flags.
func (f *outputFlags) summarize(cmd *cobra.Command, d *into.Directory) error {
	w, runs := d.Writer, d.Writer.Runs()
	if f.brief != nil {
		return f.brief(d)
	}
	if f.json {
		return plainjson.Print(cmd.OutOrStdout(),
			newSummary(d.Scenario, d.State, w.Dir(), runs, w.Absent(), d.Tables, d.Figures))
	}
	text := into.Sections(d.Scenario, runs, false).Text(textWidth())
	text += pathsText(d, d.Figures)
	if len(runs) > 0 {
		text += fmt.Sprintf("more:    fedsim show %[1]s, fedsim report %[1]s\n", quote.Shell(w.Dir()))
	}
	return printText(f.text(cmd), text)
}

// pathsText lists the paths of a run directory, its figures and tables with their formats, and its absent runs.
func pathsText(d *into.Directory, figures []string) string {
	var b strings.Builder
	dir := d.Writer.Dir()
	fmt.Fprintf(&b, "\nresults: %s", dir)
	list := func(word, folder string, names []string) {
		for i, name := range names {
			stem := strings.TrimSuffix(name, filepath.Ext(name))
			if i > 0 && strings.TrimSuffix(names[i-1], filepath.Ext(names[i-1])) == stem {
				fmt.Fprintf(&b, " %s", filepath.Ext(name))
			} else {
				fmt.Fprintf(&b, "\n%-8s %s", word+":", filepath.Join(dir, folder, name))
			}
		}
	}
	list("figure", "figures", figures)
	list("table", "tables", d.Tables)
	b.WriteByte('\n')
	if absent := d.Writer.Absent(); len(absent) > 0 {
		fmt.Fprintf(&b, "absent:  %s\n", absentText(absent))
	}
	return b.String()
}

// ended returns the end of a run: the time now and the peak memory.
func ended() rundir.End { return rundir.End{At: time.Now(), PeakMemoryBytes: peakMemory()} }
