package command

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/plainjson"
	"fedsim/results"
)

type tuneFlags struct {
	set  []string
	json bool
	computeFlags
}

func newTune() *cobra.Command {
	var f tuneFlags
	cmd := takesOne(&cobra.Command{
		Use:   "tune SCENARIO",
		Short: "Run the tuning grids of a scenario and print the winners",
		Long: `Run the tuning grids of a scenario and print them with their winners.

Each candidate of [experiment.tune.<method>] runs with the first seed, or the
first tuning.seeds of them, and the same number of rounds. The winner is marked
with *. It reaches the target of [experiment.tuning] in the least virtual time;
if no candidate reaches the target, the winner has the best final value of its
metric. The first candidate wins a tie.
A candidate is stopped when it is slower than the best so far.

With tuning.extend, a grid grows until its winner beats its neighbors
(docs/tuning.md); added candidates are marked with +. The range that was searched
and a winner at an edge of it are reported below the grid, and options along which
the results have several local optima.

"fedsim run" also tunes, before it runs the winners, and can be resumed. This
command saves nothing.`,
		Example: `  fedsim tune fig1-statistical
  fedsim tune fig1-statistical --set 'run.seeds=[7]'`,
	}, oneScenario, completeScenario, f.tune)
	addSet(cmd, &f.set, "")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the grids as JSON (docs/json.md)")
	f.computeFlags.add(cmd)
	return cmd
}

func (f *tuneFlags) tune(cmd *cobra.Command, name string) (err error) {
	if err := f.check(false); err != nil {
		return err
	}
	scenario, err := scenario.Load(name, f.set)
	if err != nil {
		return err
	}
	printNotes(cmd.ErrOrStderr(), scenario)
	if err := f.permit(cmd)(scenario); err != nil {
		return err
	}
	p := f.display(cmd, false)
	o := f.options(cmd)
	o.Progress, o.Estimate = p.update, p.estimate(0, f.workers)
	grids, err := experiment.Tune(cmd.Context(), scenario.Experiments, o)
	p.end()
	if err != nil {
		if experiment.Interrupted(err) {
			return interrupted{"interrupted while tuning; nothing is saved", err}
		}
		return err
	}
	if f.json {
		return plainjson.Print(cmd.OutOrStdout(), newGridSummaries(grids))
	}
	if len(grids) == 0 {
		return printf(cmd.OutOrStdout(),
			"scenario %s has no tuning grid: it has no table [experiment.tune.<method>]\n", scenario.Name)
	}
	var b strings.Builder
	for i := range grids {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeGrid(&b, &grids[i])
	}
	return printText(cmd.OutOrStdout(), b.String())
}

// writeGrid appends a table with a row for each candidate. A star marks the winner, a plus
// the candidates that the grid has gained.
func writeGrid(b *strings.Builder, g *experiment.Grid) {
	head := fmt.Sprintf("%s, %s%s: virtual time to %s%s", g.Experiment, g.Method, at(g.Point), g.Target, results.RelativeNote(g.Relative))
	b.WriteString(columns.Wrap(head, textWidth(), 0) + "\n")
	var options columns.Group
	for _, o := range g.Trials[0].Options {
		options.Heads = append(options.Heads, strings.TrimPrefix(o.Key, "options."))
	}
	t := columns.Table{Groups: []columns.Group{options, {Heads: []string{"time", "rounds"}}, {Heads: []string{""}, Left: true}}}
	var block columns.Block
	best := &g.Trials[g.Winner]
	for k, trial := range g.Trials {
		row := []string{""}
		switch {
		case k == g.Winner:
			row[0] = "*"
		case k >= g.Listed:
			row[0] = "+"
		}
		for _, o := range trial.Options {
			row = append(row, o.Value)
		}
		time, note := outcome(trial, g)
		if k > g.Winner && trial.Reached && best.Reached && trial.TimeS == best.TimeS {
			note = "equal: the first wins"
		}
		block.Rows = append(block.Rows, append(row, time, strconv.Itoa(trial.Rounds), note))
	}
	var searched []string
	for _, r := range g.Ranges() {
		searched = append(searched, r.String())
	}
	block.Notes = append(block.Notes, "searched: "+strings.Join(searched, ", "))
	for _, c := range g.Curves() {
		block.Notes = append(block.Notes, "not unimodal in "+strings.TrimPrefix(c.Key, "options.")+": "+c.Text(g))
	}
	for _, e := range g.Edges {
		block.Notes = append(block.Notes, "at an edge: "+e.String())
	}
	t.Blocks = []columns.Block{block}
	t.Write(b, textWidth())
}

// outcome returns the time of a candidate and a note on how it ended.
func outcome(t experiment.Trial, g *experiment.Grid) (time, note string) {
	metric := g.Metric()
	switch {
	case t.Reached:
		return results.TimeText(t.TimeS, g.Relative), ""
	case t.GivenUp:
		return "over " + results.TimeText(t.TimeS, g.Relative), "stopped at " + metric.Format(t.Last, true)
	default:
		return "not reached", "ends at " + metric.Format(t.Last, true)
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
