package federation

import (
	"fmt"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/network"
)

// hubs is the phones between the server and its wearables: hub g stands before the
// devices from number g size on. With them a device's links are the short ones to
// its hub, and whoever asks it again is its hub. A round is, for a hub, a download,
// the work of its devices, and an upload of their answers together:
//
//	server -> hub -> each of its devices that take part, as if there were no hubs
//	       <- hub <- each that answers, when no answer is missing that may still come
//
// Updates of devices that share a task add up to one, and such devices are sent the
// same (paper, remark 4), so that a message between server and hub carries one
// model for each task of the devices that it is for. A hub works for nothing, in no
// time, and never fails; its link loses messages as a device's would, and who sent
// one that is lost sends it again, as often as a device would be asked again, when
// half a round trip later no acknowledgement is there.
//
// Events of hub g are those of the device with the number behind the last one's + g.
type hubs struct {
	size  int
	links *network.Links // between server and hubs
	each  []hub
	asked []int32   // hubs that the open round is for, in order
	place []place   // by device
	most  []float64 // scratch of payload, by model; all 0 between two calls
}

// hub is the state of a hub in the open round.
type hub struct {
	next     engine.Handle // its transfer ends, or its sender tries again
	began    engine.Time
	transfer network.Transfer
	bytes    float64 // of its message
	models   float64 // that the server's message carries
	missing  int32   // answers of its devices that may still come
	attempt  int32   // of the transfer, from 0 on
	way      phase   // download, upload, or idle: it has no message to pass on
	moving   bool    // the transfer is under way
}

// place is where the open round stands with a device behind a hub.
type place uint8

const (
	outside   place = iota // the hub has no business with it, or no more
	expecting              // the hub is to have the server's message for it
	asked                  // the hub waits for its answer
	held                   // the hub has its answer
	delivered              // the server has
)

// newHubs returns the hubs of a federation; nil when there are none.
func (f *Federation) newHubs() *hubs {
	cfg, n := &f.setup.Network, len(f.devices)
	if cfg.HubSize == 0 {
		return nil
	}
	count, models := cfg.Hubs(n), 1
	for t := range n {
		models = max(models, f.model(t)+1)
	}
	return &hubs{
		size: cfg.HubSize, links: network.NewLinks(*cfg, count, f.setup.Seed), each: make([]hub, count),
		place: make([]place, n), most: make([]float64, models),
	}
}

// checkHubs finds what does not go with hubs.
func (f *Federation) checkHubs(c *config.Checker) {
	cfg, size := &f.setup.Config, f.setup.Network.HubSize
	if size == 0 {
		return
	}
	c.Require(size <= len(f.devices), "network.hub_size", size, fmt.Sprintf("must be at most %d, the number of devices", len(f.devices)))
	c.Require(f.setup.Fleet == nil, "network.hub_size", size, "must be 0 with a fleet, whose classes have links of their own")
	c.Require(!f.flows(), "network.hub_size", size, "must be 0 where transfers share links, start slowly or have rates that change")
	c.Require(cfg.Cost == Physical, "federation.cost", cfg.Cost, "must be \"physical\" with network.hub_size: under others there is one transfer each way")
	c.Require(!f.asynchronous(), "federation.protocol", cfg.Protocol, "must be another with network.hub_size: a hub gathers the answers of a round")
	c.Require(cfg.Late == Drop, "federation.late", cfg.Late, "must be \"drop\" with network.hub_size: a hub gathers the answers of one round")
}

// model returns which of the models that the server sends is for device t.
func (f *Federation) model(t int) int {
	switch {
	case f.setup.Factory.OneModel:
		return 0
	case f.setup.Problem != nil:
		return f.setup.Problem.TaskOf(t)
	default:
		return t / max(1, f.setup.Size.PerTask)
	}
}

// members returns the devices from, ..., to-1 of hub g.
func (f *Federation) members(g int) (from, to int) {
	return g * f.hubs.size, min((g+1)*f.hubs.size, len(f.devices))
}

// payload returns the sum, over the models of those devices of hub g that are at a
// place, of what the largest of them takes.
func (f *Federation) payload(g int, at place, of func(t int) float64) float64 {
	h, sum := f.hubs, 0.0
	from, to := f.members(g)
	for t := from; t < to; t++ {
		if h.place[t] == at {
			most := &h.most[f.model(t)]
			if x := of(t); x > *most {
				sum += x - *most
				*most = x
			}
		}
	}
	for t := from; t < to; t++ {
		h.most[f.model(t)] = 0
	}
	return sum
}

