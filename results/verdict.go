package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/certainty"
	"fedsim/internal/tools/columns"
)

// confidence is that with which a method is certainly first.
const confidence = 0.95

// First says which method of a block reached a target first.
type First struct {
	Point  []Setting `json:"point"` // that of the block
	Target           // a metric and its value
	Row    *string   `json:"row"` // the label of the method; nil: it is not one alone, or not known
	// Certain means that in the median seed the method takes less time than every other, with a confidence of
	// 95 % that holds for all of them and after any number of seeds.
	Certain bool   `json:"certain"`
	Reason  string `json:"reason"` // why Row is nil; empty otherwise

	rows  []string // the methods with the least time, where that is known
	text  string   // the method, or those that take the same time; notKnown or none
	seeds int      // of the row with most

	settled float64 // confidence with which run.certain was settled; 0: it was not
	open    bool    // run.certain asks for more than is certain
}

// Settled is the leaders of a block, as seeds that were added until it was certain have them; none: it is not settled.
type Settled struct {
	Experiment string
	Point      []Setting
	Target
	Rows       []string
	Confidence float64
}

// Settle makes the rows first that lead certainly.
func (s *Summary) Settle(by []Settled) {
	for i := range s.Experiments {
		s.Experiments[i].settled = by
	}
}

// settle replaces what means say by what was settled.
func (f *First) settle(experiment string, by []Settled) {
	for _, x := range by {
		if x.Experiment == experiment && x.Target == f.Target && slices.Equal(x.Point, f.Point) {
			if f.open = len(x.Rows) == 0; f.open {
				continue
			}
			f.rows, f.text, f.Reason, f.settled = x.Rows, strings.Join(few(x.Rows), " or "), "", x.Confidence
			if f.Row, f.Certain = nil, len(x.Rows) == 1; f.Certain {
				f.Row = &x.Rows[0]
			} else {
				f.Reason = "no difference above the margin"
			}
		}
	}
}

// notKnown is the text of a verdict without one.
const notKnown = "not known"

// Firsts returns what is known of each known target in each block; nil unless methods compete.
func (e *ExperimentSummary) Firsts() []First {
	var all []First
	for k := range e.Targets {
		for i := range e.Blocks {
			if b := &e.Blocks[i]; e.Known[k] && e.RowKey == "method" && len(b.competing(k)) > 1 {
				f := b.first(k)
				f.settle(e.Experiment, e.settled)
				all = append(all, f)
			}
		}
	}
	return all
}

// competing returns the rows that are compared in time. Those whose runs take no time, such as the solution of a
// problem, are not, nor those that do not have the metric.
func (b *Block) competing(target int) (rows []*Row) {
	for i := range b.Rows {
		if r := &b.Rows[i]; r.Totals.TimeS != 0 && (r.Cells[target].Seeds() > 0 || r.Interrupted > 0) {
			rows = append(rows, r)
		}
	}
	return rows
}

// first decides which method reached a target first: the one whose mean time is known, and below the mean of
// every other, or its bound.
func (b *Block) first(target int) First {
	f := First{Point: b.Point, Target: b.Rows[0].Cells[target].Target, text: notKnown}
	rows, least, some := b.competing(target), math.Inf(1), false
	for _, r := range rows {
		c := &r.Cells[target]
		if c.Reached {
			least = min(least, c.TimeS)
		}
		f.seeds, some = max(f.seeds, c.Seeds()), some || c.ReachedSeeds > 0
	}
	var winners []string
	var before []*Row // that may have been faster
	for _, r := range rows {
		c := &r.Cells[target]
		switch {
		case c.Reached && c.TimeS == least:
			winners = append(winners, r.Label)
		case !c.Reached && !(c.AtLeast.TimeS > least):
			before = append(before, r)
		}
	}
	switch {
	case !some:
		f.text, f.Reason = "none", "no run reached it"
	case len(winners) == 0:
		f.Reason = "no method reached it in every run"
	case len(before) > 0:
		f.Reason = reason(before, rows, target, least, winners[0])
	case len(winners) > 1:
		f.rows, f.text, f.Reason = winners, strings.Join(few(winners), " or "), "they take the same time"
	default:
		f.rows, f.text, f.Row, f.Certain = winners, winners[0], &winners[0], certain(rows, target, winners[0])
	}
	return f
}

