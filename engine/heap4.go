package engine

// heap4 is an implicit 4-ary heap of event values: the children of i are
// 4i+1..4i+4. It is half as deep as a binary heap and a node's four children
// lie side by side in one or two cache lines.
type heap4 struct{ events []Event }

var _ Queue = (*heap4)(nil)

const arity = 4

func (q *heap4) Len() int { return len(q.events) }

func (q *heap4) Push(ev Event) {
	q.events = append(q.events, ev)
	q.up(len(q.events) - 1)
}

func (q *heap4) Peek() (first Event, ok bool) {
	if len(q.events) == 0 {
		return Event{}, false
	}
	return q.events[0], true
}

func (q *heap4) Pop() (first Event, ok bool) {
	if len(q.events) == 0 {
		return Event{}, false
	}
	first = q.events[0]
	last := len(q.events) - 1
	q.events[0] = q.events[last]
	q.events = q.events[:last]
	if last > 1 {
		q.down(0)
	}
	return first, true
}

func (q *heap4) Compact(keep func(Event) bool) {
	kept := q.events[:0]
	for _, ev := range q.events {
		if keep(ev) {
			kept = append(kept, ev)
		}
	}
	q.events = kept
	for i := (len(kept) - 2) / arity; i >= 0 && len(kept) > 1; i-- {
		q.down(i)
	}
}

// up moves the event at i towards the root to its place.
func (q *heap4) up(i int) {
	events := q.events
	ev := events[i]
	for i > 0 {
		parent := (i - 1) / arity
		if !before(&ev, &events[parent]) {
			break
		}
		events[i] = events[parent]
		i = parent
	}
	events[i] = ev
}

// down moves the event at i towards the leaves to its place.
func (q *heap4) down(i int) {
	events := q.events
	ev := events[i]
	for {
		child := arity*i + 1
		if child >= len(events) {
			break
		}
		least := child
		for c := child + 1; c < min(child+arity, len(events)); c++ {
			if before(&events[c], &events[least]) {
				least = c
			}
		}
		if !before(&events[least], &ev) {
			break
		}
		events[i] = events[least]
		i = least
	}
	events[i] = ev
}
