package experiment

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/results"
	"fedsim/results/rundir"
)

// phones is a run of mocha on devices with drops, a few of them in each round.
const phones = `
client_metrics = ["error", "loss", "auc"]
clients_every = 4
eval_every = 2
targets = { test_error = [0.3] }
[federation]
protocol = "deadline"
deadline_s = 1
[faults]
drop_probability = 0.3
[methods.mocha]
`

func mustStore(t *testing.T, dir, source string, workers int, set ...string) *rundir.Results {
	t.Helper()
	found := expect.Value(store(t, dir, source, workers, 0, "mocha", set...))(t)
	return found
}

// sameFiles compares files of two directories byte by byte.
func sameFiles(t *testing.T, what, got, want string, names ...string) {
	t.Helper()
	for _, name := range names {
		a, err := os.ReadFile(filepath.Join(got, name))
		b, fault := os.ReadFile(filepath.Join(want, name))
		if err := errors.Join(err, fault); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: %s differs (%d bytes, want %d): %v", what, name, len(a), len(b), err)
		}
	}
}

// clientRowsOf returns the rows of a run by round and metric.
func clientRowsOf(t *testing.T, dir, run string) map[int]map[string][]results.ClientRow {
	t.Helper()
	all := map[int]map[string][]results.ClientRow{}
	expect.NoError(t, rundir.Clients(dir, run, func(row *results.ClientRow) error {
		if all[row.Round] == nil {
			all[row.Round] = map[string][]results.ClientRow{}
		}
		name := row.Split + "_" + row.Name
		all[row.Round][name] = append(all[row.Round][name], *row)
		return nil
	}))
	return all
}

// valueOf returns the value of a metric after a round.
func valueOf(r *results.Run, round int, name string) float64 {
	m, _ := r.Metric(name)
	return m.Of(&r.Rounds[round])
}

// Values by client are recorded every fourth round and at the end; they change nothing else,
// and depend neither on workers nor on interruptions.
func TestClientMetrics(t *testing.T) {
	dir := t.TempDir()
	whole, parts := filepath.Join(dir, "whole"), filepath.Join(dir, "parts")
	found := mustStore(t, whole, phones, 1)
	mustStore(t, filepath.Join(dir, "four"), phones, 4)
	sameFiles(t, "four workers", filepath.Join(dir, "four"), whole, "rounds.parquet", "metrics.parquet",
		"client_values.parquet")
	for _, stop := range []int{9, 12, 23} {
		_, err := store(t, parts, phones, 1, stop, "mocha")
		expect.Must(t, Interrupted(err), "not interrupted: %v", err)
	}
	mustStore(t, parts, phones, 1)
	sameFiles(t, "resumed", parts, whole, "rounds.parquet", "metrics.parquet", "client_values.parquet")
	mustStore(t, filepath.Join(dir, "without"), phones, 1, "run.client_metrics=[]", "run.clients_every=")
	sameFiles(t, "without values by client", filepath.Join(dir, "without"), whole, "rounds.parquet")

	run := &found.Runs[0]
	rows := clientRowsOf(t, whole, run.ID)
	taken := 0
	for h := range run.Rounds {
		taken += run.Rounds[h].Participants
		want := 0
		if h%4 == 0 || h == 30 {
			want = 6
		}
		if len(rows[h]) != want || (want > 0) == math.IsNaN(valueOf(run, h, "test_loss_clients")) {
			t.Errorf("round %d has rows of %d metrics, want %d; mean %v", h, len(rows[h]), want,
				valueOf(run, h, "test_loss_clients"))
		}
		for name, list := range rows[h] {
			updates, sum, weighted, all := 0, 0.0, 0.0, 0.0
			for k, row := range list {
				if row.Client != k || row.TimeS != run.Rounds[h].TimeS || row.Class != "" || row.ComputeS <= 0 ||
					row.TransferS <= 0 || row.Rows <= 0 {
					t.Fatalf("round %d, %s: %+v", h, name, row)
				}
				updates, sum = updates+row.Updates, sum+row.Value/5
				weighted, all = weighted+float64(row.Rows)*row.Value, all+float64(row.Rows)
			}
			expect.That(t, len(list) == 5 && updates == taken,
				"round %d, %s: %d clients with %d updates, want 5 with %d", h, name, len(list), updates, taken)
			if got := valueOf(run, h, name+"_clients"); !strings.HasSuffix(name, "auc") && math.Abs(got-sum) > 1e-14 {
				t.Errorf("round %d: %s_clients is %v, want %v", h, name, got, sum)
			}
			if got := valueOf(run, h, name); !strings.HasSuffix(name, "auc") && math.Abs(got-weighted/all) > 1e-14 {
				t.Errorf("round %d: %s is %v, want %v", h, name, got, weighted/all)
			}
			if x := &run.Rounds[h]; name == "test_error" &&
				(math.Abs(sum-x.TestErrorClients) > 1e-15 || math.Abs(weighted/all-x.TestError) > 1e-15) {
				t.Errorf("round %d: clients have the test errors %v and %v by rows, the run %v and %v", h, sum,
					weighted/all, x.TestErrorClients, x.TestError)
			}
		}
	}
}