// certain reports whether a row is ahead of all others, by the seeds that favor none.
func certain(rows []*Row, target int, label string) bool {
	costs := make([][]certainty.Bounds, len(rows))
	for seed := range rows[0].Cells[target].times {
		if slices.ContainsFunc(rows, func(r *Row) bool { return !r.Cells[target].fair[seed] }) {
			continue
		}
		for i, r := range rows {
			costs[i] = append(costs[i], r.Cells[target].times[seed])
		}
	}
	ranks := certainty.Test{Confidence: confidence}.Compare(costs, false).Ranks
	return ranks[slices.IndexFunc(rows, func(r *Row) bool { return r.Label == label })].High == 1
}

// reason says why rows may have been faster than the fastest known mean, and what would tell.
func reason(before, rows []*Row, target int, least float64, fastest string) string {
	relative, longest, mean := rows[0].Totals.Relative, 0.0, 0.0
	var labels []string
	low, high, end := math.Inf(1), 0.0, 0.0
	for _, r := range rows {
		longest, mean = max(longest, r.longest), max(mean, r.Totals.TimeS)
	}
	for _, r := range before {
		c := &r.Cells[target]
		if c.Seeds() == 0 {
			return r.Label + " was interrupted"
		}
		labels, end = append(labels, r.Label), max(end, r.longest)
		for _, t := range c.times {
			if t.Low != t.High {
				low, high = min(low, t.Low), max(high, t.Low)
			}
		}
	}
	texts := timesText(relative, low, high, least)
	text := strings.Join(few(labels), ", ")
	if high < least {
		text += " ended at " + span(texts[0], texts[1]) + ", before " + texts[2] + " of " + fastest
	} else {
		text += " ended without it in some runs, so that a mean below " + texts[2] + " of " + fastest + " is possible"
	}
	if slices.ContainsFunc(before, func(r *Row) bool { return r.stopped }) {
		return text + "; the runs ended at run.stop_at, before this target"
	}
	if end < 0.95*longest {
		return text + "; give all methods the same time: run.max_time_s = " + Upward(mean) + " without run.rounds"
	}
	return text + "; give all methods more time: run.max_time_s = " + Upward(2*longest) + " without run.rounds"
}

// few shortens a list of labels.
func few(labels []string) []string {
	const most = 4
	if n := len(labels) - most; n > 0 {
		return append(slices.Clone(labels[:most]), fmt.Sprintf("%d more", n))
	}
	return labels
}

// timesText formats times that are compared, in one unit.
func timesText(relative bool, times ...float64) (texts []string) {
	unit := timeUnits.of(times...)
	for _, t := range times {
		if relative {
			texts = append(texts, TimeText(t, true))
		} else {
			texts = append(texts, unit.text(t))
		}
	}
	return texts
}

// span formats two amounts in the same unit: "1.13 to 1.30 s".
func span(low, high string) string {
	if low == high {
		return low
	}
	number, _, _ := strings.Cut(low, " ")
	return number + " to " + high
}

// Upward formats a number with one digit that is not zero, not below it.
func Upward(x float64) string {
	text := strconv.FormatFloat(x, 'e', 0, 64)
	if y, _ := strconv.ParseFloat(text, 64); y < x*(1-1e-9) { // rounded down
		digit, exponent, _ := strings.Cut(text, "e")
		next, _ := strconv.Atoi(digit)
		text = strconv.Itoa(next+1) + "e" + exponent
	}
	y, _ := strconv.ParseFloat(text, 64)
	return columns.Exact(y)
}

