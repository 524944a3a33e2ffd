package calibration

import (
	"fmt"
	"math"
	"strings"

	"fedsim/internal/columns"
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

// digits formats a number with four significant digits.
func digits(x float64) string { return fmt.Sprintf("%.4g", x) }

// cells returns the cells of constants.
func (k *Constants) cells() []string {
	cells := []string{k.GFLOPS.cell(1), k.StepOverheadS.cell(1e6), k.TaskOverheadS.cell(1e3)}
	if k.TrafficSPerGB.Known() {
		cells = append(cells, k.TrafficSPerGB.cell(1))
	}
	return cells
}

// computations returns the constants of classes and clients.
func (c *Calibration) computations() []Part {
	heads := []columns.Group{{Heads: []string{"GFLOP/s"}}, {Heads: []string{"us a step"}}, {Heads: []string{"ms a task"}}}
	traffic := false
	for i := range c.Classes {
		traffic = traffic || c.Classes[i].TrafficSPerGB.Known()
	}
	if traffic {
		heads = append(heads, columns.Group{Heads: []string{"s a GB of traffic"}})
	}
	t := &columns.Table{Label: "class", Groups: heads, Blocks: []columns.Block{{Title: "computation: classes (of a client of factor 1)"}}}
	for i := range c.Classes {
		k := &c.Classes[i]
		name := k.Name
		if name == "" {
			name = "all"
		}
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, append([]string{name}, pad(k.cells(), len(heads))...))
	}
	if len(c.Clients) > mostListed {
		t.Blocks[0].Notes = []string{fmt.Sprintf("%d clients: %s has the constants of each", len(c.Clients), CalibrationFile)}
		return []Part{{Table: t}}
	}
	own := &columns.Table{Label: "client", Groups: heads, Blocks: []columns.Block{{Title: "computation: clients"}}}
	for i := range c.Clients {
		k := &c.Clients[i]
		own.Blocks[0].Rows = append(own.Blocks[0].Rows, append([]string{k.Name}, pad(k.cells(), len(heads))...))
	}
	return []Part{{Table: t}, {Table: own}}
}

// pad returns cells with dashes up to a number of them.
func pad(cells []string, n int) []string {
	for len(cells) < n {
		cells = append(cells, "-")
	}
	return cells
}

// links returns the rates of clients, unless they are many.
func (c *Calibration) links() []Part {
	if len(c.Clients) > mostListed {
		return nil
	}
	t := &columns.Table{Label: "client", Groups: []columns.Group{{Heads: []string{"down Mbit/s"}}, {Heads: []string{"up Mbit/s"}}, {Heads: []string{"rtt ms"}}},
		Blocks: []columns.Block{{Title: "links"}}}
	for i := range c.Clients {
		k := &c.Clients[i]
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, []string{k.Name, k.DownMbps.cell(1), k.UpMbps.cell(1), k.RTTms.cell(1)})
	}
	return []Part{{Table: t}}
}

// shared returns what all clients share.
func (c *Calibration) shared() Part {
	t := &columns.Table{Label: "value", Groups: []columns.Group{{Heads: []string{"estimate"}}, {Heads: []string{"unit"}, Left: true}}, Blocks: []columns.Block{{Title: "shared"}}}
	add := func(name string, v *Value) {
		if v.Known() {
			t.Blocks[0].Rows = append(t.Blocks[0].Rows, []string{name, v.cell(1), v.Unit})
		}
	}
	n, w, j := &c.Network, &c.Waiting, &c.Jitter
	add("wire factor", &n.WireFactor)
	add("wire factor, down", &n.DownWireFactor)
	add("wire factor, up", &n.UpWireFactor)
	add("burst", &n.BurstBytes)
	add("burst, down", &n.DownBurstBytes)
	add("burst, up", &n.UpBurstBytes)
	add("client's poll, period", &w.ClientPollS)
	add("client's poll, lag", &w.ClientLagS)
	add("server's poll, period", &w.ServerPollS)
	add("server's poll, lag", &w.ServerLagS)
	add("launch's poll, period", &w.LaunchPollS)
	add("launch", &w.LaunchS)
	add("launch, work", &w.LaunchGFLOP)
	add("cold start", &w.ColdStartS)
	add("gap between rounds", &w.RoundGapS)
	add("jitter of an attempt", &j.Compute)
	add("share common to a round", &j.Round)
	add("jitter of a run", &j.Run)
	for i := range c.Classes {
		add(strings.TrimSpace("spread of clients "+c.Classes[i].Name), &c.Classes[i].Spread)
	}
	add("drop probability", &c.Faults.Drop)
	add("absent", &c.Faults.Absent)
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
