package learning

import (
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation/protocols"
)

// No more devices work at a time than the server asks for, as many do, and all get
// their turn.
func TestConcurrency(t *testing.T) {
	for i, k := range []int{1, 3, len(sizes), 3, 3} {
		most, method := 0, "async-mocha"
		if i == 4 {
			method = "ringmaster"
		}
		var f *Federation
		f = start(t, world(t, method, protocols.Asynchronous, func(s *Setup) {
			busyNetwork(s)
			if stopsOld(s, 1, true); i == 4 {
				s.Faults.DropProbability.All, s.Faults.DropPhase = 0.3, devices.AtStart // without their work
			}
			s.Config.Clients.Count, s.Schedule.Rounds = k, 60
			s.Config.ServerGFLOPS = 1e-6
			if i == 3 {
				s.Config.Selection = "uniform-rejection"
			}
			s.Hooks = &engine.Hooks{Fired: func(engine.Event) {
				working := 0
				for d := range f.setup.Clients {
					if f.server.Attempt(int(d)).Expected {
						working++
					}
				}
				most = max(most, working)
			}}
		}))
		finish(t, f)
		if most != k {
			t.Errorf("%d devices at most work at a time, want %d", most, k)
		}
		for d := range f.setup.Clients {
			if f.clients.Number(d) < 0 {
				t.Errorf("%d at a time: device %d was never asked", k, d)
			}
		}
	}
}
