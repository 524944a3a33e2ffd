package engine

// Kind orders events of the same instant: the lower fires first. The client
// defines the kinds.
type Kind uint8

// Server is the device number of what happens at no device.
const Server = -1

// Event is something that is to happen at a device. It is 24 bytes without
// pointers, so that a queue of them is one block the garbage collector skips.
type Event struct {
	At     Time
	Device int32  // Server, or 0 and up
	Seq    uint32 // how many events the device had been given, this one included
	slot   uint32 // where the engine keeps the event while it is pending
	Kind   Kind
}

// Before reports whether a fires before b: the lower time, then kind, then
// device, then the device's own counter. No two events of an engine are equal
// in all four.
func (a Event) Before(b Event) bool { return before(&a, &b) }

func before(a, b *Event) bool {
	if a.At != b.At {
		return a.At < b.At
	}
	return beforeInTie(a, b)
}

func beforeInTie(a, b *Event) bool {
	if a.Kind != b.Kind {
		return a.Kind < b.Kind
	}
	if a.Device != b.Device {
		return a.Device < b.Device
	}
	return a.Seq < b.Seq
}

// Handle names a pending event, for cancelling or moving it. Once that event
// has fired, was cancelled or moved, the handle is stale and names nothing,
// for ever: a device's counter does not repeat. The zero Handle is stale.
type Handle struct {
	slot   uint32
	device int32
	seq    uint32
}

func (a Event) handle() Handle { return Handle{slot: a.slot, device: a.Device, seq: a.Seq} }
