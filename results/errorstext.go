package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"fedsim/internal/tools/columns"
)

// section returns the table.
func (t *ErrorTable) section() Section {
	s := Section{Title: t.caption(), Table: columns.Table{Label: t.RowKey, Groups: []columns.Group{{}}},
		Notes: []string{t.note()}}
	all := t.columns()
	for _, c := range all {
		s.Table.Groups[0].Heads = append(s.Table.Groups[0].Heads, c.head)
	}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		block := columns.Block{Title: SettingsText(b.Point), Notes: b.Notes}
		for k := range b.Rows {
			row := []string{b.Rows[k].Label}
			for _, c := range all {
				row = append(row, c.cell(&b.Rows[k]))
			}
			block.Rows = append(block.Rows, row)
		}
		s.Table.Blocks = append(s.Table.Blocks, block)
	}
	return s
}

// caption explains the numbers.
func (t *ErrorTable) caption() string {
	text := "errors at the end, " + t.Metric.LabelFor(t.Real)
	if t.Experiment != "" {
		text = t.Experiment + ": " + text
	}
	if t.share() {
		text += " in %"
	}
	text += ", " + t.Last
	if t.Seeds > 1 {
		text += ", mean over " + t.Vary.Repetitions(t.Seeds) + " (standard error)"
	}
	return text
}

// share reports whether values are shown in per cent.
func (t *ErrorTable) share() bool { return t.Metric.Share && !t.Real }

// errorColumn is a column of an error table.
type errorColumn struct {
	head, meaning string
	there         bool
	cell          func(*ErrorRow) string
}

// columns returns the columns that have values.
func (t *ErrorTable) columns() []errorColumn {
	known := func(of func(*ErrorRow) float64) bool {
		return t.some(func(r *ErrorRow) bool { return !math.IsNaN(of(r)) })
	}
	mark := ""
	if t.some(func(r *ErrorRow) bool { return r.Best }) {
		mark = " "
	}
	head := "error"
	if t.Metric.Higher {
		head = "end"
	}
	all := []errorColumn{
		{head, "", true, func(r *ErrorRow) string {
			if r.Best {
				return t.withSE(r.Error, "") + "*"
			}
			return t.withSE(r.Error, "") + mark
		}},
		{fmt.Sprintf("last %d", t.ReportLast), "standard deviation of these evaluations",
			known(func(r *ErrorRow) float64 { return r.Spread }),
			func(r *ErrorRow) string { return t.number(r.Spread, "") }},
		{"to *", "paired difference to it, seed by seed",
			known(func(r *ErrorRow) float64 { return r.Difference.Mean }),
			func(r *ErrorRow) string { return t.withSE(r.Difference, "+") }},
		{"worst", "the worst 10 % of clients",
			known(func(r *ErrorRow) float64 { return r.Worst.Mean }),
			func(r *ErrorRow) string { return t.number(r.Worst.Mean, "") }},
		{"limit", "the model at the optimum of the method's own problem (docs/methods.md#tuning)",
			known(func(r *ErrorRow) float64 { return r.Limit.Mean }),
			func(r *ErrorRow) string { return t.number(r.Limit.Mean, "") }},
		{"worst", "",
			known(func(r *ErrorRow) float64 { return r.LimitWorst.Mean }),
			func(r *ErrorRow) string { return t.number(r.LimitWorst.Mean, "") }},
		{"trials", "candidates of the tuning", t.some(func(r *ErrorRow) bool { return r.Trials != nil }),
			(*ErrorRow).trials},
	}
	return slices.DeleteFunc(all, func(c errorColumn) bool { return !c.there })
}

// note explains the columns.
func (t *ErrorTable) note() string {
	text := "*: " + t.Metric.extreme()
	if !t.some(func(r *ErrorRow) bool { return r.Best }) {
		text = t.Metric.extreme() + " is best"
	}
	for _, c := range t.columns() {
		if c.meaning != "" {
			text += "; " + c.head + ": " + c.meaning
		}
	}
	return text
}

// mostGap is the largest relative gap of an optimum whose model is called a limit without a note.
const mostGap = 0.01

