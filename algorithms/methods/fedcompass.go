package methods

import (
	"slices"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// FedCompassOptions are the settings of FedCompass.
type FedCompassOptions struct {
	fedAsyncOptions
	// share p_k of a client in a step: "rows": its share of all rows; "equal": 1 over the number of
	// clients
	Weights string `toml:"weights"`
}

// Validate reports everything wrong with the options.
func (o *FedCompassOptions) Validate(c *config.Checker) {
	o.fedAsyncOptions.Validate(c)
	c.OneOf("weights", o.Weights, kit.ByRows, kit.Equally)
}

// fedCompass is the server of FedCompass: a step takes all changes that were gathered since the last,
//
//	w += sum_k alpha s(tau_k) p_k d_k,
//
// tau_k is how many steps the server has taken since it sent the device its w. Of two changes of a device the
// later counts. The protocol compass groups responses, and assigns the number of local steps. Under other
// protocols every response is a step.
type fedCompass struct {
	versionedModel
	opts     FedCompassOptions
	gathers  bool // End takes the step
	total    float64
	gathered *algorithms.Slots // changes for the next step
	versions []int             // by device: that of the model behind its gathered change; -1: there is none
}

var _ algorithms.Asynchronous = (*fedCompass)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name: "fedcompass",
		Summary: "semi-asynchronous: groups arrive together; under the protocol compass, which " +
			"assigns their local steps",
		Reference: "Li, Chaturvedi, He, Chen, Singh, Kindratenko, Huerta, Kim, Madduri: FedCompass: " +
			"Efficient Cross-Silo Federated Learning on Heterogeneous Client Devices Using a Computing Power-Aware " +
			"Scheduler, ICLR 2024",
		Options: func() algorithms.Options {
			o := &FedCompassOptions{
				fedAsyncOptions{LocalSGDOptions: kit.DefaultLocalSGD(), Alpha: 0.9, Staleness: polynomial, A: 0.5},
				kit.Equally,
			}
			o.Epochs = 0
			return o
		},
		Describe: func(o algorithms.Options, _ mtl.Shape) algorithms.Description {
			protocol := "compass"
			if o.(*FedCompassOptions).Epochs > 0 { // which the protocol would assign
				protocol = algorithms.WithoutRounds
			}
			// A change stays until the next step.
			return algorithms.Description{Model: algorithms.Versions, Asynchronous: algorithms.Yes, Protocol: protocol,
				Gathers: true, Messages: algorithms.Messages{Coded: true},
				Work: algorithms.Workload{Kept: 1, StoredEach: 1}}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts, n := *o.(*FedCompassOptions), s.Problem.Clients()
			f := &fedCompass{
				versionedModel: newVersionedModel(s,
					kit.AverageOptions{LocalSGDOptions: opts.LocalSGDOptions, Weights: opts.Weights}, opts.Mu,
					above(opts.MaxStaleness)),
				opts: opts, gathers: s.Gathers, gathered: algorithms.NewSlots(s.Problem, s.Problem.Values()),
				versions: slices.Repeat([]int{-1}, n),
			}
			f.total, f.receive = f.WeightOfAll(), f.gather
			return f, nil
		},
	})
}

// gather keeps the device's change for the next step, which is now if nothing else says when.
func (f *fedCompass) gather(device, tau int) (flops float64) {
	f.gathered.Store(device, f.Changes.At(device, f.Space))
	f.versions[device] = f.steps - tau
	if f.gathers {
		return 0
	}
	return f.step()
}

// step takes the step on the gathered changes and returns its FLOPs. Without any there is none.
func (f *fedCompass) step() (flops float64) {
	for k, version := range f.versions {
		if version < 0 {
			continue
		}
		share := f.WeightOf(k) / f.total
		f.gathered.AddTo(k, f.opts.weight(f.steps-version)*share, f.Weights())
		flops += 2 * float64(f.W.Cols)
		f.gathered.Release(k)
		f.versions[k] = -1
	}
	if flops > 0 {
		f.steps++
	}
	return flops
}

// End takes the step. In a round, every response was one.
func (f *fedCompass) End() (float64, error) { return f.served + f.step(), nil }

// State codes the model, the messages to the devices and the gathered changes.
func (f *fedCompass) State(c *state.Coder) {
	f.versionedModel.State(c)
	f.gathered.State(c)
	c.Ints(f.versions)
}
