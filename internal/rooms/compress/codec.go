package compress

import (
	"math"
	"math/bits"

	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/rng"
)

// Stream is a source of random numbers.
type Stream = rng.Stream

// Codec codes vectors of d values as messages. It has scratch space: goroutines need one each.
type Codec struct {
	scheme scheme
	to     writer
	from   reader
}

// scheme is a way to code. Encoder and decoder draw the same random numbers: the seed is known to both sides.
type scheme interface {
	encode(w *writer, v []float64, s rng.Stream)
	// decode sets all of v.
	decode(r *reader, v []float64, s rng.Stream)
	// bits returns the size of a message of d values; its usual size if it varies.
	bits(d int) int
	// flops returns the cost of encoding and of decoding; one add, multiply, comparison,
	// rounding or random draw is one.
	flops(d int) (encode, decode float64)
}

// New returns a codec, by its name, with its options. Its numbers take 4 or 8
// bytes, as network.wire.bytes_per_value says. With unbiased, random codecs scale their values so that
// its expectation is the vector; else so that they can be fed back.
func New(o *Options, codec string, valueBytes int, unbiased bool) *Codec {
	return &Codec{scheme: o.scheme(codec, valueBytes, unbiased)}
}

func (o *Options) scheme(codec string, valueBytes int, unbiased bool) scheme {
	some := subset{options: o, valueBytes: valueBytes, unbiased: unbiased}
	switch codec {
	case Float16:
		return half{}
	case QSGD:
		return &qsgd{levels: o.Levels, valueBytes: valueBytes, elias: o.Coding == elias}
	case TopK:
		return &topK{some: some}
	case RandomK:
		return &randomK{subset: some}
	case Sign:
		return scaledSign{valueBytes}
	case Sketch:
		return &sketch{subset: some}
	case Sparse:
		return &sparse{subset: some}
	default:
		return plain{valueBytes}
	}
}

// Code replaces v by its decoded message, and returns the size of the message in bytes. Lossless
// codecs do not change v: values that travel in 4 bytes are not rounded, as without compression.
func (c *Codec) Code(v []float64, s Stream) (bytes int) {
	switch c.scheme.(type) {
	case plain:
		return c.Bytes(len(v))
	case *sparse:
		return len(c.encode(v, s))
	}
	message := c.encode(v, s)
	c.decode(message, v, s)
	return len(message)
}

// encode returns the message of v, valid until the next call.
func (c *Codec) encode(v []float64, s rng.Stream) []byte {
	c.to = writer{to: c.to.to[:0]}
	c.scheme.encode(&c.to, v, s)
	return c.to.message()
}

// decode sets v to the values of a message.
func (c *Codec) decode(message []byte, v []float64, s rng.Stream) {
	c.from = reader{from: message}
	c.scheme.decode(&c.from, v, s)
}

// Bytes returns the size of a message of d values: exact, unless Config.Varies.
func (c *Codec) Bytes(d int) int { return (c.scheme.bits(d) + 7) / 8 }

// FLOPs returns the cost of encoding and of decoding d values.
func (c *Codec) FLOPs(d int) (encode, decode float64) { return c.scheme.flops(d) }

// plain sends every value.
type plain struct{ valueBytes int }

func (p plain) encode(w *writer, v []float64, _ rng.Stream) {
	for _, x := range v {
		w.value(x, p.valueBytes)
	}
}

func (p plain) decode(r *reader, v []float64, _ rng.Stream) {
	for j := range v {
		v[j] = r.value(p.valueBytes)
	}
}

func (p plain) bits(d int) int               { return 8 * p.valueBytes * d }
func (p plain) flops(int) (float64, float64) { return 0, 0 }

// half sends every value as IEEE 754 binary16.
type half struct{}

func (half) encode(w *writer, v []float64, _ rng.Stream) {
	for _, x := range v {
		w.put(uint64(toHalf(x)), 16)
	}
}