// values returns how many bytes the numbers in the answer of device t take.
func (f *Federation) values(t int) float64 { return f.uploadBytes(t) - f.links.Bytes(0) }

// gather finds the hubs whose devices take part in the round that is being opened,
// and draws the server's messages to them. Whoever is waited for does.
func (f *Federation) gather() {
	h := f.hubs
	h.asked = h.asked[:0]
	for _, t := range f.chosen {
		if f.setup.Config.Protocol != WaitForAll && !f.reachable(int(t)) {
			continue
		}
		g := t / int32(h.size)
		if last := len(h.asked) - 1; last < 0 || h.asked[last] != g {
			h.asked = append(h.asked, g)
		}
		h.each[g].missing++
		h.place[t] = expecting
	}
	header := f.links.Bytes(0)
	for _, g := range h.asked {
		hub := &h.each[g]
		hub.models = f.payload(int(g), expecting, func(int) float64 { return 1 })
		hub.way, hub.bytes = download, header+float64(hub.models*(f.bytes.down-header))
		f.roll(int(g))
	}
}

// roll draws what becomes of the present attempt of the transfer of hub g.
func (f *Federation) roll(g int) {
	hub := &f.hubs.each[g]
	if hub.way == download {
		hub.transfer = f.hubs.links.Downlink(g, f.round, int(hub.attempt), hub.bytes)
	} else {
		hub.transfer = f.hubs.links.Uplink(g, f.round, int(hub.attempt), hub.bytes)
	}
}

// relayed returns what the way between the server and the hub of device t takes of
// the round that is being opened: the download, and an upload of all answers as the
// hub's usual rate lets it expect. Without hubs it is nothing.
func (f *Federation) relayed(t int) (down, up engine.Time) {
	if f.hubs == nil {
		return 0, 0
	}
	g := t / f.hubs.size
	hub := &f.hubs.each[g]
	answers := f.links.Bytes(int(hub.models) * f.setup.Size.Features)
	return hub.transfer.Duration, f.hubs.links.ExpectedUplink(g, answers)
}

// relaying returns what the two ways between the server and the hub of device t
// usually take for a message of its own. Without hubs it is nothing.
func (f *Federation) relaying(t int, bytes float64) engine.Time {
	if f.hubs == nil {
		return 0
	}
	g := t / f.hubs.size
	return f.hubs.links.ExpectedDownlink(g, bytes) + f.hubs.links.ExpectedUplink(g, bytes)
}

// dispatch sends the server's messages to the hubs, and returns when the last
// upload is over if nothing is lost.
func (f *Federation) dispatch() (end engine.Time) {
	h := f.hubs
	for _, g := range h.asked {
		hub := &h.each[g]
		f.convey(int(g))
		at, work := f.clock.Now().Add(hub.transfer.Duration), engine.Time(0)
		from, to := f.members(int(g))
		for t := from; t < to; t++ {
			if d := &f.devices[t]; h.place[t] == expecting {
				work = max(work, f.promotionAt(t, at).Add(d.down).Add(f.remaining(t)))
			}
		}
		answers := f.links.Bytes(0) + f.payload(int(g), expecting, f.values)
		end = max(end, at.Add(work).Add(h.links.Uplink(int(g), f.round, 0, answers).Duration))
	}
	return end
}

// convey begins the transfer of hub g that has been drawn.
func (f *Federation) convey(g int) {
	hub := &f.hubs.each[g]
	hub.moving, hub.began = true, f.clock.Now()
	hub.next = f.clock.Schedule(hub.began.Add(hub.transfer.Duration), ends[hub.way], len(f.devices)+g)
}

// relay does what an event does to hub g.
func (f *Federation) relay(kind engine.Kind, g int) {
	hub := &f.hubs.each[g]
	if kind == askAgain {
		f.roll(g)
		f.convey(g)
		return
	}
	f.book(g, 1)
	switch {
	case hub.transfer.Lost:
		f.repeat(g)
	case hub.way == download:
		f.pass(g)
	default:
		f.deliver(g)
	}
}

