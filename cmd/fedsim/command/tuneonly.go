package command

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/plainjson"
	"fedsim/results"
)

// tune runs the tuning grids of a scenario, saves the trials and prints the grids.
func (f *runFlags) tune(cmd *cobra.Command, d *into.Directory, p *progress) error {
	grids, err := experiment.Tune(cmd.Context(), d.Scenario.Experiments, d.Options())
	p.end()
	if experiment.Interrupted(err) {
		return f.interrupted(cmd, d, errors.Join(d.Save(), err))
	}
	if err != nil {
		return err
	}
	if len(grids) == 0 {
		return usagef("--tune-only: scenario %s has no tuning grid: it has no table [experiment.tune.<method>]",
			d.Scenario.Name)
	}
	if err := d.Save(); err != nil {
		return err
	}
	if f.json {
		return plainjson.Print(cmd.OutOrStdout(), newGridSummaries(grids))
	}
	var all columns.Sections
	for i := range grids {
		all = append(all, gridSection(&grids[i]))
	}
	return printText(f.text(cmd), all.Text(textWidth())+"\nthe trials are saved; "+d.Hint()+"\n")
}

// gridSection returns a table with a row for each candidate. A star marks the winner, a plus
// the candidates that the grid has gained.
func gridSection(g *experiment.Grid) columns.Section {
	head := fmt.Sprintf("%s, %s%s: virtual time to %s%s", g.Experiment, g.Method, at(g.Point), g.Target,
		results.RelativeNote(g.Relative))
	var options columns.Group
	for _, o := range g.Trials[0].Options {
		options.Heads = append(options.Heads, strings.TrimPrefix(o.Key, "options."))
	}
	t := columns.Table{
		Groups: []columns.Group{options, {Heads: []string{"time", "rounds"}}, {Heads: []string{""}, Left: true}},
	}
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
		t.Add(append(row, time, strconv.Itoa(trial.Rounds), note)...)
	}
	var searched []string
	for _, r := range g.Ranges() {
		searched = append(searched, r.String())
	}
	block := &t.Blocks[0]
	block.Notes = append(block.Notes, "searched: "+strings.Join(searched, ", "))
	for _, c := range g.Curves() {
		block.Notes = append(block.Notes, "not unimodal in "+strings.TrimPrefix(c.Key, "options.")+": "+c.Text(g))
	}
	for _, e := range g.Edges {
		block.Notes = append(block.Notes, "at an edge: "+e.String())
	}
	return columns.Section{Title: head, Table: t}
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
