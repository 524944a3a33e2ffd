package columns

import (
	"encoding/csv"
	"io"
	"slices"
	"strings"
)

// Section is a part of an output: a table, and what is to be said of it.
type Section struct {
	Title string // empty: none
	Table Table  // without groups: none
	Notes []string
	Name  string     // of its files; empty: none
	Exact [][]string // the rows of NAME.csv, with numbers in full precision, the names of its columns first
}

// Sections are an output.
type Sections []Section

// Text returns sections as text with at most width characters a line, and a blank line between two.
func (s Sections) Text(width int) string {
	var b strings.Builder
	for i := range s {
		section := &s[i]
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if section.Title != "" {
			b.WriteString(Wrap(section.Title, width, 0) + "\n")
		}
		if len(section.Table.Groups) > 0 {
			if section.Title != "" {
				b.WriteByte('\n')
			}
			section.Table.text(&b, width)
		}
		for _, note := range section.Notes {
			b.WriteString(Wrap(note, width, lead) + "\n")
		}
	}
	return b.String()
}

// File is an output file.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// Files returns the files of sections that have a name, each with the sections without one that follow it: as csv,
// Markdown and LaTeX.
func (s Sections) Files() (files []File) {
	for i := range s {
		section, end := &s[i], i+1
		if section.Name == "" {
			continue
		}
		for end < len(s) && s[end].Name == "" {
			end++
		}
		text := func(form func(Sections) string) func(io.Writer) error {
			return func(w io.Writer) error {
				_, err := io.WriteString(w, form(s[i:end]))
				return err
			}
		}
		files = append(files,
			File{section.Name + ".csv", func(w io.Writer) error { return csv.NewWriter(w).WriteAll(section.Exact) }},
			File{section.Name + ".md", text(Sections.Markdown)}, File{section.Name + ".tex", text(Sections.LaTeX)})
	}
	return files
}

// Cells returns the heads of the table with the titles of their groups, and its rows as text. Rows of several blocks
// begin with the title of theirs.
func (s *Section) Cells() [][]string {
	several := len(s.Table.Blocks) > 1
	titled := func(title string, cells []string) []string {
		if several {
			return append([]string{title}, cells...)
		}
		return cells
	}
	all := [][]string{titled("point", s.Table.heads(true))}
	for _, b := range s.Table.Blocks {
		for _, row := range b.Rows {
			cells := make([]string, len(row))
			for i, cell := range row {
				cells[i] = strings.TrimSpace(cell)
			}
			all = append(all, titled(b.Title, cells))
		}
	}
	return all
}

// best reports whether a cell is in bold.
func (b *Block) best(row, cell int) bool { return slices.Contains(b.Best, [2]int{row, cell}) }

// heads returns the heads of all columns, with their units: "head, unit". The title of a group precedes the head of its
// first column, or of each: "title: head".
func (t *Table) heads(each bool) []string {
	heads, title := []string{t.Label}, ""
	for _, g := range t.Groups {
		for k, head := range g.Heads {
			if g.Units != nil && g.Units[k] != "" {
				head += ", " + g.Units[k]
			}
			if g.Title != "" && (each || g.Title != title) {
				head = strings.TrimSuffix(g.Title+": "+head, ": ")
			}
			title = g.Title
			heads = append(heads, head)
		}
	}
	return heads
}

// left reports for each column whether its cells are text.
func (t *Table) left() []bool {
	left := []bool{true}
	for _, g := range t.Groups {
		left = append(left, slices.Repeat([]bool{g.Left}, len(g.Heads))...)
	}
	return left
}
