package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

type fedAUOptions struct {
	kit.AverageOptions
	// step size of the server: the factor of the weighted sum of the changes
	ServerStep float64 `toml:"server_step"`
	// most rounds of a gap between two responses of a client: a longer one is cut into gaps of so
	// many
	Cutoff int `toml:"cutoff"`
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
	kit.GlobalModel
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

var _ algorithms.Stateful = (*fedAU)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name:    "fedau",
		Summary: "averaging, weighted by how rarely clients respond; the server estimates it",
		Reference: "Wang, Ji: A Lightweight Method for Tackling Unknown Participation Statistics in Federated " +
			"Averaging, ICLR 2024",
		Options: func() algorithms.Options {
			return &fedAUOptions{AverageOptions: kit.DefaultAverage(kit.Equally), ServerStep: 1, Cutoff: 100_000}
		},
		Describe: func(algorithms.Options, mtl.Shape) algorithms.Description {
			return algorithms.Description{Model: algorithms.OneModel, Weights: algorithms.Yes, Compared: true,
				Messages: algorithms.Messages{Coded: true}}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts := *o.(*fedAUOptions)
			f := &fedAU{GlobalModel: kit.NewGlobalModel(s, opts.AverageOptions, 0), opts: opts}
			f.total, f.gaps = f.WeightOfAll(), make([]gaps, s.Problem.Clients())
			return f, nil
		},
	})
}

// Commit adds the device's change, multiplied by omega_k and a weight, and ends its gap.
func (f *fedAU) Commit(device int, weight float64) {
	g := &f.gaps[device]
	f.cut(g)
	f.GlobalModel.Commit(device, g.mean()*weight)
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
	if f.Round.Weight == 0 {
		return f.Link.Take(), nil
	}
	kernel.Axpy(f.opts.ServerStep/f.total, f.Round.Sum, f.Weights())
	return f.Round.FLOPs + 2*float64(f.W.Cols) + f.Link.Take(), nil
}

// State codes w, the changes of it and the gaps of devices.
func (f *fedAU) State(c *state.Coder) {
	f.GlobalModel.State(c)
	c.Int(&f.rounds)
	for i := range f.gaps {
		c.Int(&f.gaps[i].sum)
		c.Int(&f.gaps[i].count)
		c.Int(&f.gaps[i].since)
	}
}