// book counts a share of the message that hub g has under way, which has come so
// far, and ends the transfer.
func (f *Federation) book(g int, share float64) {
	hub := &f.hubs.each[g]
	hub.moving = false
	if hub.way == download {
		f.tally.down += moved(hub.bytes, share, f.hubs.links.DownlinkLatencyShare(g, hub.bytes))
	} else {
		f.tally.up += moved(hub.bytes, share, f.hubs.links.UplinkLatencyShare(g, hub.bytes))
	}
}

// repeat lets the message of hub g, which was lost, be sent again, or lets the round
// do without those that it was for.
func (f *Federation) repeat(g int) {
	hub := &f.hubs.each[g]
	if hub.attempt++; hub.attempt == mostAttempts {
		f.stalled = fmt.Sprintf("a message of hub %d was lost %d times in one round, and protocol %q waits for it", g, mostAttempts, WaitForAll)
		f.clock.Stop()
		return
	}
	if f.setup.Config.Protocol == WaitForAll || int(hub.attempt) <= f.setup.Config.Retries {
		acknowledgement := engine.FromSeconds(f.hubs.links.Profile(g).RTTms / 2e3)
		hub.next = f.clock.Schedule(f.clock.Now().Add(acknowledgement), askAgain, len(f.devices)+g)
		return
	}
	at := held
	if hub.way == download {
		at = expecting
	}
	hub.way = idle
	from, to := f.members(g)
	for t := from; t < to; t++ {
		if f.hubs.place[t] == at {
			f.hubs.place[t] = outside
			if at == held {
				f.devices[t].answered = false
				f.noteLoss(t, Message)
			}
			f.markDropped(t, Message)
			f.without(t)
		}
	}
}

// pass lets hub g, which has the server's message, send it on.
func (f *Federation) pass(g int) {
	f.hubs.each[g].way = idle
	from, to := f.members(g)
	for t := from; t < to; t++ {
		if f.hubs.place[t] != expecting {
			continue
		}
		f.hubs.place[t] = asked
		if f.reachable(t) {
			f.send(t)
			continue
		}
		f.markDropped(t, f.unreached(t))
		if f.setup.Config.Protocol != WaitForAll { // else it is asked when it is back
			f.without(t)
		}
	}
}

// awaits reports whether the hub of device t has not passed the server's message on
// to it yet.
func (f *Federation) awaits(t int) bool { return f.hubs != nil && f.hubs.place[t] == expecting }

// hold lets the hub of device t have its answer.
func (f *Federation) hold(t int) {
	f.hubs.place[t] = held
	f.gathered(t)
}

// relinquish lets the hub of device t do without its answer.
func (f *Federation) relinquish(t int) {
	if f.hubs != nil && f.hubs.place[t] == asked {
		f.hubs.place[t] = outside
		f.gathered(t)
	}
}

// gathered lets the hub of device t, which it need not wait for any more, send what
// it has when that was the last one.
func (f *Federation) gathered(t int) {
	g := t / f.hubs.size
	hub := &f.hubs.each[g]
	if hub.missing--; hub.missing > 0 {
		return
	}
	if answers := f.payload(g, held, f.values); answers > 0 {
		hub.way, hub.attempt, hub.bytes = upload, 0, f.links.Bytes(0)+answers
		f.roll(g)
		f.convey(g)
	}
}

// deliver lets the server have the answers of the devices of hub g. What ends the
// round with them is behind them all: they come in one message.
func (f *Federation) deliver(g int) {
	f.hubs.each[g].way = idle
	from, to := f.members(g)
	for t := from; t < to; t++ {
		if f.hubs.place[t] == held {
			f.hubs.place[t] = delivered
		}
	}
	for t := from; t < to; t++ {
		if f.hubs.place[t] == delivered {
			f.take(t)
		}
	}
}

// recall ends what hubs do for the round that is over: answers that they still
// have never reached the server.
func (f *Federation) recall() {
	if f.hubs == nil {
		return
	}
	for _, g := range f.hubs.asked {
		h := &f.hubs.each[g]
		f.clock.Cancel(h.next)
		if h.moving {
			f.book(int(g), float64(f.clock.Now()-h.began)/float64(max(1, h.transfer.Duration)))
		}
		*h = hub{}
		from, to := f.members(int(g))
		for t := from; t < to; t++ {
			if f.hubs.place[t] == held {
				f.devices[t].answered = false
				f.noteLoss(t, OutOfTime)
			}
			f.hubs.place[t] = outside
		}
	}
}
