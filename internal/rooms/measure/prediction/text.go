package prediction

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/internal/tools/columns"
)

// percent returns a share as a percentage, with sign if it has one to show.
func percent(x float64, signed bool) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case signed:
		return fmt.Sprintf("%+.1f", 100*x)
	default:
		return fmt.Sprintf("%.1f", 100*x)
	}
}

// fixed returns a number with digits, or a dash.
func fixed(x float64, digits int) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, x)
}

// Sections returns the report. Tables without rows are left out.
func (r *Report) Sections() columns.Sections {
	all := columns.Sections{r.makespans(), r.parts(), r.polls(), r.energy(), r.decisions(), r.floors(), r.models()}
	return slices.DeleteFunc(all, func(s columns.Section) bool { return len(s.Table.Blocks[0].Rows) == 0 })
}

// section returns a table with a row for each run for which there are cells.
func (r *Report) section(groups []columns.Group, row func(c *Checked) []string, notes ...string) columns.Section {
	var block columns.Block
	for _, c := range r.Runs {
		if cells := row(c); cells != nil {
			block.Rows = append(block.Rows, append([]string{c.Name}, cells...))
		}
	}
	return columns.Section{Table: columns.Table{Label: "run", Groups: groups, Blocks: []columns.Block{block}},
		Notes: notes}
}

// makespans returns the errors of makespans and responses under each model.
func (r *Report) makespans() columns.Section {
	s := r.section([]columns.Group{
		{Title: "makespan s", Heads: []string{"measured", "predicted"}},
		{Title: "error: makespan, MAPE of attempts", Heads: []string{"model", "", "at speed", "", "nominal", ""}},
	}, func(c *Checked) []string {
		cells := []string{columns.Significant(c.MeasuredS), columns.Significant(c.PredictedS)}
		for _, e := range []*Errors{&c.Calibrated, &c.AtSpeed, c.Nominal} {
			if e == nil {
				cells = append(cells, "-", "-")
			} else {
				cells = append(cells, percent(e.Makespan, true), percent(e.Response.MAPE, false))
			}
		}
		return cells
	}, "model: as calibrated; at speed: once the speed of the run is known, in hindsight; nominal: "+
		"FLOPs and bytes at the rates that the log names, nothing else")
	s.Title, s.Notes = "errors in %: predicted/measured - 1; MAPE: mean absolute percentage error",
		append(s.Notes, r.doubts()...)
	return s
}

// doubts returns a sentence for each run that lies beyond what was calibrated.
func (r *Report) doubts() (notes []string) {
	for _, c := range r.Runs {
		if len(c.Beyond) == 0 {
			continue
		}
		text := fmt.Sprintf("note: %s: %s", c.Name, strings.Join(c.Beyond, ", "))
		if len(c.Missing) > 0 {
			text = fmt.Sprintf("warning: %s: not identified, so that errors may be large (report.txt): %s; %s",
				c.Name, strings.Join(c.Missing, ", "), strings.Join(c.Beyond, ", "))
		}
		notes = append(notes, text)
	}
	return notes
}

// parts returns the errors of the parts of attempts and of rounds.
func (r *Report) parts() columns.Section {
	return r.section([]columns.Group{
		{Title: "attempt", Heads: []string{"P50", "P95"}},
		{Title: "compute", Heads: []string{"MAPE", "P95"}},
		{Title: "transfer", Heads: []string{"MAPE", "P95"}},
		{Title: "round", Heads: []string{"MAPE", "P95"}},
		{Heads: []string{"speed"}},
	}, func(c *Checked) []string {
		e := &c.Calibrated
		return []string{
			percent(e.Response.P50, false), percent(e.Response.P95, false),
			percent(e.Compute.MAPE, false), percent(e.Compute.P95, false), percent(e.Transfer.MAPE, false),
			percent(e.Transfer.P95, false), percent(e.Round.MAPE, false), percent(e.Round.P95, false),
			fixed(c.Speed, 3),
		}
	}, "speed: how many times as fast as predicted the run computed")
}

