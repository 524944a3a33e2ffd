package compare

import (
	"fmt"
	"math"

	"fedsim/results"
	"fedsim/results/rundir"
)

// times holds the seconds to a sub-optimality of 0.1 by seed; NaN: not reached.
type times map[uint64]float64

// runsOf returns the runs of a case, ordered by seed. A run has two rounds of equal
// length, with sub-optimalities 0.5 and 0.1, test errors 0.25 and 0.21, and in each round
// 1 J and 100 bytes.
func runsOf(experiment, method string, point []results.Setting, seconds times) []results.Run {
	var runs []results.Run
	for seed := uint64(1); seed <= 9; seed++ {
		s, ok := seconds[seed]
		if !ok {
			continue
		}
		r := results.Run{
			ID:         fmt.Sprintf("%s/%s/%v/%d", experiment, method, point, seed),
			Experiment: experiment, Method: method, Algorithm: "mocha", Point: point, Seed: seed, Status: results.Done,
		}
		last := 0.1
		if math.IsNaN(s) {
			s, last = 100, 0.3
		}
		for h, sub := range []float64{1, 0.5, last} {
			x := results.Round{Round: h, TimeS: float64(h) * s / 2, Suboptimality: sub, Primal: 1 + sub,
				TestError: 0.2 + 0.1*sub}
			if h > 0 {
				x.EnergyJ, x.BytesDown, x.BytesUp = 1, 60, 40
			}
			r.Rounds = append(r.Rounds, x)
		}
		runs = append(runs, r)
	}
	return runs
}

// directory returns a finished run directory.
func directory(name, scenario string, runs ...[]results.Run) *rundir.Results {
	d := &rundir.Results{Dir: name, Scenario: []byte(scenario)}
	m := &d.Manifest
	m.Version, m.Go, m.Platform.OS, m.Platform.Arch = "v1.0.0", "go1.26", "linux", "amd64"
	m.State, m.Targets = rundir.Complete, results.ToSuboptimalities(0.5, 0.1)
	for _, r := range runs {
		d.Runs = append(d.Runs, r...)
	}
	return d
}
