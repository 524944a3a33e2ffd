package clients

import (
	"slices"

	"fedsim/engine"
	"fedsim/internal/tools/flows"
	"fedsim/network"
)

// sharedLinks is the transfers of clients whose links are shared, or change as time
// passes. A transfer is a delay, the latency, and then a flow: its rate is the
// client's own, which jitter divides for each transfer, or its fair share of the links.
type sharedLinks struct {
	config     *network.Config
	airtime    bool
	links      *network.Links
	bandwidth  network.Bandwidth // nil: clients have the usual rates
	roundTrips int               // see Setup.RoundTrips
	clock      *engine.Engine
	ways       [2]direction     // by network.Direction
	moving     []moving         // by client
	pieces     []piece          // likewise; nil: links share bits or none, and no journal asks how long they took alone
	capacity   network.Capacity // nil: always all of it
	changes    []engine.Time    // by shared link, the server's first: when its share of its capacity changes
}

// direction is the transfers in one direction.
type direction struct {
	share *flows.FairShare
	tree  flows.Tree    // the usual capacities of its links
	kind  engine.Kind   // of the event at which something ends
	event engine.Handle // the next event of this kind
	at    engine.Time   // the instant of event; Never: there is none
	stale bool          // event may have to be at another instant
	shut  []bool        // by shared link, the server's first: no share of its capacity is left; nil: of none
}

// moving is the transfer that a client has under way.
type moving struct {
	bytes  float64       // the size of the whole message
	jitter float64       // divides the link's rate
	change engine.Handle // when the link's rate changes
}

// newSharedLinks returns the shared links of clients; nil when nothing is shared and no rate
// changes, so that the length of a transfer is known when it begins.
func newSharedLinks(s *Setup, links *network.Links, clock *engine.Engine) *sharedLinks {
	if !s.Sharing() {
		return nil
	}
	down, up := s.Network.Trees(s.Clients)
	way := func(tree flows.Tree, kind engine.Kind) direction {
		return direction{share: flows.New(s.Clients, tree), tree: tree, kind: kind, at: engine.Never}
	}
	l := &sharedLinks{
		config: &s.Network, airtime: s.Network.SharesAirtime(), links: links, bandwidth: s.Bandwidth,
		roundTrips: s.RoundTrips, clock: clock,
		ways:   [2]direction{network.Down: way(down, EventDownlinkFlow), network.Up: way(up, EventUplinkFlow)},
		moving: make([]moving, s.Clients), capacity: s.Capacity,
	}
	if l.airtime || s.Journal != nil && s.Network.SharesLinks() {
		l.pieces = make([]piece, s.Clients)
	}
	if l.capacity == nil && s.Network.RushShare < 1 {
		l.capacity = network.NewRush(&s.Network.SharedConfig)
	}
	return l
}

// setCapacity sets the capacity of the shared links whose share of it changes now, and schedules the next
// change.
func (l *sharedLinks) setCapacity() {
	now := l.clock.Now()
	if l.changes == nil {
		l.changes = make([]engine.Time, 1+max(len(l.ways[0].tree.CellMbps), len(l.ways[1].tree.CellMbps)))
	}
	for i, at := range l.changes {
		if at > now {
			continue
		}
		share, until := l.capacity.Share(i-1, now)
		l.changes[i] = until
		for way := range l.ways {
			l.ways[way].setShare(now, i-1, share)
		}
	}
	if next := slices.Min(l.changes); next < engine.Never {
		l.clock.Schedule(next, EventCapacity, engine.Server)
	}
}

// setShare leaves a link, -1 for the server's, a share of its capacity, if it has one.
func (w *direction) setShare(now engine.Time, link int, share float64) {
	w.stale = true
	if link < 0 && w.tree.ServerMbps == 0 || link >= len(w.tree.CellMbps) { // unlimited
		return
	}
	if w.shut == nil {
		w.shut = make([]bool, 1+len(w.tree.CellMbps))
	}
	w.shut[1+link] = share == 0
	switch {
	case link < 0 && share == 0:
		w.share.StopServer(now)
	case link < 0:
		w.share.SetServer(now, w.tree.ServerMbps*share)
	case share == 0:
		w.share.StopCell(now, link)
	default:
		w.share.SetCell(now, link, w.tree.CellMbps[link]*share)
	}
}

