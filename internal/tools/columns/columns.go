// Package columns writes sections, which are tables with sentences: as text that fits a terminal, as Markdown,
// LaTeX and HTML. It also has paragraphs and numbers.
//
// It must not know the contents of a text.
package columns

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Width is the most characters of a line, unless the terminal is known to be wider.
const Width = 80

// Table is a table whose first column labels the rows. As text, a table that is wider
// than a line is written in several parts, one below the other. A group of columns is
// split only when the group alone is wider than a line.
type Table struct {
	Label  string // head of the first column
	Groups []Group
	Blocks []Block
}

// Add adds a row to the last block, or to the first one.
func (t *Table) Add(cells ...string) {
	if len(t.Blocks) == 0 {
		t.Blocks = []Block{{}}
	}
	last := &t.Blocks[len(t.Blocks)-1]
	last.Rows = append(last.Rows, cells)
}

// Group is columns under one title. Adjacent groups with the same title can be
// separated by a line end; otherwise the title is written once.
type Group struct {
	Title string // empty: none
	Heads []string
	Units []string // below the heads; nil: none
	Left  bool     // align left: the cells are text, not numbers
}

// Block is a set of rows. A row is a label followed by one cell for each column.
type Block struct {
	Title string // empty: none
	Rows  [][]string
	Notes []string // sentences below the rows
	Best  [][2]int // rows and cells in bold, but for text
}

const (
	lead     = 2 // blanks at the start of a line
	gap      = 2 // blanks between two columns
	groupGap = 4 // blanks before a group
)

// col is a column with its layout.
type col struct {
	group *Group
	first bool // first column of its group in this part
	more  bool // continues the title of the group before it
	index int  // of its cells in a row
	head  string
	unit  string
	width int
	extra int // blanks after the column, where the title of its group is wider
}

// columns returns the columns, and the width of the label.
func (t *Table) columns() (all []col, label int) {
	label = utf8.RuneCountInString(t.Label)
	for i := range t.Groups {
		for k, head := range t.Groups[i].Heads {
			c := col{group: &t.Groups[i], first: k == 0, index: len(all) + 1, head: head,
				width: utf8.RuneCountInString(head)}
			if c.group.Units != nil {
				c.unit = c.group.Units[k]
				c.width = max(c.width, utf8.RuneCountInString(c.unit))
			}
			all = append(all, c)
		}
	}
	for _, block := range t.Blocks {
		for _, row := range block.Rows {
			label = max(label, utf8.RuneCountInString(row[0]))
			for i := range all {
				all[i].width = max(all[i].width, utf8.RuneCountInString(row[i+1]))
			}
		}
	}
	return all, label
}

// Width returns the characters of a line of the table as text, if it is not divided.
func (t *Table) Width() int {
	all, label := t.columns()
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[end].group == all[i].group {
			end++
		}
		fit(all[i:end], all[i].group.Title)
		i = end
	}
	return lead + label + widthOf(all)
}

// text appends the table as text with at most width characters a line. A cell that is
// wider than a line is cut.
func (t *Table) text(b *strings.Builder, width int) {
	all, label := t.columns()
	label = min(label, width/2)
	for i := range all {
		all[i].width = min(all[i].width, width-lead-label-groupGap)
	}
	parts := split(all, width-lead-label)
	for i, block := range t.Blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		if block.Title != "" {
			b.WriteString(Wrap(block.Title, width, lead) + "\n")
		}
		for k, part := range parts {
			if k > 0 {
				b.WriteByte('\n')
			}
			t.part(b, part, block.Rows, label, width)
		}
		for _, note := range block.Notes {
			b.WriteString(Wrap(note, width, lead) + "\n")
		}
	}
}

// split divides columns into parts of at most width characters. A group that fits is
// not divided.
func split(all []col, width int) [][]col {
	var parts [][]col
	var part []col
	used := 0
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[end].group == all[i].group {
			end++
		}
		group := all[i:end]
		title := group[0].group.Title
		if len(part) > 0 && part[len(part)-1].group.Title == title {
			group[0].first, group[0].more = true, true
		}
		fit(group, title)
		need := widthOf(group)
		if group[0].more && used+need > width {
			group[0].more = false
			fit(group, title)
			need = widthOf(group)
		}
		if used > 0 && used+need > width {
			parts, part, used = append(parts, part), nil, 0
		}
		if need <= width {
			part, used = append(part, group...), used+need
		} else {
			for _, c := range group {
				c.first = len(part) == 0
				if c.first {
					c.more = false
				}
				if need := widthOf([]col{c}); used > 0 && used+need > width {
					parts, part, used = append(parts, part), nil, 0
					c.first = true
				}
				part, used = append(part, c), used+widthOf([]col{c})
			}
			if end < len(all) {
				parts, part, used = append(parts, part), nil, 0
			}
		}
		i = end
	}
	if len(part) > 0 || len(parts) == 0 {
		parts = append(parts, part)
	}
	return parts
}

