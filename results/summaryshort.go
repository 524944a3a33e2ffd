package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/columns"
)

// Short returns what the runs come to: for each experiment what the last target cost that one of its rows reached,
// which method was first, and the messages. Sections has all tables.
func (s Summary) Short() (list Sections) {
	for i := range s.Experiments {
		e := &s.Experiments[i]
		list = append(list, e.Comparison(e.Goal(), len(s.Experiments) == 1)...)
	}
	return append(list, s.said()...)
}

// Times returns the tables of the times of Short, named after their experiments. The best cells are the times that are
// certainly the least.
func (s Summary) Times() (list Sections) {
	for i := range s.Experiments {
		e := &s.Experiments[i]
		section := e.Comparison(e.Goal(), false)[0]
		section.Name = e.Experiment
		list = append(list, section)
	}
	return list
}

// Ends returns the tables of Sections without targets, named after their experiments.
func (s Summary) Ends() (list Sections) {
	for i := range s.Experiments {
		e := s.Experiments[i]
		e.Targets, e.Known, e.Texts, e.Blocks = nil, nil, nil, slices.Clone(e.Blocks)
		for k := range e.Blocks {
			e.Blocks[k].Rows = slices.Clone(e.Blocks[k].Rows)
			for r := range e.Blocks[k].Rows {
				e.Blocks[k].Rows[r].Cells = nil
			}
		}
		section := e.section()
		section.Name = e.Experiment
		list = append(list, section)
	}
	return list
}

// Goal returns the index of the last target that a row reached, or else of the last known one; -1: none is known.
func (e *ExperimentSummary) Goal() int {
	at := -1
	for k := range e.Targets {
		if e.Known[k] && (at < 0 || e.some(func(r *Row) bool { return r.Cells[k].ReachedSeeds > 0 })) {
			at = k
		}
	}
	return at
}

// known is what is known of a number of a row.
type known struct {
	Estimate
	above bool   // Mean is a lower bound
	text  string // in place of a number
}

// cost returns what is known of an amount until the target: the mean if every run reached it, a bound if none did,
// and otherwise how many did.
func (c *MeanCost) cost(of func(*Amounts) float64) known {
	switch n := c.Seeds(); {
	case n == 0:
		return known{text: none}
	case c.NeverSeeds > 0:
		return known{text: c.Format("")}
	case c.Reached:
		values := make([]float64, n)
		for i := range c.spent {
			values[i] = of(&c.spent[i])
		}
		return known{Estimate: EstimateOf(values)}
	case c.ReachedSeeds > 0:
		return known{text: fmt.Sprintf("%d of %d", c.ReachedSeeds, n)}
	default:
		return known{Estimate: Estimate{Mean: of(&c.AtLeast), SE: math.NaN()}, above: true}
	}
}

// measured is a column of a comparison.
type measured struct {
	head  string
	units amountUnits
	of    func(*Row) known
}

// pure are the units of numbers without one, shares those of shares in per cent, and perRound those of counts.
var (
	pure   = amountUnits{{math.Inf(1), 1, ""}}
	shares = amountUnits{{math.Inf(1), 0.01, "%"}}

	perRound = amountUnits{{math.Inf(1), 1, "per round"}}
)

// compared returns the columns about target k, the time first; without a target, k < 0, about the end of the runs.
func (e *ExperimentSummary) compared(k int) (list []measured) {
	if model := e.atEnd(k); model != nil {
		list = append(list, *model)
	}
	add := func(head string, units amountUnits, of func(*Amounts) float64, total func(*Totals) float64) {
		list = append(list, measured{head, units, func(r *Row) known {
			if k < 0 {
				return known{Estimate: Estimate{Mean: total(&r.Totals), SE: math.NaN()}}
			}
			return r.Cells[k].cost(of)
		}})
	}
	clock := timeUnits
	if !e.joules() {
		clock = amountUnits{{math.Inf(1), 1, "relative"}}
	}
	add("time", clock, func(a *Amounts) float64 { return a.TimeS }, func(t *Totals) float64 { return t.TimeS })
	add("sent", byteUnits, func(a *Amounts) float64 { return a.Bytes }, func(t *Totals) float64 { return t.Bytes })
	if e.joules() {
		add("energy", energyUnits, func(a *Amounts) float64 { return a.EnergyJ },
			func(t *Totals) float64 { return t.EnergyJ })
	}
	for _, c := range Heads() {
		if e.counts(c) {
			add(c.Head, unitsOf(c.Unit), func(a *Amounts) float64 { return a.Declared[c.Name] },
				func(t *Totals) float64 { return t.Declared[c.Name] })
		}
	}
	if k < 0 {
		add("rounds", pure, nil, func(t *Totals) float64 { return t.Rounds })
		add("responses", perRound, nil, func(t *Totals) float64 { return t.Answers })
		return list
	}
	if list[0].head != "time" {
		list = append(list[1:], list[0])
	}
	ratio := measured{"ratio", pure, func(r *Row) known {
		return known{Estimate: Estimate{Mean: r.Cells[k].Ratio, SE: math.NaN()}}
	}}
	if e.some(func(r *Row) bool { return r.Cells[k].Ratio > 1 }) {
		list = slices.Insert(list, 1, ratio)
	}
	return list
}

