package experiment

import (
	"fmt"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/engine"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/traces"
	"fedsim/network"
)

// capacity sets the capacities of shared links over time by the file of a scenario.
func (p *preparer) capacity(system *clients.System, s *scenario.Settings) error {
	shared := &s.Network.SharedConfig
	if shared.Capacity == "" {
		return nil
	}
	sets, err := p.traces.get("capacity "+shared.Capacity, func() ([]*traces.Set, error) {
		set, err := traces.LoadCapacity(shared.Capacity)
		return []*traces.Set{set}, err
	})
	if err != nil {
		return err
	}
	server := shared.ServerDownMbps > 0 || shared.ServerUpMbps > 0
	c, err := traces.NewCapacity(sets[0], shared.Capacity, server, shared.Cells, s.Traces.Wrap)
	if err == nil {
		system.Capacity = c
	}
	return err
}

// modelCapacity lets a link model that is a network.Capacity set the capacities of shared links, if there are any.
func modelCapacity(s *clients.System, c *network.Config, model any, start func() (any, error)) error {
	m, ok := model.(network.Capacity)
	if !ok || !c.SharesLinks() {
		return nil
	}
	if c.Capacity != "" || c.RushShare < 1 {
		return config.Problem{Key: "network.model", Value: c.Model, Want: "must be one that leaves the capacity of " +
			"shared links alone, beside network.shared.capacity or rush_share: there can be one source"}
	}
	s.Capacity = watchedCapacity{m, newWatch(fmt.Sprintf("link model %q", c.Model), 1+c.Cells, start)}
	return nil
}

type watchedCapacity struct {
	network.Capacity
	seen *watch
}

func (w watchedCapacity) Share(link int, at engine.Time) (share float64, until engine.Time) {
	share, until = w.Capacity.Share(link, at)
	if !(share >= 0 && share <= 1) || until <= at {
		panic(fmt.Sprintf("model %s: share of link %d at %v is %g until %v: must be in [0, 1], until later",
			w.seen.model, link, at, share, until))
	}
	w.seen.note(link+1, call{method: "Share", at: at, value: share, until: until})
	return share, until
}

func (w watchedCapacity) checkAgain() error {
	return w.seen.check(true, func(of any, link int, c *call) {
		c.value, c.until = of.(network.Capacity).Share(link-1, c.at)
	})
}
