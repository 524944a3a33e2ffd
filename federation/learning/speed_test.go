package learning

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/tools/racetest"
)

// turns is a speed trace that alternates between fast and slow.
type turns struct {
	each       engine.Time
	fast, slow float64
}

func (p turns) Speed(_ int, at engine.Time) (float64, engine.Time) {
	k := at / p.each
	if k%2 == 0 {
		return p.fast, (k + 1) * p.each
	}
	return p.slow, (k + 1) * p.each
}

// level is a constant speed.
type level float64

func (p level) Speed(int, engine.Time) (float64, engine.Time) { return float64(p), engine.Never }

// A single device whose speed changes while it computes completes its work when the
// integral of its speed equals the length of the work. If it becomes unavailable, it
// continues later. Its FLOPs are those of the work.
func TestWorkTakesTheIntegralOfTheSpeed(t *testing.T) {
	racetest.Skip(t, "simulates one device, in one goroutine")
	calm := run(t, alone(t, nil)).Rounds[1]
	work := calm.TimeS - 2*transferS
	rapid.Check(t, func(rt *rapid.T) {
		p := turns{
			each: engine.FromSeconds(rapid.Float64Range(0.02, 3).Draw(rt, "each") * work),
			fast: rapid.Float64Range(0.1, 2).Draw(rt, "fast"),
			slow: rapid.SampledFrom([]float64{0, 0.05, 0.5, 1}).Draw(rt, "slow"),
		}
		at := transferS + rapid.Float64Range(0, 2).Draw(rt, "at")*work
		away := rapid.Float64Range(0.001, 2).Draw(rt, "away") * work
		step := work / 20_000
		slowly := func(work float64) float64 { // by the step, the time away left out
			end := transferS
			for done := 0.0; done < work; end += step {
				if end < at || end >= at+away {
					pace, _ := p.Speed(0, engine.FromSeconds(end))
					done += step * pace
				}
			}
			return end
		}
		// A step may be counted on the wrong side of each change, and where the work ends
		// at a change to speed 0, it may end before that stretch or after it.
		miscounted := 2 * step * (4 + slowly(work)/p.each.Seconds())
		early, late := slowly(work-miscounted)-step, slowly(work+miscounted)+step
		if early < at && at < late { // which of the two came first cannot be said
			rt.Skip()
		}
		if late < at { // it was not there any more to go away from
			at = math.Inf(1)
		}
		got := run(t, alone(t, func(s *Setup) {
			s.Speed, s.Faults.OnReturn = p, devices.Resume
			if at < math.Inf(1) {
				s.Availability = windows{engine.FromSeconds(at), engine.FromSeconds(at + away)}
			}
		})).Rounds[1]
		if end := got.TimeS - transferS; end < early || end > late {
			rt.Errorf("%+v, away from %g for %g s: ends after %g s, not between %g and %g", p, at, away, end, early, late)
		}
		if math.Abs(got.FLOPs-calm.FLOPs) > 1e-6*calm.FLOPs || got.Dropped != 0 {
			rt.Errorf("%+v: %g FLOPs, %d dropped, want %g and 0", p, got.FLOPs, got.Dropped, calm.FLOPs)
		}
	})
}

// A speed factor of 1 changes no bit, and how often a trace repeats a factor changes
// none.
func TestFixedSpeeds(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged, federation.First, federation.Asynchronous} {
		for _, factor := range []float64{1, 0.5, 0.25} {
			of := func(p devices.Speed) *Outcome {
				return run(t, world(t, "async-mocha", protocol, func(s *Setup) {
					s.Speed, s.Network.Jitter, s.Faults.DropProbability, s.Faults.DropPhase = p, 0.3, 0.2, devices.AtRandom
				}))
			}
			want := of(level(factor))
			if factor == 1 {
				want = of(nil)
			}
			if got := of(turns{engine.FromSeconds(0.013), factor, factor}); got.EventHash != want.EventHash || got.ModelHash != want.ModelHash {
				t.Errorf("%s: a pace of %g that is said often: hashes %x and %x, want %x and %x", protocol, factor, got.EventHash, got.ModelHash, want.EventHash, want.ModelHash)
			}
		}
	}
}

// A device of speed 0 never responds, and no work takes no time at any speed.
func TestStandingStill(t *testing.T) {
	f := start(t, alone(t, func(s *Setup) { s.Speed = level(0) }))
	computing := func(flops float64) engine.Time {
		f.clients.SetWork(0, devices.Work{FLOPs: flops}, message)
		f.clients.PrepareUplink(0)
		return f.clients.State(0).Compute
	}
	if got := computing(1e6); got != engine.Never {
		t.Errorf("a device that stands still is over after %v", got)
	}
	if got := computing(0); got != 0 {
		t.Errorf("no work takes %v", got)
	}
}
