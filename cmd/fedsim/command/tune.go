package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/internal/columns"
	"fedsim/results"
	"fedsim/scenarios"
)

// newTune returns the command that shows how the methods of a scenario are tuned.
func newTune() *cobra.Command {
	f := runFlags{}
	cmd := &cobra.Command{
		Use:   "tune SCENARIO",
		Short: "Run the tuning grids of a scenario and print the winners",
		Long: `Run the tuning grids of a scenario and print them with their winners.

Every candidate of [experiment.tune.<method>] runs under the first seed with the
same budget of rounds. The winner, marked with a star, is the one that reaches
the target of [experiment.tuning] in the least virtual time, or else the one that
ends at the best value of its metric; of two that are as good, the one tried first. A
candidate that is slower than the best before it is given up there. With
tuning.extend a grid grows, marked with a plus, until its winner beats its neighbors
(docs/tuning.md); a winner at an edge is named below its grid. "fedsim run" does the
same before it runs the winners, and resumes it when it was interrupted; this command
saves nothing and starts over.`,
		Example: `  fedsim tune fig1-statistical
  fedsim tune fig1-statistical --set 'run.seeds=[7]'`,
		Args:              takes(1, 1, "one scenario, a file or the name of a shipped one"),
		ValidArgsFunction: first(completeScenario),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.tune(cmd, args[0]) },
	}
	addSet(cmd, &f.set, "")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the grids as JSON (docs/json.md)")
	f.addComputing(cmd)
	return cmd
}

func (f *runFlags) tune(cmd *cobra.Command, name string) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	scenario, err := scenarios.Load(name, f.set)
	if err != nil {
		return err
	}
	tell(cmd.ErrOrStderr(), scenario)
	if err := requireRoom(scenario); err != nil {
		return err
	}
	stop, err := f.profiles.start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	p := newProgress(cmd.ErrOrStderr(), f.progress, time.Now)
	grids, err := experiment.Tune(cmd.Context(), scenario.Experiments, experiment.Options{
		Workers: f.workers, Queue: f.queue, Progress: p.update, Estimate: p.estimate(), Clock: time.Now,
	})
	p.end()
	if err != nil {
		if experiment.Interrupted(err) {
			return interrupted{"interrupted while tuning, nothing is kept", err}
		}
		return err
	}
	if f.json {
		return writeJSON(cmd.OutOrStdout(), newGridSummaries(grids))
	}
	if len(grids) == 0 {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "scenario %s tunes nothing: it has no [experiment.tune.<method>]\n", scenario.Name)
		return err
	}
	return writeGrids(cmd.OutOrStdout(), grids)
}

// writeGrids prints the grids, a block for each.
func writeGrids(w io.Writer, grids []experiment.Grid) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, g := range grids {
		if i > 0 {
			fmt.Fprintln(t)
		}
		head := fmt.Sprintf("%s, %s%s: virtual time to %s%s", g.Experiment, g.Method, at(g.Point), g.Target, results.RelativeNote(g.Relative))
		fmt.Fprintln(t, columns.Wrap(head, textWidth(), 0))
		best := &g.Trials[g.Winner]
		for k, trial := range g.Trials {
			mark := " "
			switch {
			case k == g.Winner:
				mark = "*"
			case k >= g.Listed:
				mark = "+"
			}
			note := ""
			if k > g.Winner && trial.Reached && best.Reached && trial.TimeS == best.TimeS {
				note = ", as fast: the first wins"
			}
			fmt.Fprintf(t, "  %s %s\t%s%s\n", mark, settings(trial.Options), outcome(trial, &g), note)
		}
		for _, e := range g.Edges {
			fmt.Fprintf(t, "  at an edge: %s\n", e)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write the grids: %w", err)
	}
	return nil
}

// outcome says how a candidate did.
func outcome(t experiment.Trial, g *experiment.Grid) string {
	metric, _ := results.MetricNamed(g.Target.Metric)
	switch {
	case t.Reached:
		return fmt.Sprintf("%s\t%d rounds", results.TimeText(t.TimeS, g.Relative), t.Rounds)
	case t.GivenUp:
		return fmt.Sprintf("over %s\tgiven up at %s after %d rounds", results.TimeText(t.TimeS, g.Relative), metric.Format(t.Last, true), t.Rounds)
	default:
		return fmt.Sprintf("not reached\tends at %s after %d rounds", metric.Format(t.Last, true), t.Rounds)
	}
}

func at(point []results.Setting) string {
	if len(point) == 0 {
		return ""
	}
	return ", " + settings(point)
}

func settings(list []results.Setting) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = strings.TrimPrefix(s.Key, "options.") + " = " + s.Value
	}
	return strings.Join(parts, ", ")
}
