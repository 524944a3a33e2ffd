package clients

import (
	"fedsim/engine"
	"fedsim/internal/flows"
)

// traffic is the transfers of clients whose links are shared, or change as time
// passes. A transfer is a delay, the latency, and then a flow: its rate is the
// device's own, which jitter divides for each transfer, or its fair share of the links.
type traffic struct {
	down, up direction
	moving   []moving // by device
}

// direction is the transfers in one direction.
type direction struct {
	share *flows.FairShare
	tree  flows.Tree    // its usual capacities
	kind  engine.Kind   // of the event at which something ends
	event engine.Handle // the next one of these
	at    engine.Time   // its instant; Never: there is none
	stale bool          // it may have to be at another instant
}

// moving is the transfer that a device has under way.
type moving struct {
	bytes  float64       // of the whole message
	jitter float64       // divides the link's rate
	change engine.Handle // when the link's rate changes
}

// newTraffic returns the traffic of clients; nil when nothing is shared and no rate
// changes, so that the length of a transfer is known when it begins.
func (c *Clients) newTraffic() *traffic {
	if !c.setup.flows() {
		return nil
	}
	n := len(c.devices)
	down, up := c.setup.Network.Trees(n)
	return &traffic{
		down:   direction{share: flows.New(n, down), tree: down, kind: EventDownlinkFlow, at: engine.Never},
		up:     direction{share: flows.New(n, up), tree: up, kind: EventUplinkFlow, at: engine.Never},
		moving: make([]moving, n),
	}
}

// setCapacity sets the capacity of the shared links, and schedules its next change.
func (c *Clients) setCapacity() {
	cfg, now := &c.setup.Network, c.clock.Now()
	const day = engine.Time(24 * 3600 * 1e9)
	hour := func(h float64) engine.Time { return now - now%day + engine.FromSeconds(h*3600) }
	share, next := 1.0, hour(cfg.RushFromH)
	switch begin, end := hour(cfg.RushFromH), hour(cfg.RushToH); {
	case now >= end:
		next = begin.Add(day)
	case now >= begin:
		share, next = cfg.RushShare, end
	}
	for _, w := range [...]*direction{&c.traffic.down, &c.traffic.up} {
		w.share.SetServer(now, w.tree.ServerMbps*share)
		for c, mbps := range w.tree.CellMbps {
			w.share.SetCell(now, c, mbps*share)
		}
		w.stale = true
	}
	c.clock.Schedule(next, EventCapacity, engine.Server)
}

// flowing reports whether the phase is a transfer that is a flow.
func (c *Clients) flowing(p phase) bool {
	return c.traffic != nil && (p == downlink || p == uplink)
}

// way returns the direction of a phase.
func (tr *traffic) way(p phase) *direction {
	if p == downlink {
		return &tr.down
	}
	return &tr.up
}

// flow begins the rest of the transfer of device t, up to a share of the whole. It
// returns how long no byte moves once the radio is awake.
func (c *Clients) flow(t int, share float64) (latency engine.Time) {
	d, tr := &c.devices[t], c.traffic
	m, w := &tr.moving[t], tr.way(d.phase)
	usual, usually := c.links.DownlinkMbps(t), c.links.ExpectedDownlink
	m.bytes = c.downBytes(t)
	if d.phase == uplink {
		usual, usually = c.links.UplinkMbps(t), c.links.ExpectedUplink
		m.bytes = d.bytesUp
	}
	m.jitter = 1
	if expected := usually(t, m.bytes); expected > 0 {
		m.jitter = float64(d.length()) / float64(expected)
	}
	m.bytes = c.links.Scaled(m.bytes)
	delay := engine.Time(0)
	if c.over(t) == 0 {
		rtt := c.links.Profile(t).RTTms
		delay = engine.FromSeconds(rtt / 2e3 * m.jitter * float64(1+c.setup.RoundTrips))
		if c.setup.Network.TCPSlowStart {
			delay = delay.Add(flows.SlowStart(m.bytes, usual, rtt))
		}
	}
	c.updateRate(t)
	d.began = c.clock.Now()
	w.share.Begin(d.began, t, m.bytes*(share-c.over(t)), delay.Add(c.promotion(t)))
	w.stale = true
	return delay
}

// updateRate gives the flow of device t the rate that its link has now, and schedules
// the next change.
func (c *Clients) updateRate(t int) {
	d, m, now := &c.devices[t], &c.traffic.moving[t], c.clock.Now()
	mbps, until := c.links.DownlinkMbps(t), engine.Never
	if d.phase == uplink {
		mbps = c.links.UplinkMbps(t)
	}
	if b := c.setup.Bandwidth; b != nil {
		if d.phase == downlink {
			mbps, until = b.Downlink(t, mbps, now)
		} else {
			mbps, until = b.Uplink(t, mbps, now)
		}
	}
	if until != engine.Never {
		m.change = c.clock.Schedule(until, EventRateChange, t)
	}
	w := c.traffic.way(d.phase)
	w.share.SetRate(now, t, mbps/m.jitter)
	w.stale = true
}

// halt ends the flow of device t, and returns which share of its message it has
// moved.
func (c *Clients) halt(t int, complete bool) float64 {
	d := &c.devices[t]
	m, w := &c.traffic.moving[t], c.traffic.way(d.phase)
	c.clock.Cancel(m.change)
	w.stale = true
	end, _ := d.end()
	if complete {
		return end - c.over(t)
	}
	moved := w.share.Remove(c.clock.Now(), t)
	if m.bytes == 0 {
		return end - c.over(t)
	}
	return min(end-c.over(t), moved/m.bytes)
}

// endFlows ends the transfers of one direction that end now.
func (c *Clients) endFlows(w *direction, arrive func(t int)) {
	w.at = engine.Never
	w.stale = true
	// What ends at the same instant, behind what led to Stop, ends after Run.
	for before := c.stops; c.stops == before; {
		t, ok := w.share.TakeEnded(c.clock.Now())
		if !ok {
			return
		}
		c.leave(t, true)
		if d := &c.devices[t]; d.drops == d.phase {
			c.fail(t, DroppedOut)
		} else {
			arrive(t)
		}
	}
}

// reschedule sets the events at which transfers end, after something has begun, ended
// or changed.
func (c *Clients) reschedule() {
	if c.traffic == nil {
		return
	}
	for _, w := range [...]*direction{&c.traffic.down, &c.traffic.up} {
		if !w.stale {
			continue
		}
		w.stale = false
		if at := w.share.Next(); at != w.at {
			c.clock.Cancel(w.event)
			w.at = at
			if at != engine.Never {
				w.event = c.clock.Schedule(max(at, c.clock.Now()), w.kind, engine.Server)
			}
		}
	}
}
