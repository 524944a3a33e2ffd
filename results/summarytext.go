package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/columns"
)

// Sections are an output, with a method for each form; a Section is a table with sentences.
type (
	Sections    = columns.Sections
	Section     = columns.Section
	Table       = columns.Table
	ColumnGroup = columns.Group
	TableBlock  = columns.Block
	File        = columns.File
)

// Sections returns a table for each experiment, with its points, and the messages.
func (s Summary) Sections() (list Sections) {
	for i := range s.Experiments {
		list = append(list, s.Experiments[i].section())
	}
	return append(list, s.said()...)
}

// section returns the table of the experiment: the final models, their cost, statistics over clients, the cost of
// each target whose metric is known, and notes on runs that stalled or were interrupted. The best cells of a block
// are those with the lowest time, bytes and energy to each target, and with the best final sub-optimality, error
// and declared metrics; a column with equal values has none.
func (e *ExperimentSummary) section() Section {
	s := Section{Title: e.Caption(), Notes: slices.Concat(e.Verdicts(), e.Notes()),
		Table: columns.Table{Label: e.RowHead()}}
	if e.Experiment != "" {
		s.Title = e.Experiment + ": " + s.Title
	}
	parts := e.parts()
	for _, part := range parts {
		g := columns.Group{Title: part.title, Left: part.left}
		for _, c := range part.columns {
			g.Heads = append(g.Heads, c.head)
		}
		s.Table.Groups = append(s.Table.Groups, g)
	}
	for i := range e.Blocks {
		b := &e.Blocks[i]
		block := columns.Block{Title: SettingsText(b.Point), Notes: e.Remarks(b)}
		for k := range b.Rows {
			block.Rows = append(block.Rows, []string{b.Rows[k].Text()})
		}
		for _, part := range parts {
			for _, c := range part.columns {
				block.Best = append(block.Best, b.best(&c, len(block.Rows[0]), part.end)...)
				for k := range b.Rows {
					block.Rows[k] = append(block.Rows[k], c.cell(b, &b.Rows[k]))
				}
			}
		}
		s.Table.Blocks = append(s.Table.Blocks, block)
	}
	return s
}

// best returns the cells with the lowest value of a column, unless a message doubts it; end: at the end of the runs.
func (b *Block) best(c *endColumn, at int, end bool) (cells [][2]int) {
	if c.by == nil {
		return nil
	}
	least, most := math.Inf(1), math.Inf(-1)
	for i := range b.Rows {
		if v := c.by(&b.Rows[i]); !math.IsNaN(v) {
			least, most = min(least, v), max(most, v)
		}
	}
	for i := range b.Rows {
		r := &b.Rows[i]
		if least < most && c.by(r) == least && !r.doubted && !(end && r.endDoubted) {
			cells = append(cells, [2]int{i, at})
		}
	}
	return cells
}

// Caption describes the numbers.
func (e *ExperimentSummary) Caption() string {
	text := "how the runs ended"
	if slices.Contains(e.Known, true) {
		text += ", and virtual time, bytes and energy to each target"
	}
	if e.Seeds > 1 {
		text += ", mean over " + e.Vary.Repetitions(e.Seeds)
	}
	text += RelativeNote(e.some(func(r *Row) bool { return r.Totals.Relative }))
	if e.marksBest() {
		text += "; * " + e.Metric.extreme() + " " + e.Metric.LabelFor(e.real())
	}
	return text
}

// endColumn is a column about the end of the runs.
type endColumn struct {
	head  string
	there bool
	cell  func(*Block, *Row) string
	by    func(*Row) float64 // compares the rows of a block, the lowest being the best; nil: nothing does
}

// amountCell returns a cell function of an amount, in one unit for the rows of a block.
func amountCell(in amountUnits, of func(*Row) float64) func(*Block, *Row) string {
	var last *Block
	var unit amountUnit
	return func(b *Block, r *Row) string {
		if b != last {
			last = b
			amounts := make([]float64, len(b.Rows))
			for i := range b.Rows {
				amounts[i] = of(&b.Rows[i])
			}
			unit = in.of(amounts...)
		}
		return unit.text(of(r))
	}
}

