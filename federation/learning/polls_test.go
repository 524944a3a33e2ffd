package learning

import (
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
)

// arrivals is a journal of the instants at which the server has responses.
type arrivals []engine.Time

func (a *arrivals) Note(e federation.Entry) {
	if e.Kind == federation.ResponseArrived {
		*a = append(*a, e.To)
	}
}

// Without rounds the server polls from time 0 on.
func TestAsynchronousServersPoll(t *testing.T) {
	var all arrivals
	run(t, world(t, "fedasync", federation.Asynchronous, func(s *Setup) {
		s.Network.ServerPollS, s.Journal = 0.25, &all
	}))
	polls := map[engine.Time]bool{}
	for _, at := range all {
		if at%engine.FromSeconds(0.25) != 0 {
			t.Fatalf("a response is seen at %d", at)
		}
		polls[at] = true
	}
	if len(all) < 30 || len(polls) < 10 {
		t.Errorf("%d responses at %d polls", len(all), len(polls))
	}
}

// The work that fits into a deadline leaves time for the mean waits. A deadline before the first
// poll at which a response can be seen is refused.
func TestDeadlinesPlanWithMeanWaits(t *testing.T) {
	budget := func(clientS, launchS, serverS, processS float64) int32 {
		f := start(t, world(t, "mb-sgd", federation.Deadline, func(s *Setup) {
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
		{0.48, 0, 0, 0, 0.24}, {0, 0.48, 0, 0, 0.24}, {0, 0, 0.48, 0, 0.24}, {0, 0, 0, 0.24, 0.24}, {0.24, 0.24, 0.24, 0.12, 0.48},
	} {
		if got, want := budget(c.client, c.launch, c.server, c.process), plain-int32(c.less/0.024+0.5); got != want {
			t.Errorf("%+v: %d steps, want %d of %d", c, got, want, plain)
		}
	}
	for _, serverS := range []float64{1.9, 3.1} {
		setup := world(t, "mb-sgd", federation.Deadline, func(s *Setup) { s.Network.ServerPollS, s.Config.DeadlineS = serverS, 2 })
		if _, err := New(setup); (err != nil) != (serverS > 2) {
			t.Errorf("a poll each %g s with a deadline of 2 s: %v", serverS, err)
		}
	}
}

// flapping is an availability trace of clients that are available every other 0.1 s.
type flapping struct{}

func (flapping) Available(_ int, at engine.Time) (bool, engine.Time) {
	i := at / engine.FromSeconds(0.1)
	return i%2 == 0, (i + 1) * engine.FromSeconds(0.1)
}

// A server without rounds waits for the poll that delivers the responses, though no client can ever be
// available again: all batteries are empty after some seconds and never charged.
func TestServerAwaitsResponsesOfDepletedClients(t *testing.T) {
	var all arrivals
	run(t, world(t, "fedasync", federation.Asynchronous, func(s *Setup) {
		s.Network.ServerPollS, s.Journal = 1000, &all
		s.Devices.BatteryWh, s.Devices.ChargeW = 3.0/3600, 0
		s.Availability, s.Faults.OnReturn = flapping{}, devices.Resume
	}))
	if len(all) == 0 || all[0] != engine.FromSeconds(1000) {
		t.Errorf("responses are seen at %d", all)
	}
}
