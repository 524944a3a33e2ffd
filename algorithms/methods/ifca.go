package methods

import (
	"slices"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// The messages of clients of ifca, and the part that its clusters share.
const (
	averageModel    = "model"
	averageGradient = "gradient"
	sharedNone      = "none"
	sharedBody      = "body"
)

type ifcaOptions struct {
	componentOptions
	// number of clusters, each with a model
	Clusters int `toml:"clusters"`
	// the message of a client: "model", the change of its local steps; "gradient", that of one step
	// along the gradient of all its rows, which the server divides by the weights of all clients
	Average string `toml:"average"`
	// the common part of the models of clusters: "none"; "body", all layers of a network but the
	// last
	Shared string `toml:"shared"`
}

func (o *ifcaOptions) Validate(c *config.Checker) {
	o.check(c, "clusters", o.Clusters)
	c.OneOf("average", o.Average, averageModel, averageGradient)
	c.OneOf("shared", o.Shared, sharedNone, sharedBody)
	c.Require(o.Average == averageModel || o.Shared == sharedNone, "shared", o.Shared,
		"must be \"none\" with average = \"gradient\"")
}

// body returns the values that the models of clusters have in common.
func (o *ifcaOptions) body(shape mtl.Shape) int {
	if o.Shared == sharedNone {
		return 0
	}
	body, _ := shape.Head()
	return body
}

// ifca is the iterative federated clustering algorithm. The server has a model for each cluster, and sends all of them.
// A client works on the one of the least mean loss of its training rows, and sends its number; the server averages the
// changes of a cluster. Clients are evaluated by the model of the cluster that they would choose then.
type ifca struct {
	personalized
	opts     ifcaOptions
	body     int
	averages []kit.Average // by cluster
	chosen   []int32       // by device: the cluster of its work under way, or of its last
	assigned []int32       // by device: its cluster under the present models, when they are evaluated
	losses   [][]float64   // by worker, of the rows of a device
}

var (
	_ algorithms.Stateful = (*ifca)(nil)
	_ algorithms.Reporter = (*ifca)(nil)
)

// The metrics of ifca: the number of clusters that clients have, and the cluster of each client, from 1 on.
const (
	clustersUsed  = "clusters"
	clientCluster = "cluster"
)

func init() {
	kit.Register(algorithms.Factory{
		Name:    "ifca",
		Summary: "averaging by cluster; each client chooses the cluster whose model fits its rows best",
		Reference: "Ghosh, Chung, Yin, Ramchandran: An Efficient Framework for Clustered Federated Learning, " +
			"NeurIPS 2020",
		Options: func() algorithms.Options {
			return &ifcaOptions{componentOptions{kit.DefaultAverage(kit.ByRows), 0.1}, 2, averageModel, sharedNone}
		},
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			opts := o.(*ifcaOptions)
			d := kit.Averaging(o, shape)
			d.Model, d.Metrics = algorithms.PersonalModels, []algorithms.NamedMetric{
				{Name: clustersUsed, Better: "higher"}, {Name: clientCluster}}
			d.Learns.OwnTasks, d.Learns.Clients, d.Learns.AtLeast = true, opts.Clusters, "clusters"
			d.Messages = algorithms.Messages{Coded: opts.Shared == sharedNone, Single: true}
			if opts.Shared == sharedBody {
				d.Learns.Models = []string{mtl.ModelMLP}
				d.Learns.Because = "with options.shared = \"body\": others have no layers"
			}
			d.Work = opts.work(shape)
			return d
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return newIFCA(s, *o.(*ifcaOptions))
		},
	})
}

// work describes the local work: the losses of all rows under each model come before the local steps.
func (o *ifcaOptions) work(shape mtl.Shape) algorithms.Workload {
	load := o.Workload(shape, false)
	steps := load.FLOPs
	if o.Average == averageGradient {
		load.StepFLOPs = shape.RowFLOPs()
		load.Steps = func(rows, allowed int) int { return min(rows, allowed) }
		load.Batches = func(int, int) int { return 1 }
		load.BatchSteps = func(rows, _ int) int { return rows }
		steps = func(_, steps int) float64 {
			return float64(float64(steps)*shape.RowFLOPs()) + float64(2*float64(shape.Values()))
		}
	}
	load.FLOPs = func(rows, n int) float64 {
		return float64(float64(o.Clusters*rows)*shape.ScoreFLOPs()) + steps(rows, n)
	}
	load.Vectors, load.Up, load.Extra, load.Working = o.Clusters, 1, 1, 1
	load.Unsent = (o.Clusters - 1) * o.body(shape)
	return load
}

func newIFCA(s algorithms.Setup, o ifcaOptions) (*ifca, error) {
	p := s.Problem
	start, err := o.start(s, o.Clusters)
	if err != nil {
		return nil, err
	}
	f := &ifca{opts: o, body: o.body(p.Shape), chosen: make([]int32, p.Clients()), assigned: make([]int32, p.Clients())}
	for m := range o.Clusters {
		copy(start[m*p.Values():][:f.body], start)
		f.averages = append(f.averages, kit.NewAverage(p.Values()))
	}
	f.personalized, err = personalize(s, &PersonalOptions{o.AverageOptions, personalModels}, "ifca", 0,
		kit.NewGlobalVectors(s, o.AverageOptions, 0, start, o.Clusters, p.Values()))
	if err != nil {
		return nil, err
	}
	most := int(slices.Max(p.RowCounts()))
	for range s.Workers {
		f.losses = append(f.losses, make([]float64, most))
	}
	f.evaluates(func(device, _ int, into []float64) { copy(into, f.Vector(int(f.assigned[device]))) }, false)
	return f, nil
}

