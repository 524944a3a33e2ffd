package network

import (
	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/tools/registry"
	"fedsim/internal/tools/rng"
)

// Runtime is the time that the software which carries messages adds to an attempt beside
// transfers and work: polls for messages, and the launch of a process for each.
type Runtime struct {
	Name        string
	ClientPollS float64 // between two polls of a client for a message, from the end of its last reply on; 0: none
	ServerPollS float64 // between two polls of the server for responses, from the messages of a round on; 0: none
	LaunchPollS float64 // between two polls of a client's launcher for a message that it has, from a phase on; 0: none
	LaunchS     float64 // of computing for each message, on any processor
	LaunchGFLOP float64 // of work for each message, in 10^9 FLOPs
	ColdStartS  float64 // of computing, until a client has completed a computation
	Source      string
}

var runtimes = registry.NewCatalog(func(r *Runtime) string { return r.Name },
	Runtime{
		// Medians of 24 attempts. The SuperLink stores the messages in 0.05 s, and polls follow
		// at 0.006 s plus a sleep of 3 s. A SuperNode sleeps 3 s after a poll without a message,
		// and looks each second for messages to launch a process for. The fetch of a message
		// takes 0.06 s, the process 1.25 s to its training, the poll for its end half of 0.5 s on
		// average, and the reply 0.08 s: 1.69 s with the 0.05 s. Of these 3 GFLOP are taken as
		// work, 1 s of scalar code at 3 GHz, which is 0.04 s on the processor of the measurement.
		Name: "flower-1.41", ClientPollS: 3.010, ServerPollS: 3.006, LaunchPollS: 1.006, LaunchS: 1.65, LaunchGFLOP: 3,
		Source: "measured: Flower 1.41 as a deployment on loopback, a process for each message, 71 GFLOP/s. " +
			"launch_s holds what takes each attempt as long: storing, fetching and sending messages of 1 MB " +
			"(0.05 + 0.06 + 0.08 s), half the period of the poll for the end of a process (0.25 s), and its start. " +
			"One processor cannot separate a constant from work: launch_gflop is our choice",
	},
)

// RuntimeNames returns the names of the known runtimes, in a fixed order.
func RuntimeNames() []string { return runtimes.Names() }

// Values of the key poll_phase: when the first polls are.
const (
	// RandomPhase: the first poll of each client is uniform in a period.
	RandomPhase = "random"
	// FixedPhase: all clients begin to poll at time 0.
	FixedPhase = "fixed"
)

// RuntimeConfig are the keys of [overhead] about the runtime that carries messages.
type RuntimeConfig struct {
	// software that carries messages and adds waiting to an attempt: "flower-1.41" (polls, and a process
	// for each message), which sets the six keys below, or "none". Needs federation.cost = "physical"
	Runtime string `toml:"runtime" word:"\"\": none"`
	// seconds between two polls of a device for a message, from the end of its last reply on: a
	// message waits until the next one; 0: messages do not wait. Not with hubs
	ClientPollS float64 `toml:"client_poll_s" absent:"-1: the runtime's"`
	// seconds between two polls of the server for responses, from the messages of a round on
	// (protocol "asynchronous": from time 0): a response counts at the next one, with all that have
	// arrived; 0: responses do not wait. Not with hubs
	ServerPollS float64 `toml:"server_poll_s" absent:"-1: the runtime's"`
	// seconds between two polls on a device for a message to compute for, with a phase that a
	// device keeps: its message waits until the next one; 0: none. Not with hubs
	LaunchPollS float64 `toml:"launch_poll_s" absent:"-1: the runtime's"`
	// seconds of computing before the work of each message, as to launch a process, at the usual
	// speed of the device
	LaunchS float64 `toml:"launch_s" absent:"-1: the runtime's"`
	// 10^9 FLOPs before the work of each message, which take time as work does and count in no
	// result
	LaunchGFLOP float64 `toml:"launch_gflop" absent:"-1: the runtime's"`
	// seconds of computing before the work of a device that has not completed any
	ColdStartS float64 `toml:"cold_start_s" absent:"-1: the runtime's"`
	// when devices begin to poll: "random" (each at an instant drawn from its period) or "fixed"
	// (all at time 0)
	PollPhase string `toml:"poll_phase"`
}

