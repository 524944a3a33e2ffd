package command

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/rooms/clusters/plan"
	"fedsim/results/rundir"
)

// fastForm is deadline cut short on small data: six runs of two methods, with rows by device.
var fastForm = []string{"--set", "run.rounds=5", "--set", "run.devices=true", "--set", "data.synthetic.clients=6",
	"--set", "data.synthetic.features=6", "--set", "data.synthetic.factors=3", "--set", "data.synthetic.clusters=2",
	"--set", "experiment.deadline.tuning.extend=0"}

// lackingOne plans deadline and does all groups but one. It returns the plan directory, the
// plan with that group first, and a path for the run directory.
func lackingOne(t *testing.T) (dir string, p *plan.Plan, out string) {
	t.Helper()
	dir = planned(t, "deadline", append(slices.Clone(fastForm), "--group-time", "0s"))
	p, _, _, err := plan.Read(dir, readVersion().String())
	if err != nil {
		t.Fatal(err)
	}
	workOn(t, dir, 2)
	if err := undo(dir, 1); err != nil {
		t.Fatal(err)
	}
	p.Items = slices.DeleteFunc(p.Items, func(it plan.Item) bool { return it.IsNeed() })
	at := slices.IndexFunc(p.Items, func(g plan.Item) bool {
		_, err := os.Stat(filepath.Join(dir, "done", g.ID))
		return os.IsNotExist(err)
	})
	p.Items[0], p.Items[at] = p.Items[at], p.Items[0]
	return dir, p, filepath.Join(t.TempDir(), "run")
}

// Missing runs are named with their state, and nothing is written.
func TestMergeNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir, p, out := lackingOne(t)
	first := p.Groups()[0]
	claim := filepath.Join(dir, "claims", first.ID+".json")
	refused := func(words ...string) {
		t.Helper()
		status, text, errors := mainOf("plan", "merge", dir, "--out", out)
		for _, word := range append(words, dir+": cannot be merged: ", first.Of[0],
			"fedsim plan work "+dir, "--partial") {
			if !strings.Contains(errors, word) {
				t.Errorf("without %q: %s", word, errors)
			}
		}
		if status != 1 || text != "" || strings.Count(errors, "\n") != 1 {
			t.Errorf("exit status %d, %q, %q", status, text, errors)
		}
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%s is there (%v)", out, err)
		}
	}
	refused("1 of 6 runs missing", "(waiting)")
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777),
			os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	write(claim, `{"worker": "w", "host": "node7"}`)
	refused("(running on node7)")
	write(claim, `{"worker": "w", "ended": true, "failure": "learner x: exit status 9", "host": "node7"}`)
	refused("(failed: learner x: exit status 9)")

	// A group that is done without its run, and one of another plan.
	lacks := filepath.Join(dir, "done", first.ID)
	if err := os.CopyFS(lacks, os.DirFS(filepath.Join(dir, "done", p.Groups()[1].ID))); err != nil {
		t.Fatal(err)
	}
	status, _, text := mainOf("plan", "merge", dir, "--out", out)
	if want := lacks + ": cannot be merged: the group is done and lacks " + first.Of[0] + ": delete " +
		lacks; status != 1 || !strings.Contains(text, want) {
		t.Errorf("exit status %d, %s, want %s", status, text, want)
	}
	log := filepath.Join(lacks, ".unfinished", "run.log")
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, content[1:], 0o666); err != nil {
		t.Fatal(err)
	}
	if status, _, text := mainOf("plan", "merge", dir, "--out", out); status != 1 ||
		!strings.Contains(text, log+": cannot be merged: is corrupt") {
		t.Errorf("exit status %d, %s", status, text)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("%s is there (%v)", out, err)
	}
	if status, _, text := mainOf("plan", "merge", out); status != exitUsage ||
		!strings.Contains(text, "is not a plan directory") {
		t.Errorf("exit status %d, %s", status, text)
	}
}

