package algorithms

import (
	"fedsim/config"
	"fedsim/mtl"
)

// gradientOptions are the settings of methods whose devices send one gradient of a mini-batch: their
// options embed them.
type gradientOptions struct {
	Batch int     `toml:"batch" doc:"rows of the mini-batch of a gradient, drawn without replacement; 0: all rows of the client"`
	Step  float64 `toml:"step" doc:"step size gamma"`
	L2    float64 `toml:"l2" doc:"l2 in the term l2/2 |w|^2 of every client's objective: weight decay"`
	ScheduleOptions
	Clip float64 `toml:"clip" doc:"largest norm of a gradient, with the term of l2: a longer one is scaled to it; 0: no clipping"`
}

// defaultGradient returns a step along the gradient of 32 rows.
func defaultGradient() gradientOptions {
	return gradientOptions{Batch: 32, Step: 0.1, ScheduleOptions: ScheduleOptions{Schedule: constant}}
}

// local returns the local work: one step. Its change of w is -gamma times the gradient.
func (o *gradientOptions) local() *LocalSGDOptions {
	return &LocalSGDOptions{
		Epochs: oneStep, Batch: o.Batch, Step: o.Step, Shuffle: true, L2: o.L2, ScheduleOptions: o.ScheduleOptions, Clip: o.Clip,
	}
}

// Validate reports everything wrong with the options.
func (o *gradientOptions) Validate(c *config.Checker) {
	local := o.local()
	local.Epochs = 1
	local.check(c, 0)
}

// weighted returns the local work of devices with such weights.
func (o *gradientOptions) weighted(weights string) AverageOptions {
	return AverageOptions{*o.local(), weights}
}

// sendsGradients describes a method of one model whose devices send a gradient.
func sendsGradients(Options, mtl.Shape) Description {
	return Description{Model: Versions, Asynchronous: Yes, Messages: Messages{Coded: true}}
}
