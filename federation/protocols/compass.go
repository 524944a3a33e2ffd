package protocols

import (
	"cmp"
	"math"
	"slices"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
)

// Compass has no rounds: it gives each client so many local steps that groups of clients arrive
// together, and the server takes the responses of a group in one step.
const Compass = "compass"

type compassOptions struct {
	// Q_min: fewest mini-batches of a client
	MinSteps int `toml:"min_steps"`
	// Q_max: most mini-batches of a client, and those of its first response
	MaxSteps int `toml:"max_steps"`
	// weight m of the last response in the estimate of a client's seconds per mini-batch
	SpeedMomentum float64 `toml:"speed_momentum"`
	// lambda: a group waits for its clients until lambda times the time in which they are expected
	LatestFactor float64 `toml:"latest_factor"`
}

// Validate reports everything wrong with the options.
func (o *compassOptions) Validate(c *config.Checker) {
	c.Require(o.MinSteps >= 1, "min_steps", o.MinSteps, "must be at least 1")
	c.Require(o.MaxSteps >= o.MinSteps && o.MaxSteps <= 1e6, "max_steps", o.MaxSteps, "must be in [min_steps, 1e6]")
	c.Require(o.SpeedMomentum > 0 && o.SpeedMomentum <= 1, "speed_momentum", o.SpeedMomentum, "must be in (0, 1]")
	c.Require(o.LatestFactor >= 1 && o.LatestFactor <= 1000, "latest_factor", o.LatestFactor, "must be in [1, 1000]")
}

// compass is the scheduler of one run.
type compass struct {
	asynchronous
	opts    compassOptions
	clients map[int]*pacedClient // never iterated
	groups  []*arrivalGroup      // that wait, in the order of their creation
	take    []int32
}

// pacedClient is a client as the scheduler knows it.
type pacedClient struct {
	speed float64     // seconds of a mini-batch, messages included; 0: not known yet
	asked engine.Time // for the present response
	steps int         // mini-batches that it was given
	group *arrivalGroup
}

// arrivalGroup is a group of clients that are expected together.
type arrivalGroup struct {
	awaited, here    []int32 // clients; here those that have responded
	expected, latest engine.Time
	closed           bool // the server does not wait for it any more
}

var _ federation.Grouper = (*compass)(nil)

func init() {
	federation.RegisterProtocol(federation.ProtocolFactory{
		Name: Compass,
		Summary: "no rounds: groups of clients arrive together; clients get as many local steps as let them, " +
			"and the server takes a group in one step",
		Reference: "Li, Chaturvedi, He, Chen, Singh, Kindratenko, Huerta, Kim, Madduri: FedCompass: " +
			"Efficient Cross-Silo Federated Learning on Heterogeneous Client Devices Using a Computing Power-Aware " +
			"Scheduler, ICLR 2024",
		Options: func() config.Options {
			return &compassOptions{MinSteps: 20, MaxSteps: 100, SpeedMomentum: 0.9, LatestFactor: 1.5}
		},
		Traits: func(c *federation.Config) federation.Traits {
			return federation.Traits{End: federation.EndsWithCount, Continuous: true, Groups: true, LimitsWork: true,
				Late: c.KeepsLate()}
		},
		New: func(_ *federation.Config, o config.Options) (federation.Protocol, error) {
			return &compass{opts: *o.(*compassOptions), clients: map[int]*pacedClient{}}, nil
		},
	})
}

// Steps gives a client its mini-batches: the most that it can do until a group is expected, or
// those of a new group.
func (c *compass) Steps(r *federation.OpenRound, client int) float64 {
	k := c.clients[client]
	if k == nil {
		k = &pacedClient{}
		c.clients[client] = k
	}
	k.asked, k.steps = r.Now(), c.opts.MaxSteps
	if k.speed > 0 {
		c.assign(r, client, k)
	}
	return min(r.StepsOf(client, k.steps), federation.Unlimited-1)
}

