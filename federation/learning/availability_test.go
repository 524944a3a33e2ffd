package learning

import (
	"fmt"

	"fedsim/devices"
	"fedsim/engine"
	_ "fedsim/internal/tools/rapidseed"
)

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
