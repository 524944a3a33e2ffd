package learning

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/tools/parallel"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/internal/tools/rng"
)

// windows is an availability trace: device 0 is unavailable once, the others never.
type windows struct{ from, to engine.Time }

func (w windows) Available(device int, at engine.Time) (bool, engine.Time) {
	switch {
	case device > 0 || at >= w.to:
		return true, engine.Never
	case at < w.from:
		return true, w.from
	default:
		return false, w.to
	}
}

// A single device under wait-for-all becomes unavailable during its attempt. With
// "resume" its round takes longer by that time, and no work is repeated. With "discard"
// the device starts the attempt again, and the work before is lost.
func TestUnavailableDeviceBecomesAvailable(t *testing.T) {
	calm := run(t, alone(t, nil)).Rounds[1]
	once := calm.TimeS
	// Of a message of 112 bytes, 61.6 have moved 0.55 of the way behind the latency.
	const cut = latencyS + 0.55*(transferS-latencyS)
	for name, at := range map[string]float64{"download": cut, "compute": 0.5 * once, "upload": once - transferS + cut} {
		for _, away := range []float64{0.001, 3} {
			w := windows{engine.FromSeconds(at), engine.FromSeconds(at + away)}
			resumed := run(t, alone(t, func(s *Setup) { s.Availability, s.Faults.OnReturn = w, devices.Resume })).Rounds[1]
			if math.Abs(resumed.TimeS-(once+away)) > 4e-9 {
				t.Errorf("away for %g s in the %s, resumed: the round takes %.9f s, want %.9f", away, name, resumed.TimeS, once+away)
			}
			near := func(what string, got, want float64) {
				if math.Abs(got-want) > 1e-6*want {
					t.Errorf("away for %g s in the %s: %s is %g, want %g", away, name, what, got, want)
				}
			}
			near("FLOPs", resumed.FLOPs, calm.FLOPs)
			if resumed.BytesUp != message || resumed.BytesDown != message {
				t.Errorf("away in the %s, resumed: %g bytes down, %g up, want %d each way", name, resumed.BytesDown, resumed.BytesUp, message)
			}
			if resumed.Dropped != 0 || resumed.Participants != 1 {
				t.Errorf("away in the %s, resumed: %d took part, %d dropped", name, resumed.Participants, resumed.Dropped)
			}

			discarded := run(t, alone(t, func(s *Setup) { s.Availability = w })).Rounds[1]
			// The server asks again when the answer was due, or when the device is back.
			want := max(once, at+away) + once
			if math.Abs(discarded.TimeS-want) > 4e-9 {
				t.Errorf("away for %g s in the %s, discarded: the round takes %.9f s, want %.9f", away, name, discarded.TimeS, want)
			}
			if discarded.Dropped != 1 || discarded.Participants != 1 ||
				discarded.BytesDown != message+map[string]float64{"download": 61, "compute": message, "upload": message}[name] ||
				discarded.BytesUp != message+map[string]float64{"upload": 61}[name] {
				t.Errorf("away in the %s, discarded: %+v", name, discarded)
			}
			near("FLOPs", discarded.FLOPs, calm.FLOPs*(1+map[string]float64{"compute": (at - transferS) / (once - 2*transferS), "upload": 1}[name]))
		}
	}
}

// alone is a world of one device and one round.
func alone(t testing.TB, change func(*Setup)) Setup {
	return world(t, "mocha", federation.WaitForAll, func(s *Setup) {
		s.Problem = randomProblem(t, features, 12)
		s.Schedule.Rounds = 1
		if change != nil {
			change(s)
		}
	})
}

// bounded stops a run that does not end: those of the tests have some thousands of
// events.
func bounded() *engine.Hooks {
	events := 0
	return &engine.Hooks{Fired: func(e engine.Event) {
		if events++; events > 200_000 {
			panic(fmt.Sprintf("no end of events: %+v", e))
		}
	}}
}

// coins is an availability trace: every tenth of a second each device is available with
// a given probability.
type coins struct {
	seed  uint64
	share float64
}

const toss = engine.Time(1e8)

func (c coins) Available(device int, at engine.Time) (bool, engine.Time) {
	n := at / toss
	s := rng.New(c.seed, rng.Solve, device, int(n))
	return s.Float64() < c.share, (n + 1) * toss
}