// polls returns how well runs with polls are predicted: a round ahead, and as a range of makespans.
func (r *Report) polls() columns.Section {
	return r.section([]columns.Group{
		{Title: "one round ahead: MAPE", Heads: []string{"rounds", "attempts", "polls exact"}},
		{Title: "makespan s, by phases", Heads: []string{"lowest", "highest", "inside"}},
	}, func(c *Checked) []string {
		if c.Ahead == nil && c.Inside == nil {
			return nil
		}
		cells := []string{"-", "-", "-", "-", "-", "-"}
		if a := c.Ahead; a != nil {
			cells[0], cells[1], cells[2] = percent(a.Round.MAPE, false), percent(a.Response.MAPE, false),
				percent(a.Exact, false)
		}
		if c.Inside != nil {
			cells[3], cells[4] = columns.Significant(slices.Min(c.Makespans)),
				columns.Significant(slices.Max(c.Makespans))
			cells[5] = map[bool]string{true: "yes", false: "no"}[*c.Inside]
		}
		return cells
	}, "one round ahead: each round from the polls that the log shows before it; polls exact: "+
		"share of polls of clients and server at the instant of the model, less than half a period off",
		fmt.Sprintf(
			"makespan: of %d random phases of polls; inside: the measured one, for which the probability is %.2f",
			drawn, float64(drawn-1)/(drawn+1)))
}

// energy returns the errors of energy of runs whose logs have it.
func (r *Report) energy() columns.Section {
	return r.section([]columns.Group{
		{Title: "energy", Heads: []string{"measured J", "total", "attempt MAPE", "P95"}},
	}, func(c *Checked) []string {
		joules := 0.0
		for i := range c.Measured.Attempts {
			if a := &c.Measured.Attempts[i]; !math.IsNaN(a.Energy) {
				joules += a.Energy
			}
		}
		if joules == 0 {
			return nil
		}
		e := &c.Calibrated
		return []string{columns.Significant(joules), percent(e.EnergySum, true), percent(e.Energy.MAPE, false),
			percent(e.Energy.P95, false)}
	}, "-: the powers of its clients are not known, and a calibration does not fit them: set idle_w and compute_w of "+
		"their classes in fleet.toml of the calibration")
}

// decisions returns how the decisions of the server agree.
func (r *Report) decisions() columns.Section {
	return r.section([]columns.Group{
		{Title: "responses taken", Heads: []string{"same set, % of rounds", "Jaccard"}},
		{Title: "arrivals", Heads: []string{"tau", "staleness"}},
	}, func(c *Checked) []string {
		e := &c.Calibrated
		return []string{percent(e.Equal, false), fixed(e.Jaccard, 2), fixed(e.Order, 2), fixed(e.Staleness, 2)}
	}, "tau: Kendall's, of the order of arrival within rounds; staleness: mean error in responses, without rounds")
}

// floors returns how well repeated runs predict each other.
func (r *Report) floors() columns.Section {
	t := columns.Table{Label: "runs", Groups: []columns.Group{
		{Title: "floor: makespan", Heads: []string{"MAPE", "worst"}},
		{Title: "attempt", Heads: []string{"MAPE", "P95"}},
		{Title: "model: makespan", Heads: []string{"MAPE", "worst"}},
	}, Blocks: []columns.Block{{}}}
	for i := range r.Repeats {
		s := &r.Repeats[i]
		t.Add(fmt.Sprintf("%s and %d more", s.Runs[0], len(s.Runs)-1),
			percent(s.Floor.Mean, false), percent(s.Floor.Worst, true), percent(s.Response.MAPE, false),
			percent(s.Response.P95, false), percent(s.Model.Mean, false), percent(s.Model.Worst, true))
	}
	return columns.Section{Table: t,
		Notes: []string{"floor: each run of a configuration is predicted by the mean of its repetitions"}}
}

// models returns the errors over all runs, and whether the order of the runs is right.
func (r *Report) models() columns.Section {
	t := columns.Table{Label: "all runs", Groups: []columns.Group{
		{Title: "makespan", Heads: []string{"mean", "worst"}},
		{Title: "attempt MAPE", Heads: []string{"mean", "worst"}},
		{Title: "attempt P95", Heads: []string{"mean", "worst"}},
	}, Blocks: []columns.Block{{}}}
	for i := range r.Models {
		m := &r.Models[i]
		t.Add(m.Model, percent(m.Makespan.Mean, false), percent(m.Makespan.Worst, true), percent(m.MAPE.Mean, false),
			percent(m.MAPE.Worst, false), percent(m.P95.Mean, false), percent(m.P95.Worst, false))
	}
	s := columns.Section{Table: t, Notes: []string{"mean: of absolute values"}}
	ranking := fmt.Sprintf("ranking of the %d configurations by makespan: ", r.Ranked)
	switch {
	case math.IsNaN(r.Tau):
	case len(r.Disordered) == 0:
		s.Notes = append(s.Notes, ranking+"the same as measured")
	default:
		s.Notes = append(s.Notes, fmt.Sprintf("%sKendall's tau %.2f; in the wrong order:", ranking, r.Tau))
		for _, pair := range r.Disordered {
			s.Notes = append(s.Notes, pair[0]+" and "+pair[1])
		}
	}
	return s
}