// timeCell returns the cell function of a time.
func timeCell(of func(*Row) float64) func(*Block, *Row) string {
	seconds := amountCell(timeUnits, of)
	return func(b *Block, r *Row) string {
		if v := of(r); r.Totals.Relative {
			return TimeText(v, true)
		}
		return seconds(b, r)
	}
}

// energyCell returns the cell function of an energy, which rows in relative units do not have.
func energyCell(of func(*Row) float64) func(*Block, *Row) string {
	return amountCell(energyUnits, func(r *Row) float64 {
		if r.Totals.Relative {
			return math.NaN()
		}
		return of(r)
	})
}

// joules reports whether a row has an energy.
func (e *ExperimentSummary) joules() bool {
	return e.some(func(r *Row) bool { return !r.Totals.Relative })
}

// endColumns returns the columns about the final models and about their cost, without
// those for which no run has a value. Metric is first. Heads are without the mean over clients of the title.
func (e *ExperimentSummary) endColumns() (model, cost []endColumn) {
	learns, real, optimum := e.some(func(r *Row) bool { return !math.IsNaN(r.Totals.Primal) }), e.real(),
		e.some(func(r *Row) bool { return !math.IsNaN(r.Last) })
	mark := ""
	if e.marksBest() {
		mark = " "
	}
	distance, _ := MetricNamed(Suboptimality)
	by := func(m *Metric, of func(*Row) float64) func(*Row) float64 {
		return func(r *Row) float64 {
			if m.Higher {
				return -of(r)
			}
			return of(r)
		}
	}
	end, last := func(r *Row) float64 { return r.End }, func(r *Row) float64 { return r.Last }
	held, heldOut := e.heldOut()
	what, over := e.Metric.Parts(real)
	heldWhat, _ := held.Parts(real)
	model = []endColumn{
		{what, learns || e.some(func(r *Row) bool { return !math.IsNaN(r.End) }), func(_ *Block, r *Row) string {
			if r.Best {
				return e.Metric.Format(r.End, real) + "*"
			}
			return e.Metric.Format(r.End, real) + mark
		}, by(&e.Metric, end)},
		{heldWhat, held.Name != e.Metric.Name && e.some(func(r *Row) bool { return !math.IsNaN(heldOut(r)) }),
			func(_ *Block, r *Row) string { return held.Format(heldOut(r), real) }, heldOut},
		{"sub-optimality", optimum && e.showsP() && e.Metric.Name != Suboptimality,
			func(_ *Block, r *Row) string { return distance.Format(r.Last, false) }, last},
		{headP, learns && !optimum && e.showsP(),
			func(_ *Block, r *Row) string { return orNone(r.Totals.Primal, 'g', 5) }, nil},
	}
	for i := range e.Named {
		m := &e.Named[i]
		text := func(_ *Block, r *Row) string { return m.Format(r.value(m.Name), real) }
		head := m.Label
		if what, same := m.Parts(false); same == over {
			head = what
		}
		model = append(model, endColumn{head, true, text, by(m, func(r *Row) float64 { return r.value(m.Name) })})
	}
	learns = learns || len(e.Named) > 0
	cost = []endColumn{
		{"rounds", true, func(_ *Block, r *Row) string { return CountText(r.Totals.Rounds) }, nil},
		{"time", true, timeCell(func(r *Row) float64 { return r.Totals.TimeS }), nil},
		{"answers a round", !learns, func(_ *Block, r *Row) string { return CountText(r.Totals.Answers) }, nil},
		{"sent", true, amountCell(byteUnits, func(r *Row) float64 { return r.Totals.Bytes }), nil},
		{"energy", e.joules(), energyCell(func(r *Row) float64 { return r.Totals.EnergyJ }), nil},
	}
	for _, c := range Heads() {
		of := func(r *Row) float64 { return r.Totals.Declared[c.Name] }
		cost = append(cost, endColumn{c.Head, e.counts(c), amountCell(unitsOf(c.Unit), of), nil})
	}
	absent := func(c endColumn) bool { return !c.there }
	return slices.DeleteFunc(model, absent), slices.DeleteFunc(cost, absent)
}

