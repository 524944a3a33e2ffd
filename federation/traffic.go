package federation

import (
	"fedsim/config"
	"fedsim/engine"
	"fedsim/network/flows"
)

// traffic is the transfers of a federation whose links are shared, or change as
// time passes. A transfer is a delay, the latency, and then a flow: its rate is the
// device's own, which jitter divides for each transfer, or what is left of the
// links that it shares.
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
	jitter float64       // what the link's rate is divided by
	change engine.Handle // when the link's rate changes
}

// flows reports whether transfers are flows.
func (f *Federation) flows() bool {
	cfg := &f.setup.Network
	return cfg.SharesLinks() || cfg.TCPSlowStart || f.setup.Bandwidth != nil
}

// newTraffic returns the traffic of a federation; nil when nothing is shared and
// no rate changes, so that the length of a transfer is known when it begins.
func (f *Federation) newTraffic() *traffic {
	if !f.flows() {
		return nil
	}
	n := len(f.devices)
	down, up := f.setup.Network.Trees(n)
	return &traffic{
		down:   direction{share: flows.New(n, down), tree: down, kind: downFlow, at: engine.Never},
		up:     direction{share: flows.New(n, up), tree: up, kind: upFlow, at: engine.Never},
		moving: make([]moving, n),
	}
}

// checkTraffic finds cost models under which transfers cannot be flows.
func (f *Federation) checkTraffic(c *config.Checker) {
	cfg := &f.setup.Config
	c.Require(cfg.Cost == Physical || !f.flows(), "federation.cost", cfg.Cost,
		"must be \"physical\" where transfers share links, start slowly or have rates that change: under others their lengths are given")
}

// crowd sets the capacity of the shared links, and sees to it that its next change
// is not missed.
func (f *Federation) crowd() {
	cfg, now := &f.setup.Network, f.clock.Now()
	const day = engine.Time(24 * 3600 * 1e9)
	hour := func(h float64) engine.Time { return now - now%day + engine.FromSeconds(h*3600) }
	share, next := 1.0, hour(cfg.RushFromH)
	switch begin, end := hour(cfg.RushFromH), hour(cfg.RushToH); {
	case now >= end:
		next = begin.Add(day)
	case now >= begin:
		share, next = cfg.RushShare, end
	}
	for _, w := range [...]*direction{&f.traffic.down, &f.traffic.up} {
		w.share.SetServer(now, w.tree.ServerMbps*share)
		for c, mbps := range w.tree.CellMbps {
			w.share.SetCell(now, c, mbps*share)
		}
		w.stale = true
	}
	f.clock.Schedule(next, rush, engine.Server)
}

// transfers reports whether the phase is a transfer that is a flow.
func (f *Federation) flowing(p phase) bool {
	return f.traffic != nil && (p == download || p == upload)
}

// way returns the direction of a phase.
func (tr *traffic) way(p phase) *direction {
	if p == download {
		return &tr.down
	}
	return &tr.up
}

// flow begins what is left of the transfer of device t, up to a share of it. It
// returns how long no byte moves once the radio is awake.
func (f *Federation) flow(t int, share float64) (latency engine.Time) {
	d, tr := &f.devices[t], f.traffic
	m, w := &tr.moving[t], tr.way(d.phase)
	usual, usually := f.links.DownlinkMbps(t), f.links.ExpectedDownlink
	m.bytes = f.bytes.down
	if d.phase == upload {
		usual, usually = f.links.UplinkMbps(t), f.links.ExpectedUplink
		m.bytes = f.uploadBytes(t)
	}
	m.jitter = 1
	if expected := usually(t, m.bytes); expected > 0 {
		m.jitter = float64(d.length()) / float64(expected)
	}
	delay := engine.Time(0)
	if f.over(t) == 0 {
		rtt := f.links.Profile(t).RTTms
		delay = engine.FromSeconds(rtt / 2e3 * m.jitter)
		if f.setup.Network.TCPSlowStart {
			delay = delay.Add(flows.SlowStart(m.bytes, usual, rtt))
		}
	}
	f.follow(t)
	d.began = f.clock.Now()
	w.share.Begin(d.began, t, m.bytes*(share-f.over(t)), delay.Add(f.promotion(t)))
	w.stale = true
	return delay
}

// follow gives the flow of device t the rate that its link has now, and sees to it
// that the next change is not missed.
func (f *Federation) follow(t int) {
	d, m, now := &f.devices[t], &f.traffic.moving[t], f.clock.Now()
	mbps, until := f.links.DownlinkMbps(t), engine.Never
	if d.phase == upload {
		mbps = f.links.UplinkMbps(t)
	}
	if b := f.setup.Bandwidth; b != nil {
		if d.phase == download {
			mbps, until = b.Downlink(t, mbps, now)
		} else {
			mbps, until = b.Uplink(t, mbps, now)
		}
	}
	if until != engine.Never {
		m.change = f.clock.Schedule(until, rateChange, t)
	}
	w := f.traffic.way(d.phase)
	w.share.SetRate(now, t, mbps/m.jitter)
	w.stale = true
}

// halt ends the flow of device t, and returns which share of its message it has
// moved.
func (f *Federation) halt(t int, complete bool) float64 {
	d := &f.devices[t]
	m, w := &f.traffic.moving[t], f.traffic.way(d.phase)
	f.clock.Cancel(m.change)
	w.stale = true
	end, _ := d.end()
	if complete {
		return end - f.over(t)
	}
	moved := w.share.Remove(f.clock.Now(), t)
	if m.bytes == 0 {
		return end - f.over(t)
	}
	return min(end-f.over(t), moved/m.bytes)
}

// land ends the transfers of one direction that end now.
func (f *Federation) land(w *direction, arrive func(t int)) {
	w.at = engine.Never
	w.stale = true
	// What ends together with the round, behind what ended it, is for the next.
	for before := f.ended; f.ended == before; {
		t, ok := w.share.TakeEnded(f.clock.Now())
		if !ok {
			return
		}
		f.leave(t, true)
		if d := &f.devices[t]; d.strikes == d.phase {
			f.lose(t, Dropped)
		} else {
			arrive(t)
		}
	}
}

// reroute sets the events at which transfers end, after something has begun,
// ended or changed.
func (f *Federation) reroute() {
	if f.traffic == nil {
		return
	}
	for _, w := range [...]*direction{&f.traffic.down, &f.traffic.up} {
		if !w.stale {
			continue
		}
		w.stale = false
		if at := w.share.Next(); at != w.at {
			f.clock.Cancel(w.event)
			w.at = at
			if at != engine.Never {
				w.event = f.clock.Schedule(max(at, f.clock.Now()), w.kind, engine.Server)
			}
		}
	}
}
