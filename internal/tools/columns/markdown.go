package columns

import "strings"

// escapes are the characters that mark up text in a Markdown table.
var escapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`)

// Markdown returns the sections with a heading each, and a list of the notes.
func (s Sections) Markdown() string {
	var b strings.Builder
	for i := range s {
		section := &s[i]
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		blank := ""
		if section.Title != "" {
			b.WriteString("### " + escapes.Replace(section.Title) + "\n")
			blank = "\n"
		}
		notes := section.Notes
		if len(section.Table.Groups) > 0 {
			b.WriteString(blank)
			notes, blank = append(section.Table.markdown(&b), notes...), "\n"
		}
		for _, note := range notes {
			b.WriteString(blank + "* " + escapes.Replace(note) + "\n")
			blank = ""
		}
	}
	return b.String()
}

// markdown appends the table, and returns the notes of its blocks.
func (t *Table) markdown(b *strings.Builder) (notes []string) {
	markdownRow(b, t.heads(false), nil)
	b.WriteByte('|')
	for _, left := range t.left() {
		b.WriteString(map[bool]string{true: " :-- |", false: " --: |"}[left])
	}
	b.WriteByte('\n')
	for i := range t.Blocks {
		block := &t.Blocks[i]
		if block.Title != "" {
			b.WriteString("| **" + escapes.Replace(block.Title) + "** |" + strings.Repeat(" |", len(t.left())-1) + "\n")
		}
		for k, row := range block.Rows {
			markdownRow(b, row, func(cell int) bool { return block.best(k, cell) })
		}
		notes = append(notes, block.Notes...)
	}
	return notes
}

// markdownRow appends a row of a table, with the cells in bold that bold selects.
func markdownRow(b *strings.Builder, cells []string, bold func(cell int) bool) {
	b.WriteByte('|')
	for i, cell := range cells {
		text := escapes.Replace(cell)
		if bold != nil && bold(i) {
			text = "**" + text + "**"
		}
		b.WriteString(" " + text + " |")
	}
	b.WriteByte('\n')
}
