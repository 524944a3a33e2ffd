package engine

import "slices"

// sorted is the reference queue: a slice in descending order, the first item at its end.
// A push takes time proportional to the length.
type sorted struct{ items []item }

var _ queue = (*sorted)(nil)

func (s *sorted) len() int { return len(s.items) }

func (s *sorted) push(it item) {
	i := len(s.items)
	for i > 0 && s.items[i-1].before(it) {
		i--
	}
	s.items = slices.Insert(s.items, i, it)
}

func (s *sorted) popBefore(bound item) (first item, ok bool) {
	last := len(s.items) - 1
	if last < 0 || !s.items[last].before(bound) {
		return item{}, false
	}
	first = s.items[last]
	s.items = s.items[:last]
	return first, true
}

func (s *sorted) compact(wanted filter) { s.items = wanted(s.items) }
