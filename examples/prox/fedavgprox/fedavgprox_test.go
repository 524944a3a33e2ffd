package fedavgprox

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"fedsim/algorithms/kit"
	"fedsim/cmd/fedsim/command"
	"fedsim/config"
	"fedsim/results"
	"fedsim/results/rundir"
)

// scenario has both methods, on rows that batches do not divide, with jitter, drops and
// work that differs.
const scenario = `
[data.synthetic]
clients = 6
features = 7
rows_min = 10
rows_max = 70
[problem]
optimum.when = "never"
[network]
jitter = 0.3
[faults]
drop_probability = 0.2
[federation]
server_gflops = 0.001
[run]
rounds = 12
seeds = [1, 2]
[methods.inside]
algorithm = "fedprox"
options = { epochs = 1.5, batch = 8, step = 0.05, mu = 0.7 }
[methods.outside]
algorithm = "fedavg-prox"
options = { epochs = 1.5, batch = 8, step = 0.05, mu = 0.7 }
`

func runs(t *testing.T, args ...string) []results.Run {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "x.toml")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args = append([]string{"run", file, "--out", filepath.Join(dir, "x")}, args...)
	if code := command.Main(args, &out, &errs); code != 0 {
		t.Fatalf("%q: exit code %d\n%s%s", args, code, &out, &errs)
	}
	all, err := rundir.Read(filepath.Join(dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	return all.Runs
}

// The method is fedsim's own fedprox bit for bit, in its model, its time and its
// events, under protocols with and without drops.
func TestSameBitsAsInside(t *testing.T) {
	for _, protocol := range []string{"wait-for-all", "charged", "deadline"} {
		by := map[string][]results.Run{}
		for _, r := range runs(t, "--set", "federation.protocol="+protocol, "--set", "federation.deadline_s=0.25") {
			by[r.Method] = append(by[r.Method], r)
		}
		inside, outside := by["inside"], by["outside"]
		if len(inside) != 2 || len(outside) != 2 {
			t.Fatalf("%s: %d and %d runs, want 2 of each", protocol, len(inside), len(outside))
		}
		taken := 0
		for i := range inside {
			a, b := inside[i], outside[i]
			if a.ModelHash != b.ModelHash || a.EventHash != b.EventHash || a.Events != b.Events || a.Steps != b.Steps {
				t.Errorf("%s, seed %d: model %x, events %x inside; %x, %x outside", protocol, a.Seed, a.ModelHash,
					a.EventHash, b.ModelHash, b.EventHash)
			}
			taken += a.Rounds[len(a.Rounds)-1].Participants
		}
		if taken == 0 || inside[0].ModelHash == inside[1].ModelHash {
			t.Errorf("%s: nothing was learnt", protocol)
		}
	}
}

func TestOptions(t *testing.T) {
	c := config.NewChecker()
	o := Options{kit.DefaultAverage("size"), -1}
	o.Validate(c)
	want := []string{`weights = "size": must be one of rows, equal`, "mu = -1: must be in [0, 1e12]"}
	if len(c.Problems()) != len(want) {
		t.Fatalf("%v, want %v", c.Problems(), want)
	}
	for i, p := range c.Problems() {
		if p.Error() != want[i] {
			t.Errorf("%v, want %s", p, want[i])
		}
	}
}
