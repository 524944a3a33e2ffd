package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/state"
)

// weightedGradientOptions are the settings of Rescaled ASGD and of Ringleader ASGD.
type weightedGradientOptions struct {
	gradientOptions
	// weight of a client in the objective: "rows": its rows n_k; "equal": the same for all
	Weights string `toml:"weights"`
}

func (o *weightedGradientOptions) Validate(c *config.Checker) {
	o.gradientOptions.Validate(c)
	c.OneOf("weights", o.Weights, kit.ByRows, kit.Equally)
}

func defaultWeightedGradient() algorithms.Options {
	return &weightedGradientOptions{defaultGradient(), kit.Equally}
}

// rescaled is asynchronous SGD whose steps are in proportion to the time between two responses of a
// device, so that all devices together minimize sum_k p_k F_k whatever their speeds:
//
//	w = w - gamma c_k g_k,  c_k = p_k/p T_k / T,  1/T = 1/N sum_j 1/T_j
//
// where p is the mean of the p_j. T_k is the mean time between the responses that the server has
// taken of the device. After a time t of v responses, v_k of them of the device, T_k = t/v_k and
// T = t N/v: so c_k = p_k/p v/(N v_k), and the server needs no clock.
type rescaled struct {
	versionedModel
	taken []int // v_k by device
}

var _ algorithms.Asynchronous = (*rescaled)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name: "rescaled",
		Summary: "Rescaled ASGD: steps by response times; asynchronous SGD whose steps are in proportion to " +
			"the response times of clients",
		Reference: "Mahran, Maranjyan, Richtarik: Rescaled Asynchronous SGD: Optimal Distributed Optimization under " +
			"Data and System Heterogeneity, 2026",
		Options:  defaultWeightedGradient,
		Describe: sendsGradients,
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts := o.(*weightedGradientOptions)
			r := &rescaled{newVersionedModel(s, opts.weighted(opts.Weights), 0, 0), make([]int, s.Problem.Clients())}
			r.receive = r.step
			return measured(r, &r.versionedModel, &opts.gradientOptions), nil
		},
	})
}

// step takes a step along the device's gradient.
func (r *rescaled) step(device, _ int) (flops float64) {
	r.taken[device]++
	r.steps++
	w := r.Weights()
	r.Changes.AddTo(device, r.scale(device), w)
	return 2 * float64(len(w))
}

// scale returns c_k.
func (r *rescaled) scale(device int) float64 {
	return r.WeightOf(device) / r.WeightOfAll() * (float64(r.steps) / float64(r.taken[device]))
}

// State codes the model, the messages to the devices and the responses of each.
func (r *rescaled) State(c *state.Coder) {
	r.versionedModel.State(c)
	c.Ints(r.taken)
}