// shown returns the metric at the end of the runs that a comparison shows: that of the target, unless it is of P, or
// else Metric.
func (e *ExperimentSummary) shown(k int) Metric {
	if k >= 0 && !e.Targets[k].MeasuresP() {
		return e.goals[k]
	}
	return e.Metric
}

// atEnd returns the column about the end of the runs; nil if no run has a value.
func (e *ExperimentSummary) atEnd(k int) *measured {
	m := e.shown(k)
	of := func(r *Row) known {
		if k >= 0 && m.Name == e.Targets[k].Metric {
			return known{Estimate: r.Cells[k].end}
		}
		return known{Estimate: r.end}
	}
	if !e.some(func(r *Row) bool { return !math.IsNaN(of(r).Mean) }) {
		return nil
	}
	units, what := pure, m.shortLabel(e.real())
	switch {
	case m.Share && !e.real():
		units = shares
	case m.Unit != "":
		units = amountUnits{{math.Inf(1), 1, m.Unit}}
	}
	if k < 0 {
		return &measured{what, units, of}
	}
	return &measured{what + " at " + e.endText(), units, of}
}

// shortLabel returns the label of the metric without the rows and the mean that it is of.
func (m *Metric) shortLabel(real bool) string {
	what, _ := m.Parts(real)
	return strings.TrimPrefix(what, "test ")
}

// endText names the end of the runs: the virtual time at which all end, or "the end".
func (e *ExperimentSummary) endText() string {
	least, most := math.Inf(1), 0.0
	e.some(func(r *Row) bool { least, most = min(least, r.Totals.TimeS), max(most, r.Totals.TimeS); return false })
	if most > 0 && most <= 1.02*least && e.joules() {
		unit := timeUnits.column(least)
		return strconv.FormatFloat(least/unit.size, 'g', 3, 64) + " " + unit.name
	}
	return "the end"
}

// texts formats the values of a column in a unit, with the same decimals: two digits of the largest standard error,
// but two to three digits of the least mean.
func (u amountUnit) texts(values []known) []string {
	least, spread := math.Inf(1), 0.0
	for _, v := range values {
		if m := math.Abs(v.Mean / u.size); v.text == "" && m > 0 {
			least = min(least, m)
		}
		if v.text == "" && v.SE > 0 && !math.IsInf(v.SE, 1) {
			spread = max(spread, v.SE/u.size)
		}
	}
	digits := func(v float64, n int) int { // decimals of a number with n digits
		_, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', 9, 64), "e")
		power, _ := strconv.Atoi(exponent)
		return max(0, n-1-power)
	}
	decimals := 0
	if !math.IsInf(least, 1) {
		if decimals = digits(least, 3); spread > 0 {
			decimals = min(decimals, max(digits(spread, 2), digits(least, 2)))
		}
	}
	whole := func(v known) bool { return math.Abs(v.Mean-math.Round(v.Mean)) < 1e-9 } // NaN is not
	if u.name == "" && !slices.ContainsFunc(values, func(v known) bool { return !whole(v) }) {
		decimals = 0
	}
	number := func(v float64) string {
		if decimals > 6 {
			return strconv.FormatFloat(v/u.size, 'g', 3, 64)
		}
		return strconv.FormatFloat(v/u.size, 'f', decimals, 64)
	}
	list := make([]string, len(values))
	for i, v := range values {
		switch {
		case v.text != "":
			list[i] = v.text
		case math.IsNaN(v.Mean):
			list[i] = none
		case v.above:
			list[i] = "> " + strings.TrimSuffix(number(v.Mean), "."+strings.Repeat("0", decimals))
		case v.SE >= 0:
			list[i] = number(v.Mean) + " ± " + number(v.SE)
		default:
			list[i] = number(v.Mean)
		}
	}
	return list
}

