package learning

import (
	"math"
	"testing"

	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/expect"
)

// Without rounds each update that the server takes is one between the message and the response of all others at
// work: the mean is their number, but for those at work at the end.
func TestStalenessWithoutRounds(t *testing.T) {
	for _, atWork := range []int{1, 3, 5} {
		s := world(t, "fedasync", protocols.Asynchronous, func(s *Setup) {
			s.Config.Clients.Count, s.Schedule.Rounds = atWork, 400
			s.Devices.SpreadWidth = 0.4
		})
		sum, updates := 0.0, 0.0
		for _, r := range run(t, timed(t, s)).Rounds[1:] {
			sum, updates = sum+r.Staleness*float64(r.Participants), updates+float64(r.Participants)
		}
		expect.That(t, math.Abs(sum/updates-float64(atWork-1)) <= 0.02*float64(atWork-1),
			"%d at work: a mean staleness of %g", atWork, sum/updates)
	}
}

// With rounds an update is as stale as it is late.
func TestStalenessOfRounds(t *testing.T) {
	for _, late := range []string{federation.Drop, federation.Keep} {
		s := world(t, "fedavg", protocols.Deadline, func(s *Setup) {
			s.Config.DeadlineS, s.Config.Fit, s.Config.Late, s.Schedule.Rounds = 100, false, late, 40
		})
		slowest := 0.0
		f := expect.Value(New(timed(t, s)))(t)
		for client := range s.Problem.Clients() {
			slowest = max(slowest, f.UsualResponse(client).Seconds())
		}
		s.Config.DeadlineS = 0.7 * slowest
		stale := false
		for _, r := range run(t, timed(t, s)).Rounds[1:] {
			expect.That(t, math.IsNaN(r.Staleness) == (r.Participants == 0), "%s: %d updates have staleness %g", late,
				r.Participants, r.Staleness)
			stale = stale || r.Staleness > 0
		}
		expect.That(t, stale == (late == federation.Keep), "%s: an update is stale: %t", late, stale)
	}
}
