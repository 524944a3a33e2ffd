package timeline

import (
	"cmp"
	"fmt"

	"fedsim/clients"
	"fedsim/engine"
)

// Selection is the part of a run in its timeline.
type Selection struct {
	Devices     int // at most, positive
	First, Last int // rounds, from 1 on
}

// Timeline is the activities of a sample of devices in a range of rounds.
type Timeline struct {
	Devices     int         // of the run
	Tracks      []int32     // the devices of the sample, ascending
	First, Last int         // rounds; Last is the run's when it ended before the selection does
	From, To    engine.Time // from the beginning of the first to the end of the last
	Relative    bool        // times are relative units, not seconds
	Items       []Item      // by time, device and depth: what holds another comes before it
}

// Item is a slice of a track, or something that happens at an instant.
type Item struct {
	Kind     Kind
	Why      clients.Reason // of a Failure and of an Attempt that failed; 0 otherwise
	Lost     bool           // of a Round: the server could not unmask the sum of its updates
	Open     bool           // of an Attempt and its slices: not over when the run ended
	Device   int32          // engine.Server for Round and Update
	Round    int32          // the one in which it ends
	Try      int32          // of an Attempt: its number in the round, from 1 on
	From, To engine.Time    // the same for what happens at an instant
	Amount   float64        // bytes, FLOPs, coordinate steps of an Attempt, each unless Open; or the share of a Level
}

// Kind an item is.
type Kind uint8

const (
	Round    Kind = iota // of the server
	Update               // of the coupling; an instant when it takes the server no time
	Attempt              // from the server's message to the response, or the failure
	Download             // within an Attempt, as the next two
	Compute
	Upload
	Wait        // from the response to the end of the round
	Unavailable // the device is not available
	Depleted    // its battery is empty
	Failure     // an instant: an attempt fails
	Level       // an instant: how full the battery is
)

// instant reports whether it has no length.
func (w Kind) instant() bool { return w == Failure || w == Level }

// depth is how deep a slice lies in its track, if it lies in another.
func (w Kind) depth() int {
	switch w {
	case Round, Update, Attempt:
		return 0
	default:
		return 1
	}
}

// order is that of a timeline's items.
func order(a, b Item) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Kind.depth(), b.Kind.depth()))
}

// EmptyError says that a run ended before the rounds that a timeline is to show.
type EmptyError struct{ First, Ended int }

func (e *EmptyError) Error() string {
	return fmt.Sprintf("it is to begin with round %d, and the run ended after %d", e.First, e.Ended)
}