// heldOut returns the validation error with the mean of Metric, and its value in a row.
func (e *ExperimentSummary) heldOut() (m Metric, of func(*Row) float64) {
	if strings.HasSuffix(e.Metric.Name, clientsSuffix) {
		m, _ = MetricNamed("validation_error" + clientsSuffix)
		return m, func(r *Row) float64 { return r.Totals.ValidationErrorClients }
	}
	m, _ = MetricNamed("validation_error")
	return m, func(r *Row) float64 { return r.Totals.ValidationError }
}

// showsP reports whether P, or what is derived from it, says something of the rows: all minimize it, and a target is
// of it or there are no errors.
func (e *ExperimentSummary) showsP() bool {
	return e.ByP &&
		(slices.ContainsFunc(e.Targets, Target.MeasuresP) ||
			!e.some(func(r *Row) bool { return !math.IsNaN(r.Totals.TestError) }))
}

// clientColumns returns the columns with statistics over clients.
func (e *ExperimentSummary) clientColumns() []endColumn {
	list, real := make([]endColumn, len(e.Main)), e.real()
	for i := range e.Main {
		m := &e.Main[i]
		list[i] = endColumn{m.Head(), true, func(_ *Block, r *Row) string { return m.Format(r.value(m.Name), real) },
			nil}
	}
	return list
}

// targetColumns returns the columns about the cost of a target.
func (e *ExperimentSummary) targetColumns(k int) []endColumn {
	column :=
		func(head string, there bool, in func(func(*Row) float64) func(*Block, *Row) string,
			of func(*Amounts) float64) endColumn {
			cell := in(func(r *Row) float64 { return of(&r.Cells[k].AtLeast) })
			text := func(b *Block, r *Row) string { return r.Cells[k].Format(cell(b, r)) }
			return endColumn{head, there, text, func(r *Row) float64 {
				c := &r.Cells[k]
				if v := of(&c.Amounts); v < of(&c.bound) || c.Seeds() == 0 {
					return v
				}
				return math.Inf(1) // not the best
			}}
		}
	in := func(units amountUnits) func(func(*Row) float64) func(*Block, *Row) string {
		return func(of func(*Row) float64) func(*Block, *Row) string { return amountCell(units, of) }
	}
	time := func(a *Amounts) float64 { return a.TimeS }
	list := []endColumn{
		{"rounds", true,
			func(_ *Block, r *Row) string { return r.Cells[k].Format(CountText(r.Cells[k].AtLeast.Rounds)) }, nil},
		column("time", true, timeCell, time),
		{"ratio", true, func(_ *Block, r *Row) string { return r.Cells[k].ratio() }, nil},
		column("sent", true, in(byteUnits), func(a *Amounts) float64 { return a.Bytes }),
		column("energy", e.joules(), energyCell, func(a *Amounts) float64 { return a.EnergyJ }),
	}
	for _, c := range Heads() {
		list = append(list,
			column(c.Head, e.counts(c), in(unitsOf(c.Unit)), func(a *Amounts) float64 { return a.Declared[c.Name] }))
	}
	list = append(list, []endColumn{
		{"median", e.medians(k), func(_ *Block, r *Row) string { return r.Cells[k].median(r.Totals.Relative) }, nil},
		{"restricted", e.medians(k), timeCell(func(r *Row) float64 { return r.Cells[k].RestrictedMeanS }), nil},
	}...)
	return slices.DeleteFunc(list, func(c endColumn) bool { return !c.there })
}

// medians reports whether the median and the restricted mean say more than the mean time to a target.
func (e *ExperimentSummary) medians(target int) bool {
	return e.some(func(r *Row) bool { return r.Cells[target].Seeds() > 1 && !r.Cells[target].Reached })
}

// counts reports whether a run has a declared cost.
func (e *ExperimentSummary) counts(c *Column[Round]) bool {
	return e.some(func(r *Row) bool { return r.Totals.Declared[c.Name] > 0 })
}

// some reports whether any row has a property.
func (e *ExperimentSummary) some(property func(*Row) bool) bool {
	for i := range e.Blocks {
		for k := range e.Blocks[i].Rows {
			if property(&e.Blocks[i].Rows[k]) {
				return true
			}
		}
	}
	return false
}

// real reports whether the data have real targets.
func (e *ExperimentSummary) real() bool { return e.some(func(r *Row) bool { return r.Totals.Real }) }

// marksBest reports whether a row is Best.
func (e *ExperimentSummary) marksBest() bool { return e.some(func(r *Row) bool { return r.Best }) }

