package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// ringleader is Ringleader ASGD. The server has a table with the sum G_k of gradients of each device
// and their number b_k, at first 0, and goes in rounds of two phases:
//
//  1. until all b_k > 0: it adds every gradient to G_k and b_k. The model stays.
//  2. N steps w = w - gamma sum_k p_k/p(N) G_k/b_k, one for each device: the first for the device that
//     ended phase 1, the others when a device responds that has had none, after its gradient is
//     added. Gradients of devices that have had theirs go to a second table, which is that of the
//     next round.
//
// No gradient is refused, and each device has the same part in every step, whatever its speed.
// Without a response of every device there is no step.
type ringleader struct {
	versionedModel
	now, next gradientTable // of this round, and of the next
	mean      []float64     // sum_k p_k G_k/b_k of this round, from phase 2 on
	left      int           // steps of phase 2 to come; 0: phase 1
	stepped   []bool        // by device: it has had its step in phase 2
}

// gradientTable is a sum of gradients by device.
type gradientTable struct {
	sums    *algorithms.Slots
	counts  []int
	devices int // with a gradient
}

var _ algorithms.Asynchronous = (*ringleader)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name: "ringleader",
		Summary: "Ringleader ASGD: the mean of all gradients; asynchronous SGD with a step for each client in " +
			"turn",
		Reference: "Maranjyan, Richtarik: Ringleader ASGD: The First Asynchronous SGD with Optimal Time Complexity " +
			"under Data Heterogeneity, ICLR 2026",
		Options: defaultWeightedGradient,
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			d := sendsGradients(o, shape)
			d.Work.Kept, d.Work.StoredEach = 2, 2 // a sum in each table
			return d
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			opts, n := o.(*weightedGradientOptions), s.Problem.Clients()
			table := func() gradientTable {
				return gradientTable{sums: algorithms.NewSlots(s.Problem, s.Problem.Values()), counts: make([]int, n)}
			}
			r := &ringleader{
				versionedModel: newVersionedModel(s, opts.weighted(opts.Weights), 0, 0), now: table(), next: table(),
				mean: make([]float64, s.Problem.Values()), stepped: make([]bool, n),
			}
			r.receive = r.gather
			return measured(r, &r.versionedModel, &opts.gradientOptions), nil
		},
	})
}

func (t *gradientTable) add(device int, gradient []float64) {
	t.sums.Add(device, 1, gradient)
	if t.counts[device]++; t.counts[device] == 1 {
		t.devices++
	}
}

// gather puts the device's gradient into a table, and takes a step if it is the device's turn.
func (r *ringleader) gather(device, _ int) (flops float64) {
	gradient, d := r.Changes.At(device, r.Space), float64(len(r.mean))
	switch {
	case r.left == 0:
		r.now.add(device, gradient)
		if r.now.devices < len(r.stepped) {
			return d
		}
		clear(r.mean)
		for k := range r.stepped {
			r.count(k, 1)
		}
		clear(r.stepped)
		r.left = len(r.stepped)
		flops = d + float64(2*d*float64(r.left))
	case r.stepped[device]:
		r.next.add(device, gradient)
		return d
	default:
		r.count(device, -1)
		r.now.add(device, gradient)
		r.count(device, 1)
		flops = 5 * d
	}
	kernel.Axpy(1/r.WeightOfAll(), r.mean, r.Weights())
	r.steps++
	r.stepped[device] = true
	if r.left--; r.left == 0 {
		r.now, r.next = r.next, r.now
		r.next.clear()
	}
	return flops + 2*d
}

// count adds so many times p_k G_k/b_k of a device to their sum.
func (r *ringleader) count(device int, times float64) {
	r.now.sums.AddTo(device, times*r.WeightOf(device)/float64(r.now.counts[device]), r.mean)
}

// clear empties the table.
func (t *gradientTable) clear() {
	for k := range t.counts {
		t.sums.Release(k)
	}
	clear(t.counts)
	t.devices = 0
}

// State codes the model, the messages to the devices and the tables.
func (r *ringleader) State(c *state.Coder) {
	r.versionedModel.State(c)
	for _, t := range []*gradientTable{&r.now, &r.next} {
		t.sums.State(c)
		c.Ints(t.counts)
		c.Int(&t.devices)
	}
	c.Float64s(r.mean)
	c.Int(&r.left)
	c.Bools(r.stepped)
}
