package results

import "math"

// Theta is the accuracy of a device's local solve in a round, theta_t^h of eq.
// localSolutionQuality2a: 0 exact, 1 no progress, more than 1 for a method whose
// update made the subproblem worse, NaN when not known.
type Theta struct {
	Value    float64 // NaN: the update is from an earlier round
	Accepted bool    // the server used the device's update; Value is 1 otherwise
}

// Stragglers returns the empirical constants of Assumption 2 over a run: pMax,
// the largest share over the devices of their rounds with theta = 1 (or more),
// and thetaMax, the largest mean over the devices of the theta of their other
// rounds. Rounds without measurements and updates with an unknown theta are left out.
// Both are NaN without measurements; thetaMax is also NaN when no device made progress.
func Stragglers(run *Run) (pMax, thetaMax float64) {
	type device struct {
		rounds, stuck int
		sum           float64
	}
	var devices []device
	for i := range run.Rounds {
		for t, theta := range run.Rounds[i].Thetas {
			if t == len(devices) {
				devices = append(devices, device{})
			}
			d := &devices[t]
			if math.IsNaN(theta.Value) {
				continue
			}
			d.rounds++
			if theta.Value >= 1 {
				d.stuck++
			} else {
				d.sum += theta.Value
			}
		}
	}
	pMax, thetaMax = math.NaN(), math.NaN()
	for _, d := range devices {
		if d.rounds == 0 {
			continue
		}
		if share := float64(d.stuck) / float64(d.rounds); !(pMax >= share) {
			pMax = share
		}
		if moved := d.rounds - d.stuck; moved > 0 && !(thetaMax >= d.sum/float64(moved)) {
			thetaMax = d.sum / float64(moved)
		}
	}
	return pMax, thetaMax
}
