package learning

import (
	"math"
	"testing"

	"fedsim/algorithms/methods"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/protocols"
)

// tiersWorld is a world of hierarchical averaging behind hubs.
func tiersWorld(t testing.TB, protocol string, size, rounds int, change func(*Setup)) Setup {
	return world(t, "hierfavg", protocol, func(s *Setup) {
		behind(s, size)
		s.Options.(*methods.HierFAvgOptions).HubRounds = rounds
		if change != nil {
			change(s)
		}
	})
}

// harsh lets devices drop, differ, run out of battery and lose messages.
func harsh(s *Setup) {
	different(s)
	s.Faults.DropProbability.All, s.Faults.DropPhase = 0.25, devices.AtRandom
	s.Network.Jitter, s.Network.LossProbability = 0.3, 0.05
	s.Network.DownlinkMbps, s.Network.UplinkMbps = 1, 1
	joules(s, 400)
	s.Devices.ChargeW = 10
	s.Schedule.Rounds = 25
	s.AnyDeadline = true
}

// One hub that averages five times in a round computes what federated averaging computes in
// five rounds, under the same drops: the same model, bit for bit, after the same local work.
func TestRoundsOfOneHubAreThoseOfFedAvg(t *testing.T) {
	for _, drops := range []float64{0, 0.3} {
		scene := func(s *Setup) {
			s.Faults.DropProbability.All, s.Faults.DropPhase = drops, devices.AtCompute
			s.Config.DeadlineS = 1e6 // never
		}
		average := world(t, "fedavg", protocols.First, func(s *Setup) {
			behind(s, len(sizes))
			scene(s)
			s.Schedule.Rounds = 20
		})
		tiers := tiersWorld(t, protocols.First, len(sizes), 5, func(s *Setup) {
			scene(s)
			s.Schedule.Rounds = 4
		})
		want, got := run(t, average), run(t, tiers)
		if want.ModelHash != got.ModelHash || want.Steps != got.Steps {
			t.Errorf("drops %g: model %x after %d steps, federated averaging %x after %d", drops, got.ModelHash,
				got.Steps, want.ModelHash, want.Steps)
		}
		flops := func(o *Outcome) (sum, down, up float64) {
			for _, r := range o.Rounds {
				sum, down, up = sum+r.FLOPs, down+r.BytesDown, up+r.BytesUp
			}
			return sum, down, up
		}
		f1, d1, u1 := flops(want)
		f5, d5, u5 := flops(got)
		if !near(f1, f5, 1e-12*f1) || d1 != 5*d5 || u1 != 5*u5 {
			t.Errorf(
				"drops %g: %g FLOPs, %g bytes down, %g up; federated averaging %g, %g, %g: want a fifth of the bytes",
				drops, f5, d5, u5, f1, d1, u1)
		}
	}
}

// With one round of hubs, hierarchical averaging has the events of federated averaging and its
// model, under every protocol, with faults.
func TestOneRoundOfHubsHasTheEventsOfFedAvg(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, protocols.Deadline, protocols.Charged,
		protocols.First} {
		scene := func(s *Setup) {
			if protocol != federation.WaitForAll {
				harsh(s)
				s.Config.Retries = 0
			}
		}
		want := run(t, world(t, "fedavg", protocol, func(s *Setup) {
			behind(s, 3)
			scene(s)
		}))
		got := run(t, tiersWorld(t, protocol, 3, 1, scene))
		if want.EventHash != got.EventHash || want.Events != got.Events {
			t.Errorf("%s: events %x, federated averaging %x", protocol, got.EventHash, want.EventHash)
		}
		for h := range want.Rounds {
			a, b := want.Rounds[h], got.Rounds[h]
			if a.Participants != b.Participants || a.Dropped != b.Dropped || a.Late != b.Late ||
				math.Abs(a.Primal-b.Primal) > 1e-12*math.Abs(a.Primal) {
				t.Errorf("%s, round %d: %+v, federated averaging %+v", protocol, h, b, a)
			}
		}
	}
}

// A round takes as long as the slowest hub: its message, in each of its rounds its slowest
// device, its report. Hubs do not wait for each other between reports.
func TestRoundsOfHubsClosedForm(t *testing.T) {
	const size, rounds = 3, 4
	f := start(t, tiersWorld(t, federation.WaitForAll, size, rounds, func(s *Setup) {
		s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 0.5
	}))
	f.clients.Begin()
	before, hubs := 0.0, (len(sizes)+size-1)/size
	for h := range 3 {
		r := f.runRound()
		slowest := 0.0
		for g := range hubs {
			longest := 0.0
			for k := g * size; k < min((g+1)*size, len(sizes)); k++ {
				rate := f.clients.Fleet().Rate(k)
				longest = max(longest, 2*shortS(message)+f.workOf(k).FLOPs/rate)
			}
			slowest = max(slowest, 2*transferS+rounds*longest)
		}
		if took := r.TimeS - before; math.Abs(took-slowest) > 20*nanosecond {
			t.Errorf("round %d takes %.9f s, want %.9f", h, took, slowest)
		}
		if want := float64(hubs * message); r.BytesDown != want || r.BytesUp != want {
			t.Errorf("round %d: %g bytes down, %g up on the long links, want %g", h, r.BytesDown, r.BytesUp, want)
		}
		work := 0.0
		for k := range sizes {
			work += rounds * f.workOf(k).FLOPs
		}
		if math.Abs(r.FLOPs-work) > 1e-9*work || r.Participants != len(sizes) {
			t.Errorf("round %d: %g FLOPs of %d devices, want %g", h, r.FLOPs, r.Participants, work)
		}
		before = r.TimeS
	}
}

