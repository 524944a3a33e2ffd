package utility

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fedsim/cmd/fedsim/command"
	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/servertest"
	"fedsim/results"
	"fedsim/results/rundir"
)

const scenario = `
[data.synthetic]
clients = 20
rows_max = 60
[problem]
optimum.when = "never"
[devices]
[faults]
drop_probability = 0.2
[federation]
protocol = "deadline"
deadline_s = 0.3
clients_per_round = 5
[run]
rounds = 25
[methods.mocha]
options.epochs = 2
`

// run returns the only run of the scenario with further settings.
func run(t *testing.T, args ...string) results.Run {
	t.Helper()
	dir := t.TempDir()
	file, made := filepath.Join(dir, "x.toml"), filepath.Join(dir, "x")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := command.Main(append([]string{"run", file, "--out", made}, args...), &out, &errs); code != 0 {
		t.Fatalf("%q: exit code %d\n%s%s", args, code, &out, &errs)
	}
	r, err := rundir.Read(made)
	if err != nil {
		t.Fatal(err)
	}
	return r.Runs[0]
}

// Of the clients that have responded before, all but a fifth of a round's clients are those with the highest loss per
// second; the others are drawn at random. Client k of 0 to 5 has lost k + 1 in one second, but client 5 in ten.
func TestTheBestAndAShareAtRandom(t *testing.T) {
	factory, _ := federation.LookupSelector("utility")
	server := servertest.Start(t, servertest.World(federation.WaitForAll, nil), 1)
	past := make([]federation.History, 7)
	for k := range 6 {
		past[k] = federation.History{Asked: 1, Responses: 1, Loss: float64(k + 1), Time: engine.FromSeconds(1)}
	}
	past[5].Time = engine.FromSeconds(10)
	u, drawn := &utility{explore: 0.2}, map[int32]int{}
	for round := range 200 {
		chosen := u.Select(server.Rehearse(factory, round, 5, nil, past))
		if len(chosen) != 5 || !slices.Equal(chosen[:4], []int32{1, 2, 3, 4}) {
			t.Fatalf("round %d: %v are chosen", round, chosen)
		}
		drawn[chosen[4]]++
	}
	if len(drawn) != 3 || min(drawn[0], drawn[5], drawn[6]) < 40 {
		t.Errorf("drawn at random: %v", drawn)
	}
}

// With exploration alone the rule is uniform selection, bit for bit.
func TestExplorationAloneIsUniform(t *testing.T) {
	all := run(t, "--set", "federation.selection=utility", "--set", "federation.selection_options.explore=1")
	uniform := run(t)
	if all.EventHash != uniform.EventHash || all.ModelHash != uniform.ModelHash {
		t.Errorf("events %x, model %x; uniform has %x, %x", all.EventHash, all.ModelHash, uniform.EventHash,
			uniform.ModelHash)
	}
	if some := run(t, "--set", "federation.selection=utility"); some.EventHash == uniform.EventHash {
		t.Error("the rule has the events of uniform selection")
	}
}

func TestAnyNumberOfWorkersSelectsTheSame(t *testing.T) {
	one := run(t, "--set", "federation.selection=utility", "--workers", "1")
	eight := run(t, "--set", "federation.selection=utility", "--workers", "8")
	if one.EventHash != eight.EventHash || one.ModelHash != eight.ModelHash {
		t.Error("8 workers have other events or another model than 1")
	}
}

func TestOptions(t *testing.T) {
	c := config.NewChecker()
	(&Options{Explore: 1.5}).Validate(c)
	if p := c.Problems(); len(p) != 1 || p[0].Error() != "explore = 1.5: must be in [0, 1]" {
		t.Errorf("%v", p)
	}
}
