package clients

import (
	"cmp"

	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/engine"
	"fedsim/internal/tools/roster"
	"fedsim/network"
)

// hardware is the processors and links of a run, and the cost model. It knows how long work
// and messages usually take, and nothing of what happens.
type hardware struct {
	fleet      *devices.Processors
	classes    *fleets.Fleet  // nil: there are no classes
	links      *network.Links // of the clients; with hubs those between hub and client
	cost       cost
	behind     hubLinks        // its links are nil without hubs
	channel    network.Channel // nil: links have the usual latency and losses
	noMessages bool
	shared     bool // transfers share links or have rates that change
	runtime    network.Runtime
	flopsScale float64 // what each FLOP of work stands for; launches are not scaled
}

// hubLinks are the links between the server and its hubs.
type hubLinks struct {
	links  *network.Links
	size   int // the number of clients of a hub
	rounds int // how often a hub asks its clients before it reports
}

func (h *hubLinks) of(client int) int { return client / h.size }

// newHardware makes processors, links and batteries.
func newHardware(s *Setup, r *roster.Roster) (h hardware, batteries *devices.Batteries) {
	n := s.Clients
	switch {
	case s.Lazy:
		h.fleet, h.links = devices.LazyProcessors(s.Devices, n, s.Seed), network.LazyLinks(s.Network, s.Seed)
		batteries = devices.LazyBatteries(s.Devices, r, s.Seed)
	case s.Fleet != nil:
		machines, mix := s.Fleet.Assemble(n, s.Rows, s.Seed)
		machines.Heat = s.Fleet.Heat(s.Devices.HeatConfig)
		h.fleet = devices.NewMixedProcessors(s.Devices, machines, s.Seed)
		h.links = network.NewMixedLinks(s.Network, mix, s.Seed)
		batteries = devices.NewMixedBatteries(s.Devices, machines, s.Seed, s.Charging)
	default:
		h.fleet = devices.NewProcessors(s.Devices, n, s.Seed)
		h.links = network.NewLinks(s.Network.DeviceLinks(), n, s.Seed)
		batteries = devices.NewBatteries(s.Devices, n, s.Seed, s.Charging)
	}
	h.links.AddRoundTrips(s.RoundTrips)
	if s.Channel != nil && !s.NoMessages {
		h.channel = s.Channel
		h.links.FollowChannels(n)
	}
	h.classes, h.noMessages, h.shared, h.cost = s.Fleet, s.NoMessages, s.Sharing(), newCost(s, h.fleet, h.links)
	if h.runtime = s.Network.InForce(); s.NoMessages {
		h.runtime = network.Runtime{ColdStartS: h.runtime.ColdStartS}
	}
	h.flopsScale = cmp.Or(s.Devices.FLOPsScale, 1)
	h.behind.rounds = max(1, s.HubRounds)
	if size := s.Network.HubSize; size > 0 {
		h.behind.links, h.behind.size = network.NewLinks(s.Network, s.Network.Hubs(n), s.Seed), size
	}
	return h, batteries
}

// Fleet returns the processors, to read.
func (h *hardware) Fleet() *devices.Processors { return h.fleet }

// Links returns the links, to read. With hubs they are those between hub and client.
func (h *hardware) Links() *network.Links { return h.links }

// Class returns the name of a client's class in the fleet; empty without a fleet.
func (h *hardware) Class(client int) string {
	if h.classes == nil {
		return ""
	}
	return h.classes.Classes[h.fleet.Class(client)].Name
}

// MessageBytes returns the size of a message of so many numbers; 0 without messages.
func (h *hardware) MessageBytes(values int) float64 {
	if h.noMessages {
		return 0
	}
	return h.links.Bytes(values)
}

// Sharing reports whether transfers share links or have rates that change: then nobody
// knows when one ends before it does.
func (h *hardware) Sharing() bool { return h.shared }

// latency returns how much of a transfer passes before its first byte moves. At least a
// nanosecond is left for the bytes.
func (h *hardware) latency(m message) engine.Time {
	share := h.cost.LatencyShare(m.way, m.client, m.bytes)
	return max(0, min(engine.Time(share*float64(m.length)), m.length-1))
}

