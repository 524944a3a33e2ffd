package prediction

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"

	"fedsim/internal/columns"
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

// Text returns a text of at most 80 columns on how well runs were predicted, with the floor of
// repeated runs and the errors of nominal values beside. repeats has the places of runs that
// repeat each other.
func Text(all []*Checked, repeats [][]int) string {
	var b strings.Builder
	b.WriteString("errors in %: predicted/measured - 1; MAPE: mean absolute percentage error\n\n")
	makespans(&b, all)
	parts(&b, all)
	decisions(&b, all)
	floors(&b, all, repeats)
	ranking(&b, all)
	return b.String()
}

// makespans writes the errors of makespans and responses under each model.
func makespans(b *strings.Builder, all []*Checked) {
	t := columns.Table{Label: "run", Groups: []columns.Group{
		{Title: "makespan", Heads: []string{"measured s", "predicted s"}},
		{Title: "error: makespan, MAPE of attempts", Heads: []string{"model", "", "at speed", "", "nominal", ""}},
	}, Blocks: []columns.Block{{Notes: []string{
		"model: as calibrated; at speed: once the speed of the run is known, in hindsight; nominal: FLOPs and bytes at the rates that the log names, nothing else",
	}}}}
	for _, c := range all {
		nominal := []string{"-", "-"}
		if c.Nominal != nil {
			nominal = []string{percent(c.Nominal.Makespan, true), percent(c.Nominal.Response.MAPE, false)}
		}
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, append([]string{
			c.Name, columns.Significant(c.Measured.Makespan), columns.Significant(stat.Mean(c.Makespans, nil)),
			percent(c.Calibrated.Makespan, true), percent(c.Calibrated.Response.MAPE, false),
			percent(c.AtSpeed.Makespan, true), percent(c.AtSpeed.Response.MAPE, false),
		}, nominal...))
	}
	t.Write(b, columns.Width)
}

// parts writes the errors of the parts of attempts and of rounds.
func parts(b *strings.Builder, all []*Checked) {
	t := columns.Table{Label: "run", Groups: []columns.Group{
		{Title: "attempt", Heads: []string{"MAPE", "P50", "P95"}},
		{Title: "compute", Heads: []string{"MAPE", "P95"}},
		{Title: "transfer", Heads: []string{"MAPE", "P95"}},
		{Title: "round", Heads: []string{"MAPE", "P95"}},
		{Heads: []string{"speed"}},
	}, Blocks: []columns.Block{{Notes: []string{"speed: how many times as fast as predicted the run computed"}}}}
	for _, c := range all {
		e := &c.Calibrated
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, []string{
			c.Name, percent(e.Response.MAPE, false), percent(e.Response.P50, false), percent(e.Response.P95, false),
			percent(e.Compute.MAPE, false), percent(e.Compute.P95, false), percent(e.Transfer.MAPE, false), percent(e.Transfer.P95, false),
			percent(e.Round.MAPE, false), percent(e.Round.P95, false), fixed(c.Speed, 3),
		})
	}
	b.WriteByte('\n')
	t.Write(b, columns.Width)
}

// decisions writes how the decisions of the server agree.
func decisions(b *strings.Builder, all []*Checked) {
	t := columns.Table{Label: "run", Groups: []columns.Group{
		{Title: "responses taken in time", Heads: []string{"same set, % of rounds", "Jaccard"}},
		{Title: "arrivals", Heads: []string{"tau", "staleness"}},
	}, Blocks: []columns.Block{{Notes: []string{
		"tau: Kendall's, of the order of arrival within rounds; staleness: mean error in responses, without rounds",
	}}}}
	for _, c := range all {
		e := &c.Calibrated
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, []string{
			c.Name, percent(e.Equal, false), fixed(e.Jaccard, 2), fixed(e.Order, 2), fixed(e.Staleness, 2),
		})
	}
	b.WriteByte('\n')
	t.Write(b, columns.Width)
}

// floors writes how well repeated runs predict each other.
func floors(b *strings.Builder, all []*Checked, repeats [][]int) {
	if len(repeats) == 0 {
		return
	}
	t := columns.Table{Label: "runs", Groups: []columns.Group{
		{Title: "floor: makespan", Heads: []string{"MAPE", "worst"}}, {Title: "attempt", Heads: []string{"MAPE", "P95"}},
		{Title: "model: makespan", Heads: []string{"MAPE", "worst"}},
	}, Blocks: []columns.Block{{Notes: []string{"floor: each run of a configuration is predicted by the mean of its repetitions"}}}}
	for _, set := range repeats {
		var runs []*Played
		var model []float64
		for _, i := range set {
			runs = append(runs, all[i].Measured)
			model = append(model, all[i].Calibrated.Makespan)
		}
		makespan, response := Floor(runs)
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, []string{
			fmt.Sprintf("%s and %d more", all[set[0]].Name, len(set)-1),
			percent(spread(makespan).MAPE, false), percent(worst(makespan), true), percent(response.MAPE, false), percent(response.P95, false),
			percent(spread(model).MAPE, false), percent(worst(model), true),
		})
	}
	b.WriteByte('\n')
	t.Write(b, columns.Width)
}

// worst returns the error of the largest size.
func worst(errors []float64) float64 {
	most := 0.0
	for _, e := range errors {
		if math.Abs(e) > math.Abs(most) {
			most = e
		}
	}
	return most
}

// ranking writes the means over runs, and whether the order of the runs is right.
func ranking(b *strings.Builder, all []*Checked) {
	var model, speed, nominal []float64
	for _, c := range all {
		model, speed = append(model, c.Calibrated.Makespan), append(speed, c.AtSpeed.Makespan)
		if c.Nominal != nil {
			nominal = append(nominal, c.Nominal.Makespan)
		}
	}
	line := func(name string, errors []float64) {
		if len(errors) > 0 {
			fmt.Fprintf(b, "  %-9s %5s mean of absolute values, worst %s\n", name, percent(spread(errors).MAPE, false), percent(worst(errors), true))
		}
	}
	b.WriteString("\nmakespan over all runs\n")
	line("model", model)
	line("at speed", speed)
	line("nominal", nominal)
	tau, wrong := Ranking(all)
	if math.IsNaN(tau) {
		return
	}
	if len(wrong) == 0 {
		fmt.Fprintf(b, "ranking of the %d runs by makespan: the same as measured\n", len(all))
		return
	}
	fmt.Fprintf(b, "ranking of the %d runs by makespan: Kendall's tau %.2f; in the wrong order:\n", len(all), tau)
	for _, w := range wrong {
		fmt.Fprintf(b, "  %s and %s (measured %s and %s s)\n", all[w[0]].Name, all[w[1]].Name,
			columns.Significant(all[w[0]].Measured.Makespan), columns.Significant(all[w[1]].Measured.Makespan))
	}
}
