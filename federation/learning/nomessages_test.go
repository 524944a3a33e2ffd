package learning

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/protocols"
)

// Local learning is MOCHA on tasks that are not coupled, with the same dropouts and the same
// models, bit for bit. It sends no byte, waits for no link, and its devices pay for their
// computations alone, on any network and under any cost model.
func TestLocalLearningSendsNothing(t *testing.T) {
	independent := world(t, "local", federation.WaitForAll, nil).Problem
	for _, c := range []struct {
		name   string
		change func(*Setup)
	}{
		{"physical", func(*Setup) {}},
		{"relative", func(s *Setup) { s.Config.Cost = federation.Relative }},
		{"radio states", func(s *Setup) { s.Network.Profile, s.Network.Radio = "lte", "states" }},
		{"losses", func(s *Setup) { s.Network.LossProbability, s.Network.Jitter = 0.3, 0.5 }},
		{"shared links", func(s *Setup) {
			s.Network.ServerDownMbps = 1
			s.Network.RushShare, s.Network.RushToH = 0.5, 9
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			drops := func(s *Setup) {
				different(s)
				c.change(s)
				s.Faults.DropProbability.All, s.Faults.DropPhase = 0.3, devices.AtUpload
				s.Config.Protocol, s.Config.Fit, s.Config.DeadlineS = protocols.Deadline, false, 30
				s.Options.(*algorithms.MOCHAOptions).Epochs = 1
			}
			s := world(t, "local", protocols.Deadline, drops)
			f := start(t, s)
			out := finish(t, f)
			lost := 0
			for h, r := range out.Rounds {
				if r.BytesDown != 0 || r.BytesUp != 0 {
					t.Fatalf("round %d: %g bytes down and %g up", h, r.BytesDown, r.BytesUp)
				}
				lost += r.Dropped
			}
			if lost == 0 {
				t.Error("no device has dropped: its work must be lost")
			}
			// Idle power all the time, and the power of computing beyond it while a device computes.
			last, joules, flops := out.Rounds[len(out.Rounds)-1], 0.0, 0.0
			for _, r := range out.Rounds {
				joules += r.EnergyJ
				flops += r.FLOPs
			}
			idle := last.TimeS * idleW * float64(len(sizes))
			least, most := math.Inf(1), 0.0
			for k := range sizes {
				rate := f.clients.Fleet().Rate(k)
				least, most = min(least, rate), max(most, rate)
			}
			if extra := joules - idle; extra < flops/most*(computeW-idleW)*(1-1e-9) ||
				extra > flops/least*(computeW-idleW)*(1+1e-9) {
				t.Errorf("%g J beyond idling, for computations of %g to %g J", extra, flops/most*(computeW-idleW),
					flops/least*(computeW-idleW))
			}
			if c.name == "losses" {
				return // MOCHA loses messages
			}
			m := run(t, world(t, "mocha", protocols.Deadline, func(s *Setup) {
				s.Problem = independent
				drops(s)
				s.Config.DeadlineS = 1e4
			}))
			if m.ModelHash != out.ModelHash {
				t.Error("the models differ from those of mocha on the same tasks")
			}
		})
	}
}
