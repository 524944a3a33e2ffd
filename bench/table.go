package main

import (
	"fmt"
	"io"
)

// table prints rows as they come, in Markdown.
type table struct{ out io.Writer }

const line = "| %-29s | %9s | %-14s | %9s | %7s | %-18s | %-12s |\n"

func newTable(out io.Writer) table {
	fmt.Fprintf(out, line, "work", "fedsim", "peer", "takes", "ratio", "quartiles", "at least")
	fmt.Fprintf(out, line, "---", "---:", "---", "---:", "---:", "---", "---")
	return table{out}
}

// add prints how many times as long as fedsim a peer takes for a unit of work.
// bar is what the ratio must be at least, 0 where nothing is asked.
func (t table) add(work string, ours []float64, peer string, theirs []float64, bar float64) {
	r := ratios(theirs, ours)
	demand := "-"
	if bar > 0 {
		demand = digits(bar)
		if r.median < bar {
			demand += ", missed"
		}
	}
	fmt.Fprintf(t.out, line, work, nanoseconds(ours), peer, nanoseconds(theirs),
		digits(r.median), digits(r.low)+" to "+digits(r.high), demand)
}

func nanoseconds(sample []float64) string {
	return fmt.Sprintf("%s ns", digits(spreadOf(sample).median))
}

// digits writes a number with three digits, or all before the point.
func digits(x float64) string {
	switch {
	case x >= 100 || x == 0:
		return fmt.Sprintf("%.0f", x)
	case x >= 0.1:
		return fmt.Sprintf("%.3g", x)
	default:
		return fmt.Sprintf("%.1g", x)
	}
}
