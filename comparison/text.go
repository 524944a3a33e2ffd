package comparison

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"fedsim/results"
)

const none = "-"

// grid is a table of text under a caption: a row of heads, then the others. A row
// of one cell is the head of those below it.
type grid struct {
	caption string
	rows    [][]string
}

// WriteText writes the comparison as aligned text: the settings that differ, a
// table per case, what one directory alone has, and how to read it.
func (c *Comparison) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, g := range []grid{c.settings(), c.times()} {
		b.WriteString(g.caption + "\n")
		g.text(&b)
		b.WriteByte('\n')
	}
	for _, line := range c.notes() {
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the comparison as Markdown.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	for _, g := range []grid{c.settings(), c.times()} {
		fmt.Fprintf(&b, "### %s\n\n", markdown(g.caption))
		for i, row := range g.rows {
			if len(row) == 1 {
				fmt.Fprintf(&b, "| **%s** |%s\n", markdown(row[0]), strings.Repeat(" |", len(g.rows[0])-1))
				continue
			}
			b.WriteByte('|')
			for _, cell := range row {
				fmt.Fprintf(&b, " %s |", markdown(cell))
			}
			b.WriteByte('\n')
			if i == 0 {
				b.WriteString("| :-- |" + strings.Repeat(" --: |", len(row)-1) + "\n")
			}
		}
		if len(g.rows) > 0 {
			b.WriteByte('\n')
		}
	}
	for _, line := range c.notes() {
		fmt.Fprintf(&b, "* %s\n", markdown(line))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdown escapes what would be mark-up within a table.
func markdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`).Replace(text)
}

// text writes the first column to the left, the others to the right, and the
// heads of rows apart from those above.
func (g *grid) text(b *strings.Builder) {
	var width []int
	for _, row := range g.rows {
		if len(row) == 1 {
			continue
		}
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range g.rows {
		if len(row) == 1 {
			b.WriteString("\n  " + row[0] + "\n")
			continue
		}
		line := " "
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line += " " + cell + pad
			} else {
				line += "  " + pad + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// settings lists what differs, a row per setting.
func (c *Comparison) settings() grid {
	if len(c.Differing) == 0 {
		return grid{caption: "no setting differs"}
	}
	g := grid{caption: "settings that differ", rows: [][]string{append([]string{"setting"}, c.Directories...)}}
	for _, d := range c.Differing {
		row := []string{d.Key}
		for _, v := range d.Values {
			if v == "" {
				v = none
			}
			row = append(row, v)
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// times has a row per case and directory, and three columns per target.
func (c *Comparison) times() grid {
	head := []string{"directory", "seeds"}
	for _, x := range c.Targets {
		head = append(head, "rounds to "+x.Name(), "time", "ratio")
	}
	g := grid{caption: "virtual time to a relative sub-optimality", rows: [][]string{head}}
	relative := false
	for n := range c.Cases {
		a := &c.Cases[n]
		g.rows = append(g.rows, []string{a.String()})
		for i := range a.Rows {
			r := &a.Rows[i]
			relative = relative || r.Relative
			row := []string{c.Directories[r.Directory], strconv.Itoa(len(r.Seeds))}
			for k := range r.Cells {
				row = append(row, r.Cells[k].text(r)...)
				row = append(row, a.ratio(i, k))
			}
			g.rows = append(g.rows, row)
		}
	}
	g.caption += results.RelativeNote(relative)
	return g
}

// text returns rounds and time, or how many of the seeds got there.
func (c *Cell) text(r *Row) []string {
	switch {
	case math.IsNaN(c.TimeS) && c.Reached > 0:
		return []string{fmt.Sprintf("%d of %d", c.Reached, len(r.Seeds)), none}
	case math.IsNaN(c.TimeS):
		return []string{none, none}
	default:
		return []string{strconv.FormatFloat(c.Rounds, 'f', decimals(c.Rounds), 64), results.TimeText(c.TimeS, r.Relative)}
	}
}

// decimals returns how many digits a mean of counts has behind the point.
func decimals(mean float64) int {
	if mean == math.Trunc(mean) || mean >= 100 {
		return 0
	}
	return 1
}

// ratio writes a ratio with its interval, and over which seeds it is when that is
// not over all of the row.
func (a *Case) ratio(row, cell int) string {
	r := &a.Rows[row].Cells[cell].Ratio
	switch {
	case math.IsNaN(r.Value):
		return none
	case row == 0:
		return "1x"
	}
	text := significant(r.Value) + "x"
	if !math.IsNaN(r.Low) {
		text += fmt.Sprintf(" [%s, %s]", significant(r.Low), significant(r.High))
	}
	seeds := len(a.Rows[row].Seeds)
	switch {
	case !r.Paired:
		text += " unpaired"
	case r.Seeds == 1 && seeds == 1:
		text += " (1 seed)"
	case r.Seeds == 1:
		text += " (1 pair)"
	case r.Seeds < seeds || r.Seeds < len(a.Rows[0].Seeds):
		text += fmt.Sprintf(" (%d pairs)", r.Seeds)
	}
	return text
}

// notes says what is missing and what the figures are.
func (c *Comparison) notes() []string {
	var lines []string
	for _, a := range c.Alone {
		lines = append(lines, fmt.Sprintf("only in %s: %s", c.Directories[a.Directory], a.Label))
	}
	lines = append(lines, "rounds and time: means over the seeds of a directory; time is virtual")
	if c.has(func(*Ratio) bool { return true }) {
		lines = append(lines, "ratio: of the mean time to that of the first directory, over the seeds that both have")
	}
	if c.has(func(r *Ratio) bool { return !math.IsNaN(r.Low) }) {
		lines = append(lines, fmt.Sprintf("[low, high]: its %g %% interval by the bootstrap, expanded percentiles of %d resamples of the seeds", 100*Level, Resamples))
	}
	if c.has(func(r *Ratio) bool { return r.Seeds == 1 }) {
		lines = append(lines, "a ratio over one seed has no interval: run more, such as --set 'run.seeds=[1, 2, 3, 4, 5, 6]'")
	}
	if c.has((*Ratio).narrow) {
		lines = append(lines, fmt.Sprintf("an interval over so few seeds covers less than %g %%: docs/compare.md", 100*Level))
	}
	if c.has(func(r *Ratio) bool { return !r.Paired }) {
		lines = append(lines, "unpaired: the directories have no seed in common, all of both count")
	}
	return lines
}

// has reports whether a ratio to a first row has a property.
func (c *Comparison) has(property func(*Ratio) bool) bool {
	for i := range c.Cases {
		for _, row := range c.Cases[i].Rows[1:] {
			if slices.ContainsFunc(row.Cells, func(x Cell) bool { return !math.IsNaN(x.Ratio.Value) && property(&x.Ratio) }) {
				return true
			}
		}
	}
	return false
}

// significant writes three digits, and all of those before the point.
func significant(v float64) string {
	digits := 2
	for limit := 9.995; digits > 0 && v >= limit; limit *= 10 {
		digits--
	}
	if v < 0.0995 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}
