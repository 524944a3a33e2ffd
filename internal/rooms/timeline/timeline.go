package timeline

import (
	"cmp"
	"fmt"

	"fedsim/clients"
	"fedsim/engine"
)

// Selection is the part of a run in its timeline.
type Selection struct {
	Devices     int // the largest number of devices to show; positive
	First, Last int // the first and the last round, from 1 on
}

// Timeline is the activities of a sample of devices in a range of rounds.
type Timeline struct {
	Devices     int         // the number of devices of the run
	Tracks      []int32     // the devices of the sample, ascending
	First, Last int         // the rounds shown; Last is the last round of a run that ended before the selection does
	From, To    engine.Time // the beginning of the first round and the end of the last
	Relative    bool        // times are relative units, not seconds
	Items       []Item      // ordered by time, device and depth: an item that holds another comes before it
}

// Item is a slice of a track, or something that happens at an instant.
type Item struct {
	Kind      Kind
	Why       clients.Reason // the reason of a Failure and of an Attempt that failed; 0 otherwise
	Lost      bool           // the server could not unmask the sum of the updates of the Round
	Open      bool           // the Attempt, or the slice of one, was under way when the run ended
	Device    int32          // the number of the device; engine.Server for Round and Update
	Round     int32          // the round in which the item ends
	Try       int32          // the number of the Attempt of its device in the round, from 1 on
	From, To  engine.Time    // the same instant for an item without length
	Overhead  float64        // of a Compute: the share of its time that is not FLOPs at the device's rate
	Throttled engine.Time    // of a Compute: the part of its time at less than the usual speed
	Amount    float64        // bytes, FLOPs, or coordinate steps of an Attempt, unless Open; the share of a Level
}

// Kind is the kind of an item.
type Kind uint8

const (
	Round    Kind = iota // of the server
	Update               // of the coupling; an instant when it takes the server no time
	Attempt              // from the server's message to the response, or the failure
	Download             // within an Attempt, as the next three
	Compute
	Upload
	Poll        // the device waits for a poll
	Wait        // from the response to the end of the round
	Unavailable // the device is not available
	Depleted    // the battery of the device is empty
	Failure     // an instant at which an attempt fails
	Level       // an instant at which the level of a battery is known
)

// instant reports whether items of the kind have no length.
func (k Kind) instant() bool { return k == Failure || k == Level }

// depth is how deep a slice lies in its track, if it lies in another.
func (k Kind) depth() int {
	switch k {
	case Round, Update, Attempt:
		return 0
	default:
		return 1
	}
}

// order compares two items of a timeline.
func order(a, b Item) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Device, b.Device),
		cmp.Compare(a.Kind.depth(), b.Kind.depth()))
}

// EmptyError says that a run ended before the rounds that a timeline is to show.
type EmptyError struct{ First, Ended int }

func (e *EmptyError) Error() string {
	return fmt.Sprintf("it is to begin with round %d, and the run ended after %d", e.First, e.Ended)
}
