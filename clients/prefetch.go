package clients

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// prefetch reads the state of clients whose events come next.
type prefetch struct {
	population *population
	batteries  *devices.Batteries
	links      *network.Links
	clock      *engine.Engine
	ahead      func([]int32) // see Setup.Ahead
	read       float64
}

// fetch reads the state of clients whose events come next into caches. Between two events
// of a client there are about as many events as clients, so its state comes from memory.
// A loop that only reads has many reads under way at a time; a handler waits for each.
func (p *prefetch) fetch(soon []int32) {
	read := 0.0
	for _, soon := range soon {
		client := int(soon)
		if client >= p.population.Len() {
			continue // a hub
		}
		d := p.population.at(client)
		read += float64(d.began) + float64(d.phase) // its two lines
		read += p.batteries.Spent(client) + p.links.Mbps(network.Up, client) +
			float64(p.batteries.PowerChangeAt(client))
		if empty, ok := p.batteries.EmptyAt(client); ok {
			read += float64(empty)
		}
		if p.population.due != nil {
			read += float64(p.population.Due(client))
		}
		if look, ok := p.clock.Timer(client); ok {
			read += float64(look)
		}
	}
	p.read = read // the compiler removes reads without a use
	if p.ahead != nil {
		p.ahead(soon)
	}
}
