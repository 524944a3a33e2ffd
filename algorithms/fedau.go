package algorithms

import (
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

type fedAUOptions struct {
	AverageOptions
	ServerStep float64 `toml:"server_step" doc:"step size of the server: the factor of the weighted sum of the changes"`
	Cutoff     int     `toml:"cutoff" doc:"most rounds of a gap between two responses of a client: a longer one is cut into gaps of so many"`
}

func (o *fedAUOptions) Validate(c *config.Checker) {
	o.AverageOptions.Validate(c)
	checkServerStep(c, o.ServerStep)
	c.Require(o.Cutoff >= 1 && o.Cutoff <= 1e9, "cutoff", o.Cutoff, "must be in [1, 1e9]")
}

// fedAU is federated averaging for unknown participation. The server estimates for every device how
// rarely it responds, by the mean number omega_k of rounds from one response to the next, and adds
//
//	w += server_step sum_S omega_k p_k d_k / p(N)
//
// where p(N) is the weight of all devices, present or not. omega_k is that before the round; it is 1
// before the first response.
type fedAU struct {
	globalModel
	opts   fedAUOptions
	total  float64 // weight of all devices
	rounds int     // before the open one
	gaps   []gaps  // by device
}

// gaps are the rounds from one response of a device to the next, the first from the start.
type gaps struct {
	sum, count int // of the gaps that are over
	since      int // round in which the open gap began
}

var _ Stateful = (*fedAU)(nil)

func init() {
	registerLocal(Factory{
		Name:      "fedau",
		Summary:   "federated averaging that weights changes by how rarely their clients respond, which it estimates",
		Reference: "Wang, Ji: A Lightweight Method for Tackling Unknown Participation Statistics in Federated Averaging, ICLR 2024",
		Options: func() Options {
			return &fedAUOptions{AverageOptions: defaultAverage(equally), ServerStep: 1, Cutoff: 100_000}
		},
		Describe: func(Options, mtl.Shape) Description {
			return Description{Model: OneModel, Weights: Yes, Compared: true, Messages: Messages{Coded: true}}
		},
		New: func(s Setup, o Options) (Algorithm, error) {
			opts := *o.(*fedAUOptions)
			f := &fedAU{globalModel: newGlobalModel(s, opts.AverageOptions, 0), opts: opts}
			f.total, f.gaps = f.weightOfAll(), make([]gaps, s.Problem.Clients())
			return f, nil
		},
	})
}

// Commit adds the device's change, multiplied by omega_k and a weight, and ends its gap.
func (f *fedAU) Commit(device int, weight float64) {
	g := &f.gaps[device]
	f.cut(g)
	f.globalModel.Commit(device, g.mean()*weight)
	g.sum += f.rounds + 1 - g.since
	g.count++
	g.since = f.rounds + 1
}

// cut ends the gaps of a device that were cut off before the open round.
func (f *fedAU) cut(g *gaps) {
	n := (f.rounds - g.since) / f.opts.Cutoff
	g.sum += n * f.opts.Cutoff
	g.count += n
	g.since += n * f.opts.Cutoff
}

// mean returns omega.
func (g *gaps) mean() float64 {
	if g.count == 0 {
		return 1
	}
	return float64(g.sum) / float64(g.count)
}

// End takes the step.
func (f *fedAU) End() (float64, error) {
	f.rounds++
	if f.round.weight == 0 {
		return f.link.take(), nil
	}
	kernel.Axpy(f.opts.ServerStep/f.total, f.round.sum, f.weights())
	return f.round.flops + 2*float64(f.w.Cols) + f.link.take(), nil
}

// State codes w, the changes of it and the gaps of devices.
func (f *fedAU) State(c *state.Coder) {
	f.globalModel.State(c)
	c.Int(&f.rounds)
	for i := range f.gaps {
		c.Int(&f.gaps[i].sum)
		c.Int(&f.gaps[i].count)
		c.Int(&f.gaps[i].since)
	}
}
