package scenarios

import "fedsim/config"

// RunConfig is the table [run] of a scenario.
type RunConfig struct {
	Mode       string    `toml:"mode" doc:"\"learning\", or \"timing\": events, times, bytes and energy alone, as if every local step were taken and nothing learnt, for methods whose work does not depend on what they learn"`
	Rounds     int       `toml:"rounds" doc:"rounds of a W update, that is, per outer iteration"`
	Outer      int       `toml:"outer" doc:"outer iterations; between two of them the coupling is updated, so that 1 is a single W update"`
	EvalEvery  int       `toml:"eval_every" doc:"rounds between two evaluations of objective and errors, which cost no virtual time; the last round is always evaluated"`
	EvalTasks  int       `toml:"eval_tasks" doc:"tasks that objective and errors are evaluated on, drawn once for a run: loss and dual are then estimated from their means, the errors are theirs; 0: all"`
	ThetaEvery int       `toml:"theta_every" doc:"rounds between two measurements of the accuracy theta_t^h of every device's local solve (eq. localSolutionQuality2a), which cost no virtual time but an exact local solve each; written to thetas.csv. Methods without dual variables have none. 0: never"`
	Devices    bool      `toml:"devices" doc:"whether devices.parquet is written: what each device did in each round, in rows x devices x rounds; see reading.md"`
	StopAt     float64   `toml:"stop_at" doc:"relative sub-optimality (P - P*)/|P* - R(0)| at which a run ends, where R(0), the terms in Omega alone, is 0 for all regularisers but \"graphical\"; 0: runs all its rounds"`
	MaxTimeS   float64   `toml:"max_time_s" doc:"virtual seconds after which no further round begins; 0: no limit"`
	Seeds      []uint64  `toml:"seeds" doc:"seeds of the repetitions of every run; methods are tuned on the first"`
	Targets    []float64 `toml:"targets" doc:"relative sub-optimalities for which rounds and time are reported"`
}

// The modes of a run.
const (
	Learning = "learning" // the devices learn
	Timing   = "timing"   // they take as long as if they did
)

func defaultRun() RunConfig {
	return RunConfig{
		Mode: Learning, Rounds: 100, Outer: 1, EvalEvery: 1,
		Seeds:   []uint64{1},
		Targets: []float64{1e-1, 1e-2, 1e-3},
	}
}

// Validate reports everything wrong with the table.
func (r *RunConfig) Validate(c *config.Checker) {
	c.OneOf("mode", r.Mode, Learning, Timing)
	c.Require(r.Rounds >= 1, "rounds", r.Rounds, "must be at least 1")
	c.Require(r.Outer >= 1, "outer", r.Outer, "must be at least 1")
	c.Require(r.EvalEvery >= 1, "eval_every", r.EvalEvery, "must be at least 1")
	c.Require(r.EvalTasks >= 0, "eval_tasks", r.EvalTasks, "must not be negative")
	c.Require(r.ThetaEvery >= 0, "theta_every", r.ThetaEvery, "must not be negative")
	c.Require(r.StopAt >= 0, "stop_at", r.StopAt, "must not be negative")
	c.Require(r.MaxTimeS >= 0 && r.MaxTimeS <= 1e9, "max_time_s", r.MaxTimeS, "must be in [0, 1e9] seconds")
	c.Require(len(r.Seeds) > 0, "seeds", r.Seeds, "must hold at least one seed")
	c.Require(distinct(r.Seeds), "seeds", r.Seeds, "must hold every seed once")
	if r.Mode == Timing {
		const want = " in mode \"timing\", which learns nothing"
		c.Require(r.Outer == 1, "outer", r.Outer, "must be 1"+want)
		c.Require(r.EvalTasks == 0, "eval_tasks", r.EvalTasks, "must be 0"+want)
		c.Require(r.ThetaEvery == 0, "theta_every", r.ThetaEvery, "must be 0"+want)
		c.Require(r.StopAt == 0, "stop_at", r.StopAt, "must be 0"+want)
	}
	for _, target := range r.Targets {
		c.Require(target > 0, "targets", r.Targets, "must be positive")
	}
	c.Require(distinct(r.Targets), "targets", r.Targets, "must hold every target once")
}

// distinct reports whether no value occurs twice.
func distinct[T comparable](values []T) bool {
	seen := make(map[T]bool, len(values))
	for _, v := range values {
		if seen[v] {
			return false
		}
		seen[v] = true
	}
	return true
}
