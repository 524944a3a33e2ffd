package engine

// Kind orders events of the same instant: the lower fires first. The client
// defines the kinds.
type Kind uint8

// MaxKind is the highest kind of event that an engine takes.
const MaxKind Kind = 1<<kindBits - 1

// MaxDevices is how many devices an engine can have at most.
const MaxDevices = 1<<deviceBits - 1

// Server is the device number of what happens at no device.
const Server = -1

// Event is something that is to happen at a device. It fires before another one
// when its time is lower, then its kind, then its device, then the device's own
// counter. No two events of an engine are equal in all four.
type Event struct {
	At     Time
	Device int32  // Server, or 0 and up
	Seq    uint32 // how many events the device had been given, this one included
	Kind   Kind
}

// Handle names a pending event, for cancelling or moving it. Once that event
// has fired, was cancelled or moved, the handle is stale and names nothing,
// for ever: a device's counter does not repeat. The zero Handle is stale.
type Handle struct{ key uint64 }

// Seq returns the counter of the event, which names it to who knows its device: see
// Engine.CancelSeq. No event has counter 0.
func (h Handle) Seq() uint32 { return uint32(h.key) }