// notes names rows with the same errors in every run, with their tuned options, rows whose last
// evaluations jump, and whose optimum is not solved.
func (t *ErrorTable) notes(b *ErrorBlock, seeds [][]Run) (notes []string) {
	noted := make([]bool, len(b.Rows))
	for i := range b.Rows {
		var labels []string
		tuned := ""
		for k := i; k < len(b.Rows); k++ {
			if !noted[k] && t.equal(seeds[i], seeds[k]) {
				noted[k] = true
				labels = append(labels, b.Rows[k].Label)
				tuned += tunedText(b.Rows[k].Label, seeds[k])
			}
		}
		if len(labels) > 1 {
			notes = append(notes, both(labels)+" have the same errors in every run"+tuned)
		}
	}
	for i := range b.Rows {
		if low, high, jumps := t.jumps(seeds[i]); jumps && t.ReportLast <= 1 {
			notes = append(notes,
				fmt.Sprintf("%s jumps from %s to %s in its last %d evaluations: run.report_last takes their mean",
					b.Rows[i].Label, t.number(low, ""), t.number(high, ""), jumpsIn))
		}
		gap := 0.0
		for k := range seeds[i] {
			if r := &seeds[i][k]; r.AtOptimum != nil {
				gap = max(gap, r.OptimumGap)
			}
		}
		if gap > mostGap {
			notes = append(notes,
				fmt.Sprintf("%s: its optimum is solved to a gap of %.2g %% only, and its limit is uncertain "+
					"(problem.optimum.sweeps)", b.Rows[i].Label, 100*gap))
		}
	}
	return notes
}

// equal reports whether the errors of two rows are the same in every run.
func (t *ErrorTable) equal(a, b []Run) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		for _, m := range []*Metric{&t.Metric, &t.Worst} {
			x, y := a[i].AtEnd(m).Mean, b[i].AtEnd(m).Mean
			if a[i].Seed != b[i].Seed || x != y && !(math.IsNaN(x) && math.IsNaN(y)) ||
				m == &t.Metric && math.IsNaN(x) {
				return false
			}
		}
	}
	return true
}

// tunedText lists the tuned options of a row.
func tunedText(label string, seeds []Run) string {
	if len(seeds[0].Tuned) == 0 {
		return ""
	}
	return "; " + label + ": " + SettingsText(seeds[0].Tuned)
}

// jumpsIn is how many last evaluations a note on jumps is about.
const jumpsIn = 5

// jumps returns the lowest and the highest of the last evaluations of the first run, and
// whether they rise and fall over more than a fifth of their mean.
func (t *ErrorTable) jumps(seeds []Run) (low, high float64, jumps bool) {
	var last []float64
	for i := len(seeds[0].Rounds) - 1; i >= 0 && len(last) < jumpsIn; i-- {
		if x := t.Metric.Of(&seeds[0].Rounds[i]); !math.IsNaN(x) {
			last = append(last, x)
		}
	}
	if len(last) < jumpsIn {
		return 0, 0, false
	}
	low, high = slices.Min(last), slices.Max(last)
	rises, falls := false, false
	for i := range last[1:] {
		rises, falls = rises || last[i] > last[i+1], falls || last[i] < last[i+1]
	}
	return low, high, rises && falls && high-low > 0.2*mean(last)
}

// withSE formats a mean with its standard error.
func (t *ErrorTable) withSE(e Estimate, sign string) string {
	text := t.number(e.Mean, sign)
	if math.IsNaN(e.Mean) || e.N < 2 {
		return text
	}
	return text + " (" + t.number(e.SE, "") + ")"
}

// number formats an error; sign "+" shows the sign of positive ones.
func (t *ErrorTable) number(v float64, sign string) string {
	switch {
	case math.IsNaN(v):
		return none
	case v < 0:
		sign = ""
	}
	if t.share() {
		return sign + strconv.FormatFloat(100*v, 'f', 2, 64)
	}
	return sign + strconv.FormatFloat(v, 'g', 4, 64)
}

// trials formats the number of trials.
func (r *ErrorRow) trials() string {
	switch {
	case r.Trials == nil:
		return none
	case r.Trials[0] == r.Trials[1]:
		return strconv.Itoa(r.Trials[0])
	default:
		return fmt.Sprintf("%d-%d", r.Trials[0], r.Trials[1])
	}
}
