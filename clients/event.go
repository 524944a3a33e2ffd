package clients

import (
	"fedsim/engine"
	"fedsim/network"
)

// handle is the engine's handler.
func (c *Clients) handle(e engine.Event) {
	if t := int(e.Device); t < c.Len() {
		c.happen(e.Kind, t, e.Seq)
	} else {
		c.hubs.happen(e.Kind, t-c.Len())
	}
	c.Flush()
	if c.events++; c.events%WatchEvery == 0 {
		c.listener.Watch()
	}
}

// happen does what an event of a counter does to its client.
func (c *Clients) happen(kind engine.Kind, t int, seq uint32) {
	switch kind {
	case EventDownlinkDone:
		c.leave(t, true)
		c.downloaded(t)
	case EventComputeDone:
		c.leave(t, true)
		c.at(t).set(warm, true)
		c.enter(t, uplink)
	case EventUplinkDone:
		c.leave(t, true)
		c.uploaded(t)
	case EventDownlinkFlow:
		c.endFlows(network.Down, c.downloaded)
	case EventUplinkFlow:
		c.endFlows(network.Up, c.uploaded)
	case EventRateChange:
		c.flows.updateRate(t, c.at(t).phase.way())
	case EventDrop:
		c.leave(t, true)
		c.fail(t, DroppedOut)
	case EventAvailability:
		c.changeAvailability(t)
	case EventTimer:
		c.timer(t, seq)
	case EventServerTimer:
		c.listener.Timer(t)
	case EventBatteryCheck:
		c.checkBattery(t)
	case EventRecharged:
		c.recharge(t)
	case EventCapacity:
		c.flows.setCapacity()
	}
}

// fetch reads the state of clients whose events come next into caches. Between two events
// of a client there are about as many events as clients, so its state comes from memory.
// A loop that only reads has many reads under way at a time; a handler waits for each.
func (c *Clients) fetch(soon []int32) {
	read := 0.0
	for _, soon := range soon {
		t := int(soon)
		if t >= c.Len() {
			continue // a hub
		}
		d := c.at(t)
		read += float64(d.began) + float64(d.phase) // its two lines
		read += c.batteries.Spent(t) + c.links.Mbps(network.Up, t) + float64(c.batteries.PowerChangeAt(t))
		if empty, ok := c.batteries.EmptyAt(t); ok {
			read += float64(empty)
		}
		if c.due != nil {
			read += float64(c.Due(t))
		}
		if look, ok := c.engine.Timer(t); ok {
			read += float64(look)
		}
	}
	c.fetched = read // the compiler removes reads without a use
	if c.setup.Ahead != nil {
		c.setup.Ahead(soon)
	}
}
