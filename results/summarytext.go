package results

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// WriteText writes the table as aligned text: one group per experiment, one
// block per point.
func (t Table) WriteText(w io.Writer) error {
	var b strings.Builder
	for i, e := range t.Experiments {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", e.heading())
		e.text(&b, t.Targets)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Caption says what the figures are.
func (e *ExperimentTable) Caption() string {
	text := "virtual time and energy to a relative sub-optimality"
	if e.Totals {
		text = "what the runs took"
	}
	if e.Seeds > 1 {
		text += ", mean over " + e.Vary.repetitions(e.Seeds)
	}
	relative := func(r Row) bool { return r.Totals.Relative }
	return text + RelativeNote(slices.ContainsFunc(e.Blocks, func(b Block) bool { return slices.ContainsFunc(b.Rows, relative) }))
}

// heading is the caption behind the experiment's name.
func (e *ExperimentTable) heading() string {
	if e.Experiment == "" {
		return e.Caption()
	}
	return e.Experiment + ": " + e.Caption()
}

// text writes the blocks of an experiment, with the same columns throughout.
func (e *ExperimentTable) text(b *strings.Builder, targets Targets) {
	group := 4 // columns of a target
	if e.Totals {
		group = 3
	}
	var width []int
	var blocks [][][]string
	for i := range e.Blocks {
		cells := e.Cells(&e.Blocks[i], targets)
		blocks = append(blocks, cells)
		for _, row := range cells {
			for j, cell := range row {
				if j == len(width) {
					width = append(width, 0)
				}
				width[j] = max(width[j], utf8.RuneCountInString(cell))
			}
		}
	}
	for k, cells := range blocks {
		b.WriteByte('\n')
		for i, row := range cells {
			if line := textLine(row, width, group); line != "" || i > 0 {
				b.WriteString(line + "\n")
			}
			if i == 1 {
				b.WriteString(textRule(width, group) + "\n")
			}
		}
		for _, remark := range e.remarks(&e.Blocks[k]) {
			b.WriteString("  " + remark + "\n")
		}
	}
}

// totalHeads are the columns of an experiment without sub-optimalities.
var totalHeads = []string{"rounds", "time", "answers a round", "sent", "energy", "P at end", "test error"}

func (t *Totals) cells() []string {
	testError := orNone(t.TestError, 'g', 4)
	if !t.Real && testError != none {
		testError = orNone(100*t.TestError, 'f', 2) + " %"
	}
	return []string{
		Cell{Reached: true, Rounds: t.Rounds}.rounds(), TimeText(t.TimeS, t.Relative), Cell{Reached: true, Rounds: t.Answers}.rounds(),
		scaled(t.Bytes, "B"), scaled(t.EnergyJ, "J"), orNone(t.Primal, 'g', 5), testError,
	}
}

// orNone formats a number that may not be known.
func orNone(v float64, format byte, digits int) string {
	if math.IsNaN(v) {
		return none
	}
	return strconv.FormatFloat(v, format, digits, 64)
}

// scaled writes a quantity with three digits and an SI prefix.
func scaled(v float64, unit string) string {
	for _, prefix := range []string{"", "k", "M", "G", "T"} {
		if v < 999.5 {
			return significant(v) + " " + prefix + unit
		}
		v /= 1000
	}
	return significant(v) + " P" + unit
}

// Cells returns two rows of heads and the rows of a block as text. The columns are the
// label, four for each target (rounds, time, its ratio, energy), the end and a note.
func (e *ExperimentTable) Cells(block *Block, targets Targets) [][]string {
	above, head := []string{pointText(block.Point)}, []string{e.RowKey}
	if e.Totals {
		head = append(append(head, totalHeads...), "")
		rows := [][]string{append(above, make([]string, len(head)-1)...), head}
		for i := range block.Rows {
			r := &block.Rows[i]
			rows = append(rows, append(append([]string{r.Label}, r.Totals.cells()...), r.note()))
		}
		return rows
	}
	for _, x := range targets {
		above = append(above, "", x.Name(), "", "")
		head = append(head, "rounds", "time", "ratio", "energy")
	}
	rows := [][]string{append(above, "", ""), append(head, "at end", "")}
	for i := range block.Rows {
		r := &block.Rows[i]
		row := []string{r.Label}
		for _, c := range r.Cells {
			row = append(row, c.rounds(), c.time(r.Totals.Relative), c.ratio(), c.energy())
		}
		rows = append(rows, append(row, r.last(), r.note()))
	}
	return rows
}

// remarks names the methods of a block whose local work fell short of its accuracy.
func (e *ExperimentTable) remarks(block *Block) []string {
	var remarks []string
	for i := range block.Rows {
		r := &block.Rows[i]
		if r.Capped == 0 {
			continue
		}
		label := r.Label
		if e.RowKey != "method" {
			label = e.RowKey + " = " + label
		}
		remarks = append(remarks, fmt.Sprintf("%s: %d of %d local solves ended at %s, short of their accuracy", label, r.Capped, r.Updates, r.Limit))
	}
	return remarks
}

// columnGap returns the blanks before a column: groups of so many are set apart.
func columnGap(column, group int) string {
	if column%group == 1 {
		return "    "
	}
	return "  "
}

// textLine sets label and note to the left, figures to the right.
func textLine(row []string, width []int, group int) string {
	text := ""
	for i, cell := range row {
		pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
		switch i {
		case 0:
			text += columnGap(i, group) + cell + pad
		case len(row) - 1:
			text += "  " + cell
		default:
			text += columnGap(i, group) + pad + cell
		}
	}
	return strings.TrimRight(text, " ")
}

// textRule underlines all columns but the note.
func textRule(width []int, group int) string {
	n := 0
	for i, w := range width[:len(width)-1] {
		n += len(columnGap(i, group)) + w
	}
	return "  " + strings.Repeat("-", n-2)
}

// WriteMarkdown writes the table as Markdown, a heading per experiment and a
// table per point.
func (t Table) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	for i, e := range t.Experiments {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "### %s\n", markdown(e.heading()))
		for _, block := range e.Blocks {
			b.WriteByte('\n')
			if len(block.Point) > 0 {
				fmt.Fprintf(&b, "**%s**\n\n", markdown(pointText(block.Point)))
			}
			t.markdownBlock(&b, &e, &block)
			for _, remark := range e.remarks(&block) {
				fmt.Fprintf(&b, "\n%s\n", markdown(remark))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) markdownBlock(b *strings.Builder, e *ExperimentTable, block *Block) {
	if e.Totals {
		for i, row := range e.Cells(block, nil)[1:] {
			for j := range row {
				row[j] = markdown(row[j])
			}
			fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintf(b, "| :-- |%s :-- |\n", strings.Repeat(" --: |", len(row)-2))
			}
		}
		return
	}
	fmt.Fprintf(b, "| %s |", markdown(e.RowKey))
	rule := "| :-- |"
	for _, x := range t.Targets {
		fmt.Fprintf(b, " rounds to %s | time | ratio | energy |", x.Name())
		rule += " --: | --: | --: | --: |"
	}
	fmt.Fprintf(b, " at end | |\n%s --: | :-- |\n", rule)
	for _, r := range block.Rows {
		fmt.Fprintf(b, "| %s |", markdown(r.Label))
		for _, c := range r.Cells {
			fmt.Fprintf(b, " %s | %s | %s | %s |", c.rounds(), c.time(r.Totals.Relative), c.ratio(), c.energy())
		}
		fmt.Fprintf(b, " %s | %s |\n", r.last(), r.note())
	}
}

// markdown escapes what would be mark-up within a table.
func markdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`).Replace(text)
}

const none = "-"

func (c Cell) rounds() string {
	if !c.Reached {
		return none
	}
	if c.Rounds == math.Trunc(c.Rounds) || c.Rounds >= 100 {
		return strconv.FormatFloat(c.Rounds, 'f', 0, 64)
	}
	return strconv.FormatFloat(c.Rounds, 'f', 1, 64)
}

func (c Cell) time(relative bool) string {
	if !c.Reached {
		return none
	}
	return TimeText(c.TimeS, relative)
}

func (c Cell) energy() string {
	if !c.Reached {
		return none
	}
	return scaled(c.EnergyJ, "J")
}

func (c Cell) ratio() string {
	if math.IsNaN(c.Ratio) {
		return none
	}
	return significant(c.Ratio) + "x"
}

func (r *Row) last() string {
	if math.IsNaN(r.Last) {
		return none
	}
	return strconv.FormatFloat(r.Last, 'e', 1, 64)
}

// note says which runs of the row did not end by themselves.
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

// TimeText writes a virtual time with three digits: seconds as HumanTime does, and
// relative units (Run.Relative) with the unit "ru", which RelativeNote explains.
func TimeText(t float64, relative bool) string {
	if relative {
		return strconv.FormatFloat(t, 'g', 3, 64) + " ru"
	}
	return HumanTime(t)
}

// RelativeNote is what a caption says of times in relative units; empty for others.
func RelativeNote(relative bool) string {
	if relative {
		return "; ru are relative units of time (federation.cost), not seconds"
	}
	return ""
}

// HumanTime writes seconds with three digits in the unit that suits: µs,
// ms, s, min, h or d.
func HumanTime(s float64) string {
	for _, u := range []struct {
		below, size float64
		name        string
	}{
		{0.9995e-3, 1e-6, "µs"},
		{0.9995, 1e-3, "ms"},
		{99.95, 1, "s"},
		{99.95 * 60, 60, "min"},
		{48 * 3600, 3600, "h"},
		{math.Inf(1), 86400, "d"},
	} {
		if math.Abs(s) < u.below {
			return significant(s/u.size) + " " + u.name
		}
	}
	return strconv.FormatFloat(s, 'g', 3, 64) + " s" // infinite or not a number
}

// significant writes three digits, and all of those before the point.
func significant(v float64) string {
	decimals := 2
	for limit := 9.995; decimals > 0 && math.Abs(v) >= limit; limit *= 10 {
		decimals--
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
