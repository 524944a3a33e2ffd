package engine

// Kind orders events at the same instant: lower kinds fire first. The client defines the
// kinds.
type Kind uint8

// MaxKind is the highest kind of an event.
const MaxKind Kind = 1<<kindBits - 1

// MaxDevices is the largest number of devices of an engine.
const MaxDevices = 1<<rowBits - serverRows

// Server is the device number of events that belong to no device.
const Server = -1

// Event is a scheduled event of a device. Events fire in the order of time, then kind,
// then device, then the device's own counter. No two events of an engine are equal in
// all four.
type Event struct {
	At     Time
	Device int32  // Server, or 0 and up
	Seq    uint32 // the device's counter: 1 for its first event
	Kind   Kind
}

// Handle identifies a pending event. It becomes stale when the event fires or is
// canceled, and never becomes valid again. The zero Handle is stale.
type Handle struct{ key uint64 }

// Seq returns the counter of the event, which identifies it among the events of its
// device. See Engine.CancelSeq. No event has counter 0.
func (h Handle) Seq() uint32 { return seqOf(h.key) }
