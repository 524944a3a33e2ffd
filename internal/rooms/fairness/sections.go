package fairness

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/internal/tools/columns"
	"fedsim/results"
)

// Sections returns the verdicts, the means of the worst clients, of the rest and of the classes of the fleet, and the
// rank correlations, of which those that count are in bold.
func (r *Report) Sections() columns.Sections {
	verdicts := columns.Section{Title: "by " + r.Label}
	groups := columns.Section{
		Title: r.Label + " of the worst 10 % of the clients, of the rest, and of the classes of the fleet",
		Table: columns.Table{
			Label: "clients",
			Groups: []columns.Group{
				{Heads: []string{"number", r.Label, "rows", "compute", "transfer", "updates", "in worst"}},
			},
		}}
	traits := columns.Section{Title: "rank correlations with a worse " + r.Label, Table: columns.Table{
		Label: "method", Groups: []columns.Group{{}}, Blocks: []columns.Block{{}},
	}}
	keys := r.traitKeys()
	for _, key := range keys {
		traits.Table.Groups[0].Heads = append(traits.Table.Groups[0].Heads,
			strings.TrimSpace(strings.TrimSuffix(key.Name, "_s")+" "+key.Class))
	}
	traits.Table.Groups[0].Heads = append(traits.Table.Groups[0].Heads, "counts from")
	for i := range r.Methods {
		m := &r.Methods[i]
		name := m.Name
		if len(m.Point) > 0 {
			name += ", " + results.SettingsText(m.Point)
		}
		verdicts.Notes = append(verdicts.Notes, name+": "+m.Verdict)
		groups.Table.Blocks = append(groups.Table.Blocks, columns.Block{Title: name, Rows: r.groupRows(m)})
		rhos := &traits.Table.Blocks[0]
		row, counts := m.correlations(keys)
		for _, column := range counts {
			rhos.Best = append(rhos.Best, [2]int{i, 1 + column})
		}
		rhos.Rows = append(rhos.Rows, append([]string{name}, row...))
	}
	return columns.Sections{verdicts, groups, traits}
}

// traitKeys returns the traits of all methods, in the order in which they first come.
func (r *Report) traitKeys() (keys []traitKey) {
	for _, m := range r.Methods {
		for _, t := range m.Traits {
			if !slices.Contains(keys, t.traitKey) {
				keys = append(keys, t.traitKey)
			}
		}
	}
	return keys
}

// groupRows returns the means of a method's worst clients, of the rest and of the classes.
func (r *Report) groupRows(m *Method) [][]string {
	rows := [][]string{r.row("worst 10 %", &m.Worst, "-"), r.row("rest", &m.Rest, "-")}
	worst := 0
	for _, c := range m.Classes {
		worst += c.Worst
	}
	for k := range m.Classes {
		c := &m.Classes[k]
		rows = append(rows, r.row(c.Name, &c.Group, fmt.Sprintf("%d of %d", c.Worst, worst)))
	}
	return rows
}

// correlations returns those of the traits and the size from which they count, and which of them
// do.
func (m *Method) correlations(keys []traitKey) (row []string, counts []int) {
	for i, key := range keys {
		text := "-"
		if at := slices.IndexFunc(m.Traits,
			func(t Trait) bool { return t.traitKey == key && !math.IsNaN(t.Rho) }); at >= 0 {
			rho := m.Traits[at].Rho
			if text = signed(rho); math.Abs(rho) >= m.Threshold {
				counts = append(counts, i)
			}
		}
		row = append(row, text)
	}
	threshold := "-"
	if !math.IsNaN(m.Threshold) {
		threshold = fmt.Sprintf("%.2f", m.Threshold)
	}
	return append(row, threshold), counts
}

// row returns the means of a group.
func (r *Report) row(label string, g *Group, worst string) []string {
	return []string{label, results.CountText(g.Clients), r.value(g.Value), results.CountText(g.Rows),
		results.TimeText(g.ComputeS, r.Relative), results.TimeText(g.TransferS, r.Relative),
		results.CountText(g.Updates), worst}
}
