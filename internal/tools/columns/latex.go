package columns

import (
	"fmt"
	"strings"
)

// marks are the characters that LaTeX does not print as they are.
var marks = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`, "{",
	`\{`, "}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", `\textless{}`, ">", `\textgreater{}`,
	"µ", `\textmu{}`, "±", `$\pm$`, "…", `\ldots{}`)

// LaTeX returns the sections as tabulars of package booktabs. Titles and notes are comments.
func (s Sections) LaTeX() string {
	var b strings.Builder
	for i := range s {
		section := &s[i]
		comment := func(text string) {
			if text != "" {
				b.WriteString("% " + strings.ReplaceAll(text, "\n", " ") + "\n")
			}
		}
		comment(section.Title)
		if len(section.Table.Groups) > 0 {
			section.Table.latex(&b)
		}
		for _, block := range section.Table.Blocks {
			for _, note := range block.Notes {
				comment(note)
			}
		}
		for _, note := range section.Notes {
			comment(note)
		}
	}
	return b.String()
}

func (t *Table) latex(b *strings.Builder) {
	row := func(cells []string) { b.WriteString(strings.Join(cells, " & ") + ` \\` + "\n") }
	form, titles, rules, heads := "l", []string{""}, "", []string{marks.Replace(t.Label)}
	units, united := []string{""}, false
	for _, g := range t.Groups {
		form += strings.Repeat(map[bool]string{true: "l", false: "r"}[g.Left], len(g.Heads))
		titles = append(titles, fmt.Sprintf(`\multicolumn{%d}{c}{%s}`, len(g.Heads), marks.Replace(g.Title)))
		if g.Title != "" {
			rules += fmt.Sprintf(`\cmidrule(lr){%d-%d}`, len(heads)+1, len(heads)+len(g.Heads))
		}
		for k, head := range g.Heads {
			unit := ""
			if g.Units != nil {
				unit, united = marks.Replace(g.Units[k]), true
			}
			heads, units = append(heads, marks.Replace(head)), append(units, unit)
		}
	}
	b.WriteString(`\begin{tabular}{` + form + "}\n\\toprule\n")
	if rules != "" {
		row(titles)
		b.WriteString(rules + "\n")
	}
	row(heads)
	if united {
		row(units)
	}
	for i := range t.Blocks {
		block := &t.Blocks[i]
		b.WriteString("\\midrule\n")
		if block.Title != "" {
			row([]string{fmt.Sprintf(`\multicolumn{%d}{l}{%s}`, len(heads), marks.Replace(block.Title))})
		}
		for k, cells := range block.Rows {
			texts := make([]string, len(cells))
			for c, cell := range cells {
				if texts[c] = marks.Replace(cell); block.best(k, c) {
					texts[c] = `\textbf{` + texts[c] + "}"
				}
			}
			row(texts)
		}
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
}
