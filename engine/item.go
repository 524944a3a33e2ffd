package engine

import "math/bits"

// item is an event in a queue: 16 bytes. Read as one number of 128 bits, items are in
// the order in which events fire. From the top bit down, key is kind, row and counter. A device
// has a row, device + serverRows. The first rows are the server's, one after the other as its counter
// grows, so that it has two bits more than that of a device.
type item struct{ at, key uint64 }

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

// event is the inverse of key.
func (i item) event() Event {
	return Event{At: Time(i.at), Kind: kindOf(i.key), Device: deviceOf(i.key), Seq: seqOf(i.key)}
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

// before compares without a branch, by the borrow of i - j.
func (i item) before(j item) bool {
	_, borrow := bits.Sub64(i.key, j.key, 0)
	_, borrow = bits.Sub64(i.at, j.at, borrow)
	return borrow != 0
}

// endOf returns the bound before which everything up to and at limit fires.
func endOf(limit Time) item { return item{at: uint64(limit) + 1} }

// digit returns digit l of item i, a number in base 256.
func (i item) digit(l uint) uint {
	if l >= atLevel {
		return uint(i.at>>((l-atLevel)*digitBits)) % digits
	}
	return uint(i.key>>(l*digitBits)) % digits
}

// withDigit returns i with digit l replaced and zeros below it.
func (i item) withDigit(l, digit uint) item {
	if l >= atLevel {
		shift := (l - atLevel) * digitBits
		return item{at: (i.at>>shift&^(digits-1) | uint64(digit)) << shift}
	}
	shift := l * digitBits
	return item{at: i.at, key: (i.key>>shift&^(digits-1) | uint64(digit)) << shift}
}

// plusDigit returns i with 1 added to digit l.
func (i item) plusDigit(l uint) item {
	if l >= atLevel {
		i.at += 1 << ((l - atLevel) * digitBits)
		return i
	}
	var carry uint64
	i.key, carry = bits.Add64(i.key, 1<<(l*digitBits), 0)
	i.at += carry
	return i
}
