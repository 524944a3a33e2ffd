package mtl

import (
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/rng"
	"fedsim/internal/tools/state"
)

// Pool spreads independent work over the cores. A nil pool has one worker, the caller.
type Pool = parallel.Pool

// NewPool returns a pool of n workers; n <= 0 means one per core.
func NewPool(n int) *Pool { return parallel.NewPool(n) }

// Stream is a source of random numbers.
type Stream = rng.Stream

// Coder writes state to a checkpoint, or reads it back into place.
type Coder = state.Coder
