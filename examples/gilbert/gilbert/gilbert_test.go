package gilbert

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
	"fedsim/engine"
	"fedsim/network"
	"fedsim/results/rundir"
)

func defaults(t *testing.T) Options {
	t.Helper()
	f, ok := network.LookupModel("gilbert")
	if !ok {
		t.Fatal("the model is not registered")
	}
	return *f.Options().(*Options)
}

// mean is the mean share of its rate that a link carries.
func (o *Options) mean() float64 {
	p, r := o.GoodToBad, o.BadToGood
	return (r*(1-o.GoodLoss) + p*(1-o.BadLoss)) / (p + r)
}

// deviation is the standard deviation of the mean share over a number of slots: slots k
// apart have the correlation (1-p-r)^k.
func (o *Options) deviation(slots float64) float64 {
	p, r := o.GoodToBad, o.BadToGood
	rho := 1 - p - r
	return math.Abs(o.BadLoss-o.GoodLoss) * math.Sqrt(p*r/((p+r)*(p+r))*(1+rho)/(1-rho)/slots)
}

// Over a long time the mean rate is the stationary one, in each direction.
func TestMeanRate(t *testing.T) {
	const slots = 200_000
	for _, o := range []Options{
		defaults(t),
		{SlotMs: 1, GoodToBad: 0.3, BadToGood: 0.6, GoodLoss: 0.1, BadLoss: 1},
		{SlotMs: 1000, GoodToBad: 1, BadToGood: 0.5, BadLoss: 0.9},
	} {
		c := newChannels(network.ModelSetup{Devices: 2, Seed: 5}, o)
		end := engine.Time(slots) * c.slot
		for way := range 2 {
			sum := 0.0
			for at := engine.Time(0); at < end; {
				mbps, until := c.rate(way, 1, 8, at)
				until = min(until, end)
				if (until-at)%c.slot != 0 {
					t.Fatalf("%+v: a stay of %v, not of whole slots", o, until-at)
				}
				sum += mbps * float64(until-at)
				at = until
			}
			if got, want := sum/float64(end), 8*o.mean(); math.Abs(got-want) > 4*8*o.deviation(slots) {
				t.Errorf("%+v: mean rate %g, want %g within %g", o, got, want, 4*8*o.deviation(slots))
			}
		}
	}
}

// At time 0 the share of bad channels is p/(p+r), and the two directions of a link are
// independent.
func TestTheBeginningIsLikeAnyTime(t *testing.T) {
	const n = 20000
	o := defaults(t)
	c := newChannels(network.ModelSetup{Devices: n, Seed: 1}, o)
	bad, both := 0.0, 0.0
	for k := range n {
		d, _ := c.Downlink(k, 1, 0)
		u, _ := c.Uplink(k, 1, 0)
		if d < 1 {
			bad++
		}
		if d < 1 && u < 1 {
			both++
		}
	}
	p := o.GoodToBad / (o.GoodToBad + o.BadToGood)
	for _, x := range []struct{ got, want float64 }{{bad / n, p}, {both / n, p * p}} {
		if math.Abs(x.got-x.want) > 4*math.Sqrt(x.want*(1-x.want)/n) {
			t.Errorf("a share of %g at time 0, want %g", x.got, x.want)
		}
	}
}

// A rate depends neither on earlier calls nor on the number of devices.
func TestAFunctionOfDeviceAndTime(t *testing.T) {
	o := defaults(t)
	c, few := newChannels(network.ModelSetup{Devices: 5, Seed: 9}, o),
		newChannels(network.ModelSetup{Devices: 3, Seed: 9}, o)
	source := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		way, k, at := source.IntN(2), source.IntN(3), engine.FromSeconds(100*source.Float64())
		mbps, until := c.rate(way, k, 3, at)
		fresh := newChannels(network.ModelSetup{Devices: 5, Seed: 9}, o)
		if m, u := fresh.rate(way, k, 3, at); m != mbps || u != until || until <= at {
			t.Fatalf("device %d at %v: %g until %v, asked first %g until %v", k, at, mbps, until, m, u)
		}
		if m, u := few.rate(way, k, 3, at); m != mbps || u != until {
			t.Fatalf("device %d of 5 at %v: %g until %v, of 3 %g until %v", k, at, mbps, until, m, u)
		}
	}
	if n := testing.AllocsPerRun(100, func() { c.Uplink(0, 1, engine.FromSeconds(source.Float64())) }); n != 0 {
		t.Errorf("a look-up allocates %g times", n)
	}
}

// A round of long transfers takes its bits divided by the mean rate.
func TestARoundTakesTheMeanRate(t *testing.T) {
	const scenario = `
[data.synthetic]
clients = 1
features = 50
[problem]
optimum.when = "never"
[network]
downlink_mbps = 1e-6
uplink_mbps = 1e-6
rtt_ms = 0
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
	for i, loss := range []float64{0.5, 1} {
		o := defaults(t)
		o.BadLoss = loss
		bursts := seconds(fmt.Sprintf("bursts-%d", i), "network.model=gilbert",
			fmt.Sprint("network.model_options.bad_loss=", loss))
		within := 4 * o.deviation(usual/(o.SlotMs/1e3))
		if got, want := usual/bursts, o.mean(); math.Abs(got-want) > within {
			t.Errorf("losses of %g: the mean rate of the round is %g, want %g within %g", loss, got, want, within)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{defaults(t), nil},
		{Options{GoodToBad: 2, BadToGood: -1, GoodLoss: 1, BadLoss: 1.5},
			[]string{"slot_ms = 0: must be in [1e-3, 1e6]", "good_to_bad = 2: must be in [1e-9, 1]",
				"bad_to_good = -1: must be in [1e-9, 1]", "good_loss = 1: must be in [0, 1)",
				"bad_loss = 1.5: must be in [0, 1]"}},
	} {
		check := config.NewChecker()
		c.o.Validate(check)
		if got := fmt.Sprint(check.Problems()); got != fmt.Sprint(c.want) {
			t.Errorf("%+v:\ngot  %s\nwant %s", c.o, got, c.want)
		}
	}
}
