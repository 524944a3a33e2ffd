package clients

import (
	"fedsim/engine"
)

// phase is where a client stands.
type phase uint8

const (
	idle     phase = iota // has nothing to do
	downlink              // receives the server's message
	compute               // works
	uplink                // sends its response
	failed                // its attempt has failed, and it was not released
	depleted              // its battery is empty

	// anywhere, as the phase in which an attempt drops, stands for the whole of it
	// until the lengths of its phases are known.
	anywhere
)

// The kinds of events, in the order in which simultaneous ones happen: a response
// that arrives at the deadline is in time, and a battery that is depleted, or a client
// that becomes unavailable, with the last bit of a response has sent it. A drop comes
// before the end of its phase, also of one that takes no time.
const (
	EventRecharged    engine.Kind = iota // a depleted battery is full enough
	EventDrop                            // the client drops
	EventDownlinkDone                    // the server's message has arrived
	EventComputeDone                     // the local work is done
	EventUplinkDone                      // the response has arrived
	EventDownlinkFlow                    // downlinks on shared links end
	EventUplinkFlow                      // uplinks on shared links end
	EventBatteryCheck                    // check whether the battery is empty
	EventRateChange                      // the rate of a link changes while it is in use
	EventAvailability                    // the client becomes available or unavailable
	EventTimer                           // a timer of a client, or a hub sends again
	EventCapacity                        // the capacity of shared links changes
	EventServerTimer                     // the server's timer
)

// ends has the event that ends each phase of work.
var ends = [...]engine.Kind{downlink: EventDownlinkDone, compute: EventComputeDone, uplink: EventUplinkDone}

// flags are conditions of a client, one bit each.
type flags uint8

const (
	unavailable  flags = 1 << iota // by its availability trace, model or outage
	refuses                        // its battery is too low for new work
	paused                         // its phase continues when it is available again
	downlinkLost                   // the message of this attempt is lost
	uplinkLost                     // the response of this attempt is lost
	onHold                         // it has its message, and Proceed says what its work is
)

// device is the state of a client, flat and without pointers: there may be millions.
type device struct {
	began             engine.Time // since when it has computed or moved bytes without interruption; later while its radio wakes or its transfer's latency passes
	down, compute, up engine.Time // lengths of the attempt's phases
	cut               float64     // share of the phase drops at which it drops
	flops             float64     // the attempt's work
	bytesUp           float64     // of its response
	next              uint32      // the counter of the event that ends its phase, or of its timer
	number            int32       // of the attempt, and which try it is, for random draws
	try               int32
	phase             phase
	drops             phase // phase in which this attempt drops; failed: at once, idle: it does not
	step              uint8 // frequency step of its processor
	flags             flags
}

// is reports whether one of some flags is set.
func (d *device) is(f flags) bool { return d.flags&f != 0 }

// set sets or clears a flag.
func (d *device) set(f flags, to bool) {
	d.flags &^= f
	if to {
		d.flags |= f
	}
}

// working reports whether the device is at a phase of work.
func (d *device) working() bool {
	return !d.is(paused|onHold) && (d.phase == downlink || d.phase == compute || d.phase == uplink)
}

// length returns how long the device's phase takes without interruption.
func (d *device) length() engine.Time {
	switch d.phase {
	case downlink:
		return d.down
	case compute:
		return d.compute
	default:
		return d.up
	}
}

// end returns at which share the phase ends, and how.
func (d *device) end() (share float64, kind engine.Kind) {
	if d.drops == d.phase {
		return d.cut, EventDrop
	}
	return 1, ends[d.phase]
}

// Reason is why an attempt brings no response.
type Reason uint8

const (
	DroppedOut        Reason = iota + 1 // the client dropped (faults)
	MessageLost                         // a message was lost on its link, or on that of its hub
	BecameUnavailable                   // it became unavailable
	BatteryDepleted                     // its battery became empty
	Canceled                            // it was canceled
	NoTime                              // Listener.Downloaded found no time to compute
	BatteryLow                          // its battery is too low for new work
)

// String returns the reason in words.
func (r Reason) String() string {
	return [...]string{"", "dropped", "message lost", "unavailable", "battery depleted", "out of time", "no time to work", "battery low"}[r]
}

// Activity is the activity of a client.
type Activity uint8

const (
	Idle Activity = iota
	Downlink
	Compute
	Uplink
	Unavailable
	Depleted
)

// String returns the activity in a word.
func (a Activity) String() string {
	return [...]string{"idle", "downlink", "compute", "uplink", "unavailable", "depleted"}[a]
}

// activity returns the device's present activity.
func (d *device) activity() Activity {
	switch {
	case d.phase == depleted:
		return Depleted
	case d.is(unavailable):
		return Unavailable
	case d.phase == downlink:
		return Downlink
	case d.phase == compute:
		return Compute
	case d.phase == uplink:
		return Uplink
	default:
		return Idle
	}
}

// State is the present state of a client.
type State struct {
	Activity  Activity
	Available bool // it can be started, unless it is at work
	Failed    bool // its last attempt has failed, and it was not released
	Paused    bool // its attempt continues when it is available again
	Refuses   bool // its battery is too low for new work

	DownlinkLost, UplinkLost bool // the transfer of the present attempt, or the last one, fails

	// Of the present attempt, or the last one.
	Number, Try               int         // for random draws
	Downlink, Compute, Uplink engine.Time // lengths without interruption
	FLOPs, BytesUp            float64
}

// State returns the present state of a client.
func (c *Clients) State(t int) State {
	d := &c.devices[t]
	return State{
		Activity: d.activity(), Available: c.Available(t), Failed: d.phase == failed, Paused: d.is(paused), Refuses: d.is(refuses),
		DownlinkLost: d.is(downlinkLost), UplinkLost: d.is(uplinkLost),
		Number: int(d.number), Try: int(d.try), Downlink: d.down, Compute: d.compute, Uplink: d.up, FLOPs: d.flops, BytesUp: d.bytesUp,
	}
}