// Verdicts says for each known target which method reached it first, if methods compete, or in how many blocks
// each did; without a known target, which row has the best Metric.
func (e *ExperimentSummary) Verdicts() []string {
	var lines []string
	firsts := e.Firsts()
	for k, x := range e.Targets {
		var of []First
		for _, f := range firsts {
			if f.Target == x && e.Known[k] {
				of = append(of, f)
			}
		}
		if len(of) > 0 {
			lines = append(lines, "first to "+e.Texts[k]+": "+firstText(of))
		}
	}
	if !slices.Contains(e.Known, true) && e.marksBest() {
		lines = append(lines, e.Metric.extreme()+" "+e.Metric.LabelFor(e.real())+": "+e.best())
	}
	return lines
}

// firstText sums up blocks: "MOCHA (certain at 95 %)", or "MOCHA in 2 of 3 (certain at 95 % in 1), not known in 1
// of 3: " and why.
func firstText(blocks []First) string {
	var texts []string
	for _, f := range blocks {
		texts = append(texts, f.text)
	}
	return tally(texts, func(text string) string {
		var first *First
		n, sure, seeds := 0, 0, 1
		for i := range blocks {
			if f := &blocks[i]; f.text == text {
				if first == nil {
					first = f
				}
				n, seeds = n+1, max(seeds, f.seeds)
				if f.Certain {
					sure++
				}
			}
		}
		level := fmt.Sprintf("certain at %g %%", 100*confidence)
		switch {
		case first.settled > 0:
			return fmt.Sprintf(" (settled at %g %%)", 100*first.settled)
		case text == notKnown && len(blocks) > 1 && len(first.Point) > 0:
			return ": " + SettingsText(first.Point) + ": " + first.Reason
		case text == notKnown:
			return ": " + first.Reason
		case first.open && text != "none" && sure < n:
			return " (not settled)"
		case first.open && text != "none":
			return " (" + level + ", not settled by the margin)"
		case first.Row == nil && text != "none":
			return ", not certain"
		case first.Row == nil || seeds == 1:
			return ""
		case sure == 0:
			return " (not certain)"
		case sure < n:
			return fmt.Sprintf(" (%s in %d)", level, sure)
		default:
			return " (" + level + ")"
		}
	})
}

// best says in how many blocks rows have the best Metric.
func (e *ExperimentSummary) best() string {
	var texts []string
	for i := range e.Blocks {
		var labels []string
		for k := range e.Blocks[i].Rows {
			if r := &e.Blocks[i].Rows[k]; r.Best {
				labels = append(labels, e.rowText(r))
			}
		}
		texts = append(texts, cmp.Or(strings.Join(few(labels), " or "), "none"))
	}
	return tally(texts, func(string) string { return "" })
}

// rowText names a row in a verdict.
func (e *ExperimentSummary) rowText(r *Row) string {
	if e.RowKey == "method" {
		return r.Text()
	}
	return e.RowKey + " = " + r.Text()
}

