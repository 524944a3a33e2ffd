package engine

import "slices"

// sorted is the reference queue: a slice in descending order, the first item at its end.
// A push takes time proportional to the length.
type sorted struct{ items []item }

var _ queue = (*sorted)(nil)

func (q *sorted) len() int { return len(q.items) }

func (q *sorted) push(it item) {
	i := len(q.items)
	for i > 0 && q.items[i-1].before(it) {
		i--
	}
	q.items = slices.Insert(q.items, i, it)
}

func (q *sorted) popBefore(bound item) (first item, ok bool) {
	last := len(q.items) - 1
	if last < 0 || !q.items[last].before(bound) {
		return item{}, false
	}
	first = q.items[last]
	q.items = q.items[:last]
	return first, true
}

func (q *sorted) compact(wanted filter) { q.items = wanted(q.items) }