// begin begins or continues a transfer: its part between two shares of the whole, once the
// radio is awake, with the latency of a new connection or without. It returns how long no byte moves from then on.
func (l *sharedLinks) begin(m message, from, to float64, wakes engine.Time, dials bool) (latency engine.Time) {
	moving, w := &l.moving[m.client], &l.ways[m.way]
	moving.jitter = 1
	if expected := l.links.Present(m.way, m.client, m.bytes); expected > 0 {
		moving.jitter = float64(m.length) / float64(expected)
	}
	moving.bytes = l.links.Timed(m.client, m.bytes)
	if dials {
		rtt := l.links.RTTms(m.client)
		latency = engine.FromSeconds(rtt / 2e3 * moving.jitter * float64(1+l.roundTrips))
		if l.config.TCPSlowStart {
			latency = latency.Add(flows.SlowStart(moving.bytes*(1-from), l.links.Mbps(m.way, m.client), rtt))
		}
	}
	size, delay := moving.bytes*(to-from), latency.Add(wakes)
	if l.pieces != nil {
		l.pieces[m.client] = piece{left: size, first: l.clock.Now().Add(delay)}
	}
	l.updateRate(m.client, m.way)
	if !l.airtime {
		w.share.Begin(l.clock.Now(), m.client, size, delay)
	}
	w.stale = true
	return latency
}

// updateRate gives the flow of a client the rate that its link has now, and schedules
// the next change.
func (l *sharedLinks) updateRate(client int, way network.Direction) {
	mbps, until := l.rate(client, way)
	m := &l.moving[client]
	if until != engine.Never {
		m.change = l.clock.Schedule(until, EventRateChange, client)
	}
	l.setRate(client, &l.ways[way], mbps/m.jitter)
}

// moves reports whether bytes of a client move now, once its latency is over: its own link and those that it shares
// carry some.
func (l *sharedLinks) moves(client int, way network.Direction) bool {
	w := &l.ways[way]
	if w.shut != nil && (w.shut[0] || w.tree.CellOf != nil && w.shut[1+w.tree.CellOf[client]]) {
		return false
	}
	mbps, _ := l.rate(client, way)
	return mbps > 0
}

// rate returns the rate that the link of a client has now, and until when.
func (l *sharedLinks) rate(client int, way network.Direction) (mbps float64, until engine.Time) {
	usual := l.links.Mbps(way, client)
	switch b := l.bandwidth; {
	case b == nil:
		return usual, engine.Never
	case way == network.Down:
		return b.Downlink(client, usual, l.clock.Now())
	default:
		return b.Uplink(client, usual, l.clock.Now())
	}
}

// complete ends the flow of a client that has moved all its bytes.
func (l *sharedLinks) complete(client int, way network.Direction) {
	l.forget(client, way)
	if l.pieces != nil {
		p := &l.pieces[client]
		p.end(p.size, l.airtime, l.clock.Now())
	}
}

// forget stops the changes of the rate of a client's flow, which ends.
func (l *sharedLinks) forget(client int, way network.Direction) {
	l.clock.Cancel(l.moving[client].change)
	l.ways[way].stale = true
}

// halt ends the flow of a client early, and returns which share of its message it has
// moved since begin: at most a share that was left.
func (l *sharedLinks) halt(client int, way network.Direction, left float64) float64 {
	l.forget(client, way)
	moved := l.ways[way].share.Remove(l.clock.Now(), client)
	if l.pieces != nil {
		p := &l.pieces[client]
		if l.airtime {
			p.end(moved, true, l.clock.Now())
			moved = p.before
		} else {
			p.end(moved-p.before, false, l.clock.Now())
		}
	}
	if bytes := l.moving[client].bytes; bytes != 0 {
		return min(left, moved/bytes)
	}
	return left
}

// fired returns the direction of an event, at which transfers may end, and forgets the event.
func (l *sharedLinks) fired(way network.Direction) *direction {
	w := &l.ways[way]
	w.at, w.stale = engine.Never, true
	return w
}

// reschedule sets the events at which transfers end, after something has begun, ended
// or changed.
func (l *sharedLinks) reschedule() {
	for i := range l.ways {
		w := &l.ways[i]
		if !w.stale {
			continue
		}
		w.stale = false
		if at := w.share.Next(); at != w.at {
			l.clock.Cancel(w.event)
			w.at = at
			if at != engine.Never {
				w.event = l.clock.Schedule(max(at, l.clock.Now()), w.kind, engine.Server)
			}
		}
	}
}
