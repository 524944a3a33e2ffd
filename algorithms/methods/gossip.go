package methods

import (
	"math"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// The models that a run of gossip evaluates.
const (
	evaluateClients = "clients"
	evaluateMean    = "mean"
)

// GossipOptions are the settings of gossip.
type GossipOptions struct {
	kit.LocalSGDOptions
	// which clients average with each other: "ring"; "torus" (a*b clients with a and b at least 3,
	// as near to each other as possible); "random-regular"; "complete"; or the path of a file, which has a dot or a
	// slash: an edge a line, two numbers of clients from 0 on; every edge once, or every edge in both
	// directions; "#" begins a comment
	Graph string `toml:"graph"`
	// neighbors of a client on the graph "random-regular", which is drawn from the seed of the run
	Degree int `toml:"degree"`
	// model that a run evaluates: "clients": for each task that of its client (the mean of its
	// clients); "mean": the mean of all clients, for all tasks, which no client has
	Evaluate string `toml:"evaluate"`
}

// Validate reports everything wrong with the options.
func (o *GossipOptions) Validate(c *config.Checker) {
	o.LocalSGDOptions.Validate(c)
	checkGraph(c, o.Graph, graphRing, graphTorus, graphRegular, graphComplete)
	c.Require(o.Degree >= 1, "degree", o.Degree, "must be at least 1")
	if o.Evaluate == "devices" {
		c.Require(false, "evaluate", o.Evaluate, "must be \"clients\", which has replaced \"devices\"")
		return
	}
	c.OneOf("evaluate", o.Evaluate, evaluateClients, evaluateMean)
}

// gossip is decentralized SGD without a server. Every client has a model. In a
// round it makes local steps from it, sends the result y_k to its neighbors on a graph, and
// takes the mean x_k = sum_j W_kj y_j over its neighbors and itself. The weights W are those of
// Metropolis and Hastings; on a graph of one degree they are all 1/(degree + 1). On the complete
// graph it is federated averaging with equal weights.
//
// Devices whose work of a round was discarded, or that were not asked, are not in the round:
// their models stay, and what their neighbors would have weighed them with, these give their
// own models. So W stays symmetric and doubly stochastic, and the mean of all models is moved
// by local steps alone.
type gossip struct {
	kit.LocalSGD
	*mail
	mean    bool              // the run evaluates the mean
	x, next data.Matrix       // models by device
	local   *algorithms.Slots // y_k, tentative
	space   [2][]float64      // for two of them
	w       data.Matrix       // evaluated
	holders []float64         // devices by row of w; nil: w is x
}

var (
	_ algorithms.Stateful = (*gossip)(nil)
	_ algorithms.Reporter = (*gossip)(nil)
)

func init() {
	kit.Register(algorithms.Factory{
		Name: "gossip",
		Summary: "no server: clients average with their neighbors; every client has its own model and makes " +
			"local mini-batch steps on a graph",
		Reference: "Lian, Zhang, Zhang, Hsieh, Zhang, Liu: Can Decentralized Algorithms Outperform Centralized " +
			"Algorithms? A Case Study for Decentralized Parallel Stochastic Gradient Descent, NIPS 2017",
		Options: func() algorithms.Options {
			return &GossipOptions{LocalSGDOptions: kit.DefaultLocalSGD(), Graph: graphRing, Degree: 4,
				Evaluate: evaluateClients}
		},
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			opts := o.(*GossipOptions)
			d := algorithms.Description{
				Model: algorithms.DeviceModels, Means: true, Messages: algorithms.Messages{Differ: true},
				Work:    opts.Workload(shape, false),
				Metrics: []algorithms.NamedMetric{{Name: consensusDistance, Better: "lower"}},
			}
			d.Work.Exchange = func(devices int, seed uint64) (algorithms.Exchange, error) {
				return newMail(opts, devices, shape.Values(), seed)
			}
			return d
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return newGossip(s, o.(*GossipOptions))
		},
	})
}

func newGossip(s algorithms.Setup, o *GossipOptions) (*gossip, error) {
	p := s.Problem
	n, d := p.Clients(), p.Values()
	m, err := newMail(o, n, d, s.Seed)
	if err != nil {
		return nil, err
	}
	g := &gossip{
		LocalSGD: kit.NewLocalSGD(s, o.LocalSGDOptions), mail: m, mean: o.Evaluate == evaluateMean,
		x: data.NewMatrix(n, d), next: data.NewMatrix(n, d), local: algorithms.NewSlots(p, d),
		space: [2][]float64{algorithms.SpaceOf(p, d), algorithms.SpaceOf(p, d)},
	}
	g.About.Messages.Usual = g.Usual
	for k := range n {
		p.Initial(s.Seed, g.x.Row(k))
	}
	if g.w = g.x; g.mean || p.Tasks() < n { // otherwise tasks are in the order of devices
		tasks := p.Tasks()
		if g.mean {
			tasks = 1
		}
		g.w, g.holders = data.NewMatrix(tasks, d), make([]float64, tasks)
		for k := range n {
			g.holders[g.shown(k)]++
		}
	}
	g.evaluated()
	return g, nil
}

// Begin returns the size of a model, and that of the messages to a device.
func (g *gossip) Begin() (algorithms.Sent, error) {
	return algorithms.Sent{Size: g.x.Cols, To: g.to}, nil
}

