// Package duckdb tests that DuckDB reads the parquet files of a run directory correctly.
// The test needs node and DuckDB; `make test-duckdb` installs DuckDB in this directory.
package duckdb

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/results"
	"fedsim/results/rundir"
)

const source = `
[data.synthetic]
clients = 9
features = 6
rows_min = 10
rows_max = 30
[network]
jitter = 0.3
[faults]
drop_probability = 0.2
drop_phase = "uniform"
[federation]
protocol = "deadline"
deadline_s = 0.4
[run]
rounds = 20
seeds = [9223372036854775807, 2]
theta_every = 5
devices = true
[methods.mocha]
[[experiment]]
name = "links"
sweep = { "network.profile" = ["3g", "lte"] }
`

// runScenario runs the scenario and returns the run directory.
func runScenario(t *testing.T) string {
	t.Helper()
	s, err := scenario.Parse("interop.toml", []byte(source), nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := rundir.Create(filepath.Join(t.TempDir(), "it's a run"), false, rundir.About{
		Version: "test", Scenario: []byte(source), Seeds: s.Settings.Run.Seeds, Targets: s.Settings.Run.Targets,
		Started: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	own := ownRun()
	values, err := w.Begin(len(s.Experiments)*1000, own)
	if err != nil {
		t.Fatal(err)
	}
	for i := range own.Rounds {
		if err := values.Round(&own.Rounds[i]); err != nil {
			t.Fatal(err)
		}
		own.Rounds[i].ClientMetrics = nil
	}
	if err := values.End(own); err != nil {
		t.Fatal(err)
	}
	err = experiment.Run(t.Context(), s.Experiments, experiment.Options{Clock: time.Now, Recorder: w})
	if err := errors.Join(err, w.Finish(rundir.Complete, rundir.End{At: time.Now()})); err != nil {
		t.Fatal(err)
	}
	csv, err := os.Create(filepath.Join(w.Dir(), "rounds.csv"))
	if err := errors.Join(err, rundir.Export(csv, w.Dir(), "rounds", "csv"), csv.Close()); err != nil {
		t.Fatal(err)
	}
	return w.Dir()
}

// ownRun is a run of a learner that declares metrics, with values by client.
func ownRun() results.Run {
	nan := math.NaN()
	run := results.Run{
		ID: "links/own", Experiment: "links", Method: "own", Algorithm: "own", Seed: 2, Status: results.Done,
		Reference: results.Reference{Optimum: nan, OptimumGap: nan}, Clocked: results.Clocked{WallS: nan},
		Metrics: []results.NamedMetric{{Split: "test", Name: "accuracy", Better: "higher"}},
	}
	for h := range 3 {
		x := results.Round{Round: h, TimeS: float64(h), Primal: nan, Dual: nan, Gap: nan, Suboptimality: nan,
			TrainError: nan, TestError: nan}
		if h != 1 {
			x.Metrics = []results.NamedValue{{Split: "test", Name: "accuracy", Value: 0.25 * float64(h)}}
			m := results.ClientMetric{Split: "test", Name: "accuracy"}
			for k := range 1000 {
				m.Clients, m.Values = append(m.Clients, int32(2*k)), append(m.Values, float64(k)/1024)
				m.Rows = append(m.Rows, int32(k+1))
			}
			x.Client = func(k int) results.ClientFacts { return results.ClientFacts{Class: "phone", Updates: k} }
			x.ClientMetrics = []results.ClientMetric{m}
		}
		run.Rounds = append(run.Rounds, x)
	}
	return run
}

// output is the output of query.mjs.
type output struct {
	Sums []struct {
		Run, Profile                                   string
		Rows, Measured                                 int
		Participants, Dropped, Late, Responses         float64
		FLOPs, Bytes_down, Bytes_up, Energy_j, Seconds float64
	}
	Differing struct{ Lost, Gained, Rows int }
	Clients   []struct {
		Run, Split, Name           string
		Round, Values, First, Last int
		Sum                        float64
	}
	Metrics []struct {
		Run    string
		Values int
		Last   float64
	}
	ByClient table
	table
}

// table is the description of a parquet file.
type table struct {
	Types map[string]string
	About map[string]struct{ Unit, Description string }
}

func TestDuckDB(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	if _, err := os.Stat(filepath.Join("node_modules", "@duckdb", "node-api")); err != nil {
		t.Skip("DuckDB is not installed: make test-duckdb installs it")
	}
	dir := runScenario(t)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "node", "query.mjs", dir)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	var got output
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	r, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Sums) != len(r.Runs)-1 {
		t.Fatalf("%d runs have rows by device, want %d", len(got.Sums), len(r.Runs)-1)
	}
	if len(got.Clients) != 1 || got.Clients[0].Run != "links/own" || got.Clients[0].Round != 2 ||
		got.Clients[0].Values != 1000 ||
		got.Clients[0].Sum != 999*500/1024.0 || got.Clients[0].Last != 1998 || got.Clients[0].Split != "test" ||
		got.Clients[0].Name != "accuracy" {
		t.Errorf("values by client: %+v", got.Clients)
	}
	if len(got.Metrics) != 1 || got.Metrics[0].Values != 2 || got.Metrics[0].Last != 0.5 {
		t.Errorf("metrics.csv: %+v", got.Metrics)
	}
	for name, want := range map[string]string{"run": "VARCHAR", "round": "BIGINT", "client": "BIGINT",
		"class": "VARCHAR", "rows": "BIGINT", "updates": "BIGINT", "transfer_s": "DOUBLE", "split": "VARCHAR",
		"value": "DOUBLE"} {
		if got.ByClient.Types[name] != want || got.ByClient.About[name].Description == "" {
			t.Errorf("column %s of values by client is %s, want %s with a description", name, got.ByClient.Types[name],
				want)
		}
	}
	runs := map[string]*results.Run{}
	for i := range r.Runs {
		runs[r.Runs[i].ID] = &r.Runs[i]
	}
	const devices, rounds, measured = 9, 20, 4
	for _, sum := range got.Sums {
		run := runs[sum.Run]
		if run == nil {
			t.Fatalf("run %q is unknown", sum.Run)
		}
		if profile, _ := run.Value("network.profile"); sum.Profile != profile {
			t.Errorf("%s: profile %q", run.ID, sum.Profile)
		}
		if sum.Rows != devices*rounds || sum.Measured != devices*measured || sum.Responses < sum.Participants {
			t.Errorf("%s: %d rows, theta in %d, %g responses", run.ID, sum.Rows, sum.Measured, sum.Responses)
		}
		want := run.Total()
		for _, c := range []struct {
			name      string
			got, want float64
		}{
			{"participants", sum.Participants, float64(want.Participants)},
			{"dropped", sum.Dropped, float64(want.Dropped)}, {"late", sum.Late, float64(want.Late)},
			{"flops", sum.FLOPs, want.FLOPs}, {"bytes down", sum.Bytes_down, want.BytesDown},
			{"bytes up", sum.Bytes_up, want.BytesUp}, {"joules", sum.Energy_j, want.EnergyJ},
			{"device seconds", sum.Seconds, devices * run.Rounds[rounds].TimeS},
		} {
			if !(math.Abs(c.got-c.want) <= 1e-9*math.Abs(c.want)) {
				t.Errorf("%s: %s: %g in DuckDB, %g in the run", run.ID, c.name, c.got, c.want)
			}
		}
	}
	if d := got.Differing; d.Lost != 0 || d.Gained != 0 || d.Rows != (len(r.Runs)-1)*(rounds+1)+3 {
		t.Errorf("rounds.parquet has %d rows: %d of rounds.csv are missing, %d are extra", d.Rows, d.Lost, d.Gained)
	}
	for name, want := range map[string]string{"run": "VARCHAR", "seed": "UBIGINT", "device": "BIGINT",
		"outcome": "VARCHAR", "theta": "DOUBLE", "energy_j": "DOUBLE"} {
		if got.Types[name] != want {
			t.Errorf("column %s is %s, want %s", name, got.Types[name], want)
		}
	}
	for name := range got.Types {
		if got.About[name].Description == "" {
			t.Errorf("column %s has no description", name)
		}
	}
	if got.About["energy_j"].Unit != "J" || len(got.About) != len(got.Types) {
		t.Errorf("%d of %d columns have a description: %+v", len(got.About), len(got.Types), got.About)
	}
}
