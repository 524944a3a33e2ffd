package engine

// ScheduleBatch calls fill and sorts the events that it schedules in one pass. Many
// events that are known together, such as the arrivals of a synchronous round, cost less
// than one by one. They fire in the same order. Their handles are valid at once, and
// fill may cancel them.
//
// ScheduleBatch panics if fill calls Step, Run, RunUntil or ScheduleBatch.
func (e *Engine) ScheduleBatch(fill func()) {
	if e.sorted.collecting {
		panic("engine: ScheduleBatch within ScheduleBatch")
	}
	e.sorted.collecting = true
	defer e.endBatch()
	fill()
}

func (e *Engine) endBatch() {
	e.sorted.collecting = false
	for _, it := range e.sorted.absorb() {
		e.queue.push(it)
	}
}

// sortedList is a sorted list of items beside the queue, and the batch that is being collected.
type sortedList struct {
	next   []item // the head of the list, pruned recently
	rest   []item // the tail of the list
	batch  []item
	memory []item // holds next, rest and batch, in this order

	collecting bool
	sorter     sorter
	space      *chunks // scratch space for sorting, shared with the queue if it has any
}

const (
	smallBatch = 64  // a queue handles fewer items faster
	lookAhead  = 256 // items pruned together
)

func (s *sortedList) len() int { return len(s.next) + len(s.rest) + len(s.batch) }

// first returns the first item after those that the filter removes.
func (s *sortedList) first(wanted filter) (item, bool) {
	for len(s.next) == 0 {
		if len(s.rest) == 0 {
			return item{}, false
		}
		n := min(len(s.rest), lookAhead)
		s.next, s.rest = wanted(s.rest[:n]), s.rest[n:]
	}
	return s.next[0], true
}

func (s *sortedList) pop() { s.next = s.next[1:] }

func (s *sortedList) collect(it item, devices int, wanted filter) {
	if len(s.batch) == cap(s.batch) {
		s.makeRoom(devices, wanted)
	}
	s.batch = append(s.batch, it)
}

// makeRoom lets the batch grow, into the consumed part of the memory if that is at least
// a quarter. Most batches have at most one item per device, so capacity stops at that
// size while it suffices.
func (s *sortedList) makeRoom(devices int, wanted filter) {
	s.compact(wanted)
	n := s.len()
	if 4*n < 3*cap(s.memory) {
		s.join(s.memory[:0])
		return
	}
	room := max(smallBatch, n+n/4)
	if n < devices {
		room = min(max(smallBatch, 2*n), devices)
	}
	s.join(make([]item, 0, room))
}

// join moves the list and the batch to the beginning of a memory, which may be their own.
func (s *sortedList) join(memory []item) {
	sorted := len(s.next) + len(s.rest)
	s.memory = append(append(append(memory, s.next...), s.rest...), s.batch...)
	s.next, s.rest, s.batch = nil, s.memory[:sorted:sorted], s.memory[sorted:]
}

// absorb sorts the collected items and the rest of the list into a new list. It returns a
// batch that is small, or smaller than the rest, instead of absorbing it. So sorting the
// rest again never takes longer than sorting the batch.
func (s *sortedList) absorb() (small []item) {
	if n := len(s.batch); n < smallBatch || n < len(s.next)+len(s.rest) {
		small, s.batch = s.batch, s.batch[:0]
		return small
	}
	s.join(s.memory[:0])
	s.sorter.inPlace(s.memory, s.space)
	s.rest, s.batch = s.memory, s.memory[len(s.memory):]
	return nil
}

func (s *sortedList) compact(wanted filter) {
	s.next, s.rest, s.batch = wanted(s.next), wanted(s.rest), wanted(s.batch)
}
