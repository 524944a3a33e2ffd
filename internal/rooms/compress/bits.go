package compress

import (
	"math"
	"math/bits"
)

// writer appends bits to a message, the first in the lowest bit of a byte.
type writer struct {
	to   []byte
	part uint64 // bits that do not fill a byte yet
	n    int    // how many
}

// put appends the low n bits of x, at most 32; the others must be zero.
func (w *writer) put(x uint64, n int) {
	w.part |= x << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.to = append(w.to, byte(w.part))
		w.part >>= 8
	}
}

// value appends a number of 4 or 8 bytes.
func (w *writer) value(x float64, bytes int) {
	if bytes == 4 {
		w.put(uint64(math.Float32bits(float32(x))), 32)
		return
	}
	b := math.Float64bits(x)
	w.put(b&math.MaxUint32, 32)
	w.put(b>>32, 32)
}

// message returns the bytes, the last filled up with zeros.
func (w *writer) message() []byte {
	if w.n > 0 {
		w.to = append(w.to, byte(w.part))
	}
	return w.to
}

// reader reads the bits of a writer, in their order.
type reader struct {
	from []byte
	part uint64
	n    int
}

func (r *reader) get(n int) uint64 {
	for ; r.n < n; r.n += 8 {
		r.part |= uint64(r.from[0]) << r.n
		r.from = r.from[1:]
	}
	x := r.part & (1<<n - 1)
	r.part >>= n
	r.n -= n
	return x
}

func (r *reader) value(bytes int) float64 {
	low := r.get(32)
	if bytes == 4 {
		return float64(math.Float32frombits(uint32(low)))
	}
	return math.Float64frombits(low | r.get(32)<<32)
}

// omega appends the Elias omega code of a positive x below 2^32: groups of bits, each the length less
// one of the next, then a zero (Elias, IEEE Transactions on Information Theory 21, 1975).
func (w *writer) omega(x uint64) {
	var groups [8]uint64
	n := 0
	for ; x > 1; x = uint64(bits.Len64(x) - 1) {
		groups[n] = x
		n++
	}
	for n--; n >= 0; n-- {
		length := bits.Len64(groups[n])
		w.put(bits.Reverse64(groups[n])>>(64-length), length) // the first bit is a one
	}
	w.put(0, 1)
}

// omega reads an Elias omega code.
func (r *reader) omega() uint64 {
	x := uint64(1)
	for r.get(1) == 1 {
		rest := r.get(int(x))
		x = 1<<x | bits.Reverse64(rest)>>(64-x)
	}
	return x
}

// toHalf rounds a number to IEEE 754 binary16, to nearest even. Numbers beyond the largest
// finite one, 65504, become it.
func toHalf(x float64) uint16 {
	sign := uint16(math.Float64bits(x) >> 48 & 0x8000)
	x = math.Abs(x)
	switch {
	case x != x:
		return sign | 0x7e00
	case math.IsInf(x, 0):
		return sign | 0x7c00
	case x >= 65504:
		return sign | 0x7bff
	case x < 0x1p-14: // subnormal: multiples of 2^-24
		return sign | uint16(math.RoundToEven(x*0x1p24))
	}
	b := math.Float64bits(x)
	rest := b & (1<<42 - 1)
	half := uint16(b>>42&0x3ff) | uint16(b>>52-1008)<<10
	if rest > 1<<41 || rest == 1<<41 && half&1 == 1 {
		half++ // may carry into the exponent
	}
	return sign | half
}

// fromHalf returns the number of a binary16.
func fromHalf(h uint16) float64 {
	x := 0.0
	switch exponent, rest := int(h>>10&0x1f), float64(h&0x3ff); exponent {
	case 0:
		x = rest * 0x1p-24
	case 31:
		if x = math.Inf(1); rest > 0 {
			x = math.NaN()
		}
	default:
		x = math.Ldexp(1024+rest, exponent-25)
	}
	if h&0x8000 != 0 {
		return math.Copysign(x, -1)
	}
	return x
}
