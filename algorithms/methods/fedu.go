package methods

import (
	"fmt"
	"path/filepath"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// The graphs of fedu beside those of gossip, the order of its steps, and the neighbors of a client in them.
const (
	graphNone = "none"

	orderAfter   = "after"
	orderSent    = "sent"
	orderInPlace = "in-place"

	neighborsAll     = "all"
	neighborsPresent = "present"
)

type fedUOptions struct {
	kit.LocalSGDOptions
	// which clients are tied to each other, with a weight of 1: "ring"; "torus" (a*b clients with a
	// and b at least 3, as near to each other as possible); "random-regular"; "complete";
	// "none"; the path of a file of edges, as for gossip; or that of a .csv file, a row of
	// comma-separated weights for each client, a symmetric matrix of which the diagonal is 0
	Graph string `toml:"graph"`
	// neighbors of a client on the graph "random-regular", which is drawn from the seed of the run
	Degree int `toml:"degree"`
	// strength of the term strength/2 sum a_kl |w_k - w_l|^2 over the edges of the graph
	Strength float64 `toml:"strength"`
	// models at which the step on that term is taken: "after": those after the local steps, as in
	// the paper; "sent": those before them; "in-place": those after the local steps, client after
	// client, each with the new models of those before it, as in the authors' code
	Order string `toml:"order"`
	// neighbors in that step: "all", absent ones with their last models; "present": those of the
	// round
	Neighbors string `toml:"neighbors"`
}

func (o *fedUOptions) Validate(c *config.Checker) {
	o.LocalSGDOptions.Validate(c)
	checkGraph(c, o.Graph, graphRing, graphTorus, graphRegular, graphComplete, graphNone)
	c.Require(o.Degree >= 1, "degree", o.Degree, "must be at least 1")
	c.Require(o.Strength >= 0 && o.Strength <= 1e12, "strength", o.Strength, "must be in [0, 1e12]")
	c.OneOf("order", o.Order, orderAfter, orderSent, orderInPlace)
	c.OneOf("neighbors", o.Neighbors, neighborsAll, neighborsPresent)
}

// edge ties a client to another.
type edge struct {
	to     int32
	weight float64
}

// edges returns the edges of each client. Errors are of type config.Problem.
func (o *fedUOptions) edges(clients int, seed uint64) ([][]edge, error) {
	edges := make([][]edge, clients)
	switch {
	case o.Graph == graphNone:
	case isGraphFile(o.Graph) && filepath.Ext(o.Graph) == ".csv":
		a, err := mtl.ReadSymmetric(o.Graph, "the graph", clients)
		if err != nil {
			return nil, config.Problem{Key: "options.graph", Value: o.Graph,
				Want: fmt.Sprintf("must be a symmetric matrix of %d clients: %v", clients, err)}
		}
		for k := range edges {
			for l := range clients {
				w := a.At(k, l)
				if w < 0 || k == l && w != 0 {
					return nil, config.Problem{Key: "options.graph", Value: o.Graph, Want: fmt.Sprintf(
						"must have weights of at least 0, and 0 of a client and itself: %g in row %d, column %d", w,
						k+1, l+1)}
				}
				if w > 0 {
					edges[k] = append(edges[k], edge{int32(l), w})
				}
			}
		}
	default:
		g, err := newGraph(&GossipOptions{Graph: o.Graph, Degree: o.Degree}, clients, seed)
		if err != nil {
			return nil, err
		}
		for k, neighbors := range g {
			for _, l := range neighbors {
				edges[k] = append(edges[k], edge{l, 1})
			}
		}
	}
	return edges, nil
}

// fedU is federated multi-task learning with the Laplacian of a graph. Client k has a model w_k, which the server
// keeps. After R_k local steps from it, of which u_k is the result, the server takes a step on the term of its edges:
//
//	w_k = u_k - eta R_k strength sum_l a_kl (u_k - u_l)
//
// With order "sent" it is taken at the models before the local steps: for R_k = 1 this is a gradient step on
// sum_k F_k + strength/2 tr(W L W^T), whose minimum the order "after" does not reach.
type fedU struct {
	kit.LocalSGD
	opts    fedUOptions
	edges   [][]edge
	Link    *algorithms.Link
	x, at   data.Matrix // models by device, and those at which the step is taken
	sent    data.Matrix // as devices decode them; no rows without codes
	changes *algorithms.Slots
	rates   []float64 // by device: eta R_k strength of its work under way
	taken   []bool    // by device: it is in the round
	slope   []float64
}

var _ algorithms.Stateful = (*fedU)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name:    "fedu",
		Summary: "a model of each client, tied to those of its neighbors on a graph (Laplacian)",
		Reference: "Dinh, Vu, Tran, Dao, Zhang: FedU: A Unified Framework for Federated Multi-Task Learning with " +
			"Laplacian Regularization, arXiv:2102.07148, 2021",
		Options: func() algorithms.Options {
			return &fedUOptions{LocalSGDOptions: kit.DefaultLocalSGD(), Graph: graphRing, Degree: 4, Strength: 0.01,
				Order: orderAfter, Neighbors: neighborsAll}
		},
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			return algorithms.Description{Model: algorithms.DeviceModels, Means: true,
				Learns:   algorithms.Learns{OwnTasks: true},
				Messages: algorithms.Messages{Coded: true, Single: true}, Work: o.(*fedUOptions).Workload(shape, false)}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return newFedU(s, *o.(*fedUOptions))
		},
	})
}

