package utility

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fedsim/cmd/fedsim/command"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/results"
	"fedsim/results/rundir"
)

const scenario = `
[data.synthetic]
clients = 20
rows_max = 60
[problem]
optimum_sweeps = 0
[devices]
spread = "log-normal"
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

// watched is the selector with a test that looks on.
type watched struct {
	selector
	t      *testing.T
	rounds int // in which a client was chosen for its loss per second
}

var watch *watched

func init() {
	factory, _ := federation.LookupSelector("utility")
	factory.Name = "watched"
	factory.New = func(federation.SelectorSetup, config.Options) (federation.Selector, error) { return watch, nil }
	federation.RegisterSelector(factory)
}

// Of the clients that have responded before, all but a fifth of a round's clients are
// chosen by loss per second: at most one of five has a lower loss per second than one that is not chosen.
func (w *watched) Select(s *federation.Selection) []int32 {
	chosen := w.selector.Select(s)
	known, most := 0, 0.0
	for _, client := range s.Available() {
		if h := s.History(client); h.Responses > 0 {
			known++
			if !slices.Contains(chosen, client) {
				most = max(most, lossPerSecond(h))
			}
		}
	}
	best := 0
	for _, client := range chosen {
		if h := s.History(client); h.Responses > 0 && lossPerSecond(h) >= most {
			best++
		}
	}
	if len(chosen) != s.Size || best < min(known, s.Size-1) {
		w.t.Errorf("round %d: %v are chosen, of which %d have the highest; %d clients are known", s.Round, chosen, best, known)
	}
	if best > 0 && best < known {
		w.rounds++
	}
	return chosen
}

func TestTheBestAndAShareAtRandom(t *testing.T) {
	watch = &watched{selector: selector{explore: 0.2}, t: t}
	run(t, "--set", "federation.selection=watched")
	if watch.rounds < 10 {
		t.Errorf("clients are chosen for their loss per second in %d rounds: the test shows little", watch.rounds)
	}
}

// With exploration alone the rule is uniform selection, bit for bit.
func TestExplorationAloneIsUniform(t *testing.T) {
	all := run(t, "--set", "federation.selection=utility", "--set", "federation.selection_options.explore=1")
	uniform := run(t)
	if all.EventHash != uniform.EventHash || all.ModelHash != uniform.ModelHash {
		t.Errorf("events %x, model %x; uniform has %x, %x", all.EventHash, all.ModelHash, uniform.EventHash, uniform.ModelHash)
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
