package results

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/internal/tools/columns"
)

// Short returns what the runs come to as text: for each experiment with one point, how its runs
// ended and the cost of the last target that one of them reached; for an experiment with
// several, the times to that target, a line for each point. Below are the row that was first
// and notes that the table needs. Text has all tables.
func (t Summary) Short(width int) string {
	var b strings.Builder
	for i := range t.Experiments {
		e := t.Experiments[i].last()
		if i > 0 {
			b.WriteByte('\n')
		}
		if len(e.Blocks) > 1 {
			e.writeMatrix(&b, width)
		} else {
			e.write(&b, width)
		}
	}
	return b.String() + MessagesText(t.Messages(), width)
}

// last returns the table with one target, the last that a row reached, or else the last known.
func (e *ExperimentSummary) last() ExperimentSummary {
	at := -1
	for k := range e.Targets {
		if e.Known[k] && (at < 0 || e.some(func(r *Row) bool { return r.Cells[k].ReachedSeeds > 0 })) {
			at = k
		}
	}
	only := *e
	only.short = true
	if at < 0 {
		return only
	}
	only.Targets, only.Known, only.Texts, only.Blocks = e.Targets[at:at+1], e.Known[at:at+1], e.Texts[at:at+1], slices.Clone(e.Blocks)
	for i := range only.Blocks {
		rows := slices.Clone(only.Blocks[i].Rows)
		for k := range rows {
			rows[k].Cells = rows[k].Cells[at : at+1]
		}
		only.Blocks[i].Rows = rows
	}
	return only
}

// shortColumn returns the column of the matrix: the time to the only target, or else the first
// column about the end of the runs.
func (e *ExperimentSummary) shortColumn() (what string, c endColumn, wins func(*Block, *Row) bool) {
	if slices.Contains(e.Known, true) {
		var all []float64
		e.some(func(r *Row) bool { all = append(all, r.Cells[0].AtLeast.TimeS); return false })
		unit, name := timeUnits.of(all...), "relative units (federation.cost)"
		if e.joules() {
			name = unit.name
		}
		cell := func(_ *Block, r *Row) string {
			v := r.Cells[0].AtLeast.TimeS
			text := unit.text(v)
			if r.Totals.Relative && !math.IsNaN(v) {
				text = TimeText(v, true)
			}
			if e.joules() && r.Totals.Relative {
				return r.Cells[0].Format(text)
			}
			number, _, _ := strings.Cut(text, " ")
			return r.Cells[0].Format(number)
		}
		if e.RowKey == "method" {
			wins = func(b *Block, r *Row) bool {
				return len(b.competing(0)) > 1 && slices.Contains(b.first(0).rows, r.Label)
			}
		}
		return "virtual time in " + name + " to " + e.Texts[0], endColumn{"time", true, cell, nil}, wins
	}
	model, cost := e.endColumns()
	c = append(model, cost[1])[0]
	if what, _ := e.Metric.Parts(e.real()); c.head == what {
		return e.Metric.LabelFor(e.real()) + " at the end", c, nil
	}
	return c.head + " at the end", c, nil
}

// writeMatrix writes a line for each point, with a column for each row of its block.
func (e *ExperimentSummary) writeMatrix(b *strings.Builder, width int) {
	what, column, wins := e.shortColumn()
	text := what
	if e.Experiment != "" {
		text = e.Experiment + ": " + text
	}
	if e.Seeds > 1 {
		text += ", mean over " + e.Vary.Repetitions(e.Seeds)
	}
	if e.joules() {
		text += RelativeNote(e.some(func(r *Row) bool { return r.Totals.Relative }))
	}
	if wins != nil {
		text += "; * first"
	} else if head, _ := e.Metric.Parts(e.real()); e.marksBest() && column.head == head {
		text += "; * " + e.Metric.extreme()
	}
	fmt.Fprintf(b, "%s\n\n", columns.Wrap(text, width, 0))
	var labels []string
	for i := range e.Blocks {
		for k := range e.Blocks[i].Rows {
			if label := e.Blocks[i].Rows[k].Text(); !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	keys := make([]string, 0, len(e.Blocks[0].Point))
	for _, s := range e.Blocks[0].Point {
		keys = append(keys, s.Key)
	}
	table := columns.Table{Label: strings.Join(keys, ", "), Groups: []columns.Group{{Heads: labels}}, Blocks: []columns.Block{{}}}
	if e.RowKey != "method" {
		table.Groups[0].Title = e.RowHead()
	}
	for i := range e.Blocks {
		block := &e.Blocks[i]
		values := make([]string, len(block.Point))
		for k, s := range block.Point {
			values[k] = s.Value
		}
		row := append([]string{strings.Join(values, ", ")}, slices.Repeat([]string{""}, len(labels))...)
		for k := range block.Rows {
			r := &block.Rows[k]
			cell := column.cell(block, r)
			if wins != nil {
				mark := " "
				if wins(block, r) && !r.doubted {
					mark = "*"
				}
				cell += mark
			}
			row[1+slices.Index(labels, r.Text())] = cell
		}
		table.Blocks[0].Rows = append(table.Blocks[0].Rows, row)
	}
	table.Write(b, width)
	writeNotes(b, slices.Concat(e.Verdicts(), e.shortNotes()), width)
}

// writeNotes writes sentences below a table.
func writeNotes(b *strings.Builder, notes []string, width int) {
	for _, note := range notes {
		b.WriteString(columns.Wrap(note, width, 2) + "\n")
	}
}

// shortNotes are the notes on bounds and objectives, how many runs did not end, and the first
// remarks.
func (e *ExperimentSummary) shortNotes() []string {
	var notes, remarks []string
	notes = append(notes, e.censored()...)
	if !slices.Contains(e.Known, true) {
		notes = append(notes, e.ends()...)
	}
	notes = append(notes, e.protocols()...)
	stalled, interrupted := 0, 0
	for i := range e.Blocks {
		for k := range e.Blocks[i].Rows {
			stalled += e.Blocks[i].Rows[k].Stalled
			interrupted += e.Blocks[i].Rows[k].Interrupted
		}
		for _, text := range e.Remarks(&e.Blocks[i]) {
			remarks = append(remarks, SettingsText(e.Blocks[i].Point)+", "+text)
		}
	}
	if stalled > 0 {
		notes = append(notes, columns.Count(stalled, "run")+" stalled")
	}
	if interrupted > 0 {
		notes = append(notes, columns.Count(interrupted, "run")+" interrupted")
	}
	if len(remarks) > 3 {
		remarks = append(remarks[:3], fmt.Sprintf("and %s like these", columns.Count(len(remarks)-3, "remark")))
	}
	return append(notes, remarks...)
}
