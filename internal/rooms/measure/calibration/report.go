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

// Summary returns the sizes of the log, and the kind of the intervals.
func (c *Calibration) Summary() []string {
	attempts, rounds := 0, 0
	for _, r := range c.Runs {
		attempts += r.Attempts
		rounds += r.Rounds
	}
	return []string{fmt.Sprintf("%s, %s, %s of %s", columns.Count(len(c.Runs), "run"),
		columns.Count(rounds, "round"), columns.Count(attempts, "attempt"), columns.Count(len(c.Clients), "client")),
		"intervals: 95 %, by bootstrap of rounds"}
}

// Sections returns a report: the estimates with intervals, what is not identified, and errors in
// sample and on what was held out; held may be nil.
func (c *Calibration) Sections(inSample []Errors, held *HeldOut) columns.Sections {
	all := append(c.computations(), c.links()...)
	all = append(all, c.shared(), c.missing(),
		errorsSection("errors in sample, relative to the measured times", inSample, nil))
	if held != nil {
		all = append(all,
			errorsSection(fmt.Sprintf("errors out of sample: %s held out in turn", held.By), held.Errors, held.Lost))
	}
	all = append(all, columns.Section{Title: "notes", Notes: c.Notes})
	return slices.DeleteFunc(all, func(s columns.Section) bool { return len(s.Table.Groups)+len(s.Notes) == 0 })
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
func (c *Calibration) computations() columns.Sections {
	heads := []string{"GFLOP/s", "us a step", "ms a task", "s a GB of traffic"}
	if !slices.ContainsFunc(c.Classes, func(k Class) bool { return k.TrafficSPerGB.Known() }) {
		heads = heads[:3]
	}
	row := func(name string, k *Constants) []string {
		return []string{name, k.GFLOPS.cell(1), k.StepOverheadS.cell(1e6), k.TaskOverheadS.cell(1e3),
			k.TrafficSPerGB.cell(1)}[:1+len(heads)]
	}
	classes := newSection("computation: classes (of a client of factor 1)", "class", heads...)
	for i := range c.Classes {
		classes.Table.Add(row(cmp.Or(c.Classes[i].Name, "all"), &c.Classes[i].Constants)...)
	}
	if len(c.Clients) > mostListed {
		classes.Notes = []string{fmt.Sprintf("%d clients: %s has the constants of each", len(c.Clients),
			CalibrationFile)}
		return columns.Sections{classes}
	}
	clients := newSection("computation: clients", "client", heads...)
	for i := range c.Clients {
		clients.Table.Add(row(c.Clients[i].Name, &c.Clients[i].Constants)...)
	}
	return columns.Sections{classes, clients}
}

// newSection returns a table without rows, between whose columns lines may end.
func newSection(title, label string, heads ...string) columns.Section {
	s := columns.Section{Title: title, Table: columns.Table{Label: label, Blocks: []columns.Block{{}}}}
	for _, head := range heads {
		s.Table.Groups = append(s.Table.Groups, columns.Group{Heads: []string{head}})
	}
	return s
}

// links returns the rates of clients, unless they are many.
func (c *Calibration) links() columns.Sections {
	if len(c.Clients) > mostListed {
		return nil
	}
	s := newSection("links", "client", "down Mbit/s", "up Mbit/s", "rtt ms")
	for i := range c.Clients {
		k := &c.Clients[i]
		s.Table.Add(k.Name, k.DownMbps.cell(1), k.UpMbps.cell(1), k.RTTms.cell(1))
	}
	return columns.Sections{s}
}

// shared returns what all clients share.
func (c *Calibration) shared() columns.Section {
	s := newSection("shared", "value", "estimate", "unit")
	s.Table.Groups[1].Left = true
	terms := c.sharedTerms()
	for i := range c.Classes {
		k := &c.Classes[i]
		terms = append(terms, term{label: strings.TrimSpace("spread of clients " + k.Name), value: &k.Spread})
	}
	for _, of := range append(terms, c.Faults.terms()...) {
		if v := of.value; v.Known() {
			s.Table.Add(of.label, v.cell(1), v.Unit)
		}
	}
	return s
}

// missing returns the terms that are not identified, if any.
func (c *Calibration) missing() columns.Section {
	s := columns.Section{Title: "not identified, left at the default"}
	for _, m := range c.Missing {
		name := m.Term
		if m.For != "" {
			name += " (" + m.For + ")"
		}
		s.Notes = append(s.Notes, name+": "+m.Why)
	}
	return s
}

// errorsSection returns errors in percent, with notes.
func errorsSection(title string, all []Errors, notes []string) columns.Section {
	percent := func(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) }
	s := newSection(title, "part", "attempts", "mean", "mean absolute", "P50", "P95")
	s.Notes = notes
	for _, e := range all {
		s.Table.Add(e.Part, fmt.Sprint(e.Attempts), percent(e.Bias), percent(e.Mean), percent(e.P50), percent(e.P95))
	}
	return s
}
