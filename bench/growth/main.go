// Command growth measures the time of a round and the memory of a run for increasing
// numbers of devices, rows, features and events, each over three decades, and draws them:
//
//	cd bench && go run ./growth
//
// It builds fedsim and runs the scenarios million and million-events with other sizes. Time
// and memory come from the clock section of the manifests. bench/README.md has the
// results.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fedsim/bench/runs"
	"fedsim/plots"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, log io.Writer) int {
	flags := flag.NewFlagSet("growth", flag.ContinueOnError)
	flags.SetOutput(log)
	repetitions := flags.Int("repetitions", 3, "measurements of each point; the minimum counts")
	most := flags.Int("most", 1_000_000, "maximum number of devices, rows, features or events")
	figures := flags.String("figures", "../docs/figures", "directory for growth.png and growth.svg")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *repetitions < 1 || *most < 1 {
		fmt.Fprintln(log, "growth: no arguments are allowed; -repetitions and -most must be at least 1")
		return 2
	}
	if err := grow(out, log, *repetitions, *most, *figures); err != nil {
		fmt.Fprintln(log, "growth:", err)
		return 1
	}
	return 0
}

// grow measures, prints and draws all sweeps.
func grow(out, log io.Writer, repetitions, most int, figures string) error {
	dir, err := os.MkdirTemp("", "fedsim-growth")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := runs.Build(dir)
	if err != nil {
		return err
	}
	all := upTo(sweeps(), most)
	measured := make([][]point, len(all))
	for s := range all {
		measured[s] = make([]point, len(all[s].sizes))
	}
	// Each pass measures all points, so that a temporary disturbance affects several points.
	for pass := range repetitions {
		for s := range all {
			for i, size := range all[s].sizes {
				fmt.Fprintf(log, "pass %d of %d: %s, %d\n", pass+1, repetitions, all[s].name, size)
				p, err := measure(program, filepath.Join(dir, "run"), all[s], size)
				if err != nil {
					return err
				}
				measured[s][i].take(p)
			}
		}
	}
	if err := printTable(out, all, measured); err != nil {
		return err
	}
	if err := os.MkdirAll(figures, 0o777); err != nil {
		return err
	}
	_, err = plots.SaveChart(figures, chart(all, measured))
	return err
}
