package clients

import (
	"fedsim/engine"
	"fedsim/network"
)

// handle is the engine's handler.
func (c *Clients) handle(e engine.Event) {
	if client := int(e.Device); client < c.Len() {
		c.happen(e.Kind, client, e.Seq)
	} else {
		c.hubs.happen(e.Kind, client-c.Len())
	}
	c.Flush()
	if c.events++; c.events%WatchEvery == 0 {
		c.listener.Watch()
	}
}

// happen does what an event of a counter does to its client.
func (c *Clients) happen(kind engine.Kind, client int, seq uint32) {
	switch kind {
	case EventDownlinkDone:
		c.leave(client, true)
		c.downloaded(client)
	case EventComputeDone:
		c.leave(client, true)
		c.at(client).set(warm, true)
		c.enter(client, uplink)
	case EventUplinkDone:
		c.leave(client, true)
		c.uploaded(client)
	case EventDownlinkFlow:
		c.endFlows(network.Down, c.downloaded)
	case EventUplinkFlow:
		c.endFlows(network.Up, c.uploaded)
	case EventRateChange:
		way := c.at(client).phase.way()
		c.flows.updateRate(client, way)
		if c.timeouts != nil {
			c.timeouts.change(client, c.flows.moves(client, way))
		}
	case EventDrop:
		c.leave(client, true)
		c.fail(client, DroppedOut)
	case EventAvailability:
		c.changeAvailability(client)
	case EventTimer:
		c.timer(client, seq)
	case EventServerTimer:
		c.listener.Timer(client)
	case EventBatteryCheck:
		c.checkBattery(client)
	case EventRecharged:
		c.recharge(client)
	case EventCapacity:
		c.flows.setCapacity()
		c.watchCapacity()
	}
}

// fetch reads the state of clients whose events come next into caches. Between two events
// of a client there are about as many events as clients, so its state comes from memory.
// A loop that only reads has many reads under way at a time; a handler waits for each.
func (c *Clients) fetch(soon []int32) {
	read := 0.0
	for _, soon := range soon {
		client := int(soon)
		if client >= c.Len() {
			continue // a hub
		}
		d := c.at(client)
		read += float64(d.began) + float64(d.phase) // its two lines
		read += c.batteries.Spent(client) + c.links.Mbps(network.Up, client) +
			float64(c.batteries.PowerChangeAt(client))
		if empty, ok := c.batteries.EmptyAt(client); ok {
			read += float64(empty)
		}
		if c.due != nil {
			read += float64(c.Due(client))
		}
		if look, ok := c.engine.Timer(client); ok {
			read += float64(look)
		}
	}
	c.fetched = read // the compiler removes reads without a use
	if c.setup.Ahead != nil {
		c.setup.Ahead(soon)
	}
}