// delay returns how long a client takes until it moves the first byte of a message of which
// a share was over, with its radio awake.
func (h *hardware) delay(m message, over float64) engine.Time {
	return max(0, h.latency(m)-engine.Time(float64(over*float64(m.length))))
}

// movedBetween returns how many bytes of a message move between two shares of its transfer.
// Of a flow they are shares of the bytes.
func (h *hardware) movedBetween(m message, from, to float64) float64 {
	if from == 0 && to >= 1 {
		return m.bytes
	}
	latency := 0.0
	if !h.shared {
		latency = h.cost.LatencyShare(m.way, m.client, m.bytes)
	}
	return moved(m.bytes, to, latency) - moved(m.bytes, from, latency)
}

// SetComputeTime sets the length of every computation in seconds, under the cost model
// Authors.
func (h *hardware) SetComputeTime(seconds float64) {
	h.cost.(*authors).length = engine.FromSeconds(seconds)
}

// Launch returns how long a client computes before the work of each message, at its fastest
// step.
func (h *hardware) Launch(client int) engine.Time {
	r := &h.runtime
	if r.LaunchS == 0 && r.LaunchGFLOP == 0 {
		return 0
	}
	return engine.FromSeconds(r.LaunchS + float64(r.LaunchGFLOP*1e9)/float64(h.fleet.Rate(client)*h.flopsScale))
}

// UsualCompute returns how long work takes a client at its usual speed, without traces and a low
// battery.
func (h *hardware) UsualCompute(client int, w devices.Work) engine.Time {
	return engine.FromSeconds(h.fleet.Seconds(client, w) + h.Launch(client).Seconds())
}

// ExpectedDownlink returns how long a downlink to a client takes without jitter.
func (h *hardware) ExpectedDownlink(client int, bytes float64) engine.Time {
	return h.cost.Expected(network.Down, client, bytes)
}

// ExpectedUplink returns how long an uplink from a client takes without jitter.
func (h *hardware) ExpectedUplink(client int, bytes float64) engine.Time {
	return h.cost.Expected(network.Up, client, bytes)
}

// ExpectedResponse returns how long a response of a client usually takes, without
// jitter, traces and drops: downlink, computation and uplink, as often as its hub asks it, and
// the mean waits for polls, half a period each.
func (h *hardware) ExpectedResponse(client int, bytesDown float64, w devices.Work, bytesUp float64) engine.Time {
	if h.noMessages {
		return h.fleet.ComputeTime(client, w)
	}
	r := &h.runtime
	waits := engine.FromSeconds((r.ClientPollS + r.LaunchPollS + r.ServerPollS) / 2)
	length := h.links.Expected(network.Down, client, bytesDown).Add(h.Launch(client)).
		Add(h.fleet.ComputeTime(client, w)).Add(waits)
	return length.Add(h.ExpectedUplink(client, bytesUp)).Times(h.behind.rounds).
		Add(h.toHub(client, network.Down, bytesDown)).
		Add(h.toHub(client, network.Up, bytesUp))
}

// toHub returns how long a message between the server and the hub of a client usually takes;
// 0 without hubs.
func (h *hardware) toHub(client int, way network.Direction, bytes float64) engine.Time {
	if h.behind.size == 0 {
		return 0
	}
	return h.behind.links.Expected(way, h.behind.of(client), bytes)
}

// UsualTransfers returns how long a message to a client and its response take together at
// the usual rates, each alone on its links, without jitter, traces and losses, hubs included.
func (h *hardware) UsualTransfers(client int, bytesDown, bytesUp float64) engine.Time {
	return h.UsualDownlink(client, bytesDown).Add(h.UsualUplink(client, bytesUp))
}

// UsualDownlink is UsualTransfers of the message alone.
func (h *hardware) UsualDownlink(client int, bytes float64) engine.Time {
	return h.ExpectedDownlink(client, bytes).Add(h.toHub(client, network.Down, bytes))
}

// UsualUplink is UsualTransfers of the response alone.
func (h *hardware) UsualUplink(client int, bytes float64) engine.Time {
	return h.ExpectedUplink(client, bytes).Add(h.toHub(client, network.Up, bytes))
}
