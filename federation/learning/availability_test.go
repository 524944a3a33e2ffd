package learning

import (
	"fmt"
	"math"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/servertest"
	_ "fedsim/internal/tools/rapidseed"
)

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
			w := servertest.Window{From: engine.FromSeconds(at), To: engine.FromSeconds(at + away)}
			resumed := run(t, alone(t, func(s *Setup) { s.Availability, s.Faults.OnReturn = w, devices.Resume })).
				Rounds[1]
			if math.Abs(resumed.TimeS-(once+away)) > 4e-9 {
				t.Errorf("away for %g s in the %s, resumed: the round takes %.9f s, want %.9f", away, name,
					resumed.TimeS, once+away)
			}
			near := func(what string, got, want float64) {
				if math.Abs(got-want) > 1e-6*want {
					t.Errorf("away for %g s in the %s: %s is %g, want %g", away, name, what, got, want)
				}
			}
			near("FLOPs", resumed.FLOPs, calm.FLOPs)
			if resumed.BytesUp != message || resumed.BytesDown != message {
				t.Errorf("away in the %s, resumed: %g bytes down, %g up, want %d each way", name, resumed.BytesDown,
					resumed.BytesUp, message)
			}
			if resumed.Dropped != 0 || resumed.Participants != 1 {
				t.Errorf("away in the %s, resumed: %d took part, %d dropped", name, resumed.Participants,
					resumed.Dropped)
			}

			discarded := run(t, alone(t, func(s *Setup) { s.Availability = w })).Rounds[1]
			// The server asks again when the answer was due, or when the device is back.
			want := max(once, at+away) + once
			if math.Abs(discarded.TimeS-want) > 4e-9 {
				t.Errorf("away for %g s in the %s, discarded: the round takes %.9f s, want %.9f", away, name,
					discarded.TimeS, want)
			}
			if discarded.Dropped != 1 || discarded.Participants != 1 ||
				discarded.BytesDown != message+map[string]float64{"download": 61, "compute": message,
					"upload": message}[name] ||
				discarded.BytesUp != message+map[string]float64{"upload": 61}[name] {
				t.Errorf("away in the %s, discarded: %+v", name, discarded)
			}
			near("FLOPs", discarded.FLOPs,
				calm.FLOPs*(1+map[string]float64{"compute": (at - transferS) / (once - 2*transferS),
					"upload": 1}[name]))
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

const toss = engine.Time(1e8)

// busyNetwork adds drops and jitter to a method that sets its own amount of work.
func busyNetwork(s *Setup) {
	s.Options = s.Factory.Options()
	linearParts(s)
	s.Network.Jitter, s.Network.LossProbability = 0.5, 0.1
	s.Faults.DropProbability.All, s.Faults.DropPhase = 0.2, devices.AtRandom
}