// A trace of devices that are always available equals no trace, under every protocol.
func TestAlwaysAvailableEqualsNoTrace(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged, federation.First} {
		without := run(t, world(t, "mocha", protocol, busyNetwork))
		with := run(t, world(t, "mocha", protocol, func(s *Setup) {
			busyNetwork(s)
			s.Availability = windows{from: engine.Never, to: engine.Never}
		}))
		if err := same(without.Rounds, with.Rounds); err != nil {
			t.Errorf("%s: %v", protocol, err)
		}
	}
}

// busyNetwork adds drops and jitter to a method that sets its own amount of work.
func busyNetwork(s *Setup) {
	s.Options = s.Factory.Options()
	s.Network.Jitter, s.Network.LossProbability = 0.5, 0.1
	s.Faults.DropProbability, s.Faults.DropPhase = 0.2, devices.AtRandom
}

// With random availability and policies the clock advances, weak duality holds, no
// device is counted twice, and one worker gives the same bits as two.
func TestChurnUnderEveryPolicy(t *testing.T) {
	problem := randomProblem(t, features, sizes...)
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64Range(0, 1<<32).Draw(rt, "seed")
		protocol := rapid.SampledFrom([]string{federation.WaitForAll, federation.Deadline, federation.Charged, federation.First}).Draw(rt, "protocol")
		onReturn := rapid.SampledFrom([]string{devices.Discard, devices.Resume}).Draw(rt, "on_return")
		if protocol == federation.WaitForAll { // which may wait long for a stretch that is long enough
			onReturn = devices.Resume
		}
		share := rapid.Float64Range(0.3, 1).Draw(rt, "presence")
		drop := rapid.Float64Range(0, 0.5).Draw(rt, "drops")
		late := rapid.SampledFrom([]string{federation.Drop, federation.Keep}).Draw(rt, "late")
		retries := rapid.IntRange(0, 2).Draw(rt, "retries")
		least := rapid.IntRange(0, 4).Draw(rt, "min_reports")
		fraction := rapid.SampledFrom([]float64{1, 0.6}).Draw(rt, "fraction")
		quantile := rapid.SampledFrom([]float64{0, 0.7}).Draw(rt, "quantile")
		var outs []*Outcome
		for _, workers := range []int{1, 2} {
			s := world(t, "mocha", protocol, func(s *Setup) {
				busyNetwork(s)
				s.Problem, s.Seed = problem, seed
				s.Faults.OnReturn, s.Faults.DropProbability = onReturn, drop
				s.Availability = coins{seed, share}
				s.Pool = parallel.NewPool(workers)
				s.Hooks = bounded()
				c := &s.Config
				c.Fraction = fraction
				if protocol == federation.WaitForAll {
					return
				}
				c.Retries, c.MinReports = retries, least
				switch protocol {
				case federation.First:
					c.Over, c.Late = 1.3, late
				case federation.Deadline:
					c.DeadlineS, c.Fit, c.Late, c.Quantile = 0.8, seed%2 == 0, late, quantile
				}
			})
			outs = append(outs, run(t, s))
		}
		if err := same(outs[0].Rounds, outs[1].Rounds); err != nil || outs[0].EventHash != outs[1].EventHash {
			rt.Fatalf("one worker against two: %v", err)
		}
		if outs[0].Status != "done" {
			rt.Fatalf("%s: %s", outs[0].Status, outs[0].Reason)
		}
		for h, r := range outs[0].Rounds[1:] {
			before := outs[0].Rounds[h]
			if !(r.TimeS >= before.TimeS) || r.Gap < -1e-9*math.Abs(r.Primal) {
				rt.Fatalf("round %d: %+v after %+v", h+1, r, before)
			}
			if r.Participants > 7 || r.Participants+r.Late+r.Dropped > 14 || r.Participants > 0 && r.Participants < least && protocol != federation.WaitForAll {
				rt.Fatalf("round %d: %+v", h+1, r)
			}
			if protocol == federation.WaitForAll && fraction == 1 && r.Participants != 7 {
				rt.Fatalf("round %d: %d took part", h+1, r.Participants)
			}
		}
	})
}
