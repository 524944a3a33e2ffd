package engine

import "math/bits"

// item is an event in a queue: 16 bytes. Read as one number of 128 bits, items are in
// the order in which events fire. From the top bit down, key is kind, device + 1 and the
// device's own counter.
type item struct{ at, key uint64 }

const (
	seqBits    = 32
	deviceBits = 26
	kindBits   = 64 - seqBits - deviceBits
)

// key returns the key of an event. Device + 1 and k must fit their bits.
func key(k Kind, device int32, seq uint32) uint64 {
	return uint64(k)<<(seqBits+deviceBits) | uint64(device+1)<<seqBits | uint64(seq)
}

// event is the inverse of key.
func (i item) event() Event {
	return Event{At: Time(i.at), Kind: kindOf(i.key), Device: int32(rowOf(i.key)) - 1, Seq: uint32(i.key)}
}

func kindOf(key uint64) Kind { return Kind(key >> (seqBits + deviceBits)) }

// rowOf returns the event's row in a table that starts with the server.
func rowOf(key uint64) uint64 { return key >> seqBits & (1<<deviceBits - 1) }

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
