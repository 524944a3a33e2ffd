package priority

// List is a sorted list of items beside a queue, and the batch that is being collected.
type List struct {
	next   []Item // the head of the list, pruned recently
	rest   []Item // the tail of the list
	batch  []Item
	memory []Item // holds next, rest and batch, in this order

	sorter sorter
	space  *chunks // scratch space for sorting, shared with the queue if it has any
}

// NewList returns an empty list beside a queue.
func NewList(beside Queue) List {
	if w, ok := beside.(*wheel); ok {
		return List{space: &w.chunks}
	}
	return List{space: newChunks()}
}

const (
	smallBatch = 64  // a queue handles fewer items faster
	lookAhead  = 256 // items pruned together
)

// Len returns the number of items in the list and in the batch.
func (s *List) Len() int { return len(s.next) + len(s.rest) + len(s.batch) }

// First returns the first item after those that the filter removes.
func (s *List) First(wanted Filter) (Item, bool) {
	for len(s.next) == 0 {
		if len(s.rest) == 0 {
			return Item{}, false
		}
		n := min(len(s.rest), lookAhead)
		s.next, s.rest = wanted(s.rest[:n]), s.rest[n:]
	}
	return s.next[0], true
}

// Pop removes the first item, which First has returned.
func (s *List) Pop() { s.next = s.next[1:] }

// Collect adds an item to the batch.
func (s *List) Collect(it Item, devices int, wanted Filter) {
	if len(s.batch) == cap(s.batch) {
		s.makeRoom(devices, wanted)
	}
	s.batch = append(s.batch, it)
}

// makeRoom lets the batch grow, into the consumed part of the memory if that is at least
// a quarter. Most batches have at most one item per device, so capacity stops at that
// size while it suffices.
func (s *List) makeRoom(devices int, wanted Filter) {
	s.Compact(wanted)
	n := s.Len()
	if 4*n < 3*cap(s.memory) {
		s.join(s.memory[:0])
		return
	}
	room := max(smallBatch, n+n/4)
	if n < devices {
		room = min(max(smallBatch, 2*n), devices)
	}
	s.join(make([]Item, 0, room))
}

// join moves the list and the batch to the beginning of a memory, which may be their own.
func (s *List) join(memory []Item) {
	sorted := len(s.next) + len(s.rest)
	s.memory = append(append(append(memory, s.next...), s.rest...), s.batch...)
	s.next, s.rest, s.batch = nil, s.memory[:sorted:sorted], s.memory[sorted:]
}

// Absorb sorts the collected items and the rest of the list into a new list. It returns a
// batch that is small, or smaller than the rest, instead of absorbing it. So sorting the
// rest again never takes longer than sorting the batch.
func (s *List) Absorb() (small []Item) {
	if n := len(s.batch); n < smallBatch || n < len(s.next)+len(s.rest) {
		small, s.batch = s.batch, s.batch[:0]
		return small
	}
	s.join(s.memory[:0])
	s.sorter.inPlace(s.memory, s.space)
	s.rest, s.batch = s.memory, s.memory[len(s.memory):]
	return nil
}

// Compact applies the filter to all items.
func (s *List) Compact(wanted Filter) {
	s.next, s.rest, s.batch = wanted(s.next), wanted(s.rest), wanted(s.batch)
}