func (half) decode(r *reader, v []float64, _ rng.Stream) {
	for j := range v {
		v[j] = fromHalf(uint16(r.get(16)))
	}
}

func (half) bits(d int) int                 { return 16 * d }
func (half) flops(d int) (float64, float64) { return float64(d), float64(d) }

// qsgd sends |v|_2 and of each value its sign and a level l in 0, ..., s: with
// r = s |v_i|/|v|_2, l is floor(r) + 1 with probability r - floor(r), else floor(r). The
// receiver decodes |v|_2 sign(v_i) l/s, which has the expectation v_i (Alistarh, Grubic, Li, Tomioka,
// Vojnovic: QSGD, NIPS 2017, section 3.1).
type qsgd struct {
	levels, valueBytes int
	elias              bool
}

func (q *qsgd) encode(w *writer, v []float64, s rng.Stream) {
	norm := math.Sqrt(kernel.SquaredNorm(v))
	if q.valueBytes == 4 {
		norm = upTo32(norm)
	}
	w.value(norm, q.valueBytes)
	width := q.width()
	scale := float64(q.levels) / norm // of no use when the norm is 0 or no number
	for _, x := range v {
		level := 0
		if norm > 0 && norm <= math.MaxFloat64 {
			r := min(scale*math.Abs(x), float64(q.levels)) // rounding
			level = int(r)
			if s.Float64() < r-float64(level) {
				level++
			}
		}
		if !q.elias {
			if x < 0 {
				level = -level
			}
			w.put(uint64(level+q.levels), width)
			continue
		}
		if w.omega(uint64(level + 1)); level > 0 {
			w.put(math.Float64bits(x)>>63, 1)
		}
	}
}

// upTo32 returns the smallest float32 that is at least x: a smaller norm would make the
// largest level s too small.
func upTo32(x float64) float64 {
	y := float32(x)
	if float64(y) < x {
		y = math.Nextafter32(y, math.MaxFloat32)
	}
	return float64(y)
}

func (q *qsgd) decode(r *reader, v []float64, _ rng.Stream) {
	norm, width := r.value(q.valueBytes), q.width()
	for j := range v {
		level := 0
		if !q.elias {
			level = int(r.get(width)) - q.levels
		} else if level = int(r.omega()) - 1; level > 0 && r.get(1) == 1 {
			level = -level
		}
		v[j] = norm * (float64(level) / float64(q.levels))
	}
}

// width is the number of bits of a signed level.
func (q *qsgd) width() int { return bits.Len(uint(2 * q.levels)) }

// bits takes the fixed width for the usual size of the Elias code, too.
func (q *qsgd) bits(d int) int { return 8*q.valueBytes + d*q.width() }

// flops: the norm takes 2 d; a value a scaling, a floor, a draw and a comparison.
func (q *qsgd) flops(d int) (float64, float64) { return 6 * float64(d), 2 * float64(d) }

// scaledSign sends |v|_1/d and the signs; that of 0 is plus. The receiver decodes
// (|v|_1/d) sign(v) (Karimireddy, Rebjock, Stich, Jaggi: Error Feedback Fixes SignSGD, ICML 2019).
type scaledSign struct{ valueBytes int }

func (s scaledSign) encode(w *writer, v []float64, _ rng.Stream) {
	sum := 0.0
	for _, x := range v {
		sum += math.Abs(x)
	}
	w.value(sum/float64(max(1, len(v))), s.valueBytes)
	for _, x := range v {
		bit := uint64(0)
		if x < 0 {
			bit = 1
		}
		w.put(bit, 1)
	}
}

func (s scaledSign) decode(r *reader, v []float64, _ rng.Stream) {
	scale := r.value(s.valueBytes)
	for j := range v {
		if v[j] = scale; r.get(1) == 1 {
			v[j] = -scale
		}
	}
}

func (s scaledSign) bits(d int) int                 { return 8*s.valueBytes + d }
func (s scaledSign) flops(d int) (float64, float64) { return 3 * float64(d), float64(d) }
