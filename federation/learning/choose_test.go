package learning

import (
	"errors"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/racetest"
	"fedsim/results"
)

// Only those that are asked take part, are waited for, or change.
func TestASampleTakesPart(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, protocols.Deadline, protocols.Charged} {
		f := start(t, world(t, "mocha", protocol, func(s *Setup) {
			s.Config.Clients.Count = 3
			if protocol != federation.WaitForAll {
				s.Faults.DropProbability.All = 0.2
			}
		}))
		f.clients.Begin()
		for h := range 30 {
			before := slices.Clone(f.method.Model().Duals)
			for k := range before {
				before[k] = slices.Clone(before[k])
			}
			r := f.runRound()
			if r.Participants+r.Dropped+r.Late != 3 {
				t.Errorf("%s, round %d: %d took part, %d dropped, %d late: want 3 together", protocol, h,
					r.Participants, r.Dropped, r.Late)
			}
			if protocol == federation.WaitForAll && r.Participants != 3 {
				t.Errorf("round %d: %d took part, want all 3 asked", h, r.Participants)
			}
			for k := range f.setup.Clients {
				if !slices.Contains(f.server.CurrentRound().Asked(), int32(k)) &&
					!slices.Equal(before[k], f.method.Model().Duals[k]) {
					t.Errorf("%s, round %d: device %d was not asked and has changed", protocol, h, k)
				}
			}
		}
	}
}

func TestMoreClientsThanDevicesAreRefused(t *testing.T) {
	_, err := New(world(t, "mocha", federation.WaitForAll, func(s *Setup) { s.Config.Clients.Count = 8 }))
	var problem config.Problem
	if !errors.As(err, &problem) || problem.Key != "federation.clients_per_round" {
		t.Errorf("8 clients of 7 devices: %v", err)
	}
	_, err = New(world(t, "cocoa", federation.WaitForAll, func(s *Setup) { s.Config.Clients.Count = 3 }))
	if !errors.As(err, &problem) || problem.Key != "federation.clients_per_round" {
		t.Errorf("cocoa with 3 of 7 devices: %v", err)
	}
}

// blinking is the presence of devices that are all away for most of each second,
// and for good after a hundred.
type blinking struct{}

func (blinking) Available(device int, at engine.Time) (bool, engine.Time) {
	const second = engine.Time(1e9)
	whole := at - at%second
	if whole == 100*second {
		return false, engine.Never
	}
	if from := whole + engine.Time(1e8*float64(device+1)); at < from {
		return false, from
	} else if to := from + 5e7; at < to {
		return true, to
	}
	return false, whole + second + 1e8
}

// A round begins with the first device that can be reached, however the devices
// are drawn and however long none could be: that the server looked for them before
// changes nothing.
func TestEverySelectionWaitsForTheFirstDevice(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	for _, protocol := range []string{protocols.Deadline, protocols.Charged, protocols.First} {
		for _, asked := range []int{len(sizes), 5} {
			var uniform *Outcome
			for _, selection := range append([]string{"uniform", "data", "speed"}, papersSelectors()...) {
				f := start(t, world(t, "mocha", protocol, func(s *Setup) {
					s.Availability = blinking{}
					selectBy(s, selection, asked, len(sizes))
					s.Config.Fit = false
					s.Config.DeadlineS, s.Schedule.Rounds = 0.2, 40
					s.Options.(*algorithms.MOCHAOptions).Epochs = 0.01
				}))
				out := finish(t, f)
				if uniform == nil {
					uniform = out
				}
				if out.Status != results.Done || len(out.Rounds) != 41 {
					t.Errorf("%s, %s of %d devices: %s after %d rounds: %s", protocol, selection, asked, out.Status,
						len(out.Rounds)-1, out.Reason)
				}
				// When all are asked, the draw decides nothing.
				if asked == len(sizes) && out.EventHash != uniform.EventHash {
					t.Errorf("%s: the events of %s are not those of %s", protocol, selection, "uniform")
				}
			}
		}
	}
}
