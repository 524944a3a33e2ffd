package engine

import "fedsim/internal/tools/priority"

// item is an event in a queue: 16 bytes. Read as one number of 128 bits, items are in
// the order in which events fire. From the top bit down, key is kind, row and counter. A device
// has a row, device + serverRows. The first rows are the server's, one after the other as its counter
// grows, so that it has two bits more than that of a device.
type item = priority.Item

const (
	seqBits    = 30
	rowBits    = 30
	kindBits   = 64 - seqBits - rowBits
	serverRows = 4
)

// key returns the key of an event, whose fields must fit their bits.
func key(k Kind, device int32, seq uint32) uint64 {
	row := uint64(0)
	if device != Server {
		row = uint64(device) + serverRows
	}
	return uint64(k)<<(seqBits+rowBits) | (row<<seqBits + uint64(seq))
}

// eventOf is the inverse of key.
func eventOf(i item) Event {
	return Event{At: Time(i.At), Kind: kindOf(i.Key), Device: deviceOf(i.Key), Seq: seqOf(i.Key)}
}

func kindOf(key uint64) Kind { return Kind(key >> (seqBits + rowBits)) }

// rowOf returns the event's row in a table that starts with the server.
func rowOf(key uint64) uint64 { return key >> seqBits & (1<<rowBits - 1) }

func deviceOf(key uint64) int32 { return max(Server, int32(rowOf(key))-serverRows) }

// seqOf returns the counter of the device or the server.
func seqOf(key uint64) uint32 {
	if rowOf(key) < serverRows {
		return uint32(key)
	}
	return uint32(key) & (1<<seqBits - 1)
}

// endOf returns the bound before which everything up to and at limit fires.
func endOf(limit Time) item { return item{At: uint64(limit) + 1} }
