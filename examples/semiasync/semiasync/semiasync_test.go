package semiasync

import (
	"bytes"
	"os"
	"path/filepath"
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
optimum.when = "never"
[devices]
speed_spread = 1
clock_ghz = 1e-5
[network]
jitter = 0.3
[faults]
drop_probability = 0.1
[federation]
protocol = "semi-asynchronous"
clients_per_round = 5
protocol_options.over_selection = 2
deadline_s = 3
[run]
rounds = 40
[methods.fedavg]
options = { epochs = 1, step = 0.02 }
`

// run returns the only run of the scenario under a protocol, with further settings.
func run(t *testing.T, protocol string, args ...string) results.Run {
	t.Helper()
	dir := t.TempDir()
	file, made := filepath.Join(dir, "x.toml"), filepath.Join(dir, "x")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := command.Main(append([]string{"run", file, "--out", made, "--set", "federation.protocol=" + protocol},
		args...), &out, &errs); code != 0 {
		t.Fatalf("%q: exit code %d\n%s%s", args, code, &out, &errs)
	}
	r, err := rundir.Read(made)
	if err != nil {
		t.Fatal(err)
	}
	return r.Runs[0]
}

// A round takes at least as many responses as it needs, or lasts as long as the
// deadline.
func TestRoundsEndWithResponsesOrAtTheDeadline(t *testing.T) {
	r := run(t, "semi-asynchronous")
	full, late, before := 0, 0, 0.0
	for _, x := range r.Rounds[1:] {
		if x.Participants >= 5 {
			full++
		} else if took := x.TimeS - before; took < 3-1e-6 {
			t.Errorf("round %d takes %d responses and %g s", x.Round, x.Participants, took)
		}
		if x.TimeS-before > 3+1e-6 {
			t.Errorf("round %d takes %g s", x.Round, x.TimeS-before)
		}
		late += x.Late
		before = x.TimeS
	}
	if full == 0 || late == 0 {
		t.Errorf("%d rounds end with responses, %d responses are late: the test shows little", full, late)
	}
}

// Without a discount it is protocol "first" that keeps late responses, bit for bit.
func TestWithoutDiscount(t *testing.T) {
	plain := run(t, "semi-asynchronous", "--set", "federation.protocol_options.discount=0")
	first := run(t, "first", "--set", "federation.late=keep")
	if plain.EventHash != first.EventHash || plain.ModelHash != first.ModelHash {
		t.Errorf("events %x, model %x; first has %x, %x", plain.EventHash, plain.ModelHash, first.EventHash,
			first.ModelHash)
	}
	if less := run(t, "semi-asynchronous"); less.ModelHash == first.ModelHash {
		t.Error("late updates have no less weight")
	}
}

func TestAnyNumberOfWorkers(t *testing.T) {
	one := run(t, "semi-asynchronous", "--workers", "1")
	eight := run(t, "semi-asynchronous", "--workers", "8")
	if one.EventHash != eight.EventHash || one.ModelHash != eight.ModelHash {
		t.Error("8 workers have other events or another model than 1")
	}
}

func TestOptions(t *testing.T) {
	c := config.NewChecker()
	(&Options{Discount: -1, Over: 1}).Validate(c)
	f := federation.Defaults()
	f.Protocol = "semi-asynchronous"
	f.Validate(c.In("federation"))
	if p := c.Problems(); len(p) != 2 || p[0].Error() != "discount = -1: must be in [0, 10]" {
		t.Errorf("%v", p)
	}
}
