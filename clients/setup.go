package clients

import (
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/engine"
	"fedsim/network"
)

// MaxClients is the largest number of clients and hubs together: the engine numbers them in 30 bits.
const MaxClients = engine.MaxDevices

// System describes a simulated system: its devices and links, and what happens to them in
// the course of time. Clients are numbered from 0. Every table must have passed its
// Validate.
type System struct {
	Clients int // the number of clients
	// Rows is the number of rows of data of each client, which classes of a fleet may depend on, or
	// one number for all; nil: not known.
	Rows []int32
	Lazy bool // clients have state from when they are asked on; see CheckLazy

	Devices devices.Config
	Network network.Config
	Faults  devices.Faults
	Fleet   *fleets.Fleet // classes of devices and links; nil: what Devices and Network say

	Availability devices.Availability     // when clients are available; nil: always
	Speed        devices.Speed            // the speed of processors over time; nil: always the usual one
	Charging     devices.ChargingSchedule // when chargers are plugged in; nil: as Devices says
	Machine      devices.Machine          // what depends on work; nil: the heat in Devices and Fleet
	Bandwidth    network.Bandwidth        // the rates of links over time; nil: always the usual ones
	Channel      network.Channel          // latency and losses of links over time; nil: the usual ones
	Capacity     network.Capacity         // the capacities of shared links over time; nil: as Network says
	TraceSpan    engine.Time              // the length of the longest trace from a file; 0: there is none
	// the mean length of an interval of generated availability; 0: it is not generated
	MeanUp engine.Time

	Features []Feature // optional parts; each adds an observer to a run

	Seed  uint64
	Queue string        // event queue, by name; empty: the engine's default
	Hooks *engine.Hooks // nil: none
}

// MinRows returns n_min, the number of rows of the client that has the fewest; 0 when the
// rows are not known.
func (s *System) MinRows() int {
	if len(s.Rows) == 0 {
		return 0
	}
	return int(slices.Min(s.Rows))
}

// RowsOf returns the number of rows of a client, which must be known.
func (s *System) RowsOf(client int) int {
	if len(s.Rows) == 1 {
		return int(s.Rows[0])
	}
	return int(s.Rows[client])
}

// The cost models: how bytes and FLOPs become time.
const (
	// Physical takes rates from the profiles of devices and links.
	Physical = "physical"
	// Relative gives every transfer the same length, whatever its bytes: half of
	// the link profile's relative cost, times the time that Setup.PassFLOPs take
	// client 0.
	Relative = "relative"
	// Authors gives every transfer half of the link profile's relative cost in
	// milliseconds, and every computation the length of SetComputeTime.
	Authors = "authors"
)

// Setup describes the clients of a run: the system that they are part of, and what their
// server does with them.
type Setup struct {
	System

	Cost      string       // Physical, Relative or Authors; empty: Physical
	PassFLOPs float64      // the work that Relative measures transfers by
	Least     devices.Work // a computation takes at least the time of so much work, without jitter
	// Model returns the model, from 0 on, that messages to and from a client carry; nil: one
	// for all.
	Model func(client int) int
	// NoMessages is true when attempts are computations alone: transfers take no time, no
	// energy and no bytes, and are never lost.
	NoMessages bool
	// RoundTrips is the number of messages that an attempt takes besides one: each transfer has
	// its latency so many times more.
	RoundTrips int
	HubRounds  int  // how often a hub asks its clients before it reports, for expected times; 0: once
	Due        bool // record when responses are expected; see Clients.Due
	// AnswerTimeout is how long after a message a server that needs its response (Listener.Needed) gives
	// it up; 0: never. It requires Due.
	AnswerTimeout engine.Time
	// Ahead is called with clients whose events come next, to read their state into caches; nil:
	// not called.
	Ahead  func([]int32)
	GiveUp func() (end bool) // called in loops that may not end: whether to end them; nil: never

	Journal Journal // receives what clients do; nil: none
}

// Sharing reports whether transfers share links or have rates that change.
func (s *Setup) Sharing() bool {
	return !s.NoMessages && (s.Network.SharesLinks() || s.Network.TCPSlowStart || s.Bandwidth != nil || s.timesOut())
}

// physical reports whether transfers and computations take what profiles say.
func (s *Setup) physical() bool { return s.Cost == "" || s.Cost == Physical }

// Validate reports settings that exclude each other. Its keys are those of a scenario.
func (s *Setup) Validate(c *config.Checker) {
	const changing = "share links, start slowly, have rates that change or time out"
	physical, size := s.physical(), s.Network.HubSize
	cost := func(ok bool, want string) {
		c.Require(ok || physical, "federation.cost", s.Cost, "must be \"physical\" "+want)
	}
	hubs := func(ok bool, want string) { c.Require(ok || size == 0, "network.hubs.size", size, "must be "+want) }
	cost(!s.Sharing(), "where transfers "+changing+": under others their lengths are given")
	cost(s.Fleet == nil, "with a fleet: under others all devices and links are of one profile")
	hubs(size <= s.Clients, fmt.Sprintf("at most %d, the number of devices", s.Clients))
	hubs(s.Fleet == nil, "0 with a fleet, whose classes have links of their own")
	hubs(!s.Sharing(), "0 where transfers "+changing)
	cost(size == 0, "with network.hubs.size: under others there is one transfer each way")
	runtime := s.Network.InForce()
	cost(!runtime.Adds(), "with waiting and launches (overhead.runtime and its keys): under others lengths are given")
	cost(max(1, s.Network.WireFactor) == 1 && s.Network.BurstBytes == 0,
		"with network.wire.factor or network.wire.burst_bytes: under others the lengths of transfers are given")
	hubs(!runtime.Polls(),
		"0 where clients or the server poll (overhead.runtime and its keys): hubs pass messages on at once")
	cost(s.Channel == nil, "where latency or losses change: under others transfers have no latency")
	hubs(s.Channel == nil, "0 where latency or losses of links change")
	hubs(!s.NoMessages, "0 for a method without messages: hubs have nothing to pass on")
	c.Require(s.Charging == nil || s.Devices.Charging != devices.Never, "devices.charging.when", s.Devices.Charging,
		"must be left out: a trace or a model says when chargers are plugged in")
}
