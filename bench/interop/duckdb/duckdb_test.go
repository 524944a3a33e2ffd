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
	"fedsim/results"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

const scenario = `
[data.synthetic]
tasks = 9
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
	s, err := scenarios.Parse("interop.toml", []byte(scenario), nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := rundir.Create(filepath.Join(t.TempDir(), "it's a run"), false, rundir.About{
		Version: "test", Scenario: []byte(scenario), Seeds: s.Settings.Run.Seeds, Targets: s.Settings.Run.Targets, Started: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	err = experiment.Run(t.Context(), s.Experiments, experiment.Options{
		Clock: time.Now, Finished: w.Add,
		Devices: func(i int, r results.Run) (experiment.DeviceRows, error) { return w.Devices(i, r) },
	})
	if err := errors.Join(err, w.Finish(rundir.Complete, rundir.End{At: time.Now()})); err != nil {
		t.Fatal(err)
	}
	return w.Dir()
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
	Types     map[string]string
	About     map[string]struct{ Unit, Description string }
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
	if len(got.Sums) != len(r.Runs) {
		t.Fatalf("%d runs, want %d", len(got.Sums), len(r.Runs))
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
			{"participants", sum.Participants, float64(want.Participants)}, {"dropped", sum.Dropped, float64(want.Dropped)}, {"late", sum.Late, float64(want.Late)},
			{"flops", sum.FLOPs, want.FLOPs}, {"bytes down", sum.Bytes_down, want.BytesDown}, {"bytes up", sum.Bytes_up, want.BytesUp},
			{"joules", sum.Energy_j, want.EnergyJ}, {"device seconds", sum.Seconds, devices * run.Rounds[rounds].TimeS},
		} {
			if !(math.Abs(c.got-c.want) <= 1e-9*math.Abs(c.want)) {
				t.Errorf("%s: %s: %g in DuckDB, %g in the run", run.ID, c.name, c.got, c.want)
			}
		}
	}
	if d := got.Differing; d.Lost != 0 || d.Gained != 0 || d.Rows != len(r.Runs)*(rounds+1) {
		t.Errorf("rounds.parquet has %d rows: %d of rounds.csv are missing, %d are extra", d.Rows, d.Lost, d.Gained)
	}
	for name, want := range map[string]string{"run": "VARCHAR", "seed": "UBIGINT", "device": "BIGINT", "outcome": "VARCHAR", "theta": "DOUBLE", "energy_j": "DOUBLE"} {
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
