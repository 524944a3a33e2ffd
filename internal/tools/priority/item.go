package priority

import "math/bits"

// Item is a number of 128 bits, the upper half first. Items are in the order of these numbers.
type Item struct{ At, Key uint64 }

// Before compares without a branch, by the borrow of i - j.
func (i Item) Before(j Item) bool {
	_, borrow := bits.Sub64(i.Key, j.Key, 0)
	_, borrow = bits.Sub64(i.At, j.At, borrow)
	return borrow != 0
}

// digit returns digit l of item i, a number in base 256.
func (i Item) digit(l uint) uint {
	if l >= atLevel {
		return uint(i.At>>((l-atLevel)*digitBits)) % digits
	}
	return uint(i.Key>>(l*digitBits)) % digits
}

// withDigit returns i with digit l replaced and zeros below it.
func (i Item) withDigit(l, digit uint) Item {
	if l >= atLevel {
		shift := (l - atLevel) * digitBits
		return Item{At: (i.At>>shift&^(digits-1) | uint64(digit)) << shift}
	}
	shift := l * digitBits
	return Item{At: i.At, Key: (i.Key>>shift&^(digits-1) | uint64(digit)) << shift}
}

// plusDigit returns i with 1 added to digit l.
func (i Item) plusDigit(l uint) Item {
	if l >= atLevel {
		i.At += 1 << ((l - atLevel) * digitBits)
		return i
	}
	var carry uint64
	i.Key, carry = bits.Add64(i.Key, 1<<(l*digitBits), 0)
	i.At += carry
	return i
}
