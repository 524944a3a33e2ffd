package command

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fedsim/experiment"
	"fedsim/experiment/plan"
	"fedsim/experiment/work"
	"fedsim/internal/checkpoint"
	"fedsim/mtl/crossval"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

var allMerged = flag.Bool("all-merged", false, "TestShippedScenariosMerge does all shipped scenarios, not a few")

// doGroups does groups of a plan as workers would, those that chosen accepts.
func doGroups(t *testing.T, dir string, chosen func(i int) bool) {
	t.Helper()
	d, err := work.Open(dir, readVersion().String())
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := d.Scenario.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, "needs"), 0o777))
	must(os.MkdirAll(filepath.Join(dir, "done"), 0o777))
	o := experiment.Options{Shared: d.Shared(), Preparation: &experiment.Preparation{}, Clock: time.Now}
	var need func(id string)
	need = func(id string) {
		n := d.Plan.Need(id)
		if there, err := d.NeedDone(n); there || err != nil {
			return
		}
		for _, first := range n.Needs {
			need(first)
		}
		if n.Kind != plan.NeedTable {
			must(experiment.Make(t.Context(), d.Scenario.Experiments, n.Kind, n.Of, o))
			return
		}
		i := slices.IndexFunc(d.Scenario.Tables, func(x crossval.Table) bool { return x.Name == n.Of[0] })
		only, _ := d.Scenario.Tables[i].Only(n.Of[1])
		_, err := only.Run(t.Context(), d.Scenario.Settings.Problem, crossval.Options{Folder: os.Getenv(dataFolder), Shared: checkpoint.Policy{Store: d.Shared(), Clock: time.Now}})
		must(err)
	}
	place := experiment.Places(d.Scenario.Experiments)
	for i, g := range d.Plan.Groups {
		if !chosen(i) {
			continue
		}
		for _, id := range g.Needs {
			need(id)
		}
		only := map[int]bool{}
		for _, id := range g.Runs {
			at, _ := place(id)
			only[at] = true
		}
		w, err := rundir.Create(d.DoneDir(g.ID), false, rundir.About{
			Version: d.Plan.Version, Command: d.Plan.Command, Seeds: d.Scenario.Settings.Run.Seeds, Scenario: resolved, Targets: d.Scenario.Targets(), Started: time.Now(), Runs: d.Plan.Runs, Resumable: true,
		})
		must(err)
		r := o
		r.Only, r.Finished = func(at int) bool { return only[at] }, w.Add
		r.Rounds, r.Devices, r.Clients, r.Model = w.Progress, devicesOf(w), clientsOf(w), modelsOf(w)
		must(experiment.Run(t.Context(), d.Scenario.Experiments, r))
		must(w.Suspend())
	}
}

func everyGroup(int) bool { return true }

// withoutClock returns the files of a run directory by name. It removes wall-clock times and
// the command line.
func withoutClock(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		switch filepath.Base(path) {
		case "manifest.json":
			var m map[string]any
			if err := json.Unmarshal(text, &m); err != nil {
				return err
			}
			delete(m, "clock")
			delete(m, "command")
			text, _ = json.MarshalIndent(m, "", " ")
		case "runs.csv":
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			for i, line := range lines {
				lines[i] = line[:strings.LastIndex(line, ",")] // wall_s is last
			}
			text = []byte(strings.Join(lines, "\n"))
		}
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// mainOf runs a command line.
func mainOf(args ...string) (status int, out, errors string) {
	var stdout, stderr bytes.Buffer
	status = Main(args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// planned plans a scenario in a new directory.
func planned(t *testing.T, name string, sets []string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plan")
	args := []string{"plan", name, "-o", dir}
	for _, set := range sets {
		args = append(args, "--set", set)
	}
	if status, out, errors := mainOf(args...); status != 0 {
		t.Fatalf("exit status %d\n%s%s", status, out, errors)
	}
	return dir
}

// Scenarios that are planned, worked on and merged leave the bytes of one run, and print the
// same.
func TestShippedScenariosMerge(t *testing.T) {
	few := map[string]bool{"left-behind": true, "table1": true, "million-events": true, "quickstart": true}
	for _, info := range scenarios.Shipped() {
		if !*allMerged && !few[info.Name] {
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel()
			sets := shortForms[info.Name]
			switch info.Name {
			case "quickstart":
				sets = []string{"run.rounds=20", "run.devices=true", "run.model=true"}
			case "lte-high-var":
				sets = small("run.max_time_s=1")
			}
			sameMerged(t, info.Name, sets)
		})
	}
}

// sameMerged compares the run directory and the summary of a run with those of a merge.
func sameMerged(t *testing.T, name string, sets []string) {
	t.Helper()
	dir := planned(t, name, sets)
	doGroups(t, dir, everyGroup)
	one, merged := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	args := []string{"run", name}
	for _, set := range sets {
		args = append(args, "--set", set)
	}
	wantStatus, wantOut, _ := mainOf(append(args, "--out", one, "--progress", "none")...)
	status, out, errors := mainOf("merge", dir, "--out", merged)
	if status != wantStatus || status != 0 && status != 3 {
		t.Fatalf("exit status %d, of the run %d: %s", status, wantStatus, errors)
	}
	if d := cmp.Diff(wantOut, strings.ReplaceAll(out, merged, one)); d != "" {
		t.Errorf("summary: %s", d)
	}
	want, got := withoutClock(t, one), withoutClock(t, merged)
	for file := range want {
		if file != "manifest.json" && want[file] != got[file] {
			t.Errorf("%s differs", file)
		}
	}
	if d := cmp.Diff(want["manifest.json"], got["manifest.json"]); d != "" || len(got) != len(want) {
		t.Errorf("%d files, want %d: %s", len(got), len(want), d)
	}
	m, err := rundir.ReadManifest(merged)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Command[1:], args) {
		t.Errorf("command %q, want %q", m.Command, args)
	}
}
