package traces

import (
	"math"

	"fedsim/engine"
	"fedsim/internal/rng"
)

// blockIntervals is how many intervals a block has on average: enough that few
// simulations leave the first block, and that its end changes no statistics; few
// enough that a look-up through a whole block takes some 10 ms.
const blockIntervals = 1 << 17

// blocks cuts virtual time into blocks of one length, so that a look-up after years
// need not go through all intervals before it. At the start of each block a device
// draws its state from the shares that all states have at that time, as at time 0; within it the
// intervals follow one another. So the probabilities at every instant are those of a
// chain without blocks.
type blocks struct {
	seed    uint64
	purpose rng.Purpose
	length  engine.Time // engine.Never: a single block
}

// newBlocks returns blocks of intervals of a mean length in seconds; mean = 0 stands
// for intervals without end.
func newBlocks(seed uint64, purpose rng.Purpose, mean float64) blocks {
	b := blocks{seed, purpose, engine.Never}
	if mean > 0 {
		b.length = engine.FromSeconds(blockIntervals * mean)
	}
	return b
}

// start returns the first instant of the block of t.
func (b *blocks) start(t engine.Time) engine.Time { return t - t%b.length }

// end returns the first instant after the block of t.
func (b *blocks) end(t engine.Time) engine.Time { return b.start(t).Add(b.length) }

// draws returns the stream of an interval by its number in the block of t; -1 is that
// of the state at the start of the block.
func (b *blocks) draws(device int, t engine.Time, number int) rng.Stream {
	block := int(t / b.length)
	if number < 0 && block > 0 {
		number = math.MaxInt32 // which no interval has
	}
	return rng.NewAttempt(b.seed, b.purpose, device, number, block)
}
