// Package fedfomo gives each client a model of its own. It begins a round at a mean of the models of others that have
// less loss on its rows.
package fedfomo

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/data"
	"fedsim/mtl"
	"math"
)

type options struct{ kit.LocalSGDOptions }

func init() {
	kit.Register(algorithms.Factory{
		Name:      "fedfomo",
		Summary:   "a model of each client, from a mean of those of others with less loss on its rows",
		Reference: "Zhang, Sapra, Fidler, Yeung, Alvarez: FedFomo, ICLR 2021",
		Options:   func() algorithms.Options { return &options{kit.DefaultLocalSGD()} },
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			return algorithms.Description{Model: algorithms.DeviceModels, Learns: algorithms.Learns{OwnTasks: true},
				Work: o.(*options).Workload(shape, false)}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			f := &fedFomo{LocalSGD: kit.NewLocalSGD(s, o.(*options).LocalSGDOptions), w: s.Problem.NewWeights(),
				next: s.Problem.NewWeights()}
			for k := range f.w.Rows {
				s.Problem.Initial(s.Seed, f.w.Row(k))
			}
			return f, nil
		},
	})
}

type fedFomo struct {
	kit.LocalSGD
	w, next data.Matrix // by client: its model, and a tentative one
}

// Solve makes local steps from sum_l a_l w_l, with a_l proportional to max(0, F_k(w_k) - F_k(w_l))/|w_l - w_k| and of
// sum 1; from w_k if no model has less loss on the client's rows.
func (f *fedFomo) Solve(r algorithms.Request) algorithms.Response {
	own, sum := f.w.Row(r.Device), 0.0
	loss, start := f.Problem.LocalLoss(r.Device, own), make([]float64, len(own))
	for l := range f.w.Rows {
		if gain := loss - f.Problem.LocalLoss(r.Device, f.w.Row(l)); gain > 0 {
			a := gain / f.distance(r.Device, l)
			f.w.Axpy(a, l, start)
			sum += a
		}
	}
	for j := range start {
		if start[j] /= sum; sum == 0 {
			start[j] = own[j]
		}
	}
	u, steps := f.Descend(r, start, kit.Pull{})
	copy(f.next.Row(r.Device), u)
	flops := float64(f.w.Rows) * (f.RowsOf(r.Device)*f.Problem.ScoreFLOPs() + float64(4*len(own)))
	return algorithms.Response{Steps: steps, FLOPs: f.FLOPs(r.Device, steps) + flops, Values: len(u)}
}

func (f *fedFomo) Begin() (algorithms.Sent, error) { return algorithms.Sent{Size: len(f.w.Data)}, nil } // all models
func (f *fedFomo) Commit(device int, _ float64)    { copy(f.w.Row(device), f.next.Row(device)) }
func (f *fedFomo) Discard(int)                     {}
func (f *fedFomo) End() (float64, error)           { return 0, nil } // the server only stores
func (f *fedFomo) Model() algorithms.Model         { return algorithms.Model{W: &f.w} }
func (f *fedFomo) State(c *algorithms.Coder) {
	algorithms.CodeRows(c, &f.w)
	algorithms.CodeRows(c, &f.next)
}
func (f *fedFomo) Update(device int) algorithms.Update {
	return algorithms.Update{Array: "model", Values: f.next.Row(device)}
}

func (f *fedFomo) distance(k, l int) (norm float64) {
	for j, x := range f.w.Row(k) {
		norm += float64((x - f.w.Row(l)[j]) * (x - f.w.Row(l)[j]))
	}
	return math.Sqrt(norm)
}