// unit returns the unit of a column over all rows.
func (c *measured) unit(e *ExperimentSummary) amountUnit {
	var amounts []float64
	e.some(func(r *Row) bool { amounts = append(amounts, c.of(r).Mean); return false })
	return c.units.column(amounts...)
}

// addTo adds the column, with the values of rows, to a table of them.
func (c *measured) addTo(g *columns.Group, b *columns.Block, rows []Row, e *ExperimentSummary) {
	values := make([]known, len(rows))
	for i := range rows {
		values[i] = c.of(&rows[i])
	}
	unit := c.unit(e)
	for i, text := range unit.texts(values) {
		b.Rows[i] = append(b.Rows[i], text)
	}
	g.Heads, g.Units = append(g.Heads, c.head), append(g.Units, unit.name)
}

// Comparison compares the rows by target k, one unit a column: mean and standard error over the seeds, and bounds
// for what did not end. Blocks are a matrix of the times, and with energy another of it. Without a target, k < 0, it
// has the ends of the runs. Below is which method was first, and what the table needs to be understood.
func (e *ExperimentSummary) Comparison(k int, energy bool) Sections {
	all := e.compared(k)
	if len(e.Blocks) == 1 {
		return Sections{e.rows(k, all)}
	}
	list := Sections{e.matrix(k, &all[0], true)}
	at := slices.IndexFunc(all, func(c measured) bool { return c.head == "energy" })
	if k >= 0 && energy && at >= 0 {
		list = append(list, e.matrix(k, &all[at], false))
	}
	first, last := &list[0], &list[len(list)-1]
	if k >= 0 {
		first.Notes = append(first.Notes, e.verdict(k)...)
		sent := slices.IndexFunc(all, func(c measured) bool { return c.head == "sent" })
		last.Notes = append(last.Notes, all[sent].unmoved(e)...)
	}
	last.Notes = append(last.Notes, e.explained(k)...)
	return list
}

// over says what a number with its error is.
func (e *ExperimentSummary) over() string {
	if e.Seeds < 2 {
		return ""
	}
	return ", mean ± standard error of " + e.Vary.Repetitions(e.Seeds)
}

// goalText names target k: "a test accuracy of 80 %".
func (e *ExperimentSummary) goalText(k int) string {
	m := &e.goals[k]
	what, _ := m.Parts(e.real())
	value := strings.Replace(m.Text(e.Targets[k].Value, e.real()), "e-0", "e-", 1)
	text := "a " + what + " of " + value
	if strings.Contains(what, ",") {
		text = what + ": " + value
	}
	if e.chosen {
		text += " (chosen: all reached it)"
	}
	return text
}

// titled precedes a title by the name of the experiment.
func (e *ExperimentSummary) titled(text string) string {
	if e.Experiment == "" {
		return text
	}
	return e.Experiment + ": " + text
}

// rows returns the comparison of the only block, the fastest row first.
func (e *ExperimentSummary) rows(k int, all []measured) Section {
	s := Section{Title: "at the end"}
	rows := slices.Clone(e.Blocks[0].Rows)
	if k >= 0 {
		s.Title = "to " + e.goalText(k)
		if e.RowKey == "method" {
			slices.SortStableFunc(rows, func(a, b Row) int {
				x, y := &a.Cells[k], &b.Cells[k]
				return cmp.Or(cmp.Compare(y.ReachedSeeds, x.ReachedSeeds),
					cmp.Compare(x.AtLeast.TimeS, y.AtLeast.TimeS))
			})
		}
	}
	s.Title = e.titled(s.Title + e.over())
	group, block := columns.Group{}, columns.Block{}
	for i := range rows {
		block.Rows = append(block.Rows, []string{rows[i].Text()})
		if first := e.Blocks[0].firstOf(k, e); first != nil && first.Certain && *first.Row == rows[i].Label {
			block.Best = append(block.Best, [2]int{i, 1})
		}
	}
	for i := range all {
		all[i].addTo(&group, &block, rows, e)
	}
	s.Table = columns.Table{Label: e.RowHead(), Groups: []columns.Group{group}, Blocks: []columns.Block{block}}
	s.Notes = append(e.verdict(k), e.explained(k)...)
	return s
}

