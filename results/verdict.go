package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Verdicts says for each known target in how many blocks a row reached it first; without
// one, in how many a row has the lowest test error.
func (e *ExperimentSummary) Verdicts() []string {
	var lines []string
	for k := range e.Targets {
		if e.Known[k] {
			lines = append(lines, e.verdict(k))
		}
	}
	if len(lines) == 0 && e.marksBest() {
		lines = append(lines, "lowest test error: "+e.counts(func(_ *Block, r *Row) bool { return r.Best }))
	}
	return lines
}

// verdict says which rows reached a target first.
func (e *ExperimentSummary) verdict(target int) string {
	return "first to " + e.Texts[target] + ": " + e.counts(func(b *Block, r *Row) bool { return b.first(r, target) })
}

// first reports whether a row reached a target in the least time of the block. Rows whose runs
// take no time, such as the solution of a problem, are not compared in time.
func (b *Block) first(r *Row, target int) bool {
	at := func(r *Row) float64 {
		if !r.Cells[target].Reached || r.Totals.TimeS == 0 {
			return math.Inf(1)
		}
		return r.Cells[target].TimeS
	}
	return !math.IsInf(at(r), 1) && !slices.ContainsFunc(b.Rows, func(other Row) bool { return at(&other) < at(r) })
}

// counts lists the labels of the rows that win a block, with the number of blocks that each
// wins, the one with most first: "MOCHA in 7 of 9, CoCoA in 3 of 9 (1 tied)".
func (e *ExperimentSummary) counts(wins func(*Block, *Row) bool) string {
	var labels []string
	count, tied, open := map[string]int{}, 0, 0
	for i := range e.Blocks {
		won := 0
		for k := range e.Blocks[i].Rows {
			if r := &e.Blocks[i].Rows[k]; wins(&e.Blocks[i], r) {
				label := r.Text()
				if count[label]++; count[label] == 1 {
					labels = append(labels, label)
				}
				won++
			}
		}
		switch {
		case won == 0:
			open++
		case won > 1:
			tied++
		}
	}
	slices.SortStableFunc(labels, func(a, b string) int { return count[b] - count[a] })
	const most = 6
	parts := []string{}
	for _, label := range labels[:min(len(labels), most)] {
		text := label
		if e.RowKey != "method" {
			text = e.RowKey + " = " + label
		}
		if len(e.Blocks) > 1 {
			text += fmt.Sprintf(" in %d of %d", count[label], len(e.Blocks))
		}
		parts = append(parts, text)
	}
	if more := len(labels) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	if open == len(e.Blocks) {
		return "none"
	}
	if open > 0 {
		parts = append(parts, fmt.Sprintf("none in %d of %d", open, len(e.Blocks)))
	}
	text := strings.Join(parts, ", ")
	if tied > 0 && len(e.Blocks) > 1 {
		text += fmt.Sprintf(" (%d tied)", tied)
	}
	return text
}

// Notes explains the table: dashes, the ratio, P, and a missing sub-optimality.
func (e *ExperimentSummary) Notes() []string {
	var notes []string
	known := slices.Contains(e.Known, true)
	if text := e.unreached(); text != "" {
		notes = append(notes, text)
	}
	if known && e.some(func(r *Row) bool { return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Ratio > 1 }) }) {
		notes = append(notes, "ratio: time relative to the fastest that reached the target")
	}
	model, _ := e.endColumns()
	if slices.ContainsFunc(model, func(c endColumn) bool { return c.head == headP }) {
		notes = append(notes, headP+": the objective P, loss of the training rows and regularizer; lower is better")
	}
	return append(notes, e.shared()...)
}

// shared are the notes of Notes and of the short summary.
func (e *ExperimentSummary) shared() (notes []string) {
	for _, text := range []string{e.objectives(), e.protocols()} {
		if text != "" {
			notes = append(notes, text)
		}
	}
	return notes
}

// protocols says which methods have which round protocol; empty if all have the same, or have several.
func (e *ExperimentSummary) protocols() string {
	var names []string
	of, methods := map[string]string{}, map[string][]string{}
	for i := range e.Blocks {
		for k := range e.Blocks[i].Rows {
			r := &e.Blocks[i].Rows[k]
			had, seen := of[r.Label]
			if e.RowKey != "method" || r.Protocol == "" || seen && had != r.Protocol {
				return ""
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
		return ""
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%s)", name, strings.Join(methods[name], ", "))
	}
	return "protocols: " + strings.Join(names, ", ")
}

// headP is the head of the column of P.
const headP = "P at end"

// unreached explains the dashes of targets; empty without one.
func (e *ExperimentSummary) unreached() string {
	least, most, seeds := math.Inf(1), 0.0, false
	for i := range e.Blocks {
		for k := range e.Blocks[i].Rows {
			r := &e.Blocks[i].Rows[k]
			for j := range r.Cells {
				if e.Known[j] && !r.Cells[j].Reached {
					least, most = min(least, r.Totals.Rounds), max(most, r.Totals.Rounds)
					seeds = seeds || r.Seeds > 1
				}
			}
		}
	}
	if least > most {
		return ""
	}
	rounds := CountText(least)
	if least < most {
		rounds += " to " + CountText(most)
	}
	if seeds {
		return "-: not reached, by every seed, in " + rounds + " rounds"
	}
	return "-: not reached in " + rounds + " rounds"
}

// objectives says why runs with P show no sub-optimality; empty if they do.
func (e *ExperimentSummary) objectives() string {
	if e.ByP || !e.some(func(r *Row) bool { return !math.IsNaN(r.Totals.Primal) }) {
		return ""
	}
	var own []string
	for i := range e.Blocks {
		for _, r := range e.Blocks[i].Rows {
			if r.Own && e.RowKey == "method" && !slices.Contains(own, r.Label) {
				own = append(own, r.Label)
			}
		}
	}
	switch {
	case len(own) == 0:
		return "no sub-optimality and no P: the methods minimize different objectives"
	case len(own) == 1:
		return "no sub-optimality and no P: " + own[0] + " minimizes another objective"
	case len(own) > 4:
		return fmt.Sprintf("no sub-optimality and no P: %s and %d more minimize other objectives", strings.Join(own[:3], ", "), len(own)-3)
	default:
		return "no sub-optimality and no P: " + strings.Join(own, ", ") + " minimize other objectives"
	}
}