func runtimeDefaults() RuntimeConfig {
	return RuntimeConfig{
		ClientPollS: Unset, ServerPollS: Unset, LaunchPollS: Unset, LaunchS: Unset, LaunchGFLOP: Unset,
		ColdStartS: Unset,
		PollPhase:  RandomPhase,
	}
}

// Validate reports all errors in the keys.
func (c *RuntimeConfig) Validate(check *config.Checker) {
	check.OneOfOrEmpty("runtime", c.Runtime, RuntimeNames()...)
	poll := func(key string, s float64) {
		check.Require(s == 0 || s >= 1e-6 && s <= 1e9 || s == Unset, key, s,
			"must be 0 or in [1e-06, 1e+09]")
	}
	poll("client_poll_s", c.ClientPollS)
	poll("server_poll_s", c.ServerPollS)
	poll("launch_poll_s", c.LaunchPollS)
	amount := func(key string, s float64) {
		check.Require(s >= 0 && s <= 1e9 || s == Unset, key, s, "must be in [0, 1e+09]")
	}
	amount("launch_s", c.LaunchS)
	amount("launch_gflop", c.LaunchGFLOP)
	amount("cold_start_s", c.ColdStartS)
	check.OneOf("poll_phase", c.PollPhase, RandomPhase, FixedPhase)
	r := c.InForce()
	check.Require(c.PollPhase != FixedPhase || r.ClientPollS > 0 || r.LaunchPollS > 0, "poll_phase", c.PollPhase,
		"requires polls of devices: set client_poll_s or launch_poll_s")
}

// InForce returns the runtime with the overrides of the keys; the zero Runtime adds nothing.
func (c *RuntimeConfig) InForce() Runtime {
	r, _ := runtimes.Lookup(c.Runtime)
	for _, k := range [...]struct {
		of *float64
		is float64
	}{
		{&r.ClientPollS, c.ClientPollS}, {&r.ServerPollS, c.ServerPollS}, {&r.LaunchPollS, c.LaunchPollS},
		{&r.LaunchS, c.LaunchS}, {&r.LaunchGFLOP, c.LaunchGFLOP}, {&r.ColdStartS, c.ColdStartS},
	} {
		if k.is != Unset {
			*k.of = k.is
		}
	}
	return r
}

// Polls reports whether messages or responses wait for a poll.
func (r *Runtime) Polls() bool { return r.ClientPollS > 0 || r.ServerPollS > 0 || r.LaunchPollS > 0 }

// Adds reports whether an attempt takes longer than its transfers and its work.
func (r *Runtime) Adds() bool {
	return r.Polls() || r.LaunchS > 0 || r.LaunchGFLOP > 0 || r.ColdStartS > 0
}

// Poller is whose polls those of a device are.
type Poller uint8

const (
	MessagePoller Poller = iota // for messages of the server
	LaunchPoller                // for messages to compute for
)

// FirstPoll returns the first poll of a device, in [0, period): with random phases a number
// uniform in a period, the first of the stream (seed, rng.Polls, device, poller).
func (c *RuntimeConfig) FirstPoll(of Poller, seed uint64, device int, period engine.Time) engine.Time {
	if c.PollPhase == FixedPhase || period <= 0 {
		return 0
	}
	s := rng.New(seed, rng.Polls, device, int(of))
	return min(engine.Time(s.Float64()*float64(period)), period-1)
}

// NextPoll returns the first poll at or after an instant, of polls at first, first + period,
// first + 2 period and so on. The period must be positive.
func NextPoll(first, period, at engine.Time) engine.Time {
	if at <= first {
		return first
	}
	if over := (at - first) % period; over > 0 {
		return at.Add(period - over)
	}
	return at
}
