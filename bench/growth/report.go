package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"fedsim/plots"
)

// printTable prints all points as Markdown, with the time per unit of the varied quantity
// and its ratio to that of the first point of the sweep.
func printTable(out io.Writer, all []sweep, measured [][]point) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| %-28s | %10s | %10s | %10s | %10s | %10s |\n", "varied quantity", "count", "round", "per unit",
		"to first", "memory")
	fmt.Fprintln(&b, "|---|---:|---:|---:|---:|---:|")
	for i, s := range all {
		for _, p := range measured[i] {
			first := measured[i][0]
			fmt.Fprintf(&b, "| %-28s | %10.0f | %8.4g s | %7.4g ns | %10.2f | %7.0f MB |\n",
				s.name, p.count, p.round, 1e9*p.round/p.count, p.round/p.count/(first.round/first.count), p.bytes/1e6)
		}
	}
	for i, s := range all {
		if n := len(measured[i]); n > 1 {
			fmt.Fprintf(&b,
				"\n%s: between the last two points, time grows with power %.2f and memory with power %.2f\n", s.name,
				power(measured[i], func(p point) float64 { return p.round }),
				power(measured[i], func(p point) float64 { return p.bytes }))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// power returns the slope between the last two points in a log-log plot.
func power(points []point, of func(point) float64) float64 {
	n := len(points)
	p, q := points[n-2], points[n-1]
	return math.Log(of(q)/of(p)) / math.Log(q.count/p.count)
}

// chart returns the figure of the times of rounds and the memory of runs.
func chart(all []sweep, measured [][]point) plots.Chart {
	c := plots.Chart{
		File: "growth", Title: "Time of a round and memory of a run",
		XLabel: "count", YLabel: "seconds, or gigabytes", LogX: true,
		Panels: []plots.ChartPanel{{Title: "time of a round (s)"}, {Title: "peak memory (GB)"}},
	}
	for i, s := range all {
		c.Lines = append(c.Lines, s.name)
		var time, memory plots.ChartLine
		for _, p := range measured[i] {
			time.X, time.Y = append(time.X, p.count), append(time.Y, p.round)
			memory.X, memory.Y = append(memory.X, p.count), append(memory.Y, p.bytes/1e9)
		}
		c.Panels[0].Lines = append(c.Panels[0].Lines, time)
		c.Panels[1].Lines = append(c.Panels[1].Lines, memory)
	}
	return c
}
