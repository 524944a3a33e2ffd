package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/mtl"
)

// HierFAvgOptions are the settings of hierarchical federated averaging.
type HierFAvgOptions struct {
	kit.AverageOptions
	// rounds kappa_2 in which a hub (network.hubs.size) averages the models of its clients before it
	// reports to the server; in each, clients do the local work again
	HubRounds int `toml:"hub_rounds"`
}

// Validate reports everything wrong with the options.
func (o *HierFAvgOptions) Validate(c *config.Checker) {
	o.AverageOptions.Validate(c)
	c.Require(o.HubRounds >= 1 && o.HubRounds <= 10_000, "hub_rounds", o.HubRounds, "must be in [1, 10000]")
}

// hierFAvg is hierarchical federated averaging: a hub averages the models of its devices
// kappa_2 times as the server does in federated averaging, and then the server averages the
// models of hubs, weighted by the rows of the devices that took part behind each. Hubs do not
// wait for each other. With kappa_2 = 1 it is federated averaging; with one hub a round is
// kappa_2 rounds of it. A hub without responses keeps its model.
type hierFAvg struct {
	kit.GlobalModel
	size  int // devices of a hub; 0: all
	hubs  []hubModel
	taken []bool // by device: it counts for the weight of its hub in the open round
}

// hubModel is the model of a hub in the open round.
type hubModel struct {
	w      []float64
	own    bool        // w is not the model of the server
	round  kit.Average // of the hub's open round
	weight float64     // of its devices that took part
}

var _ algorithms.Tiered = (*hierFAvg)(nil)

func init() {
	kit.Register(algorithms.Factory{
		Name: "hierfavg",
		Summary: "averaging by hubs, then by the server; hubs average the models of their clients several " +
			"times before they report",
		Reference: "Liu, Zhang, Song, Letaief: Client-Edge-Cloud Hierarchical Federated Learning, ICC 2020",
		Options: func() algorithms.Options {
			return &HierFAvgOptions{AverageOptions: kit.DefaultAverage(kit.ByRows), HubRounds: 5}
		},
		Describe: func(o algorithms.Options, _ mtl.Shape) algorithms.Description {
			return algorithms.Description{Model: algorithms.OneModel, Means: true,
				HubRounds: o.(*HierFAvgOptions).HubRounds}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return newHierFAvg(s, o.(*HierFAvgOptions)), nil
		},
	})
}

func newHierFAvg(s algorithms.Setup, o *HierFAvgOptions) *hierFAvg {
	h := &hierFAvg{
		GlobalModel: kit.NewGlobalModel(s, o.AverageOptions, 0),
		size:        s.HubSize, taken: make([]bool, s.Problem.Clients()),
	}
	h.hubs = make([]hubModel, h.hub(s.Problem.Clients()-1)+1)
	for g := range h.hubs {
		h.hubs[g].w, h.hubs[g].round = make([]float64, h.W.Cols), kit.NewAverage(h.W.Cols)
	}
	return h
}

func (h *hierFAvg) hub(device int) int {
	if h.size == 0 {
		return 0
	}
	return device / h.size
}

// Solve makes the device's local steps from the model of its hub.
func (h *hierFAvg) Solve(r algorithms.Request) algorithms.Response {
	if g := &h.hubs[h.hub(r.Device)]; g.own {
		return h.SolveFrom(r, g.w)
	}
	return h.SolveFrom(r, h.Weights())
}

// Commit adds the device's change to the mean of its hub.
func (h *hierFAvg) Commit(device int, _ float64) {
	g := &h.hubs[h.hub(device)]
	g.round.Add(h.Changes, device, h.WeightOf(device), 1)
	if !h.taken[device] {
		h.taken[device] = true
		g.weight += h.WeightOf(device)
	}
	h.Changes.Release(device)
}

// Gather adds the mean of the changes to the model of the hub.
func (h *hierFAvg) Gather(hub int) {
	g := &h.hubs[hub]
	if g.round.Weight == 0 {
		return
	}
	if !g.own {
		copy(g.w, h.Weights())
		g.own = true
	}
	g.round.Apply(g.w, 1)
	g.round.Reset()
}

// Withdraw forgets the rounds of the hub.
func (h *hierFAvg) Withdraw(hub int) {
	g := &h.hubs[hub]
	g.own, g.weight = false, 0
	g.round.Reset()
}

// End closes the last round of the hubs, and sets w to the mean of the models of those that
// have one, in their order: the first, which each of the others moves towards itself.
func (h *hierFAvg) End() (float64, error) {
	for i := range h.hubs {
		h.Gather(i)
	}
	total, flops := 0.0, 0.0
	for i := range h.hubs {
		g := &h.hubs[i]
		if !g.own {
			continue
		}
		if total == 0 {
			copy(h.Weights(), g.w)
			total = g.weight
		} else {
			total += g.weight
			share := g.weight / total
			for j, w := range h.Weights() {
				h.Weights()[j] = w + float64(share*(g.w[j]-w))
			}
			flops += float64(3 * float64(h.W.Cols))
		}
		h.Withdraw(i)
	}
	clear(h.taken)
	return flops, nil
}
