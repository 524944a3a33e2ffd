package columns

import (
	"fmt"
	"html"
	"strings"
)

// HTML returns the sections as tables, with their titles as captions, and paragraphs.
func (s Sections) HTML() string {
	var b strings.Builder
	for i := range s {
		section := &s[i]
		title := html.EscapeString(section.Title)
		switch {
		case len(section.Table.Groups) > 0:
			parts := section.Table.parts(mostColumns)
			for k := range parts {
				parts[k].html(&b, title)
			}
			for _, note := range section.Notes {
				fmt.Fprintf(&b, "<p class=\"quiet\">%s</p>\n", html.EscapeString(note))
			}
		case len(section.Notes) > 0:
			fmt.Fprintf(&b, "<h4>%s</h4>\n<ul>\n<li>%s</li>\n</ul>\n", title,
				strings.ReplaceAll(html.EscapeString(strings.Join(section.Notes, "\n")), "\n", "</li>\n<li>"))
		default:
			fmt.Fprintf(&b, "<p>%s</p>\n", title)
		}
	}
	return b.String()
}

// mostColumns is the most columns of a table on a page.
const mostColumns = 8

// parts divides a table into tables of at most some columns each, if it can between groups. The notes of blocks are
// below the last one.
func (t *Table) parts(most int) (list []Table) {
	var groups []Group
	for _, g := range t.Groups {
		for k := 0; k < len(g.Heads); k += most {
			piece := Group{Title: g.Title, Heads: g.Heads[k:min(k+most, len(g.Heads))], Left: g.Left}
			if g.Units != nil {
				piece.Units = g.Units[k : k+len(piece.Heads)]
			}
			groups = append(groups, piece)
		}
	}
	for first, at := 0, 0; first < len(groups); {
		last, n := first, 0
		for last < len(groups) && (last == first || n+len(groups[last].Heads) <= most) {
			n += len(groups[last].Heads)
			last++
		}
		part := Table{Label: t.Label, Groups: groups[first:last]}
		for i := range t.Blocks {
			block := Block{Title: t.Blocks[i].Title}
			for _, row := range t.Blocks[i].Rows {
				block.Rows = append(block.Rows, append([]string{row[0]}, row[1+at:1+at+n]...))
			}
			for _, best := range t.Blocks[i].Best {
				if best[1] > at && best[1] <= at+n {
					block.Best = append(block.Best, [2]int{best[0], best[1] - at})
				}
			}
			if last == len(groups) {
				block.Notes = t.Blocks[i].Notes
			}
			part.Blocks = append(part.Blocks, block)
		}
		list, first, at = append(list, part), last, at+n
	}
	return list
}

// filled reports which cells of rows, beside the label, have a value in some row.
func (t *Table) filled() []bool {
	found := []bool{true}
	for i := range t.Groups {
		found = append(found, make([]bool, len(t.Groups[i].Heads))...)
	}
	for i := range t.Blocks {
		for _, row := range t.Blocks[i].Rows {
			for c, cell := range row {
				found[c] = found[c] || cell != "" && cell != "-"
			}
		}
	}
	return found
}

// html writes the table without its empty columns.
func (t *Table) html(b *strings.Builder, title string) {
	filled := t.filled()
	write := func(texts ...string) { b.WriteString(strings.Join(texts, "")) }
	classes, above, heads, titled := []string{""}, "<td></td>", "", false
	names := t.heads(true) // beside the cells where the page is narrow
	for _, g := range t.Groups {
		shown := 0
		for k, head := range g.Heads {
			if !filled[len(classes)] {
				classes = append(classes, "")
				continue
			}
			class := map[bool]string{true: " begins"}[shown == 0] + map[bool]string{true: " left"}[g.Left]
			shown++
			if class != "" {
				class = fmt.Sprintf(" class=%q", class[1:])
			}
			classes = append(classes, class)
			heads += `<th scope="col"` + class + ">" + html.EscapeString(head)
			if g.Units != nil && g.Units[k] != "" {
				heads += "<small>" + html.EscapeString(g.Units[k]) + "</small>"
			}
			heads += "</th>"
		}
		if shown == 0 {
			continue
		}
		above += fmt.Sprintf(`<th scope="colgroup" colspan="%d" class="over">%s</th>`, shown,
			html.EscapeString(g.Title))
		titled = titled || g.Title != ""
	}
	write(`<div class="wide" tabindex="0" role="group" aria-label="`, title, "\"><table>\n<caption>", title,
		"</caption>\n<thead>")
	if titled {
		write(`<tr class="above">`, above, "</tr>\n")
	}
	write(`<tr><th scope="col">`, html.EscapeString(t.Label), "</th>", heads, "</tr></thead>\n")
	whole := fmt.Sprintf(` colspan="%d">`, strings.Count(heads, "<th")+1)
	for i := range t.Blocks {
		block := &t.Blocks[i]
		write("<tbody>\n")
		if block.Title != "" {
			write(`<tr class="title"><th scope="rowgroup"`, whole, html.EscapeString(block.Title), "</th></tr>\n")
		}
		for k, row := range block.Rows {
			write(`<tr><th scope="row" data-head="`, html.EscapeString(t.Label), `">`)
			write(html.EscapeString(row[0]), "</th>")
			for c, cell := range row[1:] {
				if !filled[c+1] {
					continue
				}
				cell = html.EscapeString(cell)
				if block.best(k, c+1) {
					cell = `<strong class="best" title="the best of this block">` + cell + "</strong>"
				}
				write("<td", classes[c+1], ` data-head="`, html.EscapeString(names[c+1]), `">`, cell, "</td>")
			}
			write("</tr>\n")
		}
		for _, note := range block.Notes {
			write(`<tr class="note"><td`, whole, html.EscapeString(note), "</td></tr>\n")
		}
		write("</tbody>\n")
	}
	write("</table></div>\n")
}
