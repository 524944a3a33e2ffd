package algorithms

import (
	"slices"

	"fedsim/config"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// FedCompassOptions are the settings of FedCompass.
type FedCompassOptions struct {
	fedAsyncOptions
	Weights string `toml:"weights" doc:"share p_k of a client in a step: \"rows\": its share of all rows; \"equal\": 1 over the number of clients"`
}

// Validate reports everything wrong with the options.
func (o *FedCompassOptions) Validate(c *config.Checker) {
	o.fedAsyncOptions.Validate(c)
	c.OneOf("weights", o.Weights, byRows, equally)
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
	gathered *slots // changes for the next step
	versions []int  // by device: that of the model behind its gathered change; -1: there is none
}

var _ Asynchronous = (*fedCompass)(nil)

func init() {
	registerLocal(Factory{
		Name:      "fedcompass",
		Summary:   "semi-asynchronous federated averaging: groups of clients arrive together, under the protocol compass, which assigns their local steps",
		Reference: "Li, Chaturvedi, He, Chen, Singh, Kindratenko, Huerta, Kim, Madduri: FedCompass: Efficient Cross-Silo Federated Learning on Heterogeneous Client Devices Using a Computing Power-Aware Scheduler, ICLR 2024",
		Options: func() Options {
			o := &FedCompassOptions{fedAsyncOptions{LocalSGDOptions: defaultLocalSGD(), Alpha: 0.9, Staleness: polynomial, A: 0.5}, equally}
			o.Epochs = 0
			return o
		},
		Describe: func(o Options, _ mtl.Shape) Description {
			protocol := "compass"
			if o.(*FedCompassOptions).Epochs > 0 { // which the protocol would assign
				protocol = asynchronous
			}
			// A change stays until the next step.
			return Description{Model: Versions, Asynchronous: Yes, Protocol: protocol, Gathers: true, Messages: Messages{Coded: true}, Work: Workload{Kept: 1}}
		},
		New: func(s Setup, o Options) (Algorithm, error) {
			opts, n := *o.(*FedCompassOptions), s.Problem.Clients()
			f := &fedCompass{
				versionedModel: newVersionedModel(s, AverageOptions{opts.LocalSGDOptions, opts.Weights}, opts.Mu, above(opts.MaxStaleness)),
				opts:           opts, gathers: s.Gathers, gathered: newSlots(s.Problem, s.Problem.Values()), versions: slices.Repeat([]int{-1}, n),
			}
			f.total, f.receive = f.weightOfAll(), f.gather
			return f, nil
		},
	})
}

// gather keeps the device's change for the next step, which is now if nothing else says when.
func (f *fedCompass) gather(device, tau int) (flops float64) {
	f.gathered.store(device, f.changes.at(device, f.space))
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
		share := f.weight(k) / f.total
		f.gathered.addTo(k, f.opts.weight(f.steps-version)*share, f.weights())
		flops += 2 * float64(f.w.Cols)
		f.gathered.release(k)
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
	f.gathered.state(c)
	c.Ints(f.versions)
}
