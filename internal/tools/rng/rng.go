// Package rng derives independent random streams from (seed, purpose, device,
// round) by hashing, so that no generator state is ever stored: adding an
// algorithm, a device or a metric shifts no other draw, and every method that
// asks for the same tuple faces the same stragglers (common random numbers).
//
// It must not know the use of its numbers beyond the purpose's name.
package rng

import (
	"fmt"
	"math"
	"math/bits"

	"fedsim/internal/tools/elementary"
)

// Purpose separates streams that share seed, device and round.
type Purpose uint64

// The purposes a stream is drawn for. Values are part of the definition of a
// run's result: append, never reorder.
const (
	Solve         Purpose = iota + 1 // coordinates and mini-batches of a local solve
	Drop                             // whether and where a device drops in a round
	Work                             // how many steps a device is given in a round
	Downlink                         // jitter and loss of a download
	Uplink                           // jitter and loss of an upload
	Spread                           // a device's speed within its fleet
	Battery                          // a device's charge at the start
	Split                            // train/test split of a task
	Skew                             // which training rows a skewed data set keeps
	Synthetic                        // generated data
	Charging                         // when a depleted device is charged
	Reference                        // the central solver of the reference optimum
	ClientSplit                      // cross-validation folds
	Share                            // which of a task's devices holds a row
	Selection                        // which clients the server asks in a round
	Sample                           // which tasks a model is evaluated on
	Trace                            // which trace a device follows
	Availability                     // when a device is available
	Recorded                         // the other traces that a generator makes
	Class                            // the class of a device in its fleet
	Fading                           // when the state of a link changes
	Resample                         // the seeds in a resample of runs
	DeviceModel                      // the draws of a device model from another module
	LinkModel                        // the draws of a link model from another module
	Partition                        // which client of a partition has a row
	Initial                          // the weights that a network starts with
	Compression                      // roundings and choices of values of compressed messages
	Partial                          // which devices do a part of their epochs in a round, and how many
	Privacy                          // the noise of differential privacy, and rounding for secure aggregation
	Graph                            // the random graph of devices that average with each other
	Design                           // the points of a sampled experiment
	Validation                       // which training rows of a task are held out for validation
	ComputeJitter                    // how long a computation takes in comparison with the mean
	Polls                            // when a device begins to poll
	Model                            // the random numbers of an external model, such as those of dropout
	Measure                          // which clients a measure of heterogeneity chooses
	Newcomer                         // which clients are new, and the order of their rows
	Redial                           // how long a further connection of a transfer takes
	Further                          // which clients a protocol asks within a round
)

// Stream is a PCG-DXSM generator with 128 bits of state, the one of
// math/rand/v2, that lives on the caller's stack. The zero value is not seeded;
// use New. The kernels of package kernel draw too: they know the fields and what
// Uint64 and Draw make of them.
type Stream struct{ hi, lo uint64 }

// New returns the stream of (seed, purpose, device, round). Device and round
// may be any integers; by convention -1 stands for the server.
func New(seed uint64, purpose Purpose, device, round int) Stream {
	return NewAttempt(seed, purpose, device, round, 0)
}

// NewAttempt returns the stream of an attempt in a round, that of the round for
// attempt 0.
func NewAttempt(seed uint64, purpose Purpose, device, round, attempt int) Stream {
	h := mix(seed + 0x9e3779b97f4a7c15)
	h = mix(h ^ uint64(purpose)*0xd6e8feb86659fd93)
	h = mix(h ^ uint64(int64(device))*0xa0761d6478bd642f)
	h = mix(h ^ uint64(int64(attempt)<<32|int64(round))*0xe7037ed1a0b428db) // an int may have 32 bits
	return Stream{hi: h, lo: mix(h + 0x9e3779b97f4a7c15)}
}

// Fork returns a stream for another purpose of the same device and round as s, which must be
// as it was derived.
func (s Stream) Fork(purpose Purpose) Stream {
	h := mix(s.hi ^ uint64(purpose)*0xd6e8feb86659fd93)
	return Stream{hi: h, lo: mix(h ^ s.lo)}
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uint64 returns 64 random bits: a step of the congruential generator and the
// DXSM permutation of its new state (O'Neill's pcg-cpp; NumPy's PCG64DXSM). It is
// written out here because it is inlined, which that of math/rand/v2 is not.
func (s *Stream) Uint64() uint64 {
	const (
		mulHi, mulLo = 2549297995355413924, 4865540595714422341
		incHi, incLo = 6364136223846793005, 1442695040888963407
		cheap        = 0xda942042e4dd58b5
	)
	hi, lo := bits.Mul64(s.lo, mulLo)
	hi += s.hi*mulLo + s.lo*mulHi
	lo, carry := bits.Add64(lo, incLo, 0)
	hi += incHi + carry
	s.hi, s.lo = hi, lo
	hi ^= hi >> 32
	hi *= cheap
	hi ^= hi >> 48
	return hi * (lo | 1)
}

// Float64 returns a uniform number in [0, 1) with 53 random bits.
func (s *Stream) Float64() float64 { return float64(float64(s.Uint64()>>11) * 0x1p-53) }

// IntN returns a uniform integer in [0, n); n must be positive. It rejects the
// few values that would bias the result (Lemire, ACM TOMACS 2019).
func (s *Stream) IntN(n int) int {
	if n <= 0 {
		panic("rng: IntN needs a positive bound")
	}
	bound := uint64(n)
	hi, lo := bits.Mul64(s.Uint64(), bound)
	if lo < bound {
		threshold := -bound % bound
		for lo < threshold {
			hi, lo = bits.Mul64(s.Uint64(), bound)
		}
	}
	return int(hi)
}

// Normal returns a standard normal number by Marsaglia's polar method.
func (s *Stream) Normal() float64 {
	for {
		u := 2*s.Float64() - 1
		v := 2*s.Float64() - 1
		q := float64(u*u) + float64(v*v)
		if q > 0 && q < 1 {
			return u * math.Sqrt(-2*elementary.Log(q)/q)
		}
	}
}

// Draw continues a shuffle from the front: for i from `from` up to `to` it swaps
// p[i] with an element drawn from p[i:], one draw each, so that p[from:to] are
// elements of p[from:] in random order.
func (s *Stream) Draw(p []int32, from, to int) {
	t := *s // in registers
	for i := from; i < to; i++ {
		bound := uint64(len(p) - i) // IntN, which is not inlined
		hi, lo := bits.Mul64(t.Uint64(), bound)
		for lo < bound && lo < -bound%bound {
			hi, lo = bits.Mul64(t.Uint64(), bound)
		}
		j := i + int(hi)
		p[i], p[j] = p[j], p[i]
	}
	*s = t
}

// Shuffle permutes p in place (Fisher and Yates).
func (s *Stream) Shuffle(p []int32) {
	for i := len(p) - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		p[i], p[j] = p[j], p[i]
	}
}

// Text returns the state in 32 hexadecimal digits, for programs that draw the same numbers.
func (s Stream) Text() string { return fmt.Sprintf("%016x%016x", s.hi, s.lo) }