// tally counts the texts of blocks, the most frequent first and those that name no row last: "MOCHA in 7 of 9,
// CoCoA in 2 of 9". It adds a note to each.
func tally(texts []string, note func(string) string) string {
	var labels []string
	count := map[string]int{}
	for _, text := range texts {
		if count[text]++; count[text] == 1 {
			labels = append(labels, text)
		}
	}
	slices.SortStableFunc(labels, func(a, b string) int {
		last := func(x string) int { return slices.Index([]string{"none", notKnown}, x) }
		return cmp.Or(last(a)-last(b), count[b]-count[a])
	})
	if len(labels) == 1 && labels[0] == "none" {
		return "none"
	}
	const most = 6
	var parts []string
	for _, label := range labels {
		text := label
		if len(texts) > 1 {
			text += fmt.Sprintf(" in %d of %d", count[label], len(texts))
		}
		parts = append(parts, text+note(label))
	}
	if more := len(parts) - most; more > 0 {
		parts = append(parts[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// Notes explains the table: bounds, the ratio, P, the loss, and a missing sub-optimality.
func (e *ExperimentSummary) Notes() []string {
	var notes []string
	known := slices.Contains(e.Known, true)
	notes = append(notes, e.censored()...)
	if known &&
		e.some(func(r *Row) bool { return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Ratio > 1 }) }) {
		notes = append(notes, "ratio: time relative to the fastest")
	}
	model, _ := e.endColumns()
	if slices.ContainsFunc(model, func(c endColumn) bool { return c.head == headP }) {
		notes = append(notes, headP+": the objective P, loss of the training rows and regularizer; lower is better")
	}
	if len(e.Losses) > 0 {
		notes = append(notes, "loss: "+strings.Join(e.Losses, "; "))
	}
	return append(append(notes, e.ends()...), e.protocols()...)
}

// ends says which evaluations the errors at the end are, unless they are the last.
func (e *ExperimentSummary) ends() []string {
	if e.Last == lastEvaluation || !e.some(func(r *Row) bool { return !math.IsNaN(r.End) }) {
		return nil
	}
	return []string{"errors at the end: " + e.Last}
}

// protocols says which methods have which round protocol; empty if all have the same, or have several.
func (e *ExperimentSummary) protocols() []string {
	var names []string
	of, methods := map[string]string{}, map[string][]string{}
	for i := range e.Blocks {
		for k := range e.Blocks[i].Rows {
			r := &e.Blocks[i].Rows[k]
			had, seen := of[r.Label]
			if e.RowKey != "method" || r.Protocol == "" || seen && had != r.Protocol {
				return nil
			}
			if of[r.Label] = r.Protocol; !seen {
				methods[r.Protocol] = append(methods[r.Protocol], r.Label)
			}
			if !slices.Contains(names, r.Protocol) {
				names = append(names, r.Protocol)
			}
		}
	}
	if len(names) < 2 {
		return nil
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%s)", name, strings.Join(methods[name], ", "))
	}
	return []string{"protocols: " + strings.Join(names, ", ")}
}

// headP is the head of the column of P.
const headP = "P at end"

// censored explains the cells of costs that are not known.
func (e *ExperimentSummary) censored() (notes []string) {
	bounds, stalled, none, medians := false, false, false, false
	seeds, known := 0, len(slices.DeleteFunc(slices.Clone(e.Known), func(is bool) bool { return !is }))
	var counts []string
	for i := range e.Blocks {
		b := &e.Blocks[i]
		for k := range b.Rows {
			for j := range b.Rows[k].Cells {
				c := &b.Rows[k].Cells[j]
				if !e.Known[j] || c.Reached || c.Seeds() == 0 {
					continue
				}
				medians, stalled = medians || e.medians(j), stalled || c.NeverSeeds > 0
				if c.NeverSeeds > 0 {
					continue
				}
				bounds, none, seeds = true, none || c.ReachedSeeds == 0, max(seeds, c.Seeds())
				if what := "it"; c.ReachedSeeds > 0 {
					if known > 1 {
						what = e.Texts[j]
					}
					row := strings.TrimPrefix(SettingsText(b.Point)+", ", ", ") + e.rowText(&b.Rows[k])
					counts = append(counts,
						fmt.Sprintf("%s: %d of %d reached %s", row, c.ReachedSeeds, c.Seeds(), what))
				}
			}
		}
	}
	switch {
	case !bounds:
	case seeds == 1:
		notes = append(notes, ">: the run ended there, without the target")
	default:
		switch counts = few(counts); {
		case len(counts) == 0:
			counts = []string{"no run of these rows reached it"}
		case none:
			counts = append(counts, "no run of other rows")
		}
		notes = append(notes, ">: mean, unknown times taken at the end of the run; "+strings.Join(counts, "; "))
	}
	if stalled {
		notes = append(notes, "never: no client could ever respond again")
	}
	if medians {
		notes = append(notes, "restricted: mean of the times up to the earliest end of a run without the target")
	}
	return notes
}
