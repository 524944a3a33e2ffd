package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// The choices of tau_eff of FedNova.
const (
	effectiveSteps   = "steps"
	effectiveWeights = "normalizers"
)

type fedNovaOptions struct {
	kit.AverageOptions
	// mu of the proximal term mu/2 |w - w_sent|^2 in every client's objective; 0: none
	Mu float64 `toml:"mu"`
	// effective steps of a round: "steps": the mean number of local steps, sum p_k tau_k;
	// "normalizers": sum p_k |a_k|_1, which differs with momentum and a proximal term
	TauEff string `toml:"tau_eff"`
}

func (o *fedNovaOptions) Validate(c *config.Checker) {
	o.Check(c, o.Mu)
	c.Require(o.Mu >= 0 && o.Mu <= 1e12, "mu", o.Mu, "must be in [0, 1e12]")
	c.OneOf("tau_eff", o.TauEff, effectiveSteps, effectiveWeights)
}

// fedNova is normalized averaging. Device k takes tau_k steps. Its change is eta times a sum
// of its gradients with weights a_k, which its local solver determines, so that the server
// adds
//
//	w += tau_eff sum_k p_k d_k/|a_k|_1,  p_k = n_k / sum of n over the responses
//
// and devices that take more steps do not count more. Each device sends its change and tau_k.
type fedNova struct {
	kit.GlobalModel
	opts  fedNovaOptions
	steps []float64 // tau_k of the device's last work
	norms []float64 // |a_k|_1 of it
	total float64   // sum of p_k tau_k, or of p_k |a_k|_1, not yet divided by that of p_k
}

var _ algorithms.Stateful = (*fedNova)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name:    "fednova",
		Summary: "averaging of changes divided by their local steps; clients with more steps do not count more",
		Reference: "Wang, Liu, Liang, Joshi, Poor: Tackling the Objective Inconsistency Problem in Heterogeneous " +
			"Federated Optimization, NeurIPS 2020",
		Options: func() algorithms.Options {
			return &fedNovaOptions{AverageOptions: kit.DefaultAverage(kit.ByRows), TauEff: effectiveSteps}
		},
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			load := o.(kit.LocalOptions).Local().Workload(shape, false)
			load.Extra = 1
			return algorithms.Description{Model: algorithms.OneModel, Weights: algorithms.Yes,
				Messages: algorithms.Messages{Coded: true}, Work: load}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			p, opts := s.Problem, *o.(*fedNovaOptions)
			return &fedNova{
				GlobalModel: kit.NewGlobalModel(s, opts.AverageOptions, opts.Mu), opts: opts,
				steps: make([]float64, p.Clients()), norms: make([]float64, p.Clients()),
			}, nil
		},
	})
}

// Solve makes the device's local steps from w.
func (f *fedNova) Solve(r algorithms.Request) algorithms.Response {
	response := f.GlobalModel.Solve(r)
	response.Values += f.Link.One() // tau_k
	tau := f.opts.Updates(f.Problem.Train.Clients[r.Device].X.Rows, response.Steps)
	f.steps[r.Device] = float64(tau)
	f.norms[r.Device] = normalizer(tau, f.opts.Momentum, f.opts.At(r.Round, f.opts.Step)*f.Mu)
	return response
}

// normalizer returns |a|_1 of tau steps with momentum rho and a proximal term, q = eta mu. A
// gradient counts in the change after t more steps as x_t times eta:
//
//	v_1 = x_1 = 1,  v_t+1 = rho v_t - q x_t,  x_t+1 = x_t + v_t+1
//
// and |a|_1 is the sum of |x_t| for t = 1..tau. Plain steps have tau, momentum
// (tau - rho (1 - rho^tau)/(1 - rho))/(1 - rho), a proximal term (1 - (1 - q)^tau)/q.
func normalizer(tau int, rho, q float64) float64 {
	sum, v, x := 0.0, 1.0, 1.0
	for range tau {
		sum += max(x, -x)
		v = float64(rho*v) - float64(q*x)
		x += v
	}
	return sum
}

// Commit adds the device's change, multiplied by a weight, to the mean.
func (f *fedNova) Commit(device int, weight float64) {
	p, norm := f.WeightOf(device), f.norms[device]
	if norm > 0 { // otherwise the device took no step
		f.Round.Add(f.Changes, device, p, weight/norm)
	}
	effective := f.steps[device]
	if f.opts.TauEff == effectiveWeights {
		effective = norm
	}
	f.total += float64(p * effective)
	f.Accept(device)
}

// End adds tau_eff times the mean of the normalized changes to w.
func (f *fedNova) End() (float64, error) {
	if f.Round.Weight == 0 {
		return f.Link.Take(), nil
	}
	step := f.total / f.Round.Weight
	f.total = 0
	return f.Round.Apply(f.Weights(), step) + f.Link.Take(), nil
}

// State codes w, the changes of it and their numbers of steps.
func (f *fedNova) State(c *state.Coder) {
	f.GlobalModel.State(c)
	c.Float64s(f.steps)
	c.Float64s(f.norms)
}