// A partial merge names its absent runs everywhere. It is replaced by the next merge.
func TestPartialMerges(t *testing.T) {
	t.Parallel()
	dir, p, out := lackingOne(t)
	absent := p.Groups()[0].Of
	says := func(want int, words []string, args ...string) {
		t.Helper()
		status, text, errors := mainOf(args...)
		for _, word := range words {
			if !strings.Contains(text+errors, word) {
				t.Errorf("%s: without %q: %s%s", args[0], word, text, errors)
			}
		}
		if status != want {
			t.Errorf("%s: exit status %d: %s%s", args[0], status, text, errors)
		}
	}
	says(0, []string{"\nabsent:  " + absent[0] + "\n"}, "plan", "merge", dir, "--out", out, "--partial")
	m, err := rundir.ReadManifest(out)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(absent, m.Absent); d != "" || m.State != rundir.Incomplete || len(m.Runs) != 5 {
		t.Errorf("%s with %d runs: absent: %s", m.State, len(m.Runs), d)
	}
	warning := "is a partial merge: absent: " + absent[0]
	says(0, []string{"a partial merge", "absent:", absent[0]}, "show", out)
	says(0, []string{warning}, "explain", out)
	says(0, []string{warning}, "plot", out)
	says(2, []string{"a partial merge without " + absent[0]}, "compare", out, out)
	says(1, []string{"is a partial merge, which is not resumed"}, "run", "deadline", "--resume", out)
	says(0, nil, "report", out)
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil || !strings.Contains(string(page), absent[0]) {
		t.Errorf("the report does not name the absent run (%v)", err)
	}
	picture, err := os.ReadFile(filepath.Join(out, "figures", "deadline.svg"))
	if err != nil || !strings.Contains(string(picture), "5 of 6 runs") {
		t.Errorf("the figure does not count its runs (%v)", err)
	}
	_, text, _ := mainOf("plan", "merge", dir, "--out", out, "--partial", "--json", "--no-figures") // over itself
	var summary summary
	if err := json.Unmarshal([]byte(text), &summary); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(absent, summary.Absent); d != "" || summary.State != rundir.Incomplete {
		t.Errorf("%s: %s", summary.State, d)
	}

	// A finished run of a group that is not done counts.
	done, attempt := filepath.Join(dir, "done", p.Groups()[1].ID),
		filepath.Join(dir, "attempts", p.Groups()[1].ID, "worker")
	if err := errors.Join(os.MkdirAll(filepath.Dir(attempt), 0o777), os.Rename(done, attempt)); err != nil {
		t.Fatal(err)
	}
	says(0, []string{"\nabsent:  " + absent[0] + "\n"}, "plan", "merge", dir, "--out", out, "--partial", "--no-figures")
	if err := os.Rename(attempt, done); err != nil {
		t.Fatal(err)
	}

	// An interrupted merge leaves it unchanged.
	before := withoutClock(t, out)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	partial := []string{"plan", "merge", dir, "--out", out, "--partial"}
	if status := execute(ctx, partial, io.Discard, io.Discard); status != 75 {
		t.Errorf("exit status %d", status)
	}
	if d := cmp.Diff(before, withoutClock(t, out)); d != "" {
		t.Error(d)
	}

	// Complete, it is the run.
	workOn(t, dir, 1)
	says(0, nil, "plan", "merge", dir, "--out", out, "--no-figures")
	says(2, []string{"holds a complete run", "--force"}, "plan", "merge", dir, "--out", out, "--no-figures")
	one := filepath.Join(t.TempDir(), "run")
	says(0, nil, append([]string{"run", "deadline", "--out", one, "--quiet", "--no-figures"}, fastForm...)...)
	if d := cmp.Diff(withoutClock(t, one), withoutClock(t, out)); d != "" {
		t.Error(d)
	}
	says(0, []string{"deadline"}, "compare", one, out)

	// Nothing is finished yet.
	none := planned(t, "deadline", fastForm)
	says(1, []string{"nothing is finished yet"}, "plan", "merge", none, "--partial", "--out",
		filepath.Join(t.TempDir(), "none"))
}
