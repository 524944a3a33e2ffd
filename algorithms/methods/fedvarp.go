package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/mtl"
)

type fedVARPOptions struct {
	kit.AverageOptions
	// step size of the server: the factor of the corrected mean
	ServerStep float64 `toml:"server_step"`
}

func (o *fedVARPOptions) Validate(c *config.Checker) {
	o.AverageOptions.Validate(c)
	checkServerStep(c, o.ServerStep)
}

// fedVARP is federated averaging with variance reduction for partial participation. The server remembers the last
// change y_k of every device, and takes
//
//	w += server_step (sum_S p_k (d_k - y_k) / sum_S p_k + sum_k p_k y_k / p(N)),  then y_k = d_k in S.
type fedVARP struct {
	remembered
	step float64
}

var _ algorithms.Stateful = (*fedVARP)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name:    "fedvarp",
		Summary: "averaging, corrected by remembered changes; the server has the last changes of all clients",
		Reference: "Jhunjhunwala, Sharma, Nagarkatti, Joshi: FedVARP: Tackling the Variance Due to Partial Client " +
			"Participation in Federated Learning, UAI 2022",
		Options: func() algorithms.Options {
			return &fedVARPOptions{AverageOptions: kit.DefaultAverage(kit.Equally), ServerStep: 1}
		},
		Describe: func(algorithms.Options, mtl.Shape) algorithms.Description { return remembers() },
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts := o.(*fedVARPOptions)
			return &fedVARP{newRemembered(s, opts.AverageOptions), opts.ServerStep}, nil
		},
	})
}

// Commit takes the device's change into the round.
func (f *fedVARP) Commit(device int, _ float64) { f.replace(device, 1, 1) }

// End takes the step. A round without responses takes none.
func (f *fedVARP) End() (float64, error) {
	if f.Round.Weight == 0 {
		return f.Link.Take(), nil
	}
	w := f.Weights()
	kernel.Axpy(f.step/f.Round.Weight, f.Round.Sum, w)
	kernel.Axpy(f.step, f.mean, w)
	return f.renew() + float64(4*float64(len(w))) + f.Link.Take(), nil
}
