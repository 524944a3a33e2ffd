package devices

import (
	"errors"
	"math"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

func newDrops(t *testing.T, n int, change func(*Faults)) *Drops {
	t.Helper()
	cfg := DefaultFaults()
	change(&cfg)
	got := problems("faults", cfg.Validate)
	expect.Must(t, got == nil, "%v", got)
	d := expect.Value(NewDrops(cfg, n, 11))(t)
	return d
}

// The number of drops among n is binomial: within 4 sigma of n p. At p = 0 and 1 it is
// exact.
func TestDropsAreAsFrequentAsTheirProbability(t *testing.T) {
	const devices, rounds = 100, 200
	for _, p := range []float64{0, 0.01, 0.1, 0.5, 0.9, 1} {
		d := newDrops(t, devices, func(f *Faults) { f.DropProbability.All = p })
		for _, attempt := range []int{0, 1, 7} {
			drops := 0
			for device := range devices {
				for round := range rounds {
					if d.Draw(device, round, attempt).Happens {
						drops++
					}
				}
			}
			n := float64(devices * rounds)
			expect.That(t, math.Abs(float64(drops)-n*p) <= 4*math.Sqrt(n*p*(1-p)),
				"p = %g, attempt %d: %d drops among %g", p, attempt, drops, n)
		}
	}
}

// Common random numbers: a device that drops at one probability drops at the same point
// at every higher one.
func TestDropsGrowWithTheProbability(t *testing.T) {
	probabilities := []float64{0, 0.1, 0.25, 0.5, 0.9, 1}
	var before *Drops
	for _, p := range probabilities {
		d := newDrops(t, 30, func(f *Faults) { f.DropProbability.All, f.DropPhase = p, AtCompute })
		for device := range 30 {
			for round := range 30 {
				for attempt := range 3 {
					if before == nil {
						continue
					}
					old := before.Draw(device, round, attempt)
					if now := d.Draw(device, round, attempt); old.Happens && now != old {
						t.Fatalf("p = %g: device %d, round %d, attempt %d: %+v, was %+v", p, device, round, attempt,
							now, old)
					}
				}
			}
		}
		before = d
	}
}

// Drops depend on seed, device, round and attempt. Changing any one of them changes
// about half of the draws at p = 1/2.
func TestDrawsDiffer(t *testing.T) {
	const n = 4000
	half := func(f *Faults) { f.DropProbability.All = 0.5 }
	d := newDrops(t, n+1, half)
	other := expect.Value(NewDrops(Faults{DropProbability: DropProbability{All: 0.5}, DropPhase: AtStart}, n+1, 12))(t)
	for name, pair := range map[string]func(i int) (a, b Drop){
		"seed":    func(i int) (a, b Drop) { return d.Draw(0, i, 0), other.Draw(0, i, 0) },
		"device":  func(i int) (a, b Drop) { return d.Draw(i, 0, 0), d.Draw(i+1, 0, 0) },
		"round":   func(i int) (a, b Drop) { return d.Draw(0, i, 0), d.Draw(0, i+1, 0) },
		"attempt": func(i int) (a, b Drop) { return d.Draw(0, i, 0), d.Draw(0, i, 1) },
		// If round and attempt were added, these two would be equal.
		"round and attempt": func(i int) (a, b Drop) { return d.Draw(0, i, 1), d.Draw(0, i+1, 0) },
	} {
		same := 0
		for i := range n {
			if a, b := pair(i); a.Happens == b.Happens {
				same++
			}
		}
		expect.That(t, math.Abs(float64(same)-n/2) <= 4*math.Sqrt(n)/2,
			"%s: %d of %d draws agree, want about half", name, same, n)
	}
}

func TestNever(t *testing.T) {
	d := newDrops(t, 4, func(f *Faults) { f.Never = []int{2, 0} })
	for device, never := range []bool{true, false, true, false} {
		for round := range 100 {
			expect.Must(t, d.Draw(device, round, round%3).Happens == never,
				"device %d, round %d: drops: %v", device, round, !never)
		}
	}
}

func TestProbabilityByRoundHoldsItsLastValue(t *testing.T) {
	d := newDrops(t, 2, func(f *Faults) { f.DropProbability.ByRound = []float64{1, 0, 0.5}; f.Never = []int{1} })
	for round, want := range []float64{1, 0, 0.5, 0.5, 0.5} {
		got := d.Probability(0, round)
		expect.That(t, got == want, "round %d: probability %g, want %g", round, got, want)
		got = d.Probability(1, round)
		expect.That(t, got == 1, "round %d: probability %g of a device that never responds", round, got)
	}
	expect.That(t, d.Draw(0, 0, 0).Happens && !d.Draw(0, 1, 0).Happens, "draws do not follow the rounds' probabilities")
}

func TestProbabilityPerDevice(t *testing.T) {
	d := newDrops(t, 3, func(f *Faults) { f.DropProbability.ByDevice = []float64{0, 1, 0.25} })
	for device, want := range []float64{0, 1, 0.25} {
		got := d.Probability(device, 7)
		expect.That(t, got == want, "device %d: probability %g, want %g", device, got, want)
	}
	expect.That(t, !d.Draw(0, 3, 0).Happens && d.Draw(1, 3, 0).Happens,
		"draws do not follow the devices' probabilities")
}

// At is 0 at the start and uniform in [0, 1) elsewhere: mean 1/2 within 4 sigma.
func TestDropPhase(t *testing.T) {
	for strike, phase := range map[string]DropPhase{AtStart: DropAtStart, AtCompute: DropInCompute,
		AtUpload: DropInUpload, AtRandom: DropAnywhere} {
		d := newDrops(t, 100, func(f *Faults) { f.DropProbability.All, f.DropPhase = 1, strike })
		sum, n := 0.0, 0.0
		for device := range 100 {
			for round := range 50 {
				drop := d.Draw(device, round, 0)
				expect.Must(t, drop.Phase == phase && drop.Phase.String() == strike && drop.At >= 0 && drop.At < 1,
					"%s: %+v", strike, drop)
				sum += drop.At
				n++
			}
		}
		want := 0.5
		if phase == DropAtStart {
			want = 0
		}
		expect.That(t, math.Abs(sum/n-want) <= 4*math.Sqrt(1/12./n) && (phase != DropAtStart || sum == 0),
			"%s: drops at %g on average, want %g", strike, sum/n, want)
	}
	got := DropPhase(9).String()
	expect.That(t, got == "DropPhase(9)", "an unknown phase prints as %q", got)
}

func TestInvalidFaults(t *testing.T) {
	for _, c := range []struct {
		change func(*Faults)
		want   []string
	}{
		{func(f *Faults) { f.DropProbability.All = 1.4 }, []string{"faults.drop_probability = 1.4: must be in [0, 1]"}},
		{func(f *Faults) { f.DropProbability.All = math.NaN() },
			[]string{"faults.drop_probability = NaN: must be in [0, 1]"}},
		{func(f *Faults) { f.DropProbability.ByDevice = []float64{0, -1} },
			[]string{"faults.drop_probability[1] = -1: must be in [0, 1]"}},
		{func(f *Faults) { f.DropProbability.ByRound = []float64{2} },
			[]string{"faults.drop_probability.by_round[0] = 2: must be in [0, 1]"}},
		{func(f *Faults) { f.Never = []int{1, -1, 1} },
			[]string{"faults.never[1] = -1: must be the number of a device, from 0 up",
				"faults.never[2] = 1: must not be listed twice"}},
		{func(f *Faults) { f.DropPhase = "uplod" },
			[]string{
				`faults.drop_phase = "uplod": must be one of start, compute, upload, uniform (did you mean "upload"?)`,
			}},
	} {
		cfg := DefaultFaults()
		c.change(&cfg)
		d := cmp.Diff(c.want, problems("faults", cfg.Validate))
		expect.That(t, d == "", "%v", d)
	}
}

func TestFaultsMustFitTheDevices(t *testing.T) {
	cfg := DefaultFaults()
	cfg.DropProbability.ByDevice = []float64{0.1, 0.2}
	cfg.Never = []int{1, 3}
	_, err := NewDrops(cfg, 3, 1)
	expect.Must(t, err != nil, "two probabilities are accepted for three devices")
	want := strings.Join([]string{
		"faults.drop_probability = [0.1, 0.2]: must have one value for each of the 3 devices, has 2",
		"faults.never[1] = 3: must be the number of a device, in 0..2",
	}, "\n")
	expect.That(t, err.Error() == want, "got\n%s\nwant\n%s", err, want)
	var p config.Problem
	expect.That(t, errors.As(err, &p) && p.Key == "faults.drop_probability",
		"the error is not a config.Problem: %v", err)
}

func TestDrawAllocatesNothing(t *testing.T) {
	d := newDrops(t, 10, func(f *Faults) { f.DropProbability.All, f.DropPhase = 0.5, AtRandom })
	n := testing.AllocsPerRun(100, func() { d.Draw(3, 5, 2) })
	expect.That(t, n == 0, "a draw allocates %v times", n)
}
