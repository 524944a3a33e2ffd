package session

import (
	"cmp"

	"fedsim/engine"
)

// timers are the instants at which messages expire and the driver learns of failures. They are
// not events of the clock, which has those of clients only: so the events of a session are
// those of a run. What happens to clients at an instant is before its timers. A message has one
// timer at most. The heap is a binary one.
type timers struct {
	queue *queue
	heap  []int32 // places, by due
}

// first returns the instant of the first timer; Never: there is none.
func (ti *timers) first() engine.Time {
	if len(ti.heap) == 0 {
		return engine.Never
	}
	return ti.queue.messages[ti.heap[0]].due
}

func (ti *timers) set(place int32, at engine.Time) {
	ti.stop(place)
	m := &ti.queue.messages[place]
	m.due, m.timer = at, int32(len(ti.heap))
	ti.heap = append(ti.heap, place)
	ti.rise(len(ti.heap) - 1)
}

// stop stops the timer of a message, if it has one.
func (ti *timers) stop(place int32) {
	m := &ti.queue.messages[place]
	i, last := int(m.timer), len(ti.heap)-1
	if i < 0 {
		return
	}
	m.timer = -1
	moved := ti.heap[last]
	ti.heap = ti.heap[:last]
	if i < last {
		ti.put(i, moved)
		ti.rise(i)
		ti.sink(int(ti.queue.messages[moved].timer))
	}
}

// sooner reports whether the timer of one message is before that of another: by time,
// then device, then the order of the ids.
func (ti *timers) sooner(a, b int32) bool {
	x, y := &ti.queue.messages[a], &ti.queue.messages[b]
	return cmp.Or(cmp.Compare(x.due, y.due), cmp.Compare(x.Client, y.Client), cmp.Compare(x.ID, y.ID)) < 0
}

// put puts a timer at a position of the heap.
func (ti *timers) put(i int, place int32) {
	ti.heap[i] = place
	ti.queue.messages[place].timer = int32(i)
}

// rise lets the timer at position i rise to where it belongs.
func (ti *timers) rise(i int) {
	place := ti.heap[i]
	for i > 0 && ti.sooner(place, ti.heap[(i-1)/2]) {
		ti.put(i, ti.heap[(i-1)/2])
		i = (i - 1) / 2
	}
	ti.put(i, place)
}

// sink lets the timer at position i sink to where it belongs.
func (ti *timers) sink(i int) {
	place := ti.heap[i]
	for child := 2*i + 1; child < len(ti.heap); child = 2*i + 1 {
		if child+1 < len(ti.heap) && ti.sooner(ti.heap[child+1], ti.heap[child]) {
			child++
		}
		if !ti.sooner(ti.heap[child], place) {
			break
		}
		ti.put(i, ti.heap[child])
		i = child
	}
	ti.put(i, place)
}