// fit adds blanks after a group whose title is wider than its columns.
func fit(group []col, title string) {
	last := &group[len(group)-1]
	if last.extra = 0; !group[0].more {
		last.extra = max(utf8.RuneCountInString(title)-(widthOf(group)-groupGap), 0)
	}
}

// widthOf returns the width of columns, including the blanks before each.
func widthOf(columns []col) int {
	n := 0
	for _, c := range columns {
		n += c.blanks() + c.width + c.extra
	}
	return n
}

func (c *col) blanks() int {
	if c.first && !c.more {
		return groupGap
	}
	return gap
}

// part writes titles, heads, a rule and the rows of a block.
func (t *Table) part(b *strings.Builder, part []col, rows [][]string, label, width int) {
	if len(part) > 0 {
		part[len(part)-1].extra = 0
	}
	titles, titled := strings.Repeat(" ", lead+label), false
	heads := strings.Repeat(" ", lead) + pad(t.Label, label, true)
	units, united := strings.Repeat(" ", lead+label), false
	for i, c := range part {
		if c.first && !c.more {
			at := lead + label + widthOf(part[:i]) + groupGap
			if c.group.Title != "" {
				titles = pad(titles, at, true) + c.group.Title
				titled = true
			}
		}
		heads += strings.Repeat(" ", c.blanks()) + pad(c.head, c.width, c.group.Left) + strings.Repeat(" ", c.extra)
		units += strings.Repeat(" ", c.blanks()) + pad(c.unit, c.width, c.group.Left) + strings.Repeat(" ", c.extra)
		united = united || c.unit != ""
	}
	if titled {
		line(b, cut(titles, width))
	}
	line(b, heads)
	if united {
		line(b, units)
	}
	line(b, strings.Repeat(" ", lead)+strings.Repeat("-", label+widthOf(part)))
	for _, row := range rows {
		text := strings.Repeat(" ", lead) + pad(row[0], label, true)
		for _, c := range part {
			text += strings.Repeat(" ", c.blanks()) + pad(row[c.index], c.width, c.group.Left) +
				strings.Repeat(" ", c.extra)
		}
		line(b, text)
	}
}

func line(b *strings.Builder, text string) { b.WriteString(strings.TrimRight(text, " ") + "\n") }

// pad pads or cuts text to a width.
func pad(text string, width int, left bool) string {
	text = cut(text, width)
	blanks := strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
	if left {
		return text + blanks
	}
	return blanks + text
}

// cut returns at most width characters of text. The last is … if any are omitted.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}

// Middle cuts the middle of a text that is longer than a width.
func Middle(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	head := (width - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-1-head):])
}

// MostShown is the most entries of a list in a text.
const MostShown = 30

// More says how many of n entries a list does not show, and which command shows all; nil: it shows all.
func More(n int, all string) []string {
	if n <= MostShown {
		return nil
	}
	return []string{"and " + strconv.Itoa(n-MostShown) + " more (" + all + " has all)"}
}

// Entries returns a line for each name with its text, all texts in one column. A long
// text continues on the following lines in that column.
func Entries(names, texts []string, width int) string {
	longest := 0
	for _, name := range names {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	var out strings.Builder
	for i, name := range names {
		text := Wrap(texts[i], width, longest+gap)
		line(&out, pad(name, longest, true)+strings.Repeat(" ", gap)+strings.TrimLeft(text, " "))
	}
	return out.String()
}

// Wrap breaks paragraphs at blanks into indented lines of at most width characters.
// A word that is wider than a line is cut. Line breaks in the text are preserved.
func Wrap(text string, width, indent int) string {
	var out strings.Builder
	blanks := strings.Repeat(" ", indent)
	for i, paragraph := range strings.Split(text, "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		used := 0
		for _, word := range strings.Fields(paragraph) {
			n := utf8.RuneCountInString(word)
			switch {
			case used == 0:
				out.WriteString(blanks)
				used = indent
			case used+1+n > width:
				out.WriteString("\n" + blanks)
				used = indent
			default:
				out.WriteByte(' ')
				used++
			}
			out.WriteString(cut(word, width-indent))
			used += min(n, width-indent)
		}
	}
	return out.String()
}
