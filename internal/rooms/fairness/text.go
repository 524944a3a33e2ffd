package fairness

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/columns"
	"fedsim/results"
)

// Text returns the report as text with at most width characters a line; it is empty without
// methods.
func (r *Report) Text(width int) string {
	if len(r.Methods) == 0 {
		return ""
	}
	var b strings.Builder
	heading := func(text string) { b.WriteString("\n" + columns.Wrap(text, width, 0) + "\n\n") }
	b.WriteString(columns.Wrap(fmt.Sprintf("%s: %s by client at the last evaluation%s", r.Experiment, r.Label, results.RelativeNote(r.Relative)), width, 0) + "\n")
	heading("the worst 10 % of the clients of a run, the rest, and the classes of the fleet")
	t := r.groupTable()
	t.Write(&b, width)
	heading(fmt.Sprintf("rank correlation of a worse %s with traits of the client; it counts if its size is at least the last number", r.Label))
	t = r.traitTable()
	t.Write(&b, width)
	heading("who is left behind")
	for i := range r.Methods {
		b.WriteString(columns.Wrap(r.Methods[i].label()+": "+r.Methods[i].Verdict, width, 2) + "\n")
	}
	return b.String()
}

// groupTable is the table of the worst clients, the rest, and the classes.
func (r *Report) groupTable() columns.Table {
	t := columns.Table{Label: "clients", Groups: []columns.Group{{Heads: []string{"number", "in worst", r.Label, "rows", "compute", "transfer", "updates"}}}}
	for i := range r.Methods {
		m := &r.Methods[i]
		block := columns.Block{Title: m.label(), Rows: [][]string{r.row("worst 10 %", &m.Worst, "-"), r.row("rest", &m.Rest, "-")}}
		worst := 0
		for k := range m.Classes {
			worst += m.Classes[k].Worst
		}
		for k := range m.Classes {
			c := &m.Classes[k]
			block.Rows = append(block.Rows, r.row(c.Name, &c.Group, fmt.Sprintf("%d of %d", c.Worst, worst)))
		}
		t.Blocks = append(t.Blocks, block)
	}
	return t
}

// traitTable is the table of rank correlations.
func (r *Report) traitTable() columns.Table {
	traits := r.traits()
	own, classes := columns.Group{}, columns.Group{Title: "class"}
	for _, t := range traits {
		if t.Name == class {
			classes.Heads = append(classes.Heads, t.Class)
		} else {
			own.Heads = append(own.Heads, strings.TrimSuffix(t.Name, "_s"))
		}
	}
	own.Heads = append(own.Heads, "counts from")
	t := columns.Table{Label: "method", Groups: []columns.Group{own}, Blocks: make([]columns.Block, 1)}
	if len(classes.Heads) > 0 {
		t.Groups = append(t.Groups, classes)
	}
	for i := range r.Methods {
		m := &r.Methods[i]
		row, of := []string{m.label()}, []string{}
		for _, t := range traits {
			if text := rhoText(m.rho(t)); t.Name == class {
				of = append(of, text)
			} else {
				row = append(row, text)
			}
		}
		row = append(row, strings.TrimPrefix(rhoText(m.Threshold), "+"))
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, append(row, of...))
	}
	return t
}

// traits returns the traits of all methods.
func (r *Report) traits() (all []traitKey) {
	for i := range r.Methods {
		for _, t := range r.Methods[i].Traits {
			if !slices.Contains(all, t.traitKey) {
				all = append(all, t.traitKey)
			}
		}
	}
	return all
}

// rho returns the correlation with a trait, NaN if the method does not have it.
func (m *Method) rho(of traitKey) float64 {
	for _, t := range m.Traits {
		if t.traitKey == of {
			return t.Rho
		}
	}
	return math.NaN()
}

// label returns the method and its point.
func (m *Method) label() string {
	if len(m.Point) == 0 {
		return m.Name
	}
	return m.Name + ", " + results.SettingsText(m.Point)
}

func (r *Report) value(v float64) string { return r.metric.Format(v, r.real) }

// row returns the row of a group; worst is the cell with its clients among the worst.
func (r *Report) row(name string, g *Group, worst string) []string {
	mean := func(v float64) string {
		return orDash(v, func(v float64) string { return strconv.FormatFloat(math.Round(10*v)/10, 'f', -1, 64) })
	}
	seconds := func(v float64) string {
		return orDash(v, func(v float64) string { return results.TimeText(v, r.Relative) })
	}
	return []string{
		name, mean(g.Clients), worst, r.value(g.Value), mean(g.Rows), seconds(g.ComputeS), seconds(g.TransferS), mean(g.Updates),
	}
}

func rhoText(rho float64) string { return orDash(rho, signed) }

// orDash formats a number; "-" if it is not known.
func orDash(v float64, format func(float64) string) string {
	if math.IsNaN(v) {
		return "-"
	}
	return format(v)
}
