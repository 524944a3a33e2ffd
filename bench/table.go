package main

import (
	"fmt"
	"io"
)

// table prints rows of a Markdown table.
type table struct{ out io.Writer }

const line = "| %-30s | %10s | %-14s | %10s | %5s | %-15s | %-11s |\n"

func newTable(out io.Writer) table {
	fmt.Fprintf(out, line, "work", "fedsim", "peer", "peer's value", "ratio", "quartiles", "at least")
	fmt.Fprintf(out, line, "---", "---:", "---", "---:", "---:", "---", "---")
	return table{out}
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
	fmt.Fprintf(t.out, line, work, u(spreadOf(ours).median), peer, u(spreadOf(theirs).median),
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
