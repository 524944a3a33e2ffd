package traces

import (
	"math"

	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// blockIntervals is the mean number of intervals in a block. It is so high that most
// simulations stay in the first block and that the ends of blocks do not affect
// statistics. It is so low that a look-up through a whole block takes about 10 ms.
const blockIntervals = 1 << 17

// blocks divides virtual time into blocks of equal length, so that a look-up after years
// need not pass through all earlier intervals. At the start of each block, as at time 0,
// a device draws its state from the distribution at that time. Within a block, intervals
// follow each other. So the probabilities at every instant equal those of a chain
// without blocks.
type blocks struct {
	seed    uint64
	purpose rng.Purpose
	length  engine.Time // engine.Never: a single block
}

// newBlocks returns blocks for intervals of a mean length in seconds. mean = 0 stands
// for intervals that never end.
func newBlocks(seed uint64, purpose rng.Purpose, mean float64) blocks {
	b := blocks{seed, purpose, engine.Never}
	if mean > 0 {
		b.length = engine.FromSeconds(blockIntervals * mean)
	}
	return b
}

// start returns the first instant of the block of an instant.
func (b *blocks) start(at engine.Time) engine.Time { return at - at%b.length }

// end returns the first instant after the block of an instant.
func (b *blocks) end(at engine.Time) engine.Time { return b.start(at).Add(b.length) }

// draws returns the random stream of an interval by its number in the block of an instant. Number
// -1 is for the state at the start of the block.
func (b *blocks) draws(device int, at engine.Time, number int) rng.Stream {
	block := int(at / b.length)
	if number < 0 && block > 0 {
		number = math.MaxInt32 // used by no interval
	}
	return rng.NewAttempt(b.seed, b.purpose, device, number, block)
}
