package calibration

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/internal/tools/columns"
)

// HeldOut are errors on attempts that were not fitted.
type HeldOut struct {
	By     string   `json:"by"` // ByRounds or ByRuns
	Errors []Errors `json:"errors"`
	// Lost names the terms that fits without a part did not identify, although that of the whole log does.
	Lost []string `json:"lost"`
}

// mostListed is the largest number of clients in a report.
const mostListed = 50

// Part is a part of a report: a table, or entries of a name and a text each, or sentences.
type Part struct {
	Table *columns.Table // nil: none
	Title string         // of entries and sentences
	Names []string       // of the entries; nil: Texts are sentences
	Texts []string
}

// Summary returns the sizes of the log and the kind of the intervals, in two lines.
func (c *Calibration) Summary() string {
	attempts, rounds := 0, 0
	for _, r := range c.Runs {
		attempts += r.Attempts
		rounds += r.Rounds
	}
	return fmt.Sprintf("%s, %s, %s of %s\nintervals: 95 %%, by bootstrap of rounds\n", columns.Count(len(c.Runs), "run"),
		columns.Count(rounds, "round"), columns.Count(attempts, "attempt"), columns.Count(len(c.Clients), "client"))
}

// Parts returns a report: the estimates with intervals, what is not identified, and errors in
// sample and on what was held out; held may be nil.
func (c *Calibration) Parts(inSample []Errors, held *HeldOut) []Part {
	parts := append(c.computations(), c.links()...)
	parts = append(append(parts, c.shared()), c.missing()...)
	parts = append(parts, errorsPart("errors in sample, relative to the measured times", inSample, nil))
	if held != nil {
		parts = append(parts, errorsPart(fmt.Sprintf("errors out of sample: %s held out in turn", held.By), held.Errors, held.Lost))
	}
	if len(c.Notes) > 0 {
		parts = append(parts, Part{Title: "notes", Texts: c.Notes})
	}
	return parts
}

// Text returns the summary and the parts of a report as a text of at most 80 columns.
func (c *Calibration) Text(parts []Part) string {
	var b strings.Builder
	b.WriteString(c.Summary())
	for _, p := range parts {
		b.WriteByte('\n')
		switch {
		case p.Table != nil:
			p.Table.Write(&b, columns.Width)
		case p.Names != nil:
			b.WriteString(p.Title + "\n" + columns.Entries(p.Names, p.Texts, columns.Width))
		default:
			b.WriteString(p.Title + "\n")
			for _, text := range p.Texts {
				b.WriteString(columns.Wrap(text, columns.Width, 2) + "\n")
			}
		}
	}
	return b.String()
}

// cell returns an estimate with its interval.
func (v *Value) cell(scale float64) string {
	if !v.Known() {
		return "-"
	}
	text := digits(scale * v.Value)
	if !math.IsNaN(v.Low) && !math.IsNaN(v.High) {
		text += fmt.Sprintf(" [%s, %s]", digits(scale*v.Low), digits(scale*v.High))
	}
	return text
}

func digits(x float64) string { return fmt.Sprintf("%.4g", x) }

// computations returns the constants of classes and clients.
func (c *Calibration) computations() []Part {
	heads := []string{"GFLOP/s", "us a step", "ms a task", "s a GB of traffic"}
	if !slices.ContainsFunc(c.Classes, func(k Class) bool { return k.TrafficSPerGB.Known() }) {
		heads = heads[:3]
	}
	add := func(t *columns.Table, name string, k *Constants) {
		overheads := []string{k.StepOverheadS.cell(1e6), k.TaskOverheadS.cell(1e3), k.TrafficSPerGB.cell(1)}
		cells := append([]string{name, k.GFLOPS.cell(1)}, overheads...)
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, cells[:1+len(heads)])
	}
	t := newReportTable("class", "computation: classes (of a client of factor 1)", heads...)
	for i := range c.Classes {
		add(t, cmp.Or(c.Classes[i].Name, "all"), &c.Classes[i].Constants)
	}
	if len(c.Clients) > mostListed {
		t.Blocks[0].Notes = []string{fmt.Sprintf("%d clients: %s has the constants of each", len(c.Clients), CalibrationFile)}
		return []Part{{Table: t}}
	}
	own := newReportTable("client", "computation: clients", heads...)
	for i := range c.Clients {
		add(own, c.Clients[i].Name, &c.Clients[i].Constants)
	}
	return []Part{{Table: t}, {Table: own}}
}

// newReportTable returns a table without rows, between whose columns lines may end.
func newReportTable(label, title string, heads ...string) *columns.Table {
	t := &columns.Table{Label: label, Blocks: []columns.Block{{Title: title}}}
	for _, head := range heads {
		t.Groups = append(t.Groups, columns.Group{Heads: []string{head}})
	}
	return t
}

// links returns the rates of clients, unless they are many.
func (c *Calibration) links() []Part {
	if len(c.Clients) > mostListed {
		return nil
	}
	t := newReportTable("client", "links", "down Mbit/s", "up Mbit/s", "rtt ms")
	for i := range c.Clients {
		k := &c.Clients[i]
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, []string{k.Name, k.DownMbps.cell(1), k.UpMbps.cell(1), k.RTTms.cell(1)})
	}
	return []Part{{Table: t}}
}

// shared returns what all clients share.
func (c *Calibration) shared() Part {
	t := &columns.Table{Label: "value", Groups: []columns.Group{{Heads: []string{"estimate"}}, {Heads: []string{"unit"}, Left: true}}, Blocks: []columns.Block{{Title: "shared"}}}
	terms := c.sharedTerms()
	for i := range c.Classes {
		k := &c.Classes[i]
		terms = append(terms, term{label: strings.TrimSpace("spread of clients " + k.Name), value: &k.Spread})
	}
	for _, of := range append(terms, c.Faults.terms()...) {
		if v := of.value; v.Known() {
			t.Blocks[0].Rows = append(t.Blocks[0].Rows, []string{of.label, v.cell(1), v.Unit})
		}
	}
	return Part{Table: t}
}

// missing returns what is not identified, if anything.
func (c *Calibration) missing() []Part {
	if len(c.Missing) == 0 {
		return nil
	}
	var names, texts []string
	for _, m := range c.Missing {
		name := m.Term
		if m.For != "" {
			name += " (" + m.For + ")"
		}
		names, texts = append(names, name), append(texts, m.Why)
	}
	return []Part{{Title: "not identified, left at the default", Names: names, Texts: texts}}
}

// errorsPart returns errors in percent, with notes.
func errorsPart(title string, all []Errors, notes []string) Part {
	percent := func(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) }
	t := &columns.Table{Label: "part", Groups: []columns.Group{{Heads: []string{"attempts", "mean", "mean absolute", "P50", "P95"}}},
		Blocks: []columns.Block{{Title: title, Notes: notes}}}
	for _, e := range all {
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, []string{e.Part, fmt.Sprint(e.Attempts), percent(e.Bias), percent(e.Mean), percent(e.P50), percent(e.P95)})
	}
	return Part{Table: t}
}
