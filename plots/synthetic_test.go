package plots

import (
	"fmt"
	"math"

	"fedsim/internal/tools/rng"
	"fedsim/results"
)

// race is a synthetic method: the length of a round, the decay rate per round, a lower
// bound, and noise by seed.
type race struct {
	method, algorithm string
	work              float64 // seconds per round without communication
	rate, floor       float64
	noise             float64
	rounds            int
}

// run returns a run that stops at 1e-3.
func (r race) run(seed uint64, comm float64, point ...results.Setting) results.Run {
	out := results.Run{
		ID:         fmt.Sprintf("%s%v/%d", r.method, point, seed),
		Experiment: "x", Method: r.method, Algorithm: r.algorithm, Point: point, Seed: seed,
		Status: results.Done, Reporting: results.Reporting{StopAt: results.ToSuboptimality(1e-3)},
		Reference: results.Reference{Optimum: 2, OptimumGap: 1e-9},
	}
	s := rng.New(seed, rng.Synthetic, len(r.method), int(1e3*comm))
	t, level := 0.0, 1.5*math.Exp(0.2*s.Normal())
	rate := r.rate * math.Exp(0.05*s.Normal())
	for h := 0; h <= r.rounds; h++ {
		sub := (level + r.floor) * math.Exp(r.noise*s.Normal())
		out.Rounds = append(out.Rounds, results.Round{
			Round: h, TimeS: t, Primal: 2 + 2*sub, Dual: math.NaN(), Gap: 3 * sub, Suboptimality: sub,
			TrainError: 0.02 + 0.3*sub/(1+sub), TestError: 0.04 + 0.3*sub/(1+sub), FLOPs: 1e7 * r.work,
			BytesUp: 4488 * 30, EnergyJ: 12,
		})
		if sub <= 1e-3 {
			break
		}
		t += (comm + r.work) * math.Exp(0.1*s.Normal())
		level *= math.Exp(-rate)
	}
	return out
}

var methods = []race{
	{"MOCHA", "mocha", 0.4, 0.03, 0, 0, 2000},
	{"CoCoA", "cocoa", 5, 0.029, 0, 0, 2000},
	{"Mb-SDCA", "mb-sdca", 0.2, 0.0016, 0, 0, 2000},
	{"Mb-SGD", "mb-sgd", 0.2, 0.004, 0.02, 0.1, 2000},
}

var networks = []struct {
	name string
	comm float64
}{{"3g", 4}, {"lte", 0.6}, {"wifi", 0.08}}

// methodRuns returns runs like those of the first figure of the paper.
func methodRuns(seeds uint64) []results.Run {
	var runs []results.Run
	for _, net := range networks {
		for _, m := range methods {
			for seed := uint64(1); seed <= seeds; seed++ {
				runs = append(runs, m.run(seed, net.comm, results.Setting{Key: "network", Value: net.name}))
			}
		}
	}
	return runs
}

func methodFigure() results.Figure {
	return results.Figure{File: "methods", Title: "Statistical heterogeneity", Panel: "network", Series: "method",
		X: "time_s", Y: "suboptimality", XScale: "linear", YScale: "log"}
}

var drops = []string{"0", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95"}

// faultRuns returns runs like those of the third figure of the paper: drop probabilities,
// and a device that never responds.
func faultRuns(seeds uint64) []results.Run {
	var runs []results.Run
	for i, outer := range []string{"one W update", "whole method"} {
		for _, p := range append(append([]string(nil), drops...), "never") {
			r := race{"MOCHA", "mocha", 0.4, 0.05 / float64(1+i), 0, 0, 1600}
			if p == "never" {
				r.floor = 9.3e-3
			} else {
				var q float64
				fmt.Sscan(p, &q)
				r.rate *= 1 - q
			}
			for seed := uint64(1); seed <= seeds; seed++ {
				runs = append(runs, r.run(seed, 0.6, results.Setting{Key: "updates", Value: outer},
					results.Setting{Key: "faults.drop_probability", Value: p}))
			}
		}
	}
	return runs
}

func faultFigure() results.Figure {
	return results.Figure{File: "faults", Title: "Fault tolerance", Panel: "updates", Series: "faults.drop_probability",
		X: "time_s", Y: "suboptimality", XScale: "linear", YScale: "log", Emphasis: "never"}
}
