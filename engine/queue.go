package engine

import (
	"fmt"
	"strings"
)

// queue holds items, no two of which are equal, and gives them back in rising
// order. Which one an engine uses changes its speed and nothing else.
//
// A client that pushes nothing before the time of what it has popped, nor before
// that of the bound up to which it found nothing to pop, gets the speed that a
// queue promises; one that does gets the right order all the same.
type queue interface {
	push(item)
	// popBefore removes and returns the first item unless it is at or behind
	// the bound; ok is false when there is none.
	popBefore(bound item) (first item, ok bool)
	len() int
	// compact removes every item that is not wanted.
	compact(wanted filter)
}

// filter returns those of the items that are wanted, in their order and in the
// memory of items.
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

// Queues returns the names of the queues, the default first: "radix", a wheel
// of buckets by the digits of the time; "heap4", a 4-ary heap; and "sorted", a
// sorted list. The two latter are there to be compared with.
func Queues() []string {
	names := make([]string, len(queues))
	for i, q := range queues {
		names[i] = q.name
	}
	return names
}

// newQueue returns an empty queue, which may remove what is not wanted at any
// time.
func newQueue(name string, wanted filter) queue {
	if name == "" {
		name = DefaultQueue
	}
	for _, q := range queues {
		if q.name == name {
			return q.make(wanted)
		}
	}
	panic(fmt.Sprintf("engine: no queue is named %q: must be one of %s", name, strings.Join(Queues(), ", ")))
}
