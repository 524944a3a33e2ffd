// Command growth measures how the time of a round and the memory of a run grow
// with the number of devices, of their rows, of features and of events, each over
// three decades, and draws them:
//
//	cd bench && go run ./growth
//
// It builds fedsim and runs the scenarios million and million-events with other
// sizes. Both numbers are those that a run leaves in the clock section of its
// manifest. docs/performance.md tells what came out.
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

// run is the command on the given arguments; it returns the exit code.
func run(args []string, out, log io.Writer) int {
	flags := flag.NewFlagSet("growth", flag.ContinueOnError)
	flags.SetOutput(log)
	repetitions := flags.Int("repetitions", 3, "how often each point is measured; the quickest and the smallest count")
	most := flags.Int("most", 1_000_000, "leave out points of more devices, rows, features or events than this")
	figures := flags.String("figures", "../docs/figures", "directory for growth.png and growth.svg")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *repetitions < 1 || *most < 1 {
		fmt.Fprintln(log, "growth: takes no arguments, and at least one repetition and one device")
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
	measured := newMeasured(all)
	// Whole passes over all points, so that what slows the machine for a while
	// slows no point alone.
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
