package columns

import "strings"

// escapes are the characters that mark up text in a Markdown table.
var escapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`)

// Markdown returns text with the characters escaped that mark up Markdown.
func Markdown(text string) string { return escapes.Replace(text) }

// WriteMarkdown appends the table as Markdown, followed by a list of the notes. The
// title of a group precedes the head of its first column: "title: head".
func (t *Table) WriteMarkdown(b *strings.Builder) {
	heads, rule, title := []string{t.Label}, "| :-- |", ""
	for _, g := range t.Groups {
		for _, head := range g.Heads {
			if g.Title != title && g.Title != "" {
				head = strings.TrimSuffix(g.Title+": "+head, ": ")
			}
			title = g.Title
			heads = append(heads, head)
			if g.Left {
				rule += " :-- |"
			} else {
				rule += " --: |"
			}
		}
	}
	markdownRow(b, heads, nil)
	b.WriteString(rule + "\n")
	for _, block := range t.Blocks {
		if block.Title != "" {
			b.WriteString("| **" + Markdown(block.Title) + "** |" + strings.Repeat(" |", len(heads)-1) + "\n")
		}
		for i, row := range block.Rows {
			bold := func(cell int) bool { return block.Bold != nil && block.Bold(i, cell) }
			markdownRow(b, row, bold)
		}
	}
	start := "\n"
	for _, block := range t.Blocks {
		for _, note := range block.Notes {
			b.WriteString(start + "* " + Markdown(note) + "\n")
			start = ""
		}
	}
}

// markdownRow appends a row of a table, with the cells in bold that bold selects.
func markdownRow(b *strings.Builder, cells []string, bold func(cell int) bool) {
	b.WriteByte('|')
	for i, cell := range cells {
		text := Markdown(cell)
		if bold != nil && bold(i) {
			text = "**" + text + "**"
		}
		b.WriteString(" " + text + " |")
	}
	b.WriteByte('\n')
}
