package algorithms

import "fedsim/config"

// Privacy is what protects the updates of a run, of methods with Messages.Private.
type Privacy interface {
	// NewGuard returns the guard of a run whose rounds are for so many responses.
	NewGuard(cohort int, seed uint64) Guard
	// Masking returns how a cohort of n clients masks its updates, so that the server sees the sum of their updates
	// alone; nil: they are not masked.
	Masking(n int) Masking
	// NewAccountant returns the accountant of a run whose rounds are for so many responses, each with an update of
	// some values; nil: nothing is guaranteed.
	NewAccountant(values, cohort int) Accountant
	// Noisy reports whether noise is added to updates of a bounded norm.
	Noisy() bool
	// Check reports settings that do not go with a model that has values
	// without a gradient, which mini-batches set.
	Check(c *config.Checker, buffers bool)
}

// Guard changes the updates that leave the devices of a run, and the sums that the server makes of them.
type Guard interface {
	// Leave makes a device's update what leaves the device, in place. s is the randomness of the device's local work
	// in this round.
	Leave(update []float64, s Stream)
	FLOPs(values int) float64 // of Leave on so many values
	// Sum completes the sum of the updates of a round, and returns the number to divide it by, and the FLOPs.
	Sum(sum []float64, weight float64) (denominator, flops float64)
	State(c *Coder)
}

// Masking is the messages and the work of a cohort by which the server sees the sum of its updates alone.
type Masking interface {
	RoundTrips() int           // that it adds to the one of a round without it
	BytesDown() float64        // that a client receives beyond the model
	BytesUp() float64          // that a client sends beyond its masked values
	MaskedBytes(n int) float64 // of n masked values
	ClientFLOPs(n int) float64 // the work of a client on n values
	ServerFLOPs(responses, pairs, n int) float64
	// Unmask reports whether the server can unmask the sum of those that have responded. pairs is for ServerFLOPs.
	Unmask(responded []bool, s Stream) (pairs int, ok bool)
}

// Accountant adds up the privacy that the rounds of a run spend.
type Accountant interface {
	// Add adds a round that asked a share of the available clients, in (0, 1], and took so many responses.
	Add(share float64, taken int)
	Epsilon() float64 // spent so far; infinite: nothing is guaranteed
}
