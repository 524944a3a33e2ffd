package learning

import (
	"testing"

	"fedsim/federation/protocols"
)

// The work that fits into a deadline leaves time for the mean waits. A deadline before the first
// poll at which a response can be seen is refused.
func TestDeadlinesPlanWithMeanWaits(t *testing.T) {
	budget := func(clientS, launchS, serverS, processS float64) int32 {
		f := start(t, world(t, "mb-sgd", protocols.Deadline, func(s *Setup) {
			n := &s.Network
			n.ClientPollS, n.LaunchPollS, n.ServerPollS, n.LaunchS = clientS, launchS, serverS, processS
			s.Config.DeadlineS = 2
		}))
		f.clients.Begin()
		f.runRound()
		return int32(f.budget(0))
	}
	// A step takes 4 * features = 24 ms.
	plain := budget(0, 0, 0, 0)
	for _, c := range []struct{ client, launch, server, process, less float64 }{
		{0.48, 0, 0, 0, 0.24}, {0, 0.48, 0, 0, 0.24}, {0, 0, 0.48, 0, 0.24}, {0, 0, 0, 0.24, 0.24},
		{0.24, 0.24, 0.24, 0.12, 0.48},
	} {
		if got, want := budget(c.client, c.launch, c.server, c.process), plain-int32(c.less/0.024+0.5); got != want {
			t.Errorf("%+v: %d steps, want %d of %d", c, got, want, plain)
		}
	}
	for _, serverS := range []float64{1.9, 3.1} {
		setup := world(t, "mb-sgd", protocols.Deadline,
			func(s *Setup) { s.Network.ServerPollS, s.Config.DeadlineS = serverS, 2 })
		if _, err := New(setup); (err != nil) != (serverS > 2) {
			t.Errorf("a poll each %g s with a deadline of 2 s: %v", serverS, err)
		}
	}
}
