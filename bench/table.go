package main

import (
	"fmt"
	"io"
	"strings"
)

// column is a column of a table; numbers are aligned to the right.
type column struct {
	title  string
	width  int
	number bool
}

// table prints rows of a Markdown table.
type table struct {
	out     io.Writer
	columns []column
}

// comparison are the columns of a table of peers.
var comparison = []column{
	{"work", 30, false}, {"fedsim", 10, true}, {"peer", 14, false}, {"peer's value", 10, true},
	{"ratio", 5, true}, {"quartiles", 15, false}, {"at least", 11, false},
}

func newTable(out io.Writer, columns []column) table {
	t := table{out, columns}
	var titles, rules []string
	for _, c := range columns {
		rule := "---"
		if c.number {
			rule += ":"
		}
		titles, rules = append(titles, c.title), append(rules, rule)
	}
	t.row(titles...)
	t.row(rules...)
	return t
}

// row prints a row with a cell for each column.
func (t table) row(cells ...string) {
	var text strings.Builder
	for k, c := range t.columns {
		width := c.width
		if !c.number {
			width = -width
		}
		fmt.Fprintf(&text, "| %*s ", width, cells[k])
	}
	fmt.Fprintln(t.out, text.String()+"|")
}

// unit is a unit for the time of work.
type unit func(ns float64) string

func nanoseconds(ns float64) string { return digits(ns) + " ns" }

func milliseconds(ns float64) string { return digits(ns/1e6) + " ms" }

func perSecond(ns float64) string { return digits(1e3/ns) + " M/s" }

// add prints the ratio of the time of a peer to that of fedsim. bar is the required ratio;
// 0: none.
func (t table) add(work string, u unit, ours []float64, peer string, theirs []float64, bar float64) {
	r := ratios(theirs, ours)
	demand := "-"
	if bar > 0 {
		demand = digits(bar)
		if r.median < bar {
			demand += ", missed"
		}
	}
	t.row(work, u(spreadOf(ours).median), peer, u(spreadOf(theirs).median),
		digits(r.median), digits(r.low)+" to "+digits(r.high), demand)
}

// digits formats a number with three digits, two if it is small, and with all digits before
// the decimal point.
func digits(x float64) string {
	switch {
	case x >= 100 || x == 0:
		return fmt.Sprintf("%.0f", x)
	case x >= 0.1:
		return fmt.Sprintf("%.3g", x)
	default:
		return fmt.Sprintf("%.2g", x)
	}
}
