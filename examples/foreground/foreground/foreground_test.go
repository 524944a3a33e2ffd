package foreground

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
	f, ok := devices.LookupModel("foreground")
	if !ok {
		t.Fatal("the model is not registered")
	}
	return *f.Options().(*Options)
}

// Over a long time a device is used for the share session/(session + gap) of it. With
// rates a = 1/gap and b = 1/session of a chain of two states, the variance of that share
// over a time T is 2 p (1-p) / ((a+b) T).
func TestMeanSpeed(t *testing.T) {
	const days = 200
	end := engine.FromSeconds(days * day)
	u := newUsers(devices.ModelSetup{Devices: 20, Seed: 3}, defaults(t))
	for k, h := range u.habits {
		if n := day / (h.session + h.gap); n < 10 || n > 200 || h.session < 10 || h.session > 250 {
			t.Errorf("device %d: %g sessions a day of %g s", k, n, h.session)
		}
		sum := 0.0
		for at := engine.Time(0); at < end; {
			speed, until := u.Speed(k, at)
			until = min(until, end)
			sum += speed * (until - at).Seconds()
			at = until
		}
		p := h.session / (h.session + h.gap)
		deviation := math.Sqrt(2 * p * (1 - p) / ((1/h.session + 1/h.gap) * days * day))
		if got, want := sum/(days*day), 1-0.5*p; math.Abs(got-want) > 4*0.5*deviation {
			t.Errorf("device %d: mean speed %g, want %g within %g", k, got, want, 4*0.5*deviation)
		}
	}
}

// At time 0 the share of devices in use is the share of time in use.
func TestTheBeginningIsLikeAnyTime(t *testing.T) {
	const n = 20000
	o := defaults(t)
	o.SessionsPerDay, o.SessionS = []float64{100, 100}, []float64{200, 200}
	u := newUsers(devices.ModelSetup{Devices: n, Seed: 1}, o)
	used := 0.0
	for k := range n {
		if speed, _ := u.Speed(k, 0); speed == o.Speed {
			used++
		}
	}
	p := 100 * 200.0 / day
	if math.Abs(used/n-p) > 4*math.Sqrt(p*(1-p)/n) {
		t.Errorf("a share of %g is used at time 0, want %g", used/n, p)
	}
}

// A speed depends neither on earlier calls nor on the number of devices.
func TestAFunctionOfDeviceAndTime(t *testing.T) {
	o := defaults(t)
	any, few := newUsers(devices.ModelSetup{Devices: 5, Seed: 9}, o),
		newUsers(devices.ModelSetup{Devices: 3, Seed: 9}, o)
	source := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		k, at := source.IntN(3), engine.FromSeconds(3*day*source.Float64())
		speed, until := any.Speed(k, at)
		fresh := newUsers(devices.ModelSetup{Devices: 5, Seed: 9}, o)
		if p, u := fresh.Speed(k, at); p != speed || u != until || until <= at {
			t.Fatalf("device %d at %v: %g until %v, asked first %g until %v", k, at, speed, until, p, u)
		}
		if p, u := few.Speed(k, at); p != speed || u != until {
			t.Fatalf("device %d of 5 at %v: %g until %v, of 3 %g until %v", k, at, speed, until, p, u)
		}
		if last, next := any.Speed(k, until-1); last != speed || next != until {
			t.Fatalf("device %d at %v: %g until %v, but %g until %v just before", k, at, speed, until, last, next)
		}
	}
	if n := testing.AllocsPerRun(100, func() { any.Speed(0, engine.FromSeconds(day*source.Float64())) }); n != 0 {
		t.Errorf("a look-up allocates %g times", n)
	}
}

// A round of a device that computes for weeks takes its work divided by its mean speed.
func TestARoundTakesTheMeanSpeed(t *testing.T) {
	const scenario = `
[data.synthetic]
clients = 1
[problem]
optimum.when = "never"
[devices]
clock_ghz = 1e-11
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
	usual := seconds("usual")
	used := seconds("used", "devices.model=foreground", "devices.model_options.sessions_per_day=[100, 100]",
		"devices.model_options.session_s=[100, 100]", "devices.model_options.speed=0.25")
	if usual < 7*day {
		t.Fatalf("the work takes %g days, too few to tell a mean", usual/day)
	}
	p := 100 * 100.0 / day
	deviation := math.Sqrt(2 * p * (1 - p) / ((1.0/100 + 1/(day/100.0-100)) * usual))
	mean := 1 - 0.75*p
	if got := usual / used; math.Abs(got-mean) > 4*0.75*deviation {
		t.Errorf("the round takes %g times as long, want %g: speed %g, want %g within %g", used/usual, 1/mean, got,
			mean, 4*0.75*deviation)
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{defaults(t), nil},
		{Options{Speed: 2}, []string{"sessions_per_day = []: must be the least and the most, positive and at most 1e6",
			"session_s = []: must be the least and the most, positive and at most 1e6",
			"speed = 2: must be in [0, 1]"}},
		{Options{SessionsPerDay: []float64{1, 1000}, SessionS: []float64{10, 100}},
			[]string{"session_s = [10.0, 100.0]: must leave time between sessions: the most sessions take 100000 of " +
				"the day's 86400 seconds"}},
	} {
		check := config.NewChecker()
		c.o.Validate(check)
		if got := fmt.Sprint(check.Problems()); got != fmt.Sprint(c.want) {
			t.Errorf("%+v:\ngot  %s\nwant %s", c.o, got, c.want)
		}
	}
}
