package engine

import (
	"fmt"
	"strings"
)

// Queue holds events and gives them back in the order of Event.Before. Which
// one an engine uses changes its speed and nothing else.
type Queue interface {
	Push(Event)
	// Pop removes and returns the first event; ok is false when there is none.
	Pop() (first Event, ok bool)
	// Peek returns the first event and leaves it in the queue.
	Peek() (first Event, ok bool)
	Len() int
	// Compact removes every event for which keep is false.
	Compact(keep func(Event) bool)
}

// DefaultQueue is the queue of an engine whose options name none.
const DefaultQueue = "heap4"

var queues = []struct {
	name string
	make func() Queue
}{
	{DefaultQueue, func() Queue { return new(heap4) }},
	{"sorted", func() Queue { return new(sorted) }},
}

// Queues returns the names of the queues, the default first: "heap4", a 4-ary
// heap, and "sorted", its slow twin for tests.
func Queues() []string {
	names := make([]string, len(queues))
	for i, q := range queues {
		names[i] = q.name
	}
	return names
}

func newQueue(name string) Queue {
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
