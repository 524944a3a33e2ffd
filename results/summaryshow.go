package results

import (
	"math"
	"slices"
	"strings"

	"fedsim/internal/tools/columns"
)

// Shown returns the tables of fedsim show: of each experiment the times to all targets, and the ends of its runs. A
// sweep has a matrix of the times to each target.
func (s Summary) Shown() (list Sections) {
	for i := range s.Experiments {
		e := &s.Experiments[i]
		of := e.timesToAll()
		if len(e.Blocks) == 1 {
			of = append(of, e.atTheEnd())
		}
		for k := range of[:len(of)-1] { // each note once
			of[k].Notes = slices.DeleteFunc(of[k].Notes,
				func(n string) bool { return slices.Contains(of[len(of)-1].Notes, n) })
		}
		list = append(list, of...)
	}
	return append(list, s.said()...)
}

// timesToAll returns a table for each metric of targets, with a column for each of its values; the comparison where
// one target is known, and a matrix for each in a sweep.
func (e *ExperimentSummary) timesToAll() (list Sections) {
	var known []int
	for k := range e.Targets {
		if e.Known[k] {
			known = append(known, k)
		}
	}
	switch {
	case len(known) == 0 && len(e.Blocks) == 1:
		return nil // all is about the end
	case len(known) < 2 || len(e.Blocks) > 1:
		for _, k := range known {
			list = append(list, e.Comparison(k, k == e.Goal())...)
		}
		if len(known) == 0 {
			list = e.Comparison(-1, false)
		}
		return list
	}
	for len(known) > 0 {
		n := 1
		for n < len(known) && e.Targets[known[n]].Metric == e.Targets[known[0]].Metric {
			n++
		}
		list = append(list, e.timesTo(known[:n]))
		known = known[n:]
	}
	return list
}

// timesTo returns the times to several values of a metric in one unit, and who was first to each.
func (e *ExperimentSummary) timesTo(targets []int) Section {
	last := targets[len(targets)-1]
	rows := e.Blocks[0].Rows
	of := func(k int) []known {
		values := make([]known, len(rows))
		for i := range rows {
			values[i] = rows[i].Cells[k].cost(func(a *Amounts) float64 { return a.TimeS })
		}
		return values
	}
	var seconds []float64
	for _, k := range targets {
		for _, v := range of(k) {
			if v.text == "" {
				seconds = append(seconds, v.Mean)
			}
		}
	}
	unit, in := timeUnits.column(seconds...), ""
	if in = ", " + unit.name; !e.joules() {
		unit, in = amountUnit{math.Inf(1), 1, ""}, RelativeNote(true)
	}
	what, _ := e.goals[last].Parts(e.real())
	s := Section{Title: e.titled("time to a " + what + in + e.over()),
		Table: columns.Table{Label: e.RowHead(), Groups: make([]columns.Group, 1), Blocks: make([]columns.Block, 1)}}
	block, first, unsure := &s.Table.Blocks[0], []string{"first"}, false
	for i := range rows {
		block.Rows = append(block.Rows, []string{rows[i].Text()})
	}
	for _, k := range targets {
		m := &e.goals[k]
		s.Table.Groups[0].Heads = append(s.Table.Groups[0].Heads,
			strings.Replace(m.Text(e.Targets[k].Value, e.real()), "e-0", "e-", 1))
		for i, text := range unit.texts(of(k)) {
			block.Rows[i] = append(block.Rows[i], text)
		}
		f := e.Blocks[0].firstOf(k, e)
		switch {
		case f == nil:
			first = append(first, none)
		case f.Row == nil:
			first = append(first, f.text)
		case f.Certain || f.settled > 0 || f.seeds == 1:
			first = append(first, *f.Row)
		default:
			first, unsure = append(first, *f.Row+" ?"), true
		}
	}
	if slices.ContainsFunc(first[1:], func(text string) bool { return text != none }) {
		block.Rows = append(block.Rows, first)
	}
	s.Notes = e.meanings(targets...)
	if unsure {
		s.Notes = append(s.Notes, "?: not certain with "+columns.Count(e.Seeds, "seed"))
	}
	return s
}

// atTheEnd returns what the runs of the only block came to: metrics of their last models, and costs.
func (e *ExperimentSummary) atTheEnd() Section {
	goal := e.Goal()
	at := e.endText()
	s := Section{Title: e.titled("at the end")}
	if at != "the end" {
		s.Title += ", after " + at
	}
	rows := e.Blocks[0].Rows
	block := columns.Block{}
	for i := range rows {
		block.Rows = append(block.Rows, []string{rows[i].Text()})
	}
	s.Table.Label = e.RowHead()
	for i := range e.finals {
		m := &e.finals[i]
		what, head := m.Parts(e.real())
		if m.Statistic != "" {
			head = m.Head()
		}
		units := pure
		switch {
		case m.Share && !e.real():
			units, what = amountUnits{{math.Inf(1), 0.01, ""}}, what+", %"
		case m.Unit != "":
			units = amountUnits{{math.Inf(1), 1, m.Unit}}
		}
		if n := len(s.Table.Groups); n == 0 || m.Statistic == "" && s.Table.Groups[n-1].Title != what {
			s.Table.Groups = append(s.Table.Groups, columns.Group{Title: what})
		}
		end := measured{head, units, func(r *Row) known { return known{Estimate: r.finals[i]} }}
		end.addTo(&s.Table.Groups[len(s.Table.Groups)-1], &block, rows, e)
	}
	costs := columns.Group{}
	for _, c := range e.compared(-1) {
		if shown := e.atEnd(-1); shown != nil && c.head == shown.head || c.head == "time" && at != "the end" {
			continue
		}
		c.addTo(&costs, &block, rows, e)
	}
	s.Table.Groups = append(s.Table.Groups, costs)
	s.Table.Blocks = []columns.Block{block}
	s.Notes = e.explained(goal)
	if goal >= 0 {
		meant := e.meanings(goal)
		s.Notes = slices.DeleteFunc(s.Notes, func(n string) bool { return slices.Contains(meant, n) })
	}
	return s
}

// endsOf returns the metrics of the ends of runs that fedsim show has: the one of the goal, means over clients and the
// worst of them, and what learners declare.
func (e *ExperimentSummary) endsOf(runs []Run) (list []Metric) {
	add := func(name string) {
		m, ok := MetricOf(runs, name)
		known := slices.ContainsFunc(runs, func(r Run) bool { return m.Known(&r) })
		if ok && known && !slices.ContainsFunc(list, func(x Metric) bool { return x.Name == name }) {
			list = append(list, m)
		}
	}
	shown := e.shown(e.Goal())
	of := strings.TrimSuffix(shown.Name, clientsSuffix)
	for _, name := range []string{shown.Name, of, of + clientsSuffix, of + "_worst10"} {
		add(name)
	}
	if len(list) == 0 {
		add(e.Metric.Name)
	}
	for _, m := range e.Named[:min(2, len(e.Named))] {
		if strings.TrimSuffix(m.Name, clientsSuffix) != of {
			add(m.Name)
		}
	}
	return list
}
