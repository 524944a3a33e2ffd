package engine

import "slices"

// sorted is the slow twin of heap4: a slice in falling order, the first event
// at its end. A push takes time proportional to the length.
type sorted struct{ events []Event }

var _ Queue = (*sorted)(nil)

func (q *sorted) Len() int { return len(q.events) }

func (q *sorted) Push(ev Event) {
	i := len(q.events)
	for i > 0 && q.events[i-1].Before(ev) {
		i--
	}
	q.events = slices.Insert(q.events, i, ev)
}

func (q *sorted) Peek() (first Event, ok bool) {
	if len(q.events) == 0 {
		return Event{}, false
	}
	return q.events[len(q.events)-1], true
}

func (q *sorted) Pop() (first Event, ok bool) {
	first, ok = q.Peek()
	if ok {
		q.events = q.events[:len(q.events)-1]
	}
	return first, ok
}

func (q *sorted) Compact(keep func(Event) bool) {
	q.events = slices.DeleteFunc(q.events, func(ev Event) bool { return !keep(ev) })
}
