package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/kernel"
	"fedsim/mtl"
)

// The functions s of staleness of FedAsync, beside constant.
const (
	polynomial = "polynomial"
	hinge      = "hinge"
)

type fedAsyncOptions struct {
	kit.LocalSGDOptions
	// mu of the proximal term mu/2 |w - w_sent|^2 in every client's objective; 0: none
	Mu float64 `toml:"mu"`
	// alpha, the weight of a fresh response in the model
	Alpha float64 `toml:"alpha"`
	// s in the weight alpha s(tau) of a response that is tau server steps old, with a = staleness_a, b = staleness_b:
	// "constant": 1; "polynomial": (1 + tau)^-a; "hinge": 1 if tau <= b, else 1/(a (tau - b) + 1)
	Staleness string `toml:"staleness"`
	// a of the staleness function; 0 with "constant"
	A float64 `toml:"staleness_a"`
	// b of the staleness function "hinge"; 0 with others
	B int `toml:"staleness_b"`
	// server steps between sending a client the model and its response; with more the server
	// refuses it
	MaxStaleness int `toml:"max_staleness" absent:"0: no limit"`
}

func (o *fedAsyncOptions) Validate(c *config.Checker) {
	o.Check(c, o.Mu)
	c.Require(o.Mu >= 0 && o.Mu <= 1e12, "mu", o.Mu, "must be in [0, 1e12]")
	c.Require(o.Alpha > 0 && o.Alpha <= 1, "alpha", o.Alpha, "must be in (0, 1]")
	c.OneOf("staleness", o.Staleness, kit.Constant, polynomial, hinge)
	if o.Staleness == kit.Constant {
		c.Require(o.A == 0, "staleness_a", o.A, "must be 0 with staleness \"constant\"")
	} else {
		c.Require(o.A > 0 && o.A <= 1e6, "staleness_a", o.A, "must be in (0, 1e6]")
	}
	if o.Staleness == hinge {
		c.Require(o.B >= 0, "staleness_b", o.B, "must not be negative")
	} else {
		c.Require(o.B == 0, "staleness_b", o.B, "must be 0 without staleness \"hinge\"")
	}
	c.Require(o.MaxStaleness >= 0, "max_staleness", o.MaxStaleness, "must not be negative")
}

// weight returns alpha s(tau).
func (o *fedAsyncOptions) weight(tau int) float64 {
	switch {
	case o.Staleness == polynomial && tau > 0:
		return o.Alpha * elementary.Exp(-o.A*elementary.Log1p(float64(tau)))
	case o.Staleness == hinge && tau > o.B:
		return o.Alpha / (float64(o.A*float64(tau-o.B)) + 1)
	}
	return o.Alpha
}

// fedAsync is asynchronous federated optimization: on every response the server mixes the
// device's model u_k into its own,
//
//	w = (1 - alpha_k) w + alpha_k u_k,  alpha_k = alpha s(tau)
//
// tau is how many responses it has taken since it sent the device its w. Devices weigh the
// same, whatever their rows. As with all methods of one model, W = w 1^T does not reach P*.
type fedAsync struct {
	versionedModel
	opts fedAsyncOptions
}

var _ algorithms.Asynchronous = (*fedAsync)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name:      "fedasync",
		Summary:   "asynchronous: mixes every response into the model; stale ones with less weight",
		Reference: "Xie, Koyejo, Gupta: Asynchronous Federated Optimization, OPT 2020 (arXiv 2019), Algorithm 1",
		Options: func() algorithms.Options {
			return &fedAsyncOptions{LocalSGDOptions: kit.DefaultLocalSGD(), Alpha: 0.6, Staleness: polynomial, A: 0.5}
		},
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			return versioned(5*float64(shape.Values()), 0, 1, o.(*fedAsyncOptions).MaxStaleness)
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts := *o.(*fedAsyncOptions)
			f := &fedAsync{
				newVersionedModel(s, kit.AverageOptions{LocalSGDOptions: opts.LocalSGDOptions, Weights: kit.Equally},
					opts.Mu, above(opts.MaxStaleness)), opts,
			}
			f.receive = f.mix
			return f, nil
		},
	})
}

// mix mixes the device's model into w.
func (f *fedAsync) mix(device, tau int) (flops float64) {
	sent, _ := f.sent.held(device)
	weight, w := f.opts.weight(tau), f.Weights()
	kernel.Descend(1-weight, weight, -weight, w, sent, f.Changes.At(device, f.Space))
	f.steps++
	return float64(5 * float64(len(w)))
}
