package engine

import (
	"cmp"
	"fmt"
	"strings"
)

// queue holds distinct items and returns them in ascending order. The choice of queue
// changes the speed of an engine and nothing else.
//
// A queue reaches its speed if the client pushes nothing earlier than the last item
// popped, or than the last bound below which it found nothing. The order is right in any
// case.
type queue interface {
	push(item)
	// popBefore removes and returns the first item before the bound; ok is false if
	// there is none.
	popBefore(bound item) (first item, ok bool)
	len() int
	// compact applies the filter to all items.
	compact(wanted filter)
}

// filter returns a subset of the items, in order and in place.
type filter func(items []item) []item

// DefaultQueue is the queue of an engine whose options name none.
const DefaultQueue = "radix"

var queues = []struct {
	name string
	make func(wanted filter) queue
}{
	{DefaultQueue, func(wanted filter) queue { return newWheel(wanted) }},
	{"heap4", func(filter) queue { return new(heap4) }},
	{"sorted", func(filter) queue { return new(sorted) }},
}

// Queues returns the names of the queues, the default first: "radix", a wheel of buckets
// by the digits of the time; "heap4", a 4-ary heap; and "sorted", a sorted list. The
// last two exist for comparison.
func Queues() []string {
	names := make([]string, len(queues))
	for i, q := range queues {
		names[i] = q.name
	}
	return names
}

// newQueue returns an empty queue that may apply the filter at any time.
func newQueue(name string, wanted filter) queue {
	name = cmp.Or(name, DefaultQueue)
	for _, q := range queues {
		if q.name == name {
			return q.make(wanted)
		}
	}
	panic(fmt.Sprintf("engine: no queue is named %q: must be one of %s", name, strings.Join(Queues(), ", ")))
}
