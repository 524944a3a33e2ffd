package clients

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// phase is the phase of a client's attempt.
type phase uint8

const (
	idle          phase = iota // nothing
	polling                    // the server has a message for the client, which has not polled for it
	redialingDown              // the client waits for the next connection of its downlink
	downlink                   // the client receives the server's message
	launching                  // the message waits on the device for a poll that launches its work
	compute                    // the device computes
	redialingUp                // the client waits for the next connection of its uplink
	uplink                     // the client sends its response
	failed                     // nothing: the attempt has failed, and the client was not released
	depleted                   // nothing: the battery is empty
	drained                    // depleted, and failed: the client was not released since

	// anywhere, as the phase in which an attempt drops, stands for the whole attempt
	// until the lengths of its phases are known.
	anywhere
)

// flags are conditions of a client, one bit each.
type flags uint8

const (
	unavailable  flags = 1 << iota // the client is unavailable by its trace, model or outage
	refuses                        // the battery is too low for new work
	paused                         // the phase continues when the client is available again
	downlinkLost                   // the message of its attempt is lost
	uplinkLost                     // the response of its attempt is lost
	onHold                         // the client has its message, and waits for Proceed
	unseen                         // the response lies at the server until the server polls
	warm                           // the device has completed a computation
)

// client is the state of a client, flat and without pointers: there may be millions.
type client struct {
	// began is since when the client has waited, computed or moved bytes without interruption: a
	// later instant while its radio wakes or the latency of its transfer passes.
	began             engine.Time
	down, compute, up engine.Time // the lengths of the attempt's phases without interruption
	cut               float64     // the share of the phase drops at which the client drops
	flops             float64     // the attempt's work
	bytesUp           float64     // the size of its response
	next              uint32      // the counter of the event that ends its phase, or of its timer
	number            int32       // the number of the attempt, and which try it is, for random draws
	try               int32
	phase             phase
	drops             phase // the phase in which this attempt drops; failed: at once, idle: it does not
	slow              bool  // a low battery slows down its processor
	flags             flags
}

func (c *client) is(f flags) bool { return c.flags&f != 0 }

func (c *client) set(f flags, to bool) {
	c.flags &^= f
	if to {
		c.flags |= f
	}
}

// available reports whether the client can be started, unless it is at work.
func (c *client) available() bool { return !c.empty() && !c.is(unavailable|refuses) }

// empty reports whether the client's battery is empty.
func (c *client) empty() bool { return c.phase == depleted || c.phase == drained }

// failed reports whether the last attempt has failed, and the client was not released.
func (c *client) failed() bool { return c.phase == failed || c.phase == drained }

// working reports whether the client is in a phase of an attempt that has not ended.
func (c *client) working() bool {
	return !c.is(paused|onHold) && c.phase >= polling && c.phase <= uplink
}

func (p phase) waits() bool { return p == polling || p == launching || p.redials() }

func (p phase) redials() bool { return p == redialingDown || p == redialingUp }

// transfers reports whether a client moves bytes in the phase.
func (p phase) transfers() bool { return p == downlink || p == uplink }

// length returns how long the client's phase, which is not one of waiting, takes without
// interruption.
func (c *client) length() engine.Time {
	switch c.phase {
	case downlink:
		return c.down
	case compute:
		return c.compute
	default:
		return c.up
	}
}

// end returns at which share the phase ends, and with which event.
func (c *client) end() (share float64, kind engine.Kind) {
	if c.drops == c.phase {
		return c.cut, EventDrop
	}
	return 1, ends[c.phase]
}

// placeDrop finds the phase in which a drop at a share of the whole attempt happens.
func (c *client) placeDrop() {
	at := c.cut * float64(c.down+c.compute+c.up)
	for _, p := range [...]struct {
		phase  phase
		length engine.Time
	}{{downlink, c.down}, {compute, c.compute}, {uplink, c.up}} {
		if length := float64(p.length); at < length || p.phase == uplink {
			c.drops, c.cut = p.phase, 0
			if length > 0 {
				c.cut = min(at/length, 1)
			}
			return
		}
		at -= float64(p.length)
	}
}

// Reason is why an attempt brings no response.
type Reason uint8

const (
	DroppedOut        Reason = iota + 1 // the client dropped out (faults)
	MessageLost                         // a message was lost on the link of the client or of its hub
	BecameUnavailable                   // the client became unavailable
	BatteryDepleted                     // the battery was depleted
	Canceled                            // the attempt was canceled
	NoTime                              // Listener.Downloaded found no time to compute
	BatteryLow                          // the battery is too low for new work
	TimedOut                            // the last connection of a transfer was given up
)

// String returns the reason in words.
func (r Reason) String() string {
	return [...]string{
		"", "dropped", "message lost", "unavailable", "battery depleted", "canceled", "no time to work",
		"battery low", "timed out",
	}[r]
}

// Activity is the activity of a client.
type Activity uint8

const (
	Idle Activity = iota
	Downlink
	Compute
	Uplink
	Waiting // for a poll, within an attempt
	Unavailable
	Depleted
)

// String returns the activity in a word.
func (a Activity) String() string {
	return [...]string{"idle", "downlink", "compute", "uplink", "waiting", "unavailable", "depleted"}[a]
}

// way returns the direction of a phase that is a transfer.
func (p phase) way() network.Direction {
	if p == downlink || p == redialingDown {
		return network.Down
	}
	return network.Up
}

// activity returns the client's present activity.
func (c *client) activity() Activity {
	switch {
	case c.empty():
		return Depleted
	case c.is(unavailable):
		return Unavailable
	default:
		return c.phase.activity()
	}
}

// activity returns the activity of a phase of work, and Idle for others.
func (p phase) activity() Activity {
	switch p {
	case downlink:
		return Downlink
	case compute:
		return Compute
	case uplink:
		return Uplink
	case polling, launching, redialingDown, redialingUp:
		return Waiting
	default:
		return Idle
	}
}

// State is the present state of a client.
type State struct {
	Activity  Activity
	Available bool // the client can be started, unless it is at work
	Failed    bool // the last attempt has failed, and the client was not released
	Paused    bool // the attempt continues when the client is available again
	Refuses   bool // the battery is too low for new work
	Unseen    bool // the response lies at the server, which has not polled since

	DownlinkLost, UplinkLost bool // the transfer of the present attempt, or the last one, fails

	// Of the present attempt, or the last one.
	Number, Try               int         // for random draws
	Downlink, Compute, Uplink engine.Time // lengths without interruption
	devices.Work                          // without overheads its FLOPs alone
	BytesUp                   float64
}
