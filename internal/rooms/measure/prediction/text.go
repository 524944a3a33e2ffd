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

// Text returns the report as text of at most 80 columns.
func (r *Report) Text() string {
	var b strings.Builder
	b.WriteString("errors in %: predicted/measured - 1; MAPE: mean absolute percentage error\n\n")
	r.makespans(&b)
	r.doubts(&b)
	r.parts(&b)
	r.polls(&b)
	r.energy(&b)
	r.decisions(&b)
	r.floors(&b)
	r.models(&b)
	return b.String()
}

// rows appends a row to a table for each run that has one: a label and cells.
func (r *Report) rows(t *columns.Table, row func(c *Checked) []string) {
	for _, c := range r.Runs {
		if cells := row(c); cells != nil {
			t.Blocks[0].Rows = append(t.Blocks[0].Rows, append([]string{c.Name}, cells...))
		}
	}
}

// makespans writes the errors of makespans and responses under each model.
func (r *Report) makespans(b *strings.Builder) {
	t := columns.Table{Label: "run", Groups: []columns.Group{
		{Title: "makespan s", Heads: []string{"measured", "predicted"}},
		{Title: "error: makespan, MAPE of attempts", Heads: []string{"model", "", "at speed", "", "nominal", ""}},
	}, Blocks: []columns.Block{{Notes: []string{
		"model: as calibrated; at speed: once the speed of the run is known, in hindsight; nominal: FLOPs and bytes at the rates that the log names, nothing else",
	}}}}
	r.rows(&t, func(c *Checked) []string {
		cells := []string{columns.Significant(c.MeasuredS), columns.Significant(c.PredictedS)}
		for _, e := range []*Errors{&c.Calibrated, &c.AtSpeed, c.Nominal} {
			if e == nil {
				cells = append(cells, "-", "-")
			} else {
				cells = append(cells, percent(e.Makespan, true), percent(e.Response.MAPE, false))
			}
		}
		return cells
	})
	t.Write(b, columns.Width)
}

// doubts writes a line for each run that lies beyond what was calibrated.
func (r *Report) doubts(b *strings.Builder) {
	for _, c := range r.Runs {
		if len(c.Beyond) == 0 {
			continue
		}
		text := fmt.Sprintf("note: %s: %s", c.Name, strings.Join(c.Beyond, ", "))
		if len(c.Missing) > 0 {
			text = fmt.Sprintf("warning: %s: not identified, so that errors may be large (report.txt): %s; %s",
				c.Name, strings.Join(c.Missing, ", "), strings.Join(c.Beyond, ", "))
		}
		b.WriteString(columns.Wrap(text, columns.Width, 2) + "\n")
	}
}

// parts writes the errors of the parts of attempts and of rounds.
func (r *Report) parts(b *strings.Builder) {
	t := columns.Table{Label: "run", Groups: []columns.Group{
		{Title: "attempt", Heads: []string{"P50", "P95"}},
		{Title: "compute", Heads: []string{"MAPE", "P95"}},
		{Title: "transfer", Heads: []string{"MAPE", "P95"}},
		{Title: "round", Heads: []string{"MAPE", "P95"}},
		{Heads: []string{"speed"}},
	}, Blocks: []columns.Block{{Notes: []string{"speed: how many times as fast as predicted the run computed"}}}}
	r.rows(&t, func(c *Checked) []string {
		e := &c.Calibrated
		return []string{
			percent(e.Response.P50, false), percent(e.Response.P95, false),
			percent(e.Compute.MAPE, false), percent(e.Compute.P95, false), percent(e.Transfer.MAPE, false), percent(e.Transfer.P95, false),
			percent(e.Round.MAPE, false), percent(e.Round.P95, false), fixed(c.Speed, 3),
		}
	})
	writeRows(b, &t)
}

// polls writes how well runs with polls are predicted: a round ahead, and as a range of makespans.
func (r *Report) polls(b *strings.Builder) {
	t := columns.Table{Label: "run", Groups: []columns.Group{
		{Title: "one round ahead: MAPE", Heads: []string{"rounds", "attempts", "polls exact"}},
		{Title: "makespan s, by phases", Heads: []string{"lowest", "highest", "inside"}},
	}, Blocks: []columns.Block{{Notes: []string{
		"one round ahead: each round from the polls that the log shows before it; polls exact: share of polls of clients and server at the instant of the model, less than half a period off",
		fmt.Sprintf("makespan: of %d random phases of polls; inside: the measured one, for which the probability is %.2f", drawn, float64(drawn-1)/(drawn+1)),
	}}}}
	r.rows(&t, func(c *Checked) []string {
		if c.Ahead == nil && c.Inside == nil {
			return nil
		}
		cells := []string{"-", "-", "-", "-", "-", "-"}
		if a := c.Ahead; a != nil {
			cells[0], cells[1], cells[2] = percent(a.Round.MAPE, false), percent(a.Response.MAPE, false), percent(a.Exact, false)
		}
		if c.Inside != nil {
			cells[3], cells[4] = columns.Significant(slices.Min(c.Makespans)), columns.Significant(slices.Max(c.Makespans))
			cells[5] = map[bool]string{true: "yes", false: "no"}[*c.Inside]
		}
		return cells
	})
	writeRows(b, &t)
}

