package devices

import "fedsim/engine"

// State is what a device carries from one stretch of time to the next. The zero State is that of a device that has
// rested for ever.
type State [2]float64

// Use is what a device does in a stretch of time.
type Use uint8

const (
	Resting         Use = iota // neither of the others, also while it is unavailable or depleted
	Transferring               // receives or sends, latency and the waking of its radio included
	Computing                  // computes: its work, overheads, launches
	ComputingSlowly            // computes at the step of a low battery
)

// Computes reports whether a device computes.
func (u Use) Computes() bool { return u >= Computing }

// Machine is behavior that depends on what devices do. It keeps nothing itself: clients keep the state of each device,
// and may ask for times and uses that never come to pass. Its methods may be called concurrently.
type Machine interface {
	// Pace returns the factors of the speed, and of the power of computing beyond idling, that a device has under a
	// use without a Machine, and until when they hold: later than at, or engine.Never. The device has the state at
	// the instant at.
	Pace(device int, s State, u Use, at engine.Time) (speed, power float64, until engine.Time)
	// After returns the state at to of a device that has the state s at from and is under one use in between. to is
	// at most what Pace returns for from; at that instant the state is the one from which the next factors hold.
	After(device int, s State, u Use, from, to engine.Time) State
}
