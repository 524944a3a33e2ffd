package learning

import (
	"testing"

	"fedsim/federation/protocols"
	"fedsim/network"
)

// states gives devices the radio of a profile with all its states, but the rates and
// the latency of the tests.
func states(s *Setup, profile string) {
	s.Network.Profile, s.Network.Radio = profile, network.RadioStates
}

// Under a deadline the controller of a device includes the promotion after a long
// computation, so that its response is in time.
func TestControllersKnowPromotions(t *testing.T) {
	for _, deadline := range []float64{2, 10.3, 10.6, 11, 11.5, 25} { // around the 10 s of the tail
		f := start(t, world(t, "mocha", protocols.Deadline, func(s *Setup) {
			s.Config.DeadlineS = deadline
			states(s, "3g")
		}))
		f.clients.Begin()
		for range 4 {
			if r := f.runRound(); r.Participants != f.setup.Clients {
				t.Errorf("deadline of %g s: %+v", deadline, r)
			}
		}
	}
}
