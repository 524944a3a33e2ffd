package engine

import "math/bits"

// item is an event as a queue holds it: 16 bytes that, read as one number of
// 128 bits, are in the order in which events fire. key is kind, device + 1 and
// the device's own counter from the top bit down.
type item struct{ at, key uint64 }

const (
	seqBits    = 32
	deviceBits = 26
	kindBits   = 64 - seqBits - deviceBits
)

func key(k Kind, device int32, seq uint32) uint64 {
	return uint64(k)<<(seqBits+deviceBits) | uint64(device+1)<<seqBits | uint64(seq)
}

// event is the inverse of key.
func (i item) event() Event {
	return Event{At: Time(i.at), Kind: kindOf(i.key), Device: int32(rowOf(i.key)) - 1, Seq: uint32(i.key)}
}

func kindOf(key uint64) Kind { return Kind(key >> (seqBits + deviceBits)) }

// rowOf returns the place of the event's device in a table that begins with the
// server.
func rowOf(key uint64) uint64 { return key >> seqBits & (1<<deviceBits - 1) }

// before has no branch: the borrow of i - j.
func (i item) before(j item) bool {
	_, borrow := bits.Sub64(i.key, j.key, 0)
	_, borrow = bits.Sub64(i.at, j.at, borrow)
	return borrow != 0
}

// endOf returns the bound before which everything up to and at limit fires.
func endOf(limit Time) item { return item{at: uint64(limit) + 1} }