// energy writes the errors of energy of runs whose logs have it.
func (r *Report) energy(b *strings.Builder) {
	t := columns.Table{Label: "run", Groups: []columns.Group{
		{Title: "energy", Heads: []string{"measured J", "total", "attempt MAPE", "P95"}},
	}, Blocks: []columns.Block{{Notes: []string{
		"-: the powers of its clients are not known, and a calibration does not fit them: set idle_w and compute_w of their classes in fleet.toml of the calibration",
	}}}}
	r.rows(&t, func(c *Checked) []string {
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
		return []string{columns.Significant(joules), percent(e.EnergySum, true), percent(e.Energy.MAPE, false), percent(e.Energy.P95, false)}
	})
	writeRows(b, &t)
}

// writeRows writes a table below others, if it has rows.
func writeRows(b *strings.Builder, t *columns.Table) {
	if len(t.Blocks[0].Rows) > 0 {
		b.WriteByte('\n')
		t.Write(b, columns.Width)
	}
}

// decisions writes how the decisions of the server agree.
func (r *Report) decisions(b *strings.Builder) {
	t := columns.Table{Label: "run", Groups: []columns.Group{
		{Title: "responses taken", Heads: []string{"same set, % of rounds", "Jaccard"}},
		{Title: "arrivals", Heads: []string{"tau", "staleness"}},
	}, Blocks: []columns.Block{{Notes: []string{
		"tau: Kendall's, of the order of arrival within rounds; staleness: mean error in responses, without rounds",
	}}}}
	r.rows(&t, func(c *Checked) []string {
		e := &c.Calibrated
		return []string{percent(e.Equal, false), fixed(e.Jaccard, 2), fixed(e.Order, 2), fixed(e.Staleness, 2)}
	})
	writeRows(b, &t)
}

// floors writes how well repeated runs predict each other.
func (r *Report) floors(b *strings.Builder) {
	t := columns.Table{Label: "runs", Groups: []columns.Group{
		{Title: "floor: makespan", Heads: []string{"MAPE", "worst"}}, {Title: "attempt", Heads: []string{"MAPE", "P95"}},
		{Title: "model: makespan", Heads: []string{"MAPE", "worst"}},
	}, Blocks: []columns.Block{{Notes: []string{"floor: each run of a configuration is predicted by the mean of its repetitions"}}}}
	for i := range r.Repeats {
		s := &r.Repeats[i]
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, []string{
			fmt.Sprintf("%s and %d more", s.Runs[0], len(s.Runs)-1),
			percent(s.Floor.Mean, false), percent(s.Floor.Worst, true), percent(s.Response.MAPE, false), percent(s.Response.P95, false),
			percent(s.Model.Mean, false), percent(s.Model.Worst, true),
		})
	}
	writeRows(b, &t)
}

// models writes the errors over all runs, and whether the order of the runs is right.
func (r *Report) models(b *strings.Builder) {
	t := columns.Table{Label: "all runs", Groups: []columns.Group{
		{Title: "makespan", Heads: []string{"mean", "worst"}}, {Title: "attempt MAPE", Heads: []string{"mean", "worst"}},
		{Title: "attempt P95", Heads: []string{"mean", "worst"}},
	}, Blocks: []columns.Block{{Notes: []string{"mean: of absolute values"}}}}
	for i := range r.Models {
		m := &r.Models[i]
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, []string{
			m.Model, percent(m.Makespan.Mean, false), percent(m.Makespan.Worst, true), percent(m.MAPE.Mean, false), percent(m.MAPE.Worst, false),
			percent(m.P95.Mean, false), percent(m.P95.Worst, false),
		})
	}
	writeRows(b, &t)
	if math.IsNaN(r.Tau) {
		return
	}
	if len(r.Disordered) == 0 {
		fmt.Fprintf(b, "ranking of the %d configurations by makespan: the same as measured\n", r.Ranked)
		return
	}
	fmt.Fprintf(b, "ranking of the %d configurations by makespan: Kendall's tau %.2f; in the wrong order:\n", r.Ranked, r.Tau)
	for _, pair := range r.Disordered {
		fmt.Fprintf(b, "  %s and %s\n", pair[0], pair[1])
	}
}
