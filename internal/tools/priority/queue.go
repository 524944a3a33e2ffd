package priority

import (
	"cmp"
	"fmt"
	"strings"
)

// Queue holds distinct items and returns them in ascending order. The choice of Queue
// changes the speed and nothing else.
//
// A queue reaches its speed if the client pushes nothing earlier than the last item
// popped, or than the last bound below which it found nothing. The order is right in any
// case.
type Queue interface {
	Push(Item)
	// PopBefore removes and returns the first item before the bound; ok is false if
	// there is none.
	PopBefore(bound Item) (first Item, ok bool)
	Len() int
	// Compact applies the filter to all items.
	Compact(wanted Filter)
}

// Filter returns a subset of the items, in order and in place.
type Filter func(items []Item) []Item

// Default is the queue that New makes where none is named.
const Default = "radix"

var queues = []struct {
	name string
	make func(wanted Filter) Queue
}{
	{Default, func(wanted Filter) Queue { return newWheel(wanted) }},
	{"heap4", func(Filter) Queue { return new(heap4) }},
	{"sorted", func(Filter) Queue { return new(sorted) }},
}

// Names returns the names of the queues, the default first: "radix", a wheel of buckets
// by the digits of the number; "heap4", a 4-ary heap; and "sorted", a sorted list. The
// last two exist for comparison.
func Names() []string {
	names := make([]string, len(queues))
	for i, q := range queues {
		names[i] = q.name
	}
	return names
}

// New returns an empty queue that may apply the filter at any time.
func New(name string, wanted Filter) Queue {
	name = cmp.Or(name, Default)
	for _, q := range queues {
		if q.name == name {
			return q.make(wanted)
		}
	}
	panic(fmt.Sprintf("priority: no queue is named %q: must be one of %s", name, strings.Join(Names(), ", ")))
}