// Updates are those that the server takes, under every kind of protocol and after a resume.
func TestUpdatesOfClients(t *testing.T) {
	for _, set := range [][]string{
		{"federation.protocol=asynchronous", "federation.deadline_s=", "methods.mocha.algorithm=async-mocha"},
		{"federation.protocol=wait-for-all", "federation.deadline_s="},
		{"federation.late=keep", "federation.deadline_s=0.21", "network.profile=3g", "network.jitter=0.5"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		_, err := store(t, dir, phones, 1, 17, "mocha", set...)
		expect.Must(t, Interrupted(err), "%q: not interrupted: %v", set, err)
		run := &mustStore(t, dir, phones, 1, set...).Runs[0]
		rows, taken := clientRowsOf(t, dir, run.ID), 0
		for h := range run.Rounds {
			taken += run.Rounds[h].Participants
			updates, most := 0, 0
			for _, row := range rows[h]["test_error"] {
				updates, most = updates+row.Updates, max(most, row.Updates)
			}
			expect.That(t, len(rows[h]) == 0 || updates == taken && (h <= 8 || most != 0),
				"%q: round %d: %d updates of clients, want %d", set, h, updates, taken)
		}
	}
}

// A statistic stops a run and chooses candidates, at the rounds in which it is recorded.
func TestStatisticsDecide(t *testing.T) {
	dir := t.TempDir()
	whole := mustStore(t, filepath.Join(dir, "whole"), phones, 2).Runs[0]
	worst, at := valueOf(&whole, 12, "train_loss_worst10"), 4
	for valueOf(&whole, at, "train_loss_worst10") > worst {
		at += 4
	}
	target := "run.stop_at={train_loss_worst10=" + strconv.FormatFloat(worst, 'g', -1, 64) + "}"
	stopped := mustStore(t, filepath.Join(dir, "stopped"), phones, 2, target).Runs[0]
	if n := len(stopped.Rounds) - 1; n != at || at == 4 || valueOf(&stopped, n, "train_loss_worst10") > worst {
		t.Errorf("the run stops after round %d, want %d", n, at)
	}
	// No AUC reaches 2: the candidate with the better one at the end wins, that with more steps.
	tuned := phones + `
[[experiment]]
name = "tuned"
[experiment.tune.mocha]
"options.epochs" = [0.01, 4.0]
[experiment.tuning]
target = { train_auc_worst10 = 2.0 }
`
	found := mustStore(t, filepath.Join(dir, "tuned"), tuned, 2)
	v, ok := found.Runs[0].TunedValue("options.epochs")
	expect.That(t, ok && v != "0.01", "tuned to %q", v)
}

// Without clients_every, the values are those of the last round, wherever a run ends.
func TestClientMetricsAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		set  string
		last int
	}{
		"all rounds":   {"run.outer=1", 30},
		"two outer":    {"run.outer=2", 60},
		"a target":     {"run.stop_at={test_error=0.9}", 2},
		"a time limit": {"run.max_time_s=7.5", 8},
	} {
		found := mustStore(t, filepath.Join(dir, name), phones, 2, "run.clients_every=", c.set)
		run := &found.Runs[0]
		last := len(run.Rounds) - 1
		expect.That(t, last == c.last, "%s: %d rounds, want %d", name, last, c.last)
		rows := clientRowsOf(t, filepath.Join(dir, name), run.ID)
		expect.That(t, len(rows) == 1 && len(rows[c.last]) == 6, "%s: values in %d rounds", name, len(rows))
		if math.IsNaN(valueOf(run, c.last, "test_auc_clients")) || math.IsNaN(run.Rounds[c.last].TestError) {
			t.Errorf("%s: no statistics", name)
		}
	}
}

// Only the clients of sampled tasks have values, on the test rows of their tasks.
func TestClientMetricsOfSample(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	found := mustStore(t, dir, phones, 2, "run.eval_clients=2", "data.clients_per_task=3", "run.rounds=4")
	rows := clientRowsOf(t, dir, found.Runs[0].ID)
	for name, list := range rows[4] {
		expect.Must(t, len(list) == 6, "%s of %d clients", name, len(list))
		for i := range list {
			a, b := &list[i/3*3], &list[i]
			if b.Client != a.Client+i%3 || a.Client%3 != 0 ||
				strings.HasPrefix(name, "test") &&
					(a.Rows != b.Rows || math.Float64bits(a.Value) != math.Float64bits(b.Value)) {
				t.Errorf("%s: %+v after %+v", name, b, a)
			}
		}
	}
	expect.That(t, len(rows[4]) == 6, "%d metrics", len(rows[4]))
}

// Runs that share their computation record values by client, too.
func TestClientMetricsOfSynchronousRuns(t *testing.T) {
	const synchronous = `
client_metrics = ["loss"]
[methods.cocoa]
[sweep]
"network.profile" = ["3g", "wifi"]
`
	dir := filepath.Join(t.TempDir(), "run")
	found := mustStore(t, dir, synchronous, 2)
	var first []results.ClientRow
	for i := range found.Runs {
		rows := clientRowsOf(t, dir, found.Runs[i].ID)[30]["test_loss"]
		expect.Must(t, len(rows) == 5, "run %d has %d rows", i, len(rows))
		if i == 0 {
			first = rows
			continue
		}
		for k := range rows {
			if rows[k].Value != first[k].Value || rows[k].TransferS >= first[k].TransferS ||
				rows[k].ComputeS != first[k].ComputeS {
				t.Errorf("client %d: %+v by wifi, %+v by 3g", k, rows[k], first[k])
			}
		}
	}
}