// A hub whose devices never respond keeps its model, and the others report. A device that
// fails in one round of its hub works in the next.
func TestHubsWithoutResponses(t *testing.T) {
	never := run(t, tiersWorld(t, protocols.First, 3, 4, func(s *Setup) { s.Faults.Never = []int{3, 4, 5} }))
	for h, r := range never.Rounds[1:] {
		if r.Participants != 4 || r.BytesUp != 2*message {
			t.Errorf("round %d: %d devices took part with %g bytes, want those of two hubs", h, r.Participants,
				r.BytesUp)
		}
	}
	all := run(t, tiersWorld(t, protocols.First, 3, 4, func(s *Setup) { s.Faults.DropProbability.All = 1 }))
	if all.Rounds[0].Primal != all.Rounds[10].Primal || all.Rounds[10].Participants != 0 {
		t.Error("a run in which all devices drop changes the model")
	}
	// With p = 0.5, a device responds in one of 8 rounds of its hub with probability 1 - 1/256.
	some := run(t, tiersWorld(t, protocols.First, 3, 8, func(s *Setup) { s.Faults.DropProbability.All = 0.5 }))
	took := 0
	for _, r := range some.Rounds[1:] {
		took += r.Participants
	}
	if all := 10 * len(sizes); took < all-4 {
		t.Errorf("%d of %d devices have a part in reports: failures in a round of a hub last", took, all)
	}
}

// The server forgets what hubs gathered when it takes no report: too few devices responded.
func TestReportsThatAreNotTaken(t *testing.T) {
	out := run(t, tiersWorld(t, protocols.First, 3, 4, func(s *Setup) {
		s.Faults.Never = []int{3}
		s.Config.MinReports = len(sizes)
	}))
	for h, r := range out.Rounds {
		if r.Primal != out.Rounds[0].Primal || r.Participants != 0 {
			t.Errorf("round %d: P = %g with %d devices, want %g with none", h, r.Primal, r.Participants,
				out.Rounds[0].Primal)
		}
	}
}

// A charged round lasts as long as all rounds of a hub, and a device that fits its work into the
// clock cycle leaves time for all of them: nobody is late.
func TestRoundsOfHubsFitIntoTheRound(t *testing.T) {
	for _, protocol := range []string{protocols.Charged, protocols.Deadline} {
		const rounds = 4
		f := start(t, tiersWorld(t, protocol, 3, rounds, func(s *Setup) {
			s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 0.5
			s.Options.(*methods.HierFAvgOptions).Epochs = 0
			s.Config.Fit, s.Config.DeadlineS = protocol == protocols.Deadline, 2
		}))
		f.clients.Begin()
		before := 0.0
		for h := range 5 {
			r := f.runRound()
			if r.Participants != len(sizes) || r.Late != 0 {
				t.Fatalf("%s, round %d: %d devices took part, %d were late", protocol, h, r.Participants, r.Late)
			}
			if protocol == protocols.Deadline { // one step more would not fit
				for k := range sizes {
					rate := f.clients.Fleet().Rate(k)
					one := f.work.StepFLOPs / rate
					if used := 2*transferS + rounds*(2*shortS(message)+f.workOf(k).FLOPs/rate); used > 2+nanosecond ||
						used+rounds*one < 2-nanosecond {
						t.Errorf("round %d: device %d uses %.9f s of 2, a step takes %.9f", h, k, used, one)
					}
				}
			}
			if r.TimeS <= before {
				t.Errorf("%s, round %d took no time", protocol, h)
			}
			before = r.TimeS
		}
	}
}

// The steps of the rows by device are those of all rounds of a hub: together those of the run.
func TestRowsHaveTheStepsOfEveryHubRound(t *testing.T) {
	var seen entries
	out := run(t, tiersWorld(t, federation.WaitForAll, 2, 3, func(s *Setup) { s.Journal = &seen }))
	steps := int64(0)
	for _, e := range seen {
		if e.Kind == federation.ResponseArrived {
			steps += int64(e.Amount)
		}
	}
	if steps != out.Steps || steps == 0 {
		t.Errorf("%d steps behind responses, %d of the run", steps, out.Steps)
	}
}
