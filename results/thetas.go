package results

import "math"

// Stragglers are the empirical constants of Assumption 2 over a run in which theta was measured.
type Stragglers struct {
	PMax     float64 // largest share over the devices of their rounds with theta = 1 (or more)
	ThetaMax float64 // largest mean over the devices of the theta of their other rounds; NaN: none made progress
}

// StragglersOf returns the constants over rounds with their Thetas. Rounds without measurements and
// updates with an unknown theta are left out. Without measurements it returns nil.
func StragglersOf(rounds []Round) *Stragglers {
	type device struct {
		rounds, stuck int
		sum           float64
	}
	var devices []device
	for i := range rounds {
		for t, theta := range rounds[i].Thetas {
			if t == len(devices) {
				devices = append(devices, device{})
			}
			d := &devices[t]
			if math.IsNaN(theta) {
				continue
			}
			d.rounds++
			if theta >= 1 {
				d.stuck++
			} else {
				d.sum += theta
			}
		}
	}
	s := Stragglers{PMax: math.NaN(), ThetaMax: math.NaN()}
	for _, d := range devices {
		if d.rounds == 0 {
			continue
		}
		if share := float64(d.stuck) / float64(d.rounds); !(s.PMax >= share) {
			s.PMax = share
		}
		if moved := d.rounds - d.stuck; moved > 0 && !(s.ThetaMax >= d.sum/float64(moved)) {
			s.ThetaMax = d.sum / float64(moved)
		}
	}
	if math.IsNaN(s.PMax) {
		return nil
	}
	return &s
}
