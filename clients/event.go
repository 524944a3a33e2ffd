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
