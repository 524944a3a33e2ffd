package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/tools/filetest"
	"fedsim/results/rundir"
)

var keep = flag.String("keep", "", "write the directories of testdata/releases/VERSION again, with this tree")

// releases has a folder for each release: scenarios, and for each of them three directories that the
// release wrote: of a finished run, of an interrupted run, and of a plan with some of its groups
// done. "driven" has only a checkpoint of a run that another program drives.
const releases = "testdata/releases"

// This release reads the directories of earlier ones and computes the same results: see
// docs/extend.md#stability. A failure after a change of results means that [rundir.Numerics] must be
// raised. A failure after a change of a file means that its format number must be raised, and the
// earlier format be read, too.
func TestReadsEarlierReleases(t *testing.T) {
	if *keep != "" {
		t.Run("keep", func(t *testing.T) { keepRelease(t, *keep) })
	}
	versions, err := os.ReadDir(releases)
	if err != nil || len(versions) == 0 {
		t.Fatal(err, versions)
	}
	for _, version := range versions {
		scenarios, _ := filepath.Glob(filepath.Join(releases, version.Name(), "*.toml"))
		if len(scenarios) < 3 {
			t.Errorf("release %s has the scenarios %q", version.Name(), scenarios)
		}
		for _, file := range scenarios {
			t.Run(version.Name()+"/"+filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				readKept(t, file)
			})
		}
	}
}

// readKept reads the directories of a scenario, and continues those that are unfinished.
func readKept(t *testing.T, file string) {
	kept, dir := strings.TrimSuffix(file, ".toml"), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(kept)); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	run := func(args ...string) {
		t.Helper()
		if status, _, errors := mainOf(args...); status != 0 {
			t.Fatalf("%v: exit status %d: %s", args, status, errors)
		}
	}
	finished, again := at("finished"), at("again")
	run("run", file, "--out", again, "--no-figures", "--allow-external")
	for _, args := range [][]string{
		{"show", finished}, {"explain", finished},
		{"compare", finished, again, "--target", "test_error=0.9"}, {"plot", finished}, {"report", finished},
		{"show", at("interrupted")},
	} {
		run(args...)
	}
	m, err := rundir.ReadManifest(finished)
	if err != nil {
		t.Fatal(err)
	}
	if m.Numerics != rundir.Numerics {
		for _, args := range [][]string{{"run", "--resume", at("interrupted"), "--allow-external"},
			{"plan", "work", at("plan"), "--allow-external"}} {
			if _, _, errors := mainOf(args...); !strings.Contains(errors,
				fmt.Sprintf("numeric version %d", m.Numerics)) {
				t.Errorf("%v of another numeric version: %s", args, errors)
			}
		}
		return
	}
	want := contentIn(t, again)
	sameContent(t, "the finished run", contentIn(t, filepath.Join(kept, "finished")), want)
	run("run", "--resume", at("interrupted"), "--no-figures", "--allow-external")
	sameContent(t, "the resumed run", want, contentIn(t, at("interrupted")))
	run("show", at("plan"))
	run("plan", "merge", at("plan"), "--partial", "--no-figures", "--out", at("partial"))
	run("plan", "work", at("plan"), "--allow-external")
	run("plan", "merge", at("plan"), "--no-figures", "--out", at("merged"))
	sameContent(t, "the merged plan", want, contentIn(t, at("merged")))
}

func contentIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	found, err := contentOf("fedsim", dir)
	if err != nil {
		t.Fatal(err)
	}
	// tables that cannot be exported are left out
	for _, name := range []string{"rounds: time_s", "runs: total_flops", "devices: device"} {
		if found[name] == "" {
			t.Fatalf("%s has no column %q", dir, name)
		}
	}
	return found
}

// sameContent compares the content of run directories; got may have more columns and files.
func sameContent(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: %s is %.200q, want %.200q", what, name, got[name], want[name])
		}
	}
}

// The checkpoint of a run that another program drives is resumed by the same lines.
func TestResumesDrivenRunsOfEarlierReleases(t *testing.T) {
	t.Parallel()
	kept, err := filepath.Glob(filepath.Join(releases, "*", "driven"))
	if err != nil || len(kept) == 0 {
		t.Fatal(err, kept)
	}
	for _, from := range kept {
		dir := t.TempDir()
		m, err := rundir.ReadManifest(filepath.Join(from, ".unfinished"))
		if err != nil {
			t.Fatal(err)
		}
		if m.Numerics != rundir.Numerics { // TestReadsEarlierReleases checks what is refused
			continue
		}
		if err := os.CopyFS(filepath.Join(dir, "resumed"), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"resumed", "whole"} {
			p := driveTimed(t, dir, name, len(session))
			if status, errors := p.wait(); status != 0 {
				t.Fatalf("%s of %s: status %d\n%s", name, from, status, errors)
			}
		}
		sameContent(t, from, contentIn(t, filepath.Join(dir, "whole")), contentIn(t, filepath.Join(dir, "resumed")))
	}
}

