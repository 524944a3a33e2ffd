package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"fedsim/bench/runs"
)

// shortRuns writes a scenario with a grid of short runs, five for each point.
func shortRuns(path string, points int) error {
	var drops strings.Builder
	for i := range points {
		fmt.Fprintf(&drops, "%g, ", 0.5*float64(i)/float64(points))
	}
	return os.WriteFile(path, fmt.Appendf(nil, `name = "short"
[problem]
regularizer_options.warm_start = 3
[devices]
clock_ghz = 0.016
flops_per_cycle = 0.01
speed_spread = 1
[network]
profile = "lte"
jitter = 0.3
[federation]
deadline_s = 0.3
[run]
rounds = 60
eval_every = 10
seeds = [1, 2, 3, 4, 5]
[methods.mocha]
protocol = "deadline"
[[experiment]]
name = "grid"
sweep."faults.drop_probability" = [%s]
`, drops.String()), 0o666)
}

// planned measures short runs in one process and as a plan, and prints a table: the cost of a
// plan, and the speedup of two workers with one core each.
func planned(out io.Writer, p runs.Program, dir string, repetitions, points int) error {
	scenario := filepath.Join(dir, "short.toml")
	if err := shortRuns(scenario, points); err != nil {
		return err
	}
	steps := []string{"run, two workers", "plan", "work, one process", "work, two processes", "merge"}
	times := make([][]float64, len(steps))
	for range repetitions {
		if err := call(p, "plan", "make", scenario, "-o", filepath.Join(dir, "one")); err != nil {
			return err
		}
		for i, step := range []func() error{
			func() error {
				return call(p, "run", scenario, "--out", filepath.Join(dir, "run"), "--force", "-q", "--workers=2")
			},
			func() error { return call(p, "plan", "make", scenario, "-o", filepath.Join(dir, "two")) },
			func() error { return call(p, "plan", "work", filepath.Join(dir, "one"), "--workers=1", "-q") },
			func() error {
				plan := filepath.Join(dir, "two")
				other := make(chan error)
				go func() { other <- call(p, "plan", "work", plan, "--workers=1", "-q") }()
				err := call(p, "plan", "work", plan, "--workers=1", "-q")
				if wrong := <-other; err == nil {
					err = wrong
				}
				return err
			},
			func() error {
				return call(p, "plan", "merge", filepath.Join(dir, "two"),
					"--out", filepath.Join(dir, "merged"), "--force",
					"-q")
			},
		} {
			start := time.Now()
			if err := step(); err != nil {
				return err
			}
			times[i] = append(times[i], time.Since(start).Seconds())
		}
		for _, made := range []string{"one", "two"} {
			if err := os.RemoveAll(filepath.Join(dir, made)); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(out, "\n| %-28s | %-10s |\n|---|---:|\n", fmt.Sprintf("%d short runs", 5*points), "median")
	var t []float64
	for i, step := range steps {
		t = append(t, median(times[i]))
		fmt.Fprintf(out, "| %-28s | %8.3g s |\n", step, t[i])
	}
	fmt.Fprintf(out, "\nTwo processes: %.2f times as fast as one (at least 1.9). Their work takes %.2f times as long "+
		"as the run (at most 1.15), %.2f times with plan and merge.\n",
		t[2]/t[3], t[3]/t[0], (t[1]+t[3]+t[4])/t[0])
	return nil
}

// call runs fedsim. A worker has one core, also for its garbage collector.
func call(p runs.Program, args ...string) error {
	cmd := exec.Command(string(p), args...)
	if args[1] == "work" {
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fedsim %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return nil
}
