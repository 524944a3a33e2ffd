package clients

import (
	"slices"

	"fedsim/devices"
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
// Events of hub g are those of the device with the number behind the last client's + g.
// A nil *hubs has no hubs.
type hubs struct {
	between  hubLinks // the links between server and hubs
	clients  hubClients
	clock    *engine.Engine
	listener *Listener
	record   *recorder
	traffic  *Traffic
	watch    *observers // the bytes of a hub are those of its first client
	downlink *messageSizes
	model    func(client int) int // see Setup.Model
	header   float64              // the size of a message without numbers

	each   []hub
	asked  []int32   // the hubs that the open group is for, in order
	number int       // the number of the open group
	place  []place   // by client
	most   []float64 // scratch of payload, by model; all 0 between two calls
}

// hubClients is what hubs need of the clients behind them.
type hubClients interface {
	Available(client int) bool
	WhyUnavailable(client int) Reason
	// Send starts the attempt of a client, which is prepared.
	Send(client int) (due engine.Time)
	// Work returns the size of the response of a client.
	Work(client int) (w devices.Work, bytesUp float64)
	// attemptTime returns how long the prepared attempt of a client takes that begins at an
	// instant.
	attemptTime(client int, at engine.Time) engine.Time
	// miss lets a client fail that the server's message does not reach.
	miss(client int, due engine.Time)
}

// hub is the state of a hub in the open round.
type hub struct {
	next     engine.Handle // its transfer ends, or its sender tries again
	began    engine.Time
	transfer network.Transfer
	bytes    float64     // the size of its message
	models   float64     // the number of models that the server's message carries
	rest     engine.Time // what usually passes from the server's message until the report is there
	missing  int32       // the number of responses of its clients that may still come
	try      int32       // which try of the transfer it is, from 0 on
	phase    phase       // downlink, uplink, or idle: it has no message to pass on
	moving   bool        // the transfer is under way
}

// place is where the open round stands with a client behind a hub.
type place uint8

const (
	outside   place = iota // the hub is not concerned with the client, or not any more
	expecting              // the hub is to receive the server's message for the client
	asked                  // the hub waits for the client's response
	held                   // the hub has the response
	delivered              // the server has the response
)

// newHubs returns the hubs of a system; nil when there are none.
func newHubs(s *Setup, c *Clients) *hubs {
	if c.behind.size == 0 {
		return nil
	}
	h := &hubs{
		between: c.behind, clients: c, clock: c.engine, listener: &c.listener, record: &c.recorder,
		traffic: &c.meter.traffic, watch: c.observers, downlink: &c.sizes, model: s.Model, header: c.links.Bytes(0),
		each: make([]hub, s.Network.Hubs(s.Clients)), place: make([]place, s.Clients),
	}
	if h.model == nil {
		h.model = func(int) int { return 0 }
	}
	models := 1
	for client := range s.Clients {
		models = max(models, h.model(client)+1)
	}
	h.most = make([]float64, models)
	return h
}

// members returns the clients from, ..., to-1 of hub g.
func (h *hubs) members(g int) (from, to int) {
	return g * h.between.size, min((g+1)*h.between.size, len(h.place))
}

// payload returns the sum, over the models of those clients of hub g that are at a
// place, of the largest payload of each.
func (h *hubs) payload(g int, at place, of func(client int) float64) float64 {
	sum := 0.0
	from, to := h.members(g)
	for client := from; client < to; client++ {
		if h.place[client] == at {
			most := &h.most[h.model(client)]
			if x := of(client); x > *most {
				sum += x - *most
				*most = x
			}
		}
	}
	for client := from; client < to; client++ {
		h.most[h.model(client)] = 0
	}
	return sum
}

// values returns how many bytes the numbers in the response of a client take.
func (h *hubs) values(client int) float64 {
	_, bytesUp := h.clients.Work(client)
	return bytesUp - h.header
}

// OpenGroup finds the hubs of clients, in ascending order, whose attempts form a group,
// and draws the server's messages to them. Clients that are not available are left out,
// unless all is set: then they may be started when they become available. The clients
// may be prepared afterwards, and SendGroup sends the group. Number chooses random
// draws, as in Attempt. Without hubs it does nothing.
func (h *hubs) OpenGroup(number int, clients []int32, all bool) {
	if h == nil {
		return
	}
	h.asked, h.number = h.asked[:0], number
	for _, client := range clients {
		if !all && !h.clients.Available(int(client)) {
			continue
		}
		g := client / int32(h.between.size)
		if last := len(h.asked) - 1; last < 0 || h.asked[last] != g {
			h.asked = append(h.asked, g)
		}
		h.each[g].missing++
		h.place[client] = expecting
	}
	for _, g := range h.asked {
		hub := &h.each[g]
		hub.models = h.payload(int(g), expecting, func(int) float64 { return 1 })
		hub.phase, hub.bytes = downlink, h.header+float64(hub.models*(h.downlink.same-h.header))
		if h.downlink.addressed {
			values := func(client int) float64 { return h.downlink.of(client) - h.header }
			hub.bytes = h.header + h.payload(int(g), expecting, values)
		}
		h.drawTransfer(int(g))
	}
}

// drawTransfer draws the present try of the transfer of hub g.
func (h *hubs) drawTransfer(g int) {
	hub := &h.each[g]
	hub.transfer = h.between.links.Send(hub.phase.way(), g, h.number, int(hub.try), hub.bytes)
}

// sendGroup sends the server's messages to the hubs, and returns when the last uplink
// is over if nothing is lost.
func (h *hubs) sendGroup() (end engine.Time) {
	for _, g := range h.asked {
		h.beginTransfer(int(g))
		at, work := h.clock.Now().Add(h.each[g].transfer.Duration), engine.Time(0)
		from, to := h.members(int(g))
		for client := from; client < to; client++ {
			if h.place[client] == expecting {
				work = max(work, h.clients.attemptTime(client, at))
			}
		}
		responses := h.header + h.payload(int(g), expecting, h.values)
		up := h.between.links.Send(network.Up, int(g), h.number, 0, responses).Duration
		h.each[g].rest = work.Times(h.between.rounds).Add(up)
		end = max(end, at.Add(h.each[g].rest))
	}
	return end
}

// beginTransfer begins the transfer of hub g that was drawn.
func (h *hubs) beginTransfer(g int) {
	hub := &h.each[g]
	hub.moving, hub.began = true, h.clock.Now()
	hub.next = h.clock.Schedule(hub.began.Add(hub.transfer.Duration), ends[hub.phase], len(h.place)+g)
}

// happen does what an event does to hub g.
func (h *hubs) happen(kind engine.Kind, g int) {
	hub := &h.each[g]
	if kind == EventTimer {
		h.drawTransfer(g)
		h.beginTransfer(g)
		return
	}
	h.endTransfer(g, 1)
	switch {
	case hub.transfer.Lost:
		h.repeat(g)
	case hub.phase == downlink:
		h.passOn(g)
	default:
		h.deliver(g)
	}
}

// endTransfer ends the transfer of hub g, and counts the share of its message that has
// arrived.
func (h *hubs) endTransfer(g int, share float64) {
	hub := &h.each[g]
	hub.moving = false
	links := h.between.links
	arrived := moved(hub.bytes, share, links.LatencyShare(hub.phase.way(), g, hub.bytes))
	if h.watch != nil {
		first, _ := h.members(g)
		h.watch.moved(first, hub.began, h.clock.Now(), links.OnWire(g, arrived))
	}
	if hub.phase == downlink {
		h.traffic.BytesDown += arrived
	} else {
		h.traffic.BytesUp += arrived
	}
}

// repeat schedules the lost message of hub g again, or gives up the clients that it was
// for.
func (h *hubs) repeat(g int) {
	hub := &h.each[g]
	hub.try++
	if h.listener.Repeat(g, int(hub.try)) {
		acknowledgement := engine.FromSeconds(h.between.links.Profile(g).RTTms / 2e3)
		hub.next = h.clock.Schedule(h.clock.Now().Add(acknowledgement), EventTimer, len(h.place)+g)
		return
	}
	at := held
	if hub.phase == downlink {
		at = expecting
	}
	hub.phase = idle
	from, to := h.members(g)
	for client := from; client < to; client++ {
		if h.place[client] == at {
			h.place[client] = outside
			if at == held {
				h.record.failure(client, MessageLost)
			} else {
				h.clients.miss(client, h.clock.Now().Add(hub.rest))
			}
			h.listener.Unreached(client, MessageLost)
		}
	}
}

// passOn lets hub g, which has the server's message, send it on.
func (h *hubs) passOn(g int) {
	h.each[g].phase = idle
	from, to := h.members(g)
	for client := from; client < to; client++ {
		if h.place[client] == expecting {
			h.place[client] = asked
			h.ask(client)
		}
	}
}

// ask starts the attempt of a client, if it is available.
func (h *hubs) ask(client int) {
	if h.clients.Available(client) {
		h.clients.Send(client)
	} else {
		h.listener.Unreached(client, h.clients.WhyUnavailable(client))
	}
}

// Awaits reports whether the hub of a client has not passed the server's message on to
// it yet. Without hubs it never does.
func (h *hubs) Awaits(client int) bool { return h != nil && h.place[client] == expecting }

// Serves reports whether the hub of a client waits for its response. Without hubs it is true.
func (h *hubs) Serves(client int) bool { return h == nil || h.place[client] == asked }

// Held reports whether the response of a client has come as far as its hub.
func (h *hubs) Held(client int) bool { return h != nil && h.place[client] == held }

// StopWaiting lets the hub of a client of the group, if there is one, wait for its
// response no longer. It reports whether the hub has waited.
func (h *hubs) StopWaiting(client int) bool {
	if h == nil || h.place[client] != asked {
		return false
	}
	h.place[client] = outside
	h.gathered(client)
	return true
}

// Represent lets the hub of a client report for it, though its last attempt brought no
// response. It is for Listener.Gathered.
func (h *hubs) Represent(client int) { h.place[client] = held }

// RepeatHub lets a hub ask its clients again, in ascending order, which have been
// prepared. It reports when no response of them is missing. It is for Listener.Gathered.
func (h *hubs) RepeatHub(g int, clients []int32) {
	from, to := h.members(g)
	for client := from; client < to; client++ {
		h.place[client] = outside
	}
	for _, client := range clients {
		h.place[client] = asked
	}
	h.each[g].missing = int32(len(clients))
	for _, client := range clients {
		h.ask(int(client))
	}
}

// Withdraw takes a client from the group: its hub, if there is one, sends it no message
// and delivers no response of it. Cancel ends its attempt.
func (h *hubs) Withdraw(client int) {
	if h == nil {
		return
	}
	switch at := &h.place[client]; *at {
	case expecting, asked:
		*at = outside
		h.gathered(client)
	case held:
		*at = outside
		h.record.failure(client, Canceled)
	}
}

// receive lets the hub of a client have its response.
func (h *hubs) receive(client int) {
	h.place[client] = held
	h.gathered(client)
}

// gathered lets the hub of a client, which it need not wait for any more, send what
// it has when that was the last one.
func (h *hubs) gathered(client int) {
	g := h.between.of(client)
	hub := &h.each[g]
	if hub.missing--; hub.missing > 0 || h.listener.Gathered(g) {
		return
	}
	from, to := h.members(g)
	if slices.Contains(h.place[from:to], held) {
		hub.phase, hub.try, hub.bytes = uplink, 0, h.header+h.payload(g, held, h.values)
		h.drawTransfer(g)
		h.beginTransfer(g)
	}
}

// deliver lets the server have the responses of the clients of hub g. What ends the
// round with them is behind them all: they come in one message.
func (h *hubs) deliver(g int) {
	h.each[g].phase = idle
	from, to := h.members(g)
	for client := from; client < to; client++ {
		if h.place[client] == held {
			h.place[client] = delivered
		}
	}
	for client := from; client < to; client++ {
		if h.place[client] == delivered {
			h.listener.Responded(client)
		}
	}
}

// CloseGroup ends what hubs do for the group. Responses that they still hold never
// reach the server. Without hubs it does nothing.
func (h *hubs) CloseGroup() {
	if h == nil {
		return
	}
	for _, g := range h.asked {
		at := &h.each[g]
		h.clock.Cancel(at.next)
		if at.moving {
			h.endTransfer(int(g), float64(h.clock.Now()-at.began)/float64(max(1, at.transfer.Duration)))
		}
		*at = hub{}
		from, to := h.members(int(g))
		for client := from; client < to; client++ {
			if h.place[client] == held {
				h.record.failure(client, Canceled)
			}
			h.place[client] = outside
		}
	}
}

// transfers returns how long the hub's part of the downlink of a client takes when it begins
// now, and how long that of its uplink usually does; 0 without hubs.
func (h *hubs) transfers(client int, bytesUp float64) (down, up engine.Time) {
	if h == nil {
		return 0, 0
	}
	g := h.between.of(client)
	hub := &h.each[g]
	bytes := h.header + float64(hub.models*(bytesUp-h.header))
	return hub.transfer.Duration, h.between.links.Expected(network.Up, g, bytes)
}

// HubState is the activity of a hub, Idle, Downlink or Uplink, and whether its message
// is lost.
type HubState struct {
	Activity Activity
	Lost     bool
}

// Hub returns the present state of a hub.
func (h *hubs) Hub(g int) HubState {
	hub := &h.each[g]
	return HubState{Activity: hub.phase.activity(), Lost: hub.transfer.Lost}
}
