package clients

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// preparation draws what attempts meet, and knows how long they take before they begin.
type preparation struct {
	drops      *devices.Drops
	clock      *engine.Engine
	population *population
	hardware   *hardware
	processors *processors
	energy     *energy
	waiting    *waiting
	inbox      *inbox
	hubs       *hubs // nil: there are none
}

// PrepareDownlink draws the downlink of an attempt, and whether and where the client
// drops, and chooses the speed of its processor. It may be called for several clients at
// once.
func (p *preparation) PrepareDownlink(client, number, try int) {
	p.population.sizes.prepare(client)
	p.drawDownlink(client, number, try)
}

// drawDownlink is PrepareDownlink for a message whose size is set.
func (p *preparation) drawDownlink(client, number, try int) {
	d := p.population.at(client)
	d.number, d.try = int32(number), int32(try)
	d.slow = p.energy.slow(client)
	p.processors.drawJitter(client, number, try)
	p.hardware.links.ResetChannel(client)
	down := p.hardware.cost.Send(network.Down, client, number, try, p.population.sizes.of(client))
	d.down = down.Duration
	d.set(downlinkLost, down.Lost)
	d.drops = idle
	event := p.drops.Draw(client, number, try)
	if !event.Happens {
		return
	}
	d.cut = event.At
	switch event.Phase {
	case devices.DropAtStart:
		d.drops = failed
	case devices.DropInCompute:
		d.drops = compute
	case devices.DropInUpload:
		d.drops = uplink
	case devices.DropAnywhere:
		d.drops = anywhere
	}
}

// PrepareUplink draws the uplink of an attempt whose work is set, and determines the
// lengths of its phases. It may be called for several clients at once.
func (p *preparation) PrepareUplink(client int) {
	d := p.population.at(client)
	p.hardware.links.ResetChannel(client)
	up := p.hardware.cost.Send(network.Up, client, int(d.number), int(d.try), d.bytesUp)
	d.up = up.Duration
	d.set(uplinkLost, up.Lost)
	d.compute = p.processors.computeTime(client)
	if d.drops == anywhere {
		d.placeDrop()
	}
}

// drawChannel draws the transfer that a client begins now again, by the same random numbers, with the present latency
// and losses of its link.
func (p *preparation) drawChannel(client int) {
	d := p.population.at(client)
	way := d.phase.way()
	p.hardware.links.SetChannel(p.hardware.channel, client, way, p.clock.Now())
	t := p.hardware.cost.Send(way, client, int(d.number), int(d.try), p.population.message(client, way).bytes)
	if way == network.Down {
		d.down = t.Duration
		d.set(downlinkLost, t.Lost)
		return
	}
	d.up = t.Duration
	d.set(uplinkLost, t.Lost)
}

// attemptTime returns how long the prepared attempt of a client takes that begins at an
// instant.
func (p *preparation) attemptTime(client int, at engine.Time) engine.Time {
	begins := p.waiting.nextPoll(client, polling, at)
	received := begins.Add(p.energy.radios.promotion(client, begins)).Add(p.population.at(client).down)
	return p.responseAt(client, received, p.waiting.nextPoll(client, launching, received)) - at
}

// responseAt returns when the server has the response of a client that received its message
// at an instant and computes from another one on.
func (p *preparation) responseAt(client int, received, computes engine.Time) engine.Time {
	d := p.population.at(client)
	computed := computes.Add(d.compute)
	return p.inbox.seenAt(computed.Add(p.energy.radios.promotionAfter(client, computed-received)).Add(d.up))
}

// Transfers returns how long the downlink of a prepared attempt takes when it begins
// now, and how long its uplink usually does, hubs included.
func (p *preparation) Transfers(client int, bytesUp float64) (down, up engine.Time) {
	down, up = p.hubs.transfers(client, bytesUp)
	return p.energy.radios.promotion(client, p.clock.Now()).Add(p.population.at(client).down).Add(down),
		p.hardware.ExpectedUplink(client, bytesUp).Add(up)
}
