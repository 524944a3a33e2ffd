// Command cores measures how many times as fast fedsim is on two cores as on one,
// in a single run and in a sweep of sixteen:
//
//	cd bench && go run ./cores
//
// The work has the sizes of HAR, but the data are generated. One worker and two
// take turns, and what is told is the median over the turns, and the quickest of one
// over the quickest of two. Data and couplings, which are made before, are in the
// time of the sweep alone. The machine must have two free cores: others who use them
// take more from two workers than from one.
package main

import (
	"embed"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"fedsim/bench/runs"
	"fedsim/results/rundir"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

//go:embed w-update.toml sweep.toml
var scenarios embed.FS

// work is a scenario and how many times as fast it is to be.
type work struct {
	name, scenario string
	bar            float64
}

var works = []work{
	{"W update, sizes of HAR", "w-update.toml", 1.8},
	{"sweep of 16 runs", "sweep.toml", 1.9},
}

// run is the command on the given arguments; it returns the exit code.
func run(args []string, out, log io.Writer) int {
	flags := flag.NewFlagSet("cores", flag.ContinueOnError)
	flags.SetOutput(log)
	repetitions := flags.Int("repetitions", 7, "how often each number of workers does each work")
	rounds := flags.Int("rounds", 0, "rounds of a run; 0: as many as the scenario has")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *repetitions < 1 || *rounds < 0 {
		fmt.Fprintln(log, "cores: takes no arguments, at least one repetition and no negative rounds")
		return 2
	}
	if err := compare(out, *repetitions, *rounds); err != nil {
		fmt.Fprintln(log, "cores:", err)
		return 1
	}
	return 0
}

// compare prints the table.
func compare(out io.Writer, repetitions, rounds int) error {
	dir, err := os.MkdirTemp("", "fedsim-cores")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, scenarios); err != nil {
		return err
	}
	program, err := runs.Build(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| %-24s | %-10s | %-10s | %-6s | %-16s | %-13s | %-8s |\n|---|---:|---:|---:|---|---:|---|\n",
		"work", "one worker", "two", "ratio", "least to most", "of quickest", "at least")
	for _, w := range works {
		var one, two, ratio []float64
		for range repetitions {
			a, err := w.seconds(program, dir, 1, rounds)
			if err != nil {
				return err
			}
			b, err := w.seconds(program, dir, 2, rounds)
			if err != nil {
				return err
			}
			one, two, ratio = append(one, a), append(two, b), append(ratio, a/b)
		}
		fmt.Fprintf(out, "| %-24s | %8.3g s | %8.3g s | %6.2f | %-16s | %13.2f | %-8g |\n", w.name, median(one), median(two), median(ratio),
			fmt.Sprintf("%.2f to %.2f", slices.Min(ratio), slices.Max(ratio)), slices.Min(one)/slices.Min(two), w.bar)
	}
	return nil
}

// seconds does the work with so many workers and returns what it took.
func (w work) seconds(p runs.Program, dir string, workers, rounds int) (float64, error) {
	args := []string{fmt.Sprintf("--workers=%d", workers)}
	if rounds > 0 {
		args = append(args, fmt.Sprintf("--set=run.rounds=%d", rounds))
	}
	r, err := p.Run(filepath.Join(dir, "run"), filepath.Join(dir, w.scenario), args...)
	if err != nil {
		return 0, err
	}
	return spent(r)
}

// spent returns the seconds that a single run took, or all runs of a sweep from
// start to end.
func spent(r *rundir.Results) (float64, error) {
	clock := r.Manifest.Clock
	if clock == nil || clock.Finished == nil {
		return 0, fmt.Errorf("the manifest has no clock")
	}
	if len(r.Runs) == 1 {
		return r.Runs[0].WallS, nil
	}
	return clock.Finished.Sub(clock.Started).Seconds(), nil
}

// median returns the middle of a sample, the upper one of two.
func median(sample []float64) float64 {
	return slices.Sorted(slices.Values(sample))[len(sample)/2]
}
