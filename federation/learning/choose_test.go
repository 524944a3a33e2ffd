package learning

import (
	"testing"

	"fedsim/algorithms"
	"fedsim/engine"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/racetest"
	"fedsim/results"
)

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
