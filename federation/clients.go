package federation

import (
	"cmp"
	"math/bits"
	"slices"

	"fedsim/internal/elementary"
	"fedsim/internal/parallel"
	"fedsim/internal/rng"
)

// How the devices of a round are drawn (federation.selection).
const (
	Uniformly = "uniform"         // all with the same probability
	ByData    = "data"            // the more likely the more rows they have
	BySpeed   = "speed"           // the more likely the sooner their answers come
	ByLoss    = "power-of-choice" // those of the highest loss among candidates
)

// clients draws the devices of each round without replacement, from the seed, the
// round and who can be asked.
type clients struct {
	seed    uint64
	size    int       // of a round's sample
	weights []float64 // by device: what the probability of being drawn next is proportional to; nil: the same for all
	chosen  []int32   // of the last round, in order
	from    []int32   // those drawn from, when not all can be asked
	marks   []uint64  // one bit for each device; all 0 between two draws
	keyed   []keyed
}

// keyed is a candidate with what it is chosen by: the least keys win.
type keyed struct {
	key    float64
	device int32
}

func newClients(seed uint64, size, devices int) clients {
	return clients{seed: seed, size: size, marks: make([]uint64, (devices+63)/64)}
}

// uniform draws k of the devices listed, or of devices 0..n-1 when from is nil,
// in ascending order. It is Floyd's algorithm: k draws for k devices (Bentley and
// Floyd, CACM 1987), from the stream (seed, rng.Clients, -1, round).
func (c *clients) uniform(round, k, n int, from []int32) []int32 {
	c.chosen = slices.Grow(c.chosen[:0], min(k, n))
	if k < n {
		s := rng.New(c.seed, rng.Clients, -1, round)
		for last := n - k; last < n; last++ {
			i := s.IntN(last + 1)
			if c.marks[i/64]&(1<<(i%64)) != 0 {
				i = last
			}
			c.marks[i/64] |= 1 << (i % 64)
		}
	}
	at := func(i int) int32 {
		if from != nil {
			return from[i]
		}
		return int32(i)
	}
	if k >= n {
		for i := range n {
			c.chosen = append(c.chosen, at(i))
		}
		return c.chosen
	}
	for w, word := range c.marks {
		for ; word != 0; word &= word - 1 {
			c.chosen = append(c.chosen, at(w*64+bits.TrailingZeros64(word)))
		}
		c.marks[w] = 0
	}
	return c.chosen
}

// weighted draws k of the devices listed one after the other, each time with
// probabilities proportional to the weights of those left: the k smallest of
// -ln(u_t)/weight_t, with u_t the first number of (seed, rng.Clients, t, round)
// (Efraimidis and Spirakis, Information Processing Letters 2006).
func (c *clients) weighted(pool *parallel.Pool, round, k int, from []int32) []int32 {
	return c.least(pool, k, from, func(t int32) float64 {
		s := rng.New(c.seed, rng.Clients, int(t), round)
		return -elementary.Log(1-s.Float64()) / c.weights[t]
	})
}

// least returns the k devices of the least keys among those listed, in ascending
// order.
func (c *clients) least(pool *parallel.Pool, k int, from []int32, key func(t int32) float64) []int32 {
	c.keyed = slices.Grow(c.keyed[:0], len(from))[:len(from)]
	pool.For(len(from), func(i, _ int) { c.keyed[i] = keyed{key(from[i]), from[i]} })
	slices.SortFunc(c.keyed, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.device, b.device))
	})
	c.chosen = c.chosen[:0]
	for _, candidate := range c.keyed[:min(k, len(from))] {
		c.chosen = append(c.chosen, candidate.device)
	}
	slices.Sort(c.chosen)
	return c.chosen
}

// choose decides which devices the round asks: all that do not still owe an
// answer, or a sample of those that can be reached besides.
func (f *Federation) choose() {
	c, n := &f.clients, len(f.devices)
	all := c.size == n
	var from []int32 // nil: everyone
	if len(f.carried) > 0 || !all && f.absent > 0 || c.weights != nil || f.setup.Config.Selection == ByLoss {
		c.from = c.from[:0]
		for t := range f.devices {
			if !f.devices[t].chosen && (all || f.reachable(t)) {
				c.from = append(c.from, int32(t))
			}
		}
		from, n = c.from, len(c.from)
	}
	switch {
	case all:
		f.chosen = c.uniform(f.round, n, n, from)
	case c.weights != nil:
		f.chosen = c.weighted(f.setup.Pool, f.round, c.size, from)
	case f.setup.Config.Selection == ByLoss:
		f.chosen = f.byLoss(from)
	default:
		f.chosen = c.uniform(f.round, c.size, n, from)
	}
}

// byLoss draws candidates, and returns those of them that the present model fits
// worst: power-of-choice (Cho, Wang and Joshi, 2020). Finding out costs no
// virtual time.
func (f *Federation) byLoss(from []int32) []int32 {
	c := &f.clients
	candidates := slices.Clone(c.uniform(f.round, f.setup.Config.Candidates, len(from), from))
	worst := c.chosen[:min(c.size, len(candidates))]
	if !f.playing() {
		w := f.method.Model().W
		worst = c.least(f.setup.Pool, c.size, candidates, func(t int32) float64 {
			return -f.setup.Problem.LocalLoss(int(t), w.Row(f.setup.Problem.TaskOf(int(t))))
		})
	}
	for i := range worst {
		t := f.toldCount(func() int { return int(worst[i]) })
		if !f.believe(slices.Contains(candidates, int32(t)) && (i == 0 || int32(t) > worst[i-1])) {
			return candidates[:len(worst)]
		}
		worst[i] = int32(t)
	}
	return worst
}

// weigh returns the weights by which devices are drawn; nil when all are alike.
func (f *Federation) weigh() []float64 {
	of := func(weight func(t int) float64) []float64 {
		weights := make([]float64, len(f.devices))
		for t := range weights {
			weights[t] = weight(t)
		}
		return weights
	}
	switch f.setup.Config.Selection {
	case ByData:
		return of(func(t int) float64 { return float64(f.setup.Size.Rows[t]) })
	case BySpeed:
		bytes := f.links.Bytes(f.setup.Size.Features)
		return of(func(t int) float64 {
			pass := float64(f.setup.Size.Rows[t]) * f.method.StepFLOPs()
			answer := f.links.ExpectedDownlink(t, bytes) + f.fleet.ComputeTime(t, pass) + f.cost.expectedUp(t, bytes) + f.relaying(t, bytes)
			return 1 / max(answer, 1).Seconds()
		})
	default:
		return nil
	}
}

// all returns the devices whose answers the open round takes, in order: those it
// asked, and those that still owe one from before. It is valid until the next call.
func (f *Federation) all() []int32 {
	if len(f.carried) == 0 {
		return f.chosen
	}
	f.merged = append(append(f.merged[:0], f.chosen...), f.carried...)
	slices.Sort(f.merged)
	return f.merged
}
