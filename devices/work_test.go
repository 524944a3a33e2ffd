package devices

import (
	"math"
	"testing"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/tools/expect"
)

// overheads are a quarter of a second for local work, 10 ms for a step, and 2 s for a gigabyte.
var overheads = Overheads{TaskS: 0.25, StepS: 0.01, TrafficSPerGB: 2}

// Exponential factors have the mean and the standard deviation of 1, and other streams than log-normal ones.
func TestExponentialJitter(t *testing.T) {
	cfg := Defaults()
	cfg.Distribution = Exponential
	p := NewProcessors(cfg, 1, 7)
	const draws = 100_000
	sum, square, above := 0.0, 0.0, 0.0
	for round := range draws {
		x := p.Jitter(0, round, 0)
		sum, square = sum+x/draws, square+x*x/draws
		if x > 1 {
			above += 1.0 / draws
		}
	}
	expect.That(t, math.Abs(sum-1) < 0.015, "the mean is %g", sum)
	expect.That(t, math.Abs(square-2) < 0.07, "the mean square is %g", square)
	expect.That(t, math.Abs(above-math.Exp(-1)) < 0.006, "a share of %g is above 1", above)
	expect.That(t, p.AnyOverheads(), "a device with jitter has no overheads")
	for _, jitter := range []float64{0, 0.5, 1} {
		o, c := Overheads{Distribution: Exponential, Jitter: jitter}, config.NewChecker()
		o.Validate(c)
		expect.That(t, (c.Err() == nil) == (jitter != 0.5), "compute_jitter = %g: %v", jitter, c.Err())
	}
}

// Work of 3e9 FLOPs at 6e9 FLOP/s, 5 steps of 3 launches, and 1e8 bytes: 0.5 + 0.25 + 0.15 + 0.2 s.
// A device of half the speed takes twice as long, flops_scale applies to FLOPs alone, and no work
// takes no time.
func TestOverheads(t *testing.T) {
	cfg := Defaults()
	cfg.Overheads, cfg.LaunchesPerStep = overheads, 3
	w := Work{FLOPs: 3e9, Steps: 5, Traffic: 1e8}
	profile := cfg.Device()
	mix := Mix{
		Profiles: []Profile{profile, profile}, Overheads: []Overheads{{}, overheads},
		Class: []uint8{0, 1, 1}, Speed: []float64{1, 1, 0.5},
	}
	scaled := cfg
	scaled.FLOPsScale = 10
	for name, c := range map[string]struct {
		f      *Processors
		device int
		work   Work
		want   float64
	}{
		"one class":         {NewProcessors(cfg, 1, 1), 0, w, 1.1},
		"without FLOPs":     {NewProcessors(cfg, 1, 1), 0, Work{Steps: 1}, 0.28},
		"without steps":     {NewProcessors(cfg, 1, 1), 0, Work{FLOPs: 3e9}, 0.75},
		"no work":           {NewProcessors(cfg, 1, 1), 0, Work{}, 0},
		"flops_scale":       {NewProcessors(scaled, 1, 1), 0, w, 5.6},
		"no overheads":      {NewProcessors(Defaults(), 1, 1), 0, w, 0.5},
		"another class":     {NewMixedProcessors(cfg, mix, 1), 0, w, 0.5},
		"its class":         {NewMixedProcessors(cfg, mix, 1), 1, w, 1.1},
		"half as fast":      {NewMixedProcessors(cfg, mix, 1), 2, w, 2.2},
		"half as fast, all": {NewMixedProcessors(cfg, mix, 1), 2, w.Times(2), 4.4 - 0.5},
	} {
		if got := c.f.Seconds(c.device, c.work); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %g s, want %g", name, got, c.want)
		}
		if got, want := c.f.ComputeTime(c.device, c.work), engine.FromSeconds(c.want); max(got-want, want-got) > 1 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if got, want := c.f.Overhead(c.device, c.work),
			c.want-c.work.FLOPs/c.f.Rate(c.device); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: overhead %g s, want %g", name, got, want)
		}
		share := 0.0
		if c.want > 0 {
			share = c.f.Overhead(c.device, c.work) / c.want
		}
		if got := c.f.OverheadShare(c.device, c.work); math.Abs(got-share) > 1e-12 {
			t.Errorf("%s: overheads are %g of the time, want %g", name, got, share)
		}
	}
	f := NewMixedProcessors(cfg, mix, 1)
	if f.HasOverheads(0) || !f.HasOverheads(1) || !f.AnyOverheads() || NewProcessors(Defaults(), 1, 1).AnyOverheads() {
		t.Error("devices that have overheads are not those of the class")
	}
}

// The jitter of attempts has mean 1 and sigma/mu = w, within four standard errors of the mean and
// a tenth. It depends on the seed, the device, the round and the attempt, and on nothing else.
func TestComputeJitter(t *testing.T) {
	const n, w = 20_000, 0.3
	cfg := Defaults()
	cfg.Jitter = w
	f := NewProcessors(cfg, 3, 4)
	var sum, squares float64
	for round := range n {
		x := f.Jitter(1, round, 0)
		sum += x
		squares += (x - 1) * (x - 1)
	}
	mean := sum / n
	expect.That(t, math.Abs(mean-1) <= 4*w/math.Sqrt(n), "mean %g, want 1", mean)
	sd := math.Sqrt(squares / n)
	expect.That(t, math.Abs(sd/w-1) <= 0.1, "standard deviation %g, want %g", sd, w)
	x := f.Jitter(1, 7, 0)
	cfg.Overheads.TaskS = 5
	got := NewProcessors(cfg, 30, 4).Jitter(1, 7, 0)
	expect.That(t, got == x, "%g among 30 devices with overheads, %g among 3 without", got, x)
	for name, other := range map[string]float64{
		"device": f.Jitter(2, 7, 0), "round": f.Jitter(1, 8, 0), "attempt": f.Jitter(1, 7, 1),
		"seed": NewProcessors(cfg, 3, 5).Jitter(1, 7, 0),
	} {
		expect.That(t, other != x, "another %s has the same jitter", name)
	}
	got = NewProcessors(Defaults(), 3, 4).Jitter(1, 7, 0)
	expect.That(t, got == 1, "jitter %g without compute_jitter", got)
}
