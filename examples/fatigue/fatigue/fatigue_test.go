package fatigue

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"fedsim/cmd/fedsim/command"
	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/results/rundir"
)

func defaults(t *testing.T) Options {
	t.Helper()
	f, ok := devices.LookupModel("fatigue")
	if !ok {
		t.Fatal("the model is not registered")
	}
	return *f.Options().(*Options)
}

// A device has at each instant the step of its fatigue, which a loop over milliseconds counts.
func TestAgainstALoop(t *testing.T) {
	const dt = engine.Time(1e6)
	o := Options{AfterS: []float64{1, 2.5, 4}, Speeds: []float64{0.8, 0.5, 0.2}, Recovery: 0.5}
	source := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		p := newPhones(o)
		s, tired, now := devices.State{}, 0.0, engine.Time(0)
		for range 20 {
			use := devices.Use(source.IntN(4))
			end := now + dt*engine.Time(1+source.IntN(2500))
			for at := now; at < end; at += dt { // the loop, whose steps begin with the fatigue of the instant
				want := 1.0
				for k, after := range o.AfterS {
					if use.Computes() && tired >= after-1e-9 {
						want = o.Speeds[k]
					}
				}
				for now < at {
					_, _, until := p.Pace(0, s, use, now)
					next := min(until, at)
					s, now = p.After(0, s, use, now, next), next
				}
				if speed, power, until := p.Pace(0, s, use, now); speed != want || power != want || until <= now {
					t.Fatalf("use %d at %v: speed %g, power %g until %v, want %g: fatigue %g, in the loop %g s",
						use, now, speed, power, until, want, s[0]/1e9, tired)
				}
				if use.Computes() {
					tired = min(o.AfterS[2], tired+dt.Seconds())
				} else {
					tired = max(0, tired-o.Recovery*dt.Seconds())
				}
			}
			for now < end {
				_, _, until := p.Pace(0, s, use, now)
				next := min(until, end)
				s, now = p.After(0, s, use, now, next), next
			}
		}
	}
}

// Of an hour of work at the full speed, 120 s take as long as ever, and the next steps 180, 300 and 300 s, in which
// less is done. The rest is done at the speed of the last step.
func TestARoundTakesItsSteps(t *testing.T) {
	const scenario = `
[data.synthetic]
clients = 1
[problem]
optimum.when = "never"
[devices]
clock_ghz = 5e-9
battery.wh = "mains"
[network]
profile = "ethernet"
[run]
rounds = 1
[methods.mocha]
`
	dir := t.TempDir()
	seconds := func(name string, set ...string) float64 {
		file := filepath.Join(dir, name+".toml")
		if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"run", file, "--out", filepath.Join(dir, name)}
		for _, s := range set {
			args = append(args, "--set", s)
		}
		var out, errs bytes.Buffer
		if code := command.Main(args, &out, &errs); code != 0 {
			t.Fatalf("exit code %d\n%s%s", code, &out, &errs)
		}
		r, err := rundir.Read(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return r.Runs[0].Rounds[1].TimeS
	}
	fresh, tired := seconds("fresh"), seconds("tired", "devices.model=fatigue")
	if fresh < 900 {
		t.Fatalf("the round takes %g s, too short for all steps", fresh)
	}
	want := 900 + (fresh-(120+0.73*180+0.5*300+0.33*300))/0.31
	if math.Abs(tired/want-1) > 1e-4 { // transfers take a few milliseconds
		t.Errorf("the round takes %g s, want %g", tired, want)
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{defaults(t), nil},
		{Options{AfterS: []float64{2, 1}, Speeds: []float64{2}, Recovery: -1}, []string{
			"after_s = [2.0, 1.0]: must be positive, ascending and at most 1e6",
			"speeds = [2.0]: must have as many values as after_s", "speeds = 2: must be in (0, 1]",
			"recovery = -1: must be in [0, 1e6]"}},
	} {
		check := config.NewChecker()
		c.o.Validate(check)
		if got := fmt.Sprint(check.Problems()); got != fmt.Sprint(c.want) {
			t.Errorf("%+v:\ngot  %s\nwant %s", c.o, got, c.want)
		}
	}
}