// tablePart is a group of columns.
type tablePart struct {
	title   string
	columns []endColumn
	end     bool // of values at the end of the runs
	left    bool // of texts
}

// parts returns the groups that have columns.
func (e *ExperimentSummary) parts() []tablePart {
	model, cost := e.endColumns()
	end := "at the end"
	if what, mean := e.Metric.Parts(e.real()); mean != "" && len(model) > 0 && model[0].head == what {
		end += ", " + mean
	}
	list := []tablePart{
		{title: end, columns: model, end: true}, {title: "in all", columns: cost},
		{title: e.ClientsOf + " over clients at the end", columns: e.clientColumns()},
	}
	for k := range e.Targets {
		if e.Known[k] {
			list = append(list, tablePart{title: "to " + e.Texts[k], columns: e.targetColumns(k)})
		}
	}
	if e.some(func(r *Row) bool { return r.note() != "" }) {
		list = append(list,
			tablePart{columns: []endColumn{{"", true, func(_ *Block, r *Row) string { return r.note() }, nil}},
				left: true})
	}
	return slices.DeleteFunc(list, func(p tablePart) bool { return len(p.columns) == 0 })
}

// orNone formats a number, NaN as "-".
func orNone(v float64, format byte, digits int) string {
	if math.IsNaN(v) {
		return none
	}
	return strconv.FormatFloat(v, format, digits, 64)
}

// RowHead is the head of the row labels: the key of the rows, and the names of sampled keys.
func (e *ExperimentSummary) RowHead() string {
	names := make([]string, len(e.Sampled))
	for i, key := range e.Sampled {
		names[i] = key[strings.LastIndexByte(key, '.')+1:]
	}
	return labeled(e.RowKey, names)
}

// Text is the label of the row, and the values of sampled keys.
func (r *Row) Text() string {
	values := make([]string, len(r.Sampled))
	for i, s := range r.Sampled {
		values[i] = s.Value
	}
	return labeled(r.Label, values)
}

// labeled returns a label and texts that belong to it: "3: 0.01, 5".
func labeled(label string, texts []string) string {
	if len(texts) == 0 {
		return label
	}
	return label + ": " + strings.Join(texts, ", ")
}

// Remarks names the methods of a block that lost rounds, and those whose local solves reached their
// limit.
func (e *ExperimentSummary) Remarks(block *Block) (remarks []string) {
	for i := range block.Rows {
		r := &block.Rows[i]
		label := e.labelOf(r)
		if lost := r.value(LostRounds); lost > 0 {
			remarks = append(remarks,
				fmt.Sprintf(
					"%s: %s of %s rounds were lost: too few clients responded to unmask their sum "+
						"(privacy.secure_aggregation)",
					label, CountText(lost), CountText(r.Totals.Rounds)))
		}
		if r.Known > 0 {
			remarks = append(remarks,
				fmt.Sprintf("%s: %s clients of the lazy population have state", label, CountText(float64(r.Known))))
		}
		if r.Capped == 0 {
			continue
		}
		remarks = append(remarks,
			fmt.Sprintf("%s: %d of %d local solves ended at %s, short of their accuracy", label, r.Capped, r.Updates,
				r.Limit))
	}
	return remarks
}

const none = "-"

// CountText formats a mean of counts, with a decimal where it is below 100 and not whole; "-" if
// there is none.
func CountText(mean float64) string {
	if mean == math.Trunc(mean) || mean >= 100 {
		return orNone(mean, 'f', 0)
	}
	return orNone(mean, 'f', 1)
}

func (c Cell) ratio() string {
	if math.IsNaN(c.Ratio) {
		return none
	}
	return columns.Significant(c.Ratio) + "x"
}

// note counts the runs of a row that stalled or were interrupted.
func (r *Row) note() string {
	var notes []string
	for _, n := range []struct {
		count int
		text  string
	}{{r.Stalled, "stalled"}, {r.Interrupted, "interrupted"}} {
		switch {
		case n.count == 0:
		case r.Seeds == 1:
			notes = append(notes, n.text)
		default:
			notes = append(notes, fmt.Sprintf("%d of %d %s", n.count, r.Seeds, n.text))
		}
	}
	return strings.Join(notes, ", ")
}
