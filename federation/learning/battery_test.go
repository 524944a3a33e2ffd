package learning

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/results"
)

// joules gives device batteries of that energy, full.
func joules(s *Setup, capacity float64) { s.Devices.BatteryWh = capacity / 3600 }

// When no device is available, a round begins as soon as the first one is.
func TestDeadlineWaitsForTheFirstToComeBack(t *testing.T) {
	const capacity, charger = 3.0, 1.5
	f := start(t, world(t, "mocha", protocols.Deadline, func(s *Setup) {
		joules(s, capacity)
		s.Devices.ChargeW, s.Devices.ReturnLevel = charger, 1 // back after 2 s
		s.Config.DeadlineS = 1
		// Nobody does anything but idle: 85 to 95 % of 3 J last for 5.1 to 5.7 s.
		s.Faults.DropProbability.All = 1
		s.Devices.InitialCharge, s.Devices.InitialChargeSpread = 0.9, 0.05
	}))
	f.clients.Begin()
	first, last := math.Inf(1), 0.0 // when batteries are empty
	for k := range f.setup.Clients {
		at, _ := f.clients.Batteries().EmptyAt(k)
		first, last = min(first, at.Seconds()), max(last, at.Seconds())
	}
	if first < 5.1 || last > 5.7 {
		t.Fatalf("batteries last from %g to %g s, want between 5.1 and 5.7", first, last)
	}
	var ends []float64
	for range 8 {
		r := f.runRound()
		if r.Dropped != f.setup.Clients {
			t.Errorf("round %d: %+v", r.Round, r)
		}
		ends = append(ends, r.TimeS)
	}
	// Rounds 1 to 6 end at 1..6 s, when the last is flat; the seventh begins when
	// the first to be empty is back, full, 2 s later.
	for h := range 6 {
		if !near(ends[h], float64(h+1), nanosecond) {
			t.Errorf("round %d ends at %.9f s, want %d", h+1, ends[h], h+1)
		}
	}
	if want := first + capacity/charger + 1; !near(ends[6], want, 3*nanosecond) {
		t.Errorf("round 7 ends at %.9f s, want %.9f", ends[6], want)
	}
}

// With jitter the next transfer may be short enough: the run does not stall early.
func TestSmallBatteryWithJitterIsTriedOn(t *testing.T) {
	out := run(t, world(t, "mb-sgd", federation.WaitForAll, func(s *Setup) {
		s.Problem = randomProblem(t, features, 10)
		s.Options.(*algorithms.MbSGDOptions).Batch = 1
		// 54 mJ for each charge: less than an attempt takes without jitter.
		s.Network.Jitter = 1
		joules(s, 4*0.054)
		s.Devices.ChargeW, s.Devices.ReturnLevel = 10, 0.25
	}))
	if out.Status != results.Done || len(out.Rounds) != 11 {
		t.Errorf("%s after %d rounds: %s", out.Status, len(out.Rounds)-1, out.Reason)
	}
}