func newFedU(s algorithms.Setup, o fedUOptions) (*fedU, error) {
	p := s.Problem
	n, d := p.Clients(), p.Values()
	if n != p.Tasks() {
		return nil, config.Problem{Key: "data.clients_per_task", Value: float64(n) / float64(p.Tasks()),
			Want: "must be 1, and data.pool false: " + ownTasks("fedu")}
	}
	edges, err := o.edges(n, s.Seed)
	if err != nil {
		return nil, err
	}
	f := &fedU{LocalSGD: kit.NewLocalSGD(s, o.LocalSGDOptions), opts: o, edges: edges,
		Link: algorithms.NewLink(s, 1, 1, d, false), x: data.NewMatrix(n, d), at: data.NewMatrix(n, d),
		changes: algorithms.NewSlots(p, d), rates: make([]float64, n), taken: make([]bool, n),
		slope: make([]float64, d)}
	f.Link.Describe(&f.About)
	if f.Link != nil {
		f.sent = data.NewMatrix(n, d)
	}
	for k := range n {
		p.Initial(s.Seed, f.x.Row(k))
	}
	return f, nil
}

// Begin opens a round: each device is sent its model.
func (f *fedU) Begin() (algorithms.Sent, error) {
	if f.Link == nil {
		return algorithms.Sent{Size: f.x.Cols}, nil
	}
	copy(f.sent.Data, f.x.Data)
	bytes := 0
	for k := range f.sent.Rows {
		bytes = f.Link.Show(f.sent.Row(k))
	}
	return f.Link.Sent(bytes), nil
}

// Solve makes the device's local steps from its model.
func (f *fedU) Solve(r algorithms.Request) algorithms.Response {
	from := f.x.Row(r.Device)
	if f.Link != nil {
		from = f.sent.Row(r.Device)
	}
	u, steps := f.Descend(r, from, kit.Pull{Center: from})
	for j := range u {
		u[j] -= from[j]
	}
	updates := f.Options.Updates(f.Problem.Train.Clients[r.Device].X.Rows, steps)
	f.rates[r.Device] = f.Options.At(r.Round, f.Options.Step) * float64(updates) * f.opts.Strength
	response := algorithms.Response{Steps: steps, FLOPs: f.FLOPs(r.Device, steps)}
	f.Link.Finish(r, u, &response)
	f.changes.Store(r.Device, u)
	return response
}

// Commit lets the device take part in the step of the round.
func (f *fedU) Commit(device int, _ float64) {
	f.taken[device] = true
	f.Link.Commit(device)
}

// Discard forgets the device's steps.
func (f *fedU) Discard(device int) {
	f.changes.Release(device)
	f.Link.Discard(device)
}

// End takes the steps of the devices of the round.
func (f *fedU) End() (flops float64, err error) {
	if f.opts.Order == orderSent {
		copy(f.at.Data, f.x.Data)
	}
	for k, taken := range f.taken {
		if taken {
			f.changes.AddTo(k, 1, f.x.Row(k))
			f.changes.Release(k)
		}
	}
	at := &f.at
	switch f.opts.Order {
	case orderAfter:
		copy(f.at.Data, f.x.Data)
	case orderInPlace:
		at = &f.x
	}
	for k, taken := range f.taken {
		if !taken {
			continue
		}
		clear(f.slope)
		tied := 0
		for _, e := range f.edges[k] {
			if f.opts.Neighbors == neighborsPresent && !f.taken[e.to] {
				continue
			}
			tied++
			other := at.Row(int(e.to))
			for j, x := range at.Row(k) {
				f.slope[j] += float64(e.weight * (x - other[j]))
			}
		}
		kernel.Axpy(-f.rates[k], f.slope, f.x.Row(k))
		flops += float64((float64(3*float64(tied)) + 2) * float64(len(f.slope)))
	}
	clear(f.taken)
	return flops + f.Link.Take(), nil
}

// Model returns the models of the clients; there are no dual variables.
func (f *fedU) Model() algorithms.Model { return algorithms.Model{W: &f.x} }

// Update returns the change of the device's model.
func (f *fedU) Update(device int) algorithms.Update {
	return f.changes.Update("change of the client's model", device)
}

// State codes the models and the changes under way.
func (f *fedU) State(c *state.Coder) {
	algorithms.CodeRows(c, &f.x)
	f.changes.State(c)
	c.Float64s(f.rates)
	c.Bools(f.taken)
	if f.Link != nil {
		algorithms.CodeRows(c, &f.sent)
	}
	f.Link.State(c)
}

// Join writes the minimum of the loss of a new client + strength/2 sum_l a_l |v - w_l|^2 with the models of the others
// fixed. It is on no graph: its a_l are equal, and add up to the mean of those of the others.
func (f *fedU) Join(n *mtl.Newcomer, into []float64) algorithms.Joined {
	center, sum := make([]float64, f.x.Cols), 0.0
	for k := range f.x.Rows {
		kernel.Axpy(1/float64(f.x.Rows), f.x.Row(k), center)
		for _, e := range f.edges[k] {
			sum += e.weight / float64(f.x.Rows)
		}
	}
	joined := algorithms.Joined{Values: len(center), Uninformed: sum == 0 && len(n.Rows) == 0}
	joined.FLOPs = n.Near(center, f.opts.Strength*sum, f.Options.Step, into)
	return joined
}
