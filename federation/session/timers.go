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
func (h *timers) first() engine.Time {
	if len(h.heap) == 0 {
		return engine.Never
	}
	return h.queue.messages[h.heap[0]].due
}

func (h *timers) set(place int32, at engine.Time) {
	h.stop(place)
	m := &h.queue.messages[place]
	m.due, m.timer = at, int32(len(h.heap))
	h.heap = append(h.heap, place)
	h.rise(len(h.heap) - 1)
}

// stop stops the timer of a message, if it has one.
func (h *timers) stop(place int32) {
	m := &h.queue.messages[place]
	i, last := int(m.timer), len(h.heap)-1
	if i < 0 {
		return
	}
	m.timer = -1
	moved := h.heap[last]
	h.heap = h.heap[:last]
	if i < last {
		h.put(i, moved)
		h.rise(i)
		h.sink(int(h.queue.messages[moved].timer))
	}
}

// sooner reports whether the timer of one message is before that of another: by time,
// then device, then the order of the ids.
func (h *timers) sooner(a, b int32) bool {
	x, y := &h.queue.messages[a], &h.queue.messages[b]
	return cmp.Or(cmp.Compare(x.due, y.due), cmp.Compare(x.Client, y.Client), cmp.Compare(x.ID, y.ID)) < 0
}

// put puts a timer at a position of the heap.
func (h *timers) put(i int, place int32) {
	h.heap[i] = place
	h.queue.messages[place].timer = int32(i)
}

// rise lets the timer at position i rise to where it belongs.
func (h *timers) rise(i int) {
	place := h.heap[i]
	for i > 0 && h.sooner(place, h.heap[(i-1)/2]) {
		h.put(i, h.heap[(i-1)/2])
		i = (i - 1) / 2
	}
	h.put(i, place)
}

// sink lets the timer at position i sink to where it belongs.
func (h *timers) sink(i int) {
	place := h.heap[i]
	for child := 2*i + 1; child < len(h.heap); child = 2*i + 1 {
		if child+1 < len(h.heap) && h.sooner(h.heap[child+1], h.heap[child]) {
			child++
		}
		if !h.sooner(h.heap[child], place) {
			break
		}
		h.put(i, h.heap[child])
		i = child
	}
	h.put(i, place)
}
