package protocols

import (
	"math"
	"testing"

	"fedsim/federation"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/expect"
)

// arrivals are the instants of responses, in seconds.
type arrivals []float64

func (a *arrivals) Note(e federation.Entry) {
	if e.Kind == federation.ResponseArrived {
		*a = append(*a, e.To.Seconds())
	}
}

// TestPlansFitTheHeat plays rounds of 600 s in which a device that does a step a second throttles after 416 s. The
// numbers of steps and the responses are those of a program that integrates its temperature in closed form.
func TestPlansFitTheHeat(t *testing.T) {
	type plan struct{ steps, at float64 }
	for _, c := range []struct {
		answerTimeout float64
		want          []plan
	}{
		{0, []plan{{507, 598.111691664}, {371, 1198.883895008}}},
		{300, []plan{{300, 300}}}, // a later response would be given up
	} {
		var seen arrivals
		f := servertest.Start(t, servertest.World(Deadline, func(s *federation.Setup) {
			d, l := &s.Devices, &s.Network
			s.Clients, s.Rows, s.Journal = 1, []int32{1000}, &seen
			s.Config.DeadlineS, s.Config.Fit, s.Config.Margin, s.Config.AnswerTimeoutS = 600, true, 0, c.answerTimeout
			d.ClockGHz, d.IdleW, d.ComputeW, d.KPerW, d.JPerK = servertest.StepFLOPs*1e-9, 0.5, 5.5, 6, 100
			l.DownlinkMbps, l.UplinkMbps, l.RTTms = 1e9, 1e9, 0
		}), 1)
		of := f.Play(len(c.want))
		for h, want := range c.want {
			steps := of.Rounds[h].FLOPs / servertest.StepFLOPs
			expect.That(t, of.Rounds[h].Participants == 1 && math.Abs(steps-want.steps) < 1e-6,
				"round %d has %g steps, want %g", h+1, steps, want.steps)
			expect.That(t, math.Abs(seen[h]-want.at) <= 5e-9, "round %d: the response arrives at %.9f s, want %.9f",
				h+1, seen[h], want.at)
		}
	}
}
