package plan_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/tools/expect"
	"fedsim/results/rundir"
)

func load(t *testing.T, overrides ...string) *scenario.Scenario {
	t.Helper()
	s := expect.Value(scenario.Load("deadline", overrides))(t)
	return s
}

func written(t *testing.T, dir string, s *scenario.Scenario, version string) *plan.Plan {
	t.Helper()
	p, err := plan.New(t.Context(), s,
		plan.Options{Version: version, Command: []string{"fedsim", "run", "deadline"},
			GroupTime: plan.DefaultGroupTime})
	if err == nil {
		err = p.Write(dir, s)
	}
	expect.NoError(t, err)
	return p
}

// A plan has all runs, reads back, and has the same items for the same scenario and numeric version.
func TestPlansReadBack(t *testing.T) {
	dir, s := t.TempDir(), load(t)
	p := written(t, dir, s, "v1")
	first, err := os.ReadFile(filepath.Join(dir, plan.File))
	expect.NoError(t, err)
	expect.That(t, p.Runs == 6 && len(p.Groups()) != 0, "%d runs, %d groups", p.Runs, len(p.Groups()))
	written(t, dir, load(t), "v1")              // the same plan again
	back, again, _, err := plan.Read(dir, "v2") // of another release
	expect.NoError(t, err)
	other := t.TempDir()
	expect.NoError(t, back.Write(other, again))
	if second, err := os.ReadFile(filepath.Join(other, plan.File)); err != nil || !bytes.Equal(first, second) {
		t.Errorf("the plan that was read has other bytes (%v)", err)
	}
	later := bytes.Replace(first, []byte(` "items"`), []byte(` "later": 1, "items"`), 1) // of a later release
	sum := sha256.Sum256(bytes.Replace(later, []byte(p.Sum), nil, 1))
	later = bytes.Replace(later, []byte(p.Sum), []byte(hex.EncodeToString(sum[:])), 1)
	expect.NoError(t, os.WriteFile(filepath.Join(other, plan.File), later, 0o666))
	if q, _, _, err := plan.Read(other, "v1"); err != nil || !reflect.DeepEqual(q.Items, p.Items) {
		t.Errorf("a plan with a field that is not known: %v", err)
	}
	if q := written(t, t.TempDir(), s, "v2"); !reflect.DeepEqual(q.Items, p.Items) {
		t.Errorf("another version with the same numeric version has other items: %v", q.Items)
	}
	if q, err := plan.New(t.Context(), load(t, "run.rounds=7"),
		plan.Options{Version: "v1", Command: p.Command}); err != nil || q.Items[0].ID == p.Items[0].ID {
		t.Errorf("another scenario has the same IDs (%v)", err)
	} else {
		over := func() {
			want := filepath.Join(dir, plan.File) +
				": is another plan, of deadline by fedsim v1: continue it with fedsim plan work " + dir +
				", or choose another directory with -o"
			err := q.Write(dir, s)
			expect.That(t, err != nil && err.Error() == want, "over another plan: %v\nwant %s", err, want)
		}
		over()
		q.Version = "v2" // of another release, with all items alike
		over()
	}
}

// Plans that were changed, and those of another version, are refused in one line.
func TestChangedPlansAreRefused(t *testing.T) {
	replace := func(old, new string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, new, 1) }
	}
	for name, test := range map[string]struct {
		file    string
		change  func(string) string
		version string
		want    string
	}{
		"a run":   {plan.File, replace("seed=1", "seed=2"), "v1", "checksum does not match"},
		"a field": {plan.File, replace("\"items\"", "\"sets\""), "v1", "checksum does not match"},
		"cut off": {plan.File, func(text string) string { return text[:len(text)/2] }, "v1", "it is no plan"},
		"version": {plan.File, replace(fmt.Sprintf("\"numerics\": %d", rundir.Numerics), "\"numerics\": 9"), "v2",
			"it is of fedsim v1 with numeric version 9, and this is v2 with " + strconv.Itoa(rundir.Numerics) +
				": use that fedsim, or plan"},
		"format": {plan.File, replace("\"format\": 1", "\"format\": 2"), "v2",
			"format = 2: must be 1, the one that this version of fedsim reads: fedsim v1 wrote it: use that fedsim, " +
				"or plan"},
		"scenario":    {plan.Scenario, replace("rounds", "#rounds"), "v1", "scenario.toml was changed"},
		"no scenario": {plan.Scenario, nil, "v1", "no such file"},
	} {
		dir := t.TempDir()
		written(t, dir, load(t), "v1")
		path := filepath.Join(dir, test.file)
		text, err := os.ReadFile(path)
		expect.NoError(t, err)
		if test.change == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, []byte(test.change(string(text))), 0o666)
		}
		expect.NoError(t, err)
		_, _, _, err = plan.Read(dir, test.version)
		expect.That(t, err != nil && strings.Contains(err.Error(), test.want) && !strings.Contains(err.Error(), "\n"),
			"%s: %v", name, err)
		expect.That(t, test.change == nil || strings.Contains(err.Error(), "cannot be used"), "%s: %v", name, err)
	}
}
