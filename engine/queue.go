package engine

import (
	"fmt"
	"strings"
)

// queue holds events and gives them back in the order of Event.Before. Which
// one an engine uses changes its speed and nothing else.
//
// A client that pushes nothing before what it has popped, nor before the bound
// up to which it found nothing to pop, gets the speed that a queue promises; one
// that does gets the right order all the same.
type queue interface {
	push(item)
	// popBefore removes and returns the first item unless it is at or behind
	// the bound; ok is false when there is none.
	popBefore(bound item) (first item, ok bool)
	len() int
	// compact removes every item for which keep is false.
	compact(keep func(item) bool)
}

// DefaultQueue is the queue of an engine whose options name none.
const DefaultQueue = "radix"

var queues = []struct {
	name string
	make func() queue
}{
	{DefaultQueue, func() queue { return newWheel() }},
	{"heap4", func() queue { return new(heap4) }},
	{"sorted", func() queue { return new(sorted) }},
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

func newQueue(name string) queue {
	if name == "" {
		name = DefaultQueue
	}
	for _, q := range queues {
		if q.name == name {
			return q.make()
		}
	}
	panic(fmt.Sprintf("engine: no queue is named %q: must be one of %s", name, strings.Join(Queues(), ", ")))
}
