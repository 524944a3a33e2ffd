package command

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

var kills = flag.Int("kills", 6, "number of runs to kill and resume")

// crashing has every kind of checkpoint: runs, shared computations, a tuning, rows by
// device.
const crashing = `
[data.synthetic]
clients = 4
features = 8
rows_min = 20
rows_max = 40
[methods.mocha]
[methods.cocoa]
[[experiment]]
name = "coupled"
methods = ["mocha"]
set = { "run.outer" = 2, "run.rounds" = 300, "run.eval_every" = 10, "run.seeds" = [1, 2], "run.save_model" = true, "problem.regularizer" = "probabilistic", "faults.drop_probability" = 0.2 }
[[experiment]]
name = "shared"
methods = ["cocoa"]
set = { "run.rounds" = 250 }
sweep = { "network.profile" = ["wifi", "3g"] }
[[experiment]]
name = "tuned"
methods = ["mocha"]
set = { "run.rounds" = 100, "run.devices" = true, "run.client_metrics" = ["error"], "run.clients_every" = 2, "run.save_model" = true, "run.theta_every" = 3, "federation.protocol" = "charged", "run.seeds" = [1, 2] }
[experiment.tuning]
target = { suboptimality = 1e-9 }
seeds = 2
extend = 1
[experiment.tune.mocha]
"options.epochs" = [1, 3]
`

// Runs are killed at random moments, and killed again after they are resumed. At the end
// they have the results of an uninterrupted run, with any number of workers.
func TestKilledRunsResume(t *testing.T) {
	resumeKilled(t, crashing, *kills)
}

// tabled has two tables of methods tuned on folds, with both kinds of errors, after two runs.
const tabled = `
[data]
bias = true
[data.synthetic]
clients = 5
features = 12
rows_min = 40
rows_max = 60
[problem]
loss = "squared"
[methods.mocha]
[methods.central]
[[experiment]]
name = "short"
methods = ["mocha"]
set = { "run.rounds" = 20, "run.seeds" = [1, 2] }
[[experiment]]
name = "wrong"
methods = ["central"]
set = { "run.rounds" = 1, "run.vary" = "split", "run.seeds" = [1, 2, 3] }
tuning.folds = 3
tune.central = { "problem.lambda" = [0.1, 1e-2, 1e-3] }
table.title = "shares of wrong signs"
[[experiment.axis]]
name = "rows"
points = [{ label = "even" }, { label = "skewed", set = { "data.skew" = 5 } }]
[[experiment]]
name = "far"
methods = ["central"]
set = { "run.rounds" = 1, "run.vary" = "split", "run.seeds" = [1, 2], "data.target" = "real" }
tuning.folds = 3
tune.central = { "problem.lambda" = [1, 0.1, 1e-2, 1e-3] }
table = {}
`

// Likewise for tables.
func TestKilledTablesResume(t *testing.T) {
	resumeKilled(t, tabled, (*kills+1)/2)
}

// resumeKilled kills runs of a scenario until it has resumed so many. Figures take as
// long as the rest together, so they are drawn only when there are many kills.
func resumeKilled(t *testing.T, text string, kills int) {
	t.Helper()
	if testing.Short() {
		kills = min(kills, 4)
	}
	root := t.TempDir()
	figures := fmt.Sprintf("--no-figures=%t", kills <= 12)
	scenario := filepath.Join(root, "x.toml")
	filetest.Write(t, scenario, text)
	started := time.Now()
	if out, err := exec.Command("fedsim", "run", scenario, figures, "--out", filepath.Join(root, "whole")).
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(started)
	want := lasting(t, filepath.Join(root, "whole"))
	random := rand.New(rand.NewPCG(1, 2))
	killed := 0
	for i, resumed := 0, 0; resumed < kills; i++ {
		expect.Must(t, i <= 4*kills, "only %d of %d left a checkpoint", resumed, i)
		dir := filepath.Join(root, fmt.Sprint(i))
		index := filepath.Join(dir, ".unfinished", "run.log")
		workers := fmt.Sprintf("--workers=%d", []int{1, 2, 8}[i%3])
		died := func(args ...string) bool {
			args = append(args, workers, figures, "--checkpoint=0.01", "--progress=none")
			after, most := index, took
			if i%4 == 1 { // before or while the directory is created
				after, most = root, 50*time.Millisecond
			}
			if !killAfter(t, after, time.Duration(random.Int64N(int64(most))), args...) {
				return false
			}
			killed++
			return true
		}
		began := time.Now()
		if !died("run", scenario, "--out", dir) {
			took = min(took, time.Since(began)) // the machine was busier during the first run
			continue
		}
		if i%4 == 0 {
			died("run", "--resume", dir)
		}
		// A run that was killed during the final cleanup is complete.
		again := []string{"run", "--resume", dir, workers, figures}
		if _, err := os.Stat(index); err == nil {
			resumed++
		} else {
			again = append(again, scenario) // killed before the index, which has the scenario, was written
		}
		if out, err := exec.Command("fedsim", again...).CombinedOutput(); err != nil {
			t.Fatalf("run %d: %v: %s", i, err, out)
		}
		d := cmp.Diff(want, lasting(t, dir))
		expect.Must(t, d == "", "run %d differs from an uninterrupted run: %s", i, d)
		expect.NoError(t, os.RemoveAll(dir))
	}
	t.Logf("%d kills", killed)
}

// killAfter runs fedsim and kills it at time d after a file exists. Killed is false if
// the run ended first.
func killAfter(t *testing.T, file string, d time.Duration, args ...string) (killed bool) {
	t.Helper()
	cmd := exec.Command("fedsim", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	expect.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		for range 60_000 {
			if _, err := os.Stat(file); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		select {
		case <-time.After(d):
			_ = cmd.Process.Kill() // it may have ended
		case <-ended:
		}
	}()
	err := cmd.Wait()
	close(ended)
	if err == nil {
		return false
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok ||
		exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%v: %v: %s", args, err, stderr.String())
	}
	return true
}

// lasting reads a run directory, except for what depends on the real clock and on the
// command line.
func lasting(t *testing.T, dir string) map[string]string {
	t.Helper()
	r := readRuns(t, dir)
	m := r.Manifest
	m.Clock, m.Command = nil, nil
	text := expect.Value(json.Marshal(m))(t)
	files := map[string]string{"manifest": string(text)}
	expect.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "manifest.json" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, dir)
		files[name] = string(content)
		if d.Name() == "runs.csv" {
			files[name] = withoutColumn(t, content, "wall_s")
		}
		return nil
	}))
	return files
}

func withoutColumn(t *testing.T, text []byte, name string) string {
	t.Helper()
	rows := expect.Value(csv.NewReader(bytes.NewReader(text)).ReadAll())(t)
	without := -1
	for i, cell := range rows[0] {
		if cell == name {
			without = i
		}
	}
	expect.Must(t, without >= 0, "no column %s", name)
	var b strings.Builder
	for _, row := range rows {
		row[without] = ""
		b.WriteString(strings.Join(row, ",") + "\n")
	}
	return b.String()
}
