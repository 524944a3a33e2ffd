package clients

import (
	"slices"

	"fedsim/engine"
	"fedsim/network"
)

// hubs stand between the server and its clients, as phones between it and wearables:
// hub g stands before the clients from number g size on. With them a client's links are
// the short ones to its hub. A group of attempts is, for a hub, a downlink, the work of
// its clients, and an uplink of their responses together:
//
//	server -> hub -> each of its clients of the group, as if there were no hubs
//	       <- hub <- each that responds, when no response that may still come is missing
//
// Updates of clients that share a model add up to one, and such clients are sent the
// same (paper, remark 4), so that a message between server and hub carries one model
// for each model of the clients that it is for. A hub takes no time and never fails.
// Its link loses messages as a client's would. A message that was lost is sent again,
// if Listener.Repeat says so, when half a round trip later there is no acknowledgement.
// Listener.Gathered may let a hub ask its clients again before it sends their responses.
//
// Events of hub g are those of the device with the number behind the last one's + g.
type hubs struct {
	size   int
	links  *network.Links // between server and hubs
	each   []hub
	asked  []int32   // hubs that the open group is for, in order
	number int       // of the open group
	place  []place   // by device
	most   []float64 // scratch of payload, by model; all 0 between two calls
}

// hub is the state of a hub in the open round.
type hub struct {
	next     engine.Handle // its transfer ends, or its sender tries again
	began    engine.Time
	transfer network.Transfer
	bytes    float64 // of its message
	models   float64 // that the server's message carries
	missing  int32   // answers of its devices that may still come
	try      int32   // of the transfer, from 0 on
	phase    phase   // downlink, uplink, or idle: it has no message to pass on
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
func (c *Clients) newHubs() *hubs {
	cfg, n := &c.setup.Network, len(c.devices)
	if cfg.HubSize == 0 {
		return nil
	}
	count, models := cfg.Hubs(n), 1
	for t := range n {
		models = max(models, c.model(t)+1)
	}
	return &hubs{
		size: cfg.HubSize, links: network.NewLinks(*cfg, count, c.setup.Seed), each: make([]hub, count),
		place: make([]place, n), most: make([]float64, models),
	}
}

// hubRounds returns how often a hub asks its clients before it reports.
func (c *Clients) hubRounds() int { return max(1, c.setup.HubRounds) }

// model returns which of the models that the server sends is for device t.
func (c *Clients) model(t int) int {
	if c.setup.Model == nil {
		return 0
	}
	return c.setup.Model(t)
}

// members returns the devices from, ..., to-1 of hub g.
func (c *Clients) members(g int) (from, to int) {
	return g * c.hubs.size, min((g+1)*c.hubs.size, len(c.devices))
}

// payload returns the sum, over the models of those devices of hub g that are at a
// place, of the largest payload of each.
func (c *Clients) payload(g int, at place, of func(t int) float64) float64 {
	h, sum := c.hubs, 0.0
	from, to := c.members(g)
	for t := from; t < to; t++ {
		if h.place[t] == at {
			most := &h.most[c.model(t)]
			if x := of(t); x > *most {
				sum += x - *most
				*most = x
			}
		}
	}
	for t := from; t < to; t++ {
		h.most[c.model(t)] = 0
	}
	return sum
}

// values returns how many bytes the numbers in the response of device t take.
func (c *Clients) values(t int) float64 { return c.devices[t].bytesUp - c.links.Bytes(0) }

// OpenGroup finds the hubs of clients, in ascending order, whose attempts form a group,
// and draws the server's messages to them. Clients that are not available are left out,
// unless all is set: then they may be started when they become available. The clients
// may be prepared afterwards, and SendGroup sends the group. Number chooses random
// draws, as in Attempt. Without hubs it does nothing.
func (c *Clients) OpenGroup(number int, clients []int32, all bool) {
	if c.hubs == nil {
		return
	}
	h := c.hubs
	h.asked, h.number = h.asked[:0], number
	for _, t := range clients {
		if !all && !c.Available(int(t)) {
			continue
		}
		g := t / int32(h.size)
		if last := len(h.asked) - 1; last < 0 || h.asked[last] != g {
			h.asked = append(h.asked, g)
		}
		h.each[g].missing++
		h.place[t] = expecting
	}
	header := c.links.Bytes(0)
	for _, g := range h.asked {
		hub := &h.each[g]
		hub.models = c.payload(int(g), expecting, func(int) float64 { return 1 })
		hub.phase, hub.bytes = downlink, header+float64(hub.models*(c.bytesDown-header))
		if c.addressed {
			hub.bytes = header + c.payload(int(g), expecting, func(t int) float64 { return c.downs[t] - header })
		}
		c.drawTransfer(int(g))
	}
}

// SendGroup sends the messages of a group of attempts, which have been prepared, to the
// clients that are available. It returns when the last response is expected. With hubs
// the group is that of OpenGroup.
func (c *Clients) SendGroup(clients []int32) (end engine.Time) {
	c.Batch(func() {
		if c.hubs != nil {
			end = c.sendToHubs()
			return
		}
		for _, t := range clients {
			if c.Available(int(t)) {
				end = max(end, c.Send(int(t)))
			}
		}
	})
	return end
}

// drawTransfer draws the present try of the transfer of hub g.
func (c *Clients) drawTransfer(g int) {
	hub := &c.hubs.each[g]
	if hub.phase == downlink {
		hub.transfer = c.hubs.links.Downlink(g, c.hubs.number, int(hub.try), hub.bytes)
	} else {
		hub.transfer = c.hubs.links.Uplink(g, c.hubs.number, int(hub.try), hub.bytes)
	}
}

// sendToHubs sends the server's messages to the hubs, and returns when the last uplink
// is over if nothing is lost.
func (c *Clients) sendToHubs() (end engine.Time) {
	h := c.hubs
	for _, g := range h.asked {
		hub := &h.each[g]
		c.beginTransfer(int(g))
		at, work := c.clock.Now().Add(hub.transfer.Duration), engine.Time(0)
		from, to := c.members(int(g))
		for t := from; t < to; t++ {
			if d := &c.devices[t]; h.place[t] == expecting {
				work = max(work, c.promotionAt(t, at).Add(d.down).Add(c.remaining(t)))
			}
		}
		work = work.Times(c.hubRounds())
		answers := c.links.Bytes(0) + c.payload(int(g), expecting, c.values)
		end = max(end, at.Add(work).Add(h.links.Uplink(int(g), c.hubs.number, 0, answers).Duration))
	}
	return end
}

// beginTransfer begins the transfer of hub g that was drawn.
func (c *Clients) beginTransfer(g int) {
	hub := &c.hubs.each[g]
	hub.moving, hub.began = true, c.clock.Now()
	hub.next = c.clock.Schedule(hub.began.Add(hub.transfer.Duration), ends[hub.phase], len(c.devices)+g)
}

// hubEvent does what an event does to hub g.
func (c *Clients) hubEvent(kind engine.Kind, g int) {
	hub := &c.hubs.each[g]
	if kind == EventTimer {
		c.drawTransfer(g)
		c.beginTransfer(g)
		return
	}
	c.endTransfer(g, 1)
	switch {
	case hub.transfer.Lost:
		c.repeat(g)
	case hub.phase == downlink:
		c.passOn(g)
	default:
		c.deliver(g)
	}
}

// endTransfer ends the transfer of hub g, and counts the share of its message that has
// arrived.
func (c *Clients) endTransfer(g int, share float64) {
	hub := &c.hubs.each[g]
	hub.moving = false
	if hub.phase == downlink {
		c.traffics.BytesDown += moved(hub.bytes, share, c.hubs.links.DownlinkLatencyShare(g, hub.bytes))
	} else {
		c.traffics.BytesUp += moved(hub.bytes, share, c.hubs.links.UplinkLatencyShare(g, hub.bytes))
	}
}

// repeat schedules the lost message of hub g again, or gives up the clients that it was
// for.
func (c *Clients) repeat(g int) {
	hub := &c.hubs.each[g]
	hub.try++
	if c.listener.Repeat(g, int(hub.try)) {
		acknowledgement := engine.FromSeconds(c.hubs.links.Profile(g).RTTms / 2e3)
		hub.next = c.clock.Schedule(c.clock.Now().Add(acknowledgement), EventTimer, len(c.devices)+g)
		return
	}
	at := held
	if hub.phase == downlink {
		at = expecting
	}
	hub.phase = idle
	from, to := c.members(g)
	for t := from; t < to; t++ {
		if c.hubs.place[t] == at {
			c.hubs.place[t] = outside
			if at == held {
				c.noteFailure(t, MessageLost)
			}
			c.listener.Unreached(t, MessageLost)
		}
	}
}

// passOn lets hub g, which has the server's message, send it on.
func (c *Clients) passOn(g int) {
	c.hubs.each[g].phase = idle
	from, to := c.members(g)
	for t := from; t < to; t++ {
		if c.hubs.place[t] != expecting {
			continue
		}
		c.hubs.place[t] = asked
		if c.Available(t) {
			c.Send(t)
			continue
		}
		c.listener.Unreached(t, c.WhyUnavailable(t))
	}
}

// Awaits reports whether the hub of a client has not passed the server's message on to
// it yet. Without hubs it never does.
func (c *Clients) Awaits(t int) bool { return c.hubs != nil && c.hubs.place[t] == expecting }

// Held reports whether the response of a client has come as far as its hub.
func (c *Clients) Held(t int) bool { return c.hubs != nil && c.hubs.place[t] == held }

// StopWaiting lets the hub of a client of the group, if there is one, wait for its
// response no longer. It reports whether the hub has waited.
func (c *Clients) StopWaiting(t int) bool {
	if c.hubs == nil || c.hubs.place[t] != asked {
		return false
	}
	c.hubs.place[t] = outside
	c.gathered(t)
	return true
}

// Represent lets the hub of a client report for it, though its last attempt brought no
// response. It is for Listener.Gathered.
func (c *Clients) Represent(t int) { c.hubs.place[t] = held }

// RepeatHub lets a hub ask clients of its own again, in ascending order, which have been
// prepared. It reports when no response of them is missing. It is for Listener.Gathered.
func (c *Clients) RepeatHub(g int, clients []int32) {
	from, to := c.members(g)
	for t := from; t < to; t++ {
		c.hubs.place[t] = outside
	}
	for _, t := range clients {
		c.hubs.place[t] = asked
	}
	c.hubs.each[g].missing = int32(len(clients))
	for _, t := range clients {
		if c.Available(int(t)) {
			c.Send(int(t))
		} else {
			c.listener.Unreached(int(t), c.WhyUnavailable(int(t)))
		}
	}
}

// Withdraw takes a client from the group: its hub, if there is one, sends it no message
// and delivers no response of it. Cancel ends its attempt.
func (c *Clients) Withdraw(t int) {
	if c.hubs == nil {
		return
	}
	switch at := &c.hubs.place[t]; *at {
	case expecting, asked:
		*at = outside
		c.gathered(t)
	case held:
		*at = outside
		c.noteFailure(t, Canceled)
	}
}

// gathered lets the hub of device t, which it need not wait for any more, send what
// it has when that was the last one.
func (c *Clients) gathered(t int) {
	g := t / c.hubs.size
	hub := &c.hubs.each[g]
	if hub.missing--; hub.missing > 0 || c.listener.Gathered(g) {
		return
	}
	from, to := c.members(g)
	if slices.Contains(c.hubs.place[from:to], held) {
		hub.phase, hub.try, hub.bytes = uplink, 0, c.links.Bytes(0)+c.payload(g, held, c.values)
		c.drawTransfer(g)
		c.beginTransfer(g)
	}
}

// deliver lets the server have the answers of the devices of hub g. What ends the
// round with them is behind them all: they come in one message.
func (c *Clients) deliver(g int) {
	c.hubs.each[g].phase = idle
	from, to := c.members(g)
	for t := from; t < to; t++ {
		if c.hubs.place[t] == held {
			c.hubs.place[t] = delivered
		}
	}
	for t := from; t < to; t++ {
		if c.hubs.place[t] == delivered {
			c.listener.Responded(t)
		}
	}
}

// CloseGroup ends what hubs do for the group. Responses that they still hold never
// reach the server. Without hubs it does nothing.
func (c *Clients) CloseGroup() {
	if c.hubs == nil {
		return
	}
	for _, g := range c.hubs.asked {
		h := &c.hubs.each[g]
		c.clock.Cancel(h.next)
		if h.moving {
			c.endTransfer(int(g), float64(c.clock.Now()-h.began)/float64(max(1, h.transfer.Duration)))
		}
		*h = hub{}
		from, to := c.members(int(g))
		for t := from; t < to; t++ {
			if c.hubs.place[t] == held {
				c.noteFailure(t, Canceled)
			}
			c.hubs.place[t] = outside
		}
	}
}