// firstOf returns what is known of target k of an experiment in a block; nil unless methods compete.
func (b *Block) firstOf(k int, e *ExperimentSummary) *First {
	if k < 0 || e.RowKey != "method" || len(b.competing(k)) < 2 {
		return nil
	}
	f := b.first(k)
	f.settle(e.Experiment, e.settled)
	return &f
}

// verdict says which method was first to target k, or without a target which has the best Metric.
func (e *ExperimentSummary) verdict(k int) []string {
	var of []First
	for i := range e.Blocks {
		if f := e.Blocks[i].firstOf(k, e); f != nil {
			of = append(of, *f)
		}
	}
	switch {
	case len(of) > 0:
		return []string{"first: " + firstText(of)}
	case k < 0 && e.marksBest():
		return []string{e.Metric.extreme() + " " + e.Metric.LabelFor(e.real()) + ": " + e.best()}
	default:
		return nil
	}
}

// matrix returns one measure at all points: the first one of target k with the title of the experiment, or another
// one until then. Rows are methods and columns the values of a key, or rows are points and columns methods, whichever
// fits a line.
func (e *ExperimentSummary) matrix(k int, c *measured, first bool) Section {
	unit := c.unit(e)
	text := c.head
	switch name := unit.name; {
	case name == "relative":
		text += " in relative units (federation.cost)"
	case name != "":
		text += " in " + name
	}
	switch {
	case !first:
		text += " until then"
	case k >= 0:
		text = e.titled(text + " to " + e.goalText(k) + e.over())
	default:
		text = e.titled(text + " at the end" + e.over())
	}
	s := Section{Title: text, Table: e.crossed(k, c, unit, true)}
	if other := e.crossed(k, c, unit, false); s.Table.Width() > columns.Width && other.Width() <= columns.Width {
		s.Table = other
	}
	return s
}

// crossed returns the table of a matrix: across has the values of the last key as columns, otherwise the rows of a
// block are. Times to target k are in bold where they are certainly the least.
func (e *ExperimentSummary) crossed(k int, c *measured, unit amountUnit, across bool) columns.Table {
	type place struct{ row, column string }
	var rows, heads []string
	values, title := map[place]known{}, ""
	var best []place
	label := make([]string, 0, len(e.Blocks[0].Point))
	for _, x := range e.Blocks[0].Point {
		label = append(label, x.Key)
	}
	for i := range e.Blocks {
		b := &e.Blocks[i]
		point := make([]string, 0, len(b.Point))
		for _, x := range b.Point {
			point = append(point, x.Value)
		}
		for j := range b.Rows {
			at := place{strings.Join(point, ", "), b.Rows[j].Text()}
			if n := len(point) - 1; across && n >= 0 {
				at = place{strings.Join(append(slices.Clone(point[:n]), at.column), ", "), point[n]}
			}
			if !slices.Contains(rows, at.row) {
				rows = append(rows, at.row)
			}
			if !slices.Contains(heads, at.column) {
				heads = append(heads, at.column)
			}
			values[at] = c.of(&b.Rows[j])
			first := b.firstOf(k, e)
			if c.head == "time" && first != nil && first.Certain && *first.Row == b.Rows[j].Label {
				best = append(best, at)
			}
		}
	}
	if n := len(label) - 1; across && n >= 0 {
		title, label = label[n], append(label[:n:n], e.RowHead())
	} else if e.RowKey != "method" {
		title = e.RowHead()
	}
	block := columns.Block{}
	for _, row := range rows {
		block.Rows = append(block.Rows, []string{row})
	}
	for _, head := range heads {
		list := make([]known, len(rows))
		for i, row := range rows {
			v, there := values[place{row, head}]
			if list[i] = v; !there {
				list[i].text = none
			}
		}
		for i, text := range unit.texts(list) {
			block.Rows[i] = append(block.Rows[i], text)
		}
	}
	for _, at := range best {
		block.Best = append(block.Best, [2]int{slices.Index(rows, at.row), 1 + slices.Index(heads, at.column)})
	}
	return columns.Table{Label: strings.Join(label, ", "), Groups: []columns.Group{{Title: title, Heads: heads}},
		Blocks: []columns.Block{block}}
}

