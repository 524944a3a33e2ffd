// Command cores measures the speedup of fedsim on two cores, in a single run, in a sweep of
// sixteen runs, and in 5,000 short runs that two processes share by a plan:
//
//	cd bench && go run ./cores
//
// The work has the sizes of HAR with generated data. One and two workers take turns. The
// command prints the median ratio over the turns, and the ratio of the minimum times. The last ratio is the
// machine's: how much more two processes of one core each do at once than one alone, which share
// nothing but caches, memory and clock. Only
// the time of the sweep includes the preparation of data and couplings. The machine must
// have two free cores: other load slows two workers more than one.
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

// work is a scenario and its required speedup.
type work struct {
	name, scenario string
	bar            float64
}

var works = []work{
	{"W update, sizes of HAR", "w-update.toml", 1.8},
	{"sweep of 16 runs", "sweep.toml", 1.9},
}

func run(args []string, out, log io.Writer) int {
	flags := flag.NewFlagSet("cores", flag.ContinueOnError)
	flags.SetOutput(log)
	repetitions := flags.Int("repetitions", 7, "repetitions of each measurement")
	rounds := flags.Int("rounds", 0, "rounds of a run; 0: those of the scenario")
	points := flags.Int("points", 1000, "points of the grid of short runs, with five runs each")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *repetitions < 1 || *rounds < 0 || *points < 1 {
		fmt.Fprintln(log,
			"cores: no arguments are allowed, -repetitions and -points must be at least 1 and -rounds not negative")
		return 2
	}
	if err := compare(out, *repetitions, *rounds, *points); err != nil {
		fmt.Fprintln(log, "cores:", err)
		return 1
	}
	return 0
}

// compare prints the tables.
func compare(out io.Writer, repetitions, rounds, points int) error {
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
	fmt.Fprintf(out, "| %-24s | %-10s | %-10s | %-6s | %-16s | %-9s | %-8s | %-13s |\n"+
		"|---|---:|---:|---:|---|---:|---|---:|\n",
		"work", "one worker", "two", "ratio", "range", "of minima", "at least", "two processes")
	for _, w := range works {
		var one, two, ratio, bound []float64
		for range repetitions {
			a, err := w.seconds(program, dir, 1, rounds)
			if err != nil {
				return err
			}
			b, err := w.seconds(program, dir, 2, rounds)
			if err != nil {
				return err
			}
			alone, err := w.alone(program, dir, 1, rounds)
			if err != nil {
				return err
			}
			both, err := w.alone(program, dir, 2, rounds)
			if err != nil {
				return err
			}
			one, two, ratio, bound = append(one, a), append(two, b), append(ratio, a/b), append(bound, 2*alone/both)
		}
		fmt.Fprintf(out, "| %-24s | %8.3g s | %8.3g s | %6.2f | %-16s | %9.2f | %-8g | %13.2f |\n", w.name, median(one),
			median(two), median(ratio), fmt.Sprintf("%.2f to %.2f", slices.Min(ratio), slices.Max(ratio)),
			slices.Min(one)/slices.Min(two), w.bar, median(bound))
	}
	return planned(out, program, dir, repetitions, points)
}

// seconds runs the work with a number of workers and returns its time.
func (w work) seconds(p runs.Program, dir string, workers, rounds int) (float64, error) {
	r, err := p.Run(filepath.Join(dir, "run"), filepath.Join(dir, w.scenario),
		append(limit(rounds), fmt.Sprintf("--workers=%d", workers))...)
	if err != nil {
		return 0, err
	}
	return spent(r)
}

// alone runs the work in a number of processes at once, each on one core, and returns the time until all have ended.
func (w work) alone(p runs.Program, dir string, processes, rounds int) (float64, error) {
	var dirs []string
	for i := range processes {
		dirs = append(dirs, filepath.Join(dir, fmt.Sprint("alone-", i)))
	}
	r, err := p.RunAlone(dirs, filepath.Join(dir, w.scenario), limit(rounds)...)
	if err != nil {
		return 0, err
	}
	return spent(r)
}

// limit returns the argument that limits the rounds of a run, if they are not 0.
func limit(rounds int) []string {
	if rounds == 0 {
		return nil
	}
	return []string{fmt.Sprintf("--set=run.rounds=%d", rounds)}
}

// spent returns the seconds of a single run, or of all runs of a sweep from start to end.
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

// median returns the median of a sample; the larger middle value of an even number.
func median(sample []float64) float64 {
	return slices.Sorted(slices.Values(sample))[len(sample)/2]
}
