package kit

import (
	"math"

	"fedsim/config"
	"fedsim/internal/tools/elementary"
)

// The names of step-size schedules.
const (
	Constant    = "constant"
	InverseSqrt = "inverse-sqrt"
	Cosine      = "cosine"
	Stages      = "stages"
)

// ScheduleOptions are how the step size of local SGD changes with the rounds.
type ScheduleOptions struct {
	// step size in round h = 0, 1, ..., with R, f and V of schedule_options and t =
	// max(0, h - V): "constant": step; "inverse-sqrt": step/sqrt(1 + t/R); "cosine":
	// from step to f step in R rounds, step (f + (1 - f)(1 + cos(pi min(t/R, 1)))/2); "stages":
	// step f^floor(t/R)
	Schedule string `toml:"schedule"`
	// the numbers of the schedule
	ScheduleTerms `toml:"schedule_options"`
}

// ScheduleTerms are the numbers of a schedule.
type ScheduleTerms struct {
	// rounds R of the schedule, at least 1 unless it is "constant"
	ScheduleRounds int `toml:"rounds" absent:"0: none, for \"constant\""`
	// factor f of the schedules "cosine" and "stages", in [0, 1]; 0 with others
	ScheduleFactor float64 `toml:"factor"`
	// rounds V in which the step grows linearly, step (h + 1)/V, before the schedule begins
	WarmupRounds int `toml:"warmup" absent:"0: none"`
}

// check reports everything wrong with the options.
func (o *ScheduleOptions) check(c *config.Checker) {
	c.OneOf("schedule", o.Schedule, Constant, InverseSqrt, Cosine, Stages)
	c = c.In("schedule_options")
	if o.Schedule == Constant {
		c.Require(o.ScheduleRounds == 0, "rounds", o.ScheduleRounds, "must be left out with schedule \"constant\"")
	} else {
		c.Require(o.ScheduleRounds >= 1, "rounds", o.ScheduleRounds,
			"must be at least 1 with schedule \""+o.Schedule+"\"")
	}
	if o.Schedule == Cosine || o.Schedule == Stages {
		c.Require(o.ScheduleFactor >= 0 && o.ScheduleFactor <= 1, "factor", o.ScheduleFactor,
			"must be in [0, 1]")
	} else {
		c.Require(o.ScheduleFactor == 0, "factor", o.ScheduleFactor,
			"must be 0 with schedule \""+o.Schedule+"\"")
	}
	c.Require(o.WarmupRounds >= 0, "warmup", o.WarmupRounds, "must not be negative")
}

// At returns the step size in a round, from the step size that the schedule scales.
func (o *ScheduleOptions) At(round int, step float64) float64 {
	if round < o.WarmupRounds {
		return step * float64(round+1) / float64(o.WarmupRounds)
	}
	round -= o.WarmupRounds
	switch o.Schedule {
	case InverseSqrt:
		return step / math.Sqrt(1+float64(round)/float64(o.ScheduleRounds))
	case Cosine:
		angle := math.Pi * min(1, float64(round)/float64(o.ScheduleRounds))
		return step * (o.ScheduleFactor + float64((1-o.ScheduleFactor)*(1+elementary.Cos(angle))/2))
	case Stages:
		for i := 0; i < round/o.ScheduleRounds && step > 0 && o.ScheduleFactor < 1; i++ {
			step *= o.ScheduleFactor
		}
	}
	return step
}