// best returns the model of the least mean loss of a device's training rows, the first of equals.
func (f *ifca) best(device, worker int, model func(int) []float64) int {
	p, best, least := f.Problem, 0, 0.0
	task := p.Train.Open(device)
	defer task.Close()
	for m := range f.averages {
		loss := 0.0
		if p.Given.Values > 0 {
			loss = p.LocalLoss(device, model(m))
		} else {
			losses := f.losses[worker][:task.X.Rows]
			f.Scratch[worker].Gradient.Losses(task.Client, model(m), losses)
			for _, x := range losses {
				loss += x
			}
		}
		if m == 0 || loss < least {
			best, least = m, loss
		}
	}
	return best
}

// Begin opens a round: each device is sent all models.
func (f *ifca) Begin() (algorithms.Sent, error) {
	for m := range f.averages {
		f.averages[m].Reset()
	}
	sent, err := f.GlobalModel.Begin()
	sent.Size -= (len(f.averages) - 1) * f.body
	return sent, err
}

// Solve chooses the device's cluster, and makes its local steps from the model of it.
func (f *ifca) Solve(r algorithms.Request) (response algorithms.Response) {
	j := f.best(r.Device, r.Worker, f.ShownVector)
	f.chosen[r.Device] = int32(j)
	w := f.ShownVector(j)
	if f.opts.Average == averageModel {
		response = f.SolveFrom(r, w)
	} else {
		rows := min(f.Problem.Train.Clients[r.Device].X.Rows, r.Steps)
		g := f.Scratch[r.Worker].G
		f.Gradient(r, w, rows, g)
		kernel.Scale(-f.Options.At(r.Round, f.Options.Step), g, g)
		response = algorithms.Response{Steps: rows, FLOPs: f.FLOPs(r.Device, rows)}
		f.Finish(r, g, &response)
		f.Changes.Store(r.Device, g)
	}
	response.Values += f.Link.One() // the number of the cluster
	return response
}

// Commit takes the device's change into the mean of its cluster.
func (f *ifca) Commit(device int, weight float64) {
	f.averages[f.chosen[device]].Add(f.Changes, device, f.WeightOf(device), weight)
	f.Accept(device)
}

// End adds the means of the changes to the models.
func (f *ifca) End() (float64, error) {
	f.stale = true
	flops, bodies := f.Link.Take(), 0.0
	for m := range f.averages {
		bodies += f.averages[m].Weight
	}
	if f.body > 0 && bodies > 0 { // the mean over all clusters
		first := f.averages[0].Sum[:f.body]
		for m := range f.averages[1:] {
			kernel.Axpy(1, f.averages[1+m].Sum[:f.body], first)
		}
		kernel.Axpy(1/bodies, first, f.Vector(0)[:f.body])
		for m := range f.averages {
			clear(f.averages[m].Sum[:f.body])
			copy(f.Vector(m)[:f.body], f.Vector(0))
		}
	}
	for m := range f.averages {
		average := &f.averages[m]
		if f.opts.Average == averageGradient && average.Weight > 0 {
			average.Weight = f.WeightOfAll()
		}
		flops += average.Apply(f.Vector(m), 1)
	}
	return flops, nil
}

// assign sets the clusters of all devices under the present models.
func (f *ifca) assign() {
	if !f.stale {
		return
	}
	f.pool.For(len(f.assigned), func(device, worker int) {
		f.assigned[device] = int32(f.best(device, worker, f.Vector))
	})
}

// Model returns the models of the clients.
func (f *ifca) Model() algorithms.Model {
	f.assign()
	return algorithms.Model{W: f.personal()}
}

// Evaluate returns the number of clusters that clients have, and the cluster of each.
func (f *ifca) Evaluate() (algorithms.Evaluation, error) {
	f.Model()
	used, clients := map[int32]bool{}, algorithms.ClientMetric{Name: clientCluster}
	for k, m := range f.assigned {
		used[m] = true
		clients.Clients = append(clients.Clients, int32(k))
		clients.Values = append(clients.Values, float64(m+1))
	}
	return algorithms.Evaluation{Values: []algorithms.NamedValue{{Name: clustersUsed, Value: float64(len(used))}},
		Clients: []algorithms.ClientMetric{clients}}, nil
}

// State codes the models, the changes of them and their clusters.
func (f *ifca) State(c *state.Coder) {
	f.personalized.State(c)
	for k := range f.chosen {
		chosen := int(f.chosen[k])
		c.Int(&chosen)
		f.chosen[k] = int32(chosen)
	}
}

// Join writes the model of the cluster that fits the rows of a new client best; without rows that of the cluster of
// most training rows.
func (f *ifca) Join(n *mtl.Newcomer, into []float64) algorithms.Joined {
	best, least := 0, 0.0
	losses, rows := make([]float64, len(n.Rows)), make([]float64, len(f.averages))
	for k, m := range f.assigned {
		rows[m] += f.RowsOf(k)
	}
	for m := range f.averages {
		loss := -rows[m]
		if len(n.Rows) > 0 {
			loss = 0
			n.Gradient.LossesOf(n.Client, n.Rows, f.Vector(m), losses)
			for _, x := range losses {
				loss += x
			}
		}
		if m == 0 || loss < least {
			best, least = m, loss
		}
	}
	copy(into, f.Vector(best))
	return algorithms.Joined{Values: f.W.Cols - (len(f.averages)-1)*f.body,
		FLOPs: float64(float64(len(f.averages)*len(n.Rows)) * f.Problem.ScoreFLOPs())}
}