// driveTimed starts or resumes a driven run in a folder, and sends the first lines of the session.
func driveTimed(t *testing.T, dir, out string, lines int) *engineProcess {
	t.Helper()
	filetest.Write(t, filepath.Join(dir, "timed.toml"), timed)
	p := startEngine(t, dir, "timed.toml", "--resume", out, "--no-figures", "--checkpoint=1e-9", "--set",
		"network.jitter=0.3")
	for i, line := range session[:lines] {
		if answer := p.ask("%s", line); i == 0 && strings.Contains(answer, `"resume":{`) != (out == "resumed") {
			t.Errorf("%s: hello answers %s", out, answer)
		}
	}
	return p
}

// keepRelease writes the directories of a release. The scenarios must be there. Nothing in the
// files depends on this machine but the platform in the manifests.
func keepRelease(t *testing.T, version string) {
	before := stamp
	stamp = "v" + version
	defer func() { stamp = before }()
	dir := filepath.Join(releases, version)
	files, err := filepath.Glob(filepath.Join(dir, "*.toml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scenarios in %s: copy those of the release before (%v)", dir, err)
	}
	t.Chdir(dir) // commands are recorded
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".toml")
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		interruptRuns(t, name)
		plan := filepath.Join(name, "plan")
		for _, args := range [][]string{
			{"run", name + ".toml", "--out", filepath.Join(name, "finished"), "--no-figures", "--allow-external"},
			{"plan", "make", name + ".toml", "-o", plan, "--group-time", "0s"},
			{"plan", "work", plan, "--workers", "1", "--allow-external"},
		} {
			if status, _, errors := mainOf(args...); status != 0 {
				t.Fatalf("%v: exit status %d: %s", args, status, errors)
			}
		}
		keepHalf(t, plan)
	}
	folder := t.TempDir()
	p := driveTimed(t, folder, "driven", len(session)/2)
	err = errors.Join(p.cmd.Process.Kill(), os.RemoveAll("driven"))
	_ = p.cmd.Wait()
	if err = errors.Join(err, os.CopyFS("driven", os.DirFS(filepath.Join(folder, "driven")))); err != nil {
		t.Fatal(err)
	}
}

// interruptRuns runs a scenario and interrupts it after its tunings, at the same event each time.
func interruptRuns(t *testing.T, name string) {
	s, err := scenario.Load(name+".toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d, err := into.Create(s, into.Options{
		Dir: filepath.Join(name, "interrupted"), Every: time.Hour, NoFigures: true, Version: readVersion().String(),
		Command: []string{"fedsim", "run", name + ".toml"},
		Compute: experiment.Options{Workers: 1, Progress: func(p experiment.Progress) {
			if p.Share > 0.75 {
				cancel()
			}
		}},
	})
	if err == nil {
		err = d.Close(d.Run(ctx))
	}
	if log := filetest.Read(t, filepath.Join(name, "interrupted/.unfinished/run.log")); !experiment.Interrupted(err) ||
		!bytes.Contains(log, []byte(`{"state":`)) {
		t.Fatalf("%s: %v", name, err)
	}
}

// keepHalf leaves half of the groups of a plan done, and no name of this machine.
func keepHalf(t *testing.T, plan string) {
	done, _ := filepath.Glob(filepath.Join(plan, "done", "*"))
	err := undo(plan, len(done)/2)
	claims, _ := filepath.Glob(filepath.Join(plan, "claims", "*"))
	for _, claim := range claims {
		var c work.Claim
		err = errors.Join(err, json.Unmarshal(filetest.Read(t, claim), &c))
		c.Worker, c.Host, c.Process = "worker", "host", work.Process{PID: 1, Machine: "machine", Start: "1"}
		text, _ := json.MarshalIndent(&c, "", "\t")
		filetest.Write(t, claim, append(text, '\n'))
	}
	if err != nil || len(done) < 2 || len(claims) == 0 {
		t.Fatalf("%s: %d groups, %d claims, %v", plan, len(done), len(claims), err)
	}
}