// unmoved says in a line what rows send, where it is the same within a hundredth at every point.
func (c *measured) unmoved(e *ExperimentSummary) []string {
	var labels []string
	var values []known
	for i := range e.Blocks {
		for j := range e.Blocks[i].Rows {
			r := &e.Blocks[i].Rows[j]
			v, at := c.of(r), slices.Index(labels, r.Text())
			switch {
			case v.text != "" || v.above:
				return nil
			case at < 0:
				labels = append(labels, r.Text())
				values = append(values, known{Estimate: Estimate{Mean: v.Mean, SE: math.NaN()}})
			case math.Abs(v.Mean-values[at].Mean) > 0.01*values[at].Mean:
				return nil
			}
		}
	}
	unit := c.unit(e)
	texts := unit.texts(values)
	for i := range texts {
		texts[i] = labels[i] + " " + texts[i]
	}
	return []string{c.head + ", " + unit.name + ": " + strings.Join(texts, ", ") + " at every value"}
}

// meanings returns what cells without a mean say, of any of the targets.
func (e *ExperimentSummary) meanings(targets ...int) []string {
	cells := func(is func(*Cell) bool) bool {
		return slices.ContainsFunc(targets, func(k int) bool {
			return e.some(func(r *Row) bool { return r.Cells[k].Seeds() > 0 && is(&r.Cells[k]) })
		})
	}
	var meanings []string
	if cells(func(c *Cell) bool { return c.NeverSeeds == 0 && c.ReachedSeeds == 0 }) {
		meanings = append(meanings, "> T: not reached when the runs ended at T")
	}
	if cells(func(c *Cell) bool { return c.NeverSeeds == 0 && c.ReachedSeeds > 0 && !c.Reached }) {
		meanings = append(meanings, "n of m: so many seeds reached it")
	}
	if cells(func(c *Cell) bool { return c.NeverSeeds > 0 }) {
		meanings = append(meanings, "never: no client could ever respond again")
	}
	if meanings == nil {
		return nil
	}
	return []string{strings.Join(meanings, "; ")}
}

// explained returns what the cells of a comparison mean, how many runs did not end, and the first remarks.
func (e *ExperimentSummary) explained(k int) (notes []string) {
	if k >= 0 {
		notes = e.meanings(k)
	}
	if m := e.shown(k); e.atEnd(k) != nil && (len(e.Blocks) == 1 || k < 0) {
		_, mean := m.Parts(e.real())
		texts := []string{map[string]string{strings.TrimSpace(byRows): "each row counts the same",
			overClients: "each client counts the same"}[mean]}
		if e.Last != lastEvaluation {
			texts = append(texts, e.Last)
		}
		if text := strings.TrimPrefix(strings.Join(texts, "; "), "; "); text != "" {
			notes = append(notes, m.shortLabel(e.real())+": "+text)
		}
	}
	stalled, interrupted := 0, 0
	var remarks []string
	for i := range e.Blocks {
		for k := range e.Blocks[i].Rows {
			stalled += e.Blocks[i].Rows[k].Stalled
			interrupted += e.Blocks[i].Rows[k].Interrupted
		}
		for _, text := range e.Remarks(&e.Blocks[i]) {
			remarks = append(remarks, strings.TrimPrefix(SettingsText(e.Blocks[i].Point)+", "+text, ", "))
		}
	}
	if stalled > 0 {
		notes = append(notes, columns.Count(stalled, "run")+" stalled")
	}
	if interrupted > 0 {
		notes = append(notes, columns.Count(interrupted, "run")+" interrupted")
	}
	if len(remarks) > 3 {
		remarks = append(remarks[:3], fmt.Sprintf("and %s like these", columns.Count(len(remarks)-3, "remark")))
	}
	return append(notes, remarks...)
}

// Worst lists the worst tenth of the clients at the end by row of the first block, of the metric of MainStatistics;
// empty without values by client.
func (e *ExperimentSummary) Worst() string {
	var texts []string
	for i := range e.Main {
		if m := &e.Main[i]; m.Statistic == "worst10" {
			for k := range e.Blocks[0].Rows {
				r := &e.Blocks[0].Rows[k]
				texts = append(texts, r.Text()+" "+m.Format(r.value(m.Name), e.real()))
			}
		}
	}
	return strings.Join(few(texts), ", ")
}
