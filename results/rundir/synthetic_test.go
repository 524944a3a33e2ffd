package rundir

import (
	"fmt"
	"math"
	"time"

	"fedsim/results"
)

// network is the communication cost of one round, seconds.
var networks = []struct {
	name string
	comm float64
}{{"3g", 2}, {"lte", 0.25}, {"wifi", 0.03125}}

// syntheticRuns are two experiments as a scenario makes them: four methods on
// three networks under seeds 1 to 3, and one method under drop probabilities
// with a device that never answers. The curves fall geometrically.
func syntheticRuns() []results.Run {
	var runs []results.Run
	add := func(r results.Run, rate, floor, roundS float64) {
		point := ""
		for _, s := range r.Point {
			point += "/" + s.Value
		}
		r.ID = fmt.Sprintf("%s/%s%s/%d", r.Experiment, r.Method, point, r.Seed)
		r.Optimum, r.OptimumGap, r.WallS = 3.6208, 1e-9/3, 0.125*float64(len(runs))
		if r.Algorithm == "cocoa" {
			r.Limit, r.Capped = "max_epochs", int64(r.Seed-1)
			r.ProgramTime = &results.ProgramTime{EvaluateS: float64(r.Seed), GradientS: 0.5}
		}
		if r.Algorithm == "mocha" {
			r.Trials, r.ReportLast = 9, 3
			limit := results.NewRound()
			limit.TrainError, limit.TestError = 0.01, 0.03*float64(r.Seed)
			r.AtOptimum = &limit
		}
		r.EventHash, r.ModelHash = 0x9e3779b97f4a7c15*uint64(len(runs)+1), 0xd6e8feb86659fd93*uint64(len(runs)+1)
		if r.Status == "" {
			r.Status = results.Done
		}
		for h := 0; h <= 40; h++ {
			x := results.NewRound()
			x.Outer, x.Round, x.TimeS = h/20, h, roundS*float64(h)*(1+float64(r.Seed%10)/64)
			x.Suboptimality = math.Exp(-rate*float64(h)) + floor
			x.Primal = r.Optimum * (1 + x.Suboptimality)
			if r.Algorithm == "mocha" {
				x.Dual = -r.Optimum * (1 - x.Suboptimality/3)
				x.Gap = x.Primal + x.Dual
			}
			if h%5 == 0 {
				x.TrainError, x.TestError = 0.25/float64(h+1), 0.3/float64(h+1)
			}
			if h > 0 {
				x.Available, x.Participants, x.Dropped, x.Late = 30, 29, 1, h%2
				x.FLOPs, x.BytesDown, x.BytesUp, x.EnergyJ = 1e9/3, 4488*30, 4488*29, 0.1*float64(h)
			}
			r.Rounds = append(r.Rounds, x)
		}
		runs = append(runs, r)
	}
	for _, net := range networks {
		for _, m := range []struct {
			name, algorithm string
			rate, work      float64
		}{{"MOCHA", "mocha", 0.4, 0.125}, {"CoCoA", "cocoa", 0.38, 1.5}, {"Mb-SDCA", "mb-sdca", 0.08, 0.0625},
			{"Mb-SGD", "mb-sgd", 0.05, 0.0625}} {
			for seed := uint64(1); seed <= 3; seed++ {
				add(results.Run{Experiment: "fig1", Method: m.name, Algorithm: m.algorithm, Seed: seed,
					Point:  []results.Setting{{Key: "network", Value: net.name}},
					Tuning: results.Tuning{Tuned: []results.Setting{{Key: "mocha.epochs", Value: "5"}}}}, m.rate, 0,
					net.comm+m.work)
			}
		}
	}
	for _, p := range []string{"0", "0.5", "0.9", "never"} {
		r := results.Run{Experiment: "fig3", Method: "MOCHA", Algorithm: "mocha", Seed: 18446744073709551615,
			Point: []results.Setting{{Key: "faults.drop_probability", Value: p}}, Real: true}
		r.Data = &results.DataSet{Name: "mine",
			Labels: []results.Label{{Value: 0, Class: "a"}, {Value: 1, Class: "b <c>"}}, DroppedRows: 2,
			MissingValues: 3}
		if p == "never" {
			r.Data = &results.DataSet{Name: "mine", FilledRows: 1, MissingValues: 1}
		}
		rate, floor := 0.4, 0.0
		switch p {
		case "0.5":
			rate = 0.2
		case "0.9":
			rate = 0.04
		case "never":
			floor, r.Status, r.Reason = 9.3e-3, results.Stalled, "device 0, \"the first\", never answers"
		}
		add(r, rate, floor, 0.3125)
	}
	return runs
}

var testTargets = results.ToSuboptimalities(1e-1, 1e-2, 1e-3)

func testAbout() About {
	return About{
		Version:  "v0.1.0",
		Command:  []string{"fedsim", "run", "x.toml", "--set", "a=\"<b>\""},
		Seeds:    []uint64{1, 2, 3, 18446744073709551615},
		Data:     "synthetic, 30 tasks",
		Scenario: []byte("# resolved\n[run]\nseeds = [1]\n"),
		Targets:  testTargets,
		Started:  time.Date(2017, 12, 4, 9, 0, 0, 0, time.UTC),
	}
}

var testFinished = time.Date(2017, 12, 4, 9, 1, 0, 5, time.UTC)