// assign finds the group and the mini-batches of a client.
func (c *compass) assign(r *federation.OpenRound, client int, k *pacedClient) {
	now, fewest, most := r.Now(), float64(c.opts.MinSteps), float64(c.opts.MaxSteps)
	best := -1.0
	for _, g := range c.groups {
		steps := math.Floor((g.expected - now).Seconds() / k.speed)
		if steps >= max(fewest, best) && steps <= most {
			k.group, best = g, steps
		}
	}
	if best >= 0 {
		k.group.awaited, k.steps = append(k.group.awaited, int32(client)), int(best)
		return
	}
	for _, g := range c.groups {
		if now >= g.latest {
			continue
		}
		next := (g.latest - now).Seconds() + float64(most*c.fastest(g)) // the group after this one
		if steps := math.Floor(next / k.speed); steps <= most {
			best = max(best, steps, fewest)
		}
	}
	if best < 0 {
		best = most
	}
	length := best * k.speed
	k.steps, k.group = int(best), &arrivalGroup{
		awaited:  []int32{int32(client)},
		expected: now.Add(engine.FromSeconds(length)),
		latest:   now.Add(engine.FromSeconds(length * c.opts.LatestFactor)),
	}
	c.groups = append(c.groups, k.group)
	c.wake(r)
}

// fastest returns the seconds of a mini-batch of the fastest client of a group.
func (c *compass) fastest(g *arrivalGroup) float64 {
	least := math.Inf(1)
	for _, members := range [][]int32{g.awaited, g.here} {
		for _, client := range members {
			least = min(least, c.clients[int(client)].speed)
		}
	}
	return least
}

// wake sets the instant at which the next group is overdue.
func (c *compass) wake(r *federation.OpenRound) {
	at := engine.Never
	for _, g := range c.groups {
		if g.latest > r.Now() || len(g.here) > 0 {
			at = min(at, g.latest)
		}
	}
	r.WakeAt(at)
}

// Gather lets a response wait for the others of its group. Without a group the server takes it at
// once; a late one counts in the next step.
func (c *compass) Gather(r *federation.OpenRound, client int, failed bool) (take []int32, step bool) {
	if client == engine.Server {
		return c.overdue(r)
	}
	k := c.clients[client]
	g := k.group
	k.group = nil
	if !failed {
		k.observe((r.Now() - k.asked).Seconds(), c.opts.SpeedMomentum)
	}
	if g == nil {
		return c.alone(client, failed), !failed
	}
	g.awaited = slices.DeleteFunc(g.awaited, func(other int32) bool { return int(other) == client })
	late := g.closed || r.Now() > g.latest
	if !failed && !late {
		g.here = append(g.here, int32(client))
	}
	switch {
	case len(g.awaited) == 0 && len(g.here) > 0 && !g.closed:
		return c.close(r, g), true
	case len(g.awaited) == 0:
		c.drop(g)
	}
	if late {
		return c.alone(client, failed), false
	}
	return nil, false
}

// observe brings the speed up to date, in seconds of a mini-batch.
func (p *pacedClient) observe(took, momentum float64) {
	now := max(took, 1e-9) / float64(p.steps)
	if p.speed > 0 {
		now = float64((1-momentum)*p.speed) + float64(momentum*now)
	}
	p.speed = now
}

// alone returns the list of one client, unless it has failed.
func (c *compass) alone(client int, failed bool) []int32 {
	c.take = c.take[:0]
	if !failed {
		c.take = append(c.take, int32(client))
	}
	return c.take
}

// overdue closes the first group whose latest instant has come and of which a client has responded.
func (c *compass) overdue(r *federation.OpenRound) (take []int32, step bool) {
	for _, g := range c.groups {
		if g.latest <= r.Now() && len(g.here) > 0 {
			return c.close(r, g), true
		}
	}
	c.wake(r)
	return nil, false
}

// close ends a group, and returns the clients that have responded, the fastest first. Those that it still
// awaits will be late.
func (c *compass) close(r *federation.OpenRound, g *arrivalGroup) []int32 {
	c.take = append(c.take[:0], g.here...)
	slices.SortStableFunc(c.take, func(a, b int32) int {
		return cmp.Compare(c.clients[int(a)].speed, c.clients[int(b)].speed)
	})
	g.here, g.closed = nil, true
	c.drop(g)
	c.wake(r)
	return c.take
}

// drop takes a group from those that wait.
func (c *compass) drop(of *arrivalGroup) {
	c.groups = slices.DeleteFunc(c.groups, func(g *arrivalGroup) bool { return g == of })
}
