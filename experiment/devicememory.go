package experiment

import (
	"fmt"

	"fedsim/config"
	"fedsim/data"
	"fedsim/mtl"
	"fedsim/results"
)

// limited solves the reference on the rows that fit into the memory of clients (data.memory_mb), and notes which
// clients that leaves out. It fails with a config.Problem if no client is left.
func (r *reference) limited(split *data.Split) (*prepared, error) {
	of := &r.of.data
	if of.MemoryMB == (data.Megabytes{}) {
		return r.solve(split)
	}
	shape := mtl.Shape{Features: split.Train.Features, Outputs: split.Train.Outputs(), Hidden: r.of.problem.Hidden}
	split, short, unfit := of.Limit(split, shape.Values(), shape.Outputs)
	if len(split.Train.Clients) == 0 {
		return nil, config.Problem{Key: "data.memory_mb", Value: of.MemoryMB,
			Want: fmt.Sprintf("must be larger: no client can hold %d times the %d values of a model, and a row",
				of.Holds.Vectors, shape.Values())}
	}
	out, err := r.solve(split)
	if err == nil && short+unfit > 0 {
		about := results.DataSet{Name: split.Train.Name}
		if out.about != nil {
			about = *out.about
		}
		about.ShortClients, about.UnfitClients = short, unfit
		out.about = &about
	}
	return out, err
}