// Solve makes the device's local steps from its own model.
func (g *gossip) Solve(r algorithms.Request) algorithms.Response {
	u, steps := g.Descend(r, g.x.Row(r.Device), kit.Pull{Center: g.x.Row(r.Device)})
	g.local.Store(r.Device, u)
	return algorithms.Response{Steps: steps, FLOPs: g.FLOPs(r.Device, steps) + g.Averaging(r.Device),
		Values: g.Upload(r.Device)}
}

// Commit lets the device take part in the averages of the round.
func (g *gossip) Commit(device int, _ float64) { g.taken[device] = true }

// Discard forgets the device's steps.
func (g *gossip) Discard(device int) { g.local.Release(device) }

// End averages the models of neighbors that take part. The devices do this work, in their
// next rounds: no server does any.
func (g *gossip) End() (float64, error) {
	for k, taken := range g.taken {
		if taken {
			g.average(k)
		}
	}
	for k, taken := range g.taken {
		if taken {
			copy(g.x.Row(k), g.next.Row(k))
			g.local.Release(k)
		}
	}
	g.Deliver()
	g.evaluated()
	return 0, nil
}

// average sets the next model of device k to y_k + sum_j W_kj (y_j - y_k) over neighbors j
// that take part, in their order.
func (g *gossip) average(k int) {
	x, own := g.next.Row(k), g.local.At(k, g.space[0])
	copy(x, own)
	for _, j := range g.neighbors[k] {
		if !g.taken[j] {
			continue
		}
		w, other := g.neighbors.weight(k, int(j)), g.local.At(int(j), g.space[1])
		for i := range x {
			x[i] += float64(w * (other[i] - own[i]))
		}
	}
}

// shown returns the row of W that the model of device k is in.
func (g *gossip) shown(k int) int {
	if g.mean {
		return 0
	}
	return g.Problem.TaskOf(k)
}

// evaluated sets the rows of W to the means of the models that are in them.
func (g *gossip) evaluated() {
	if g.holders == nil {
		return
	}
	clear(g.w.Data)
	for k := range g.x.Rows {
		row := g.w.Row(g.shown(k))
		for i, x := range g.x.Row(k) {
			row[i] += x
		}
	}
	for t, n := range g.holders {
		row := g.w.Row(t)
		for i := range row {
			row[i] /= n
		}
	}
}

// Model returns the models that the run evaluates; there are no dual variables.
func (g *gossip) Model() algorithms.Model { return algorithms.Model{W: &g.w} }

// consensusDistance is the metric sqrt(1/m sum_k |x_k - x|^2), with x the mean of the models of
// the m devices.
const consensusDistance = "consensus_distance"

// Evaluate returns the consensus distance of the present models.
func (g *gossip) Evaluate() (algorithms.Evaluation, error) {
	n, sum := float64(g.x.Rows), 0.0
	for i := range g.x.Cols {
		mean := 0.0
		for k := range g.x.Rows {
			mean += g.x.Row(k)[i]
		}
		mean /= n
		for k := range g.x.Rows {
			off := g.x.Row(k)[i] - mean
			sum += float64(off * off)
		}
	}
	return algorithms.Evaluation{Values: []algorithms.NamedValue{{Name: consensusDistance, Value: math.Sqrt(sum / n)}}},
		nil
}

// State codes the models and the messages on their way.
func (g *gossip) State(c *state.Coder) {
	algorithms.CodeRows(c, &g.x)
	g.local.State(c)
	g.mail.state(c)
	g.evaluated()
}

// mail is the messages of gossip: who sends a model to whom.
type mail struct {
	neighbors graph
	values    int                  // of a model
	taken     []bool               // by device: it takes part in the averages of the round
	inbox     []int                // by device: models of neighbors that it has not received
	to        func(device int) int // sent
}

func newMail(o *GossipOptions, devices, values int, seed uint64) (*mail, error) {
	neighbors, err := newGraph(o, devices, seed)
	if err != nil {
		return nil, err
	}
	m := &mail{neighbors: neighbors, values: values, taken: make([]bool, devices), inbox: make([]int, devices)}
	m.to = m.To
	return m, nil
}

// To returns the size of the models that neighbors have sent the device since it was asked
// last. There are none before its first round.
func (m *mail) To(device int) int { return m.inbox[device] * m.values }

// Usual returns the sizes of a model from and to every neighbor.
func (m *mail) Usual(device int) (down, up int) { return m.Upload(device), m.Upload(device) }

// Upload returns the size of a model to every neighbor.
func (m *mail) Upload(device int) int { return len(m.neighbors[device]) * m.values }

// Averaging returns the FLOPs of the average of the models that the device has received with
// its own: a difference, a product and a sum a value.
func (m *mail) Averaging(device int) float64 { return float64(3 * float64(m.To(device))) }

// Take lets a device take part in the averages of the round.
func (m *mail) Take(device int) { m.taken[device] = true }

// Deliver ends a round: a device that took part is sent the models of neighbors that did. One
// that did not is sent those of before again.
func (m *mail) Deliver() {
	for k, taken := range m.taken {
		if !taken {
			continue
		}
		m.inbox[k] = 0
		for _, j := range m.neighbors[k] {
			if m.taken[j] {
				m.inbox[k]++
			}
		}
	}
	clear(m.taken)
}

func (m *mail) state(c *state.Coder) {
	c.Bools(m.taken)
	c.Ints(m.inbox)
}

// Update returns the model after the device's steps.
func (g *gossip) Update(device int) algorithms.Update {
	return g.local.Update("model y", device)
}
