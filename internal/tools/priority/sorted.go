package priority

import "slices"

// sorted is the reference queue: a slice in descending order, the first item at its end.
// A push takes time proportional to the length.
type sorted struct{ items []Item }

var _ Queue = (*sorted)(nil)

func (s *sorted) Len() int { return len(s.items) }

func (s *sorted) Push(it Item) {
	i := len(s.items)
	for i > 0 && s.items[i-1].Before(it) {
		i--
	}
	s.items = slices.Insert(s.items, i, it)
}

func (s *sorted) PopBefore(bound Item) (first Item, ok bool) {
	last := len(s.items) - 1
	if last < 0 || !s.items[last].Before(bound) {
		return Item{}, false
	}
	first = s.items[last]
	s.items = s.items[:last]
	return first, true
}

func (s *sorted) Compact(wanted Filter) { s.items = wanted(s.items) }
