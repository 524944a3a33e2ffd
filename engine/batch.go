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

func (r *sortedList) len() int { return len(r.next) + len(r.rest) + len(r.batch) }

// first returns the first item after those that the filter removes.
func (r *sortedList) first(wanted filter) (item, bool) {
	for len(r.next) == 0 {
		if len(r.rest) == 0 {
			return item{}, false
		}
		n := min(len(r.rest), lookAhead)
		r.next, r.rest = wanted(r.rest[:n]), r.rest[n:]
	}
	return r.next[0], true
}

func (r *sortedList) pop() { r.next = r.next[1:] }

func (r *sortedList) collect(it item, devices int, wanted filter) {
	if len(r.batch) == cap(r.batch) {
		r.makeRoom(devices, wanted)
	}
	r.batch = append(r.batch, it)
}

// makeRoom lets the batch grow, into the consumed part of the memory if that is at least
// a quarter. Most batches have at most one item per device, so capacity stops at that
// size while it suffices.
func (r *sortedList) makeRoom(devices int, wanted filter) {
	r.compact(wanted)
	n := r.len()
	if 4*n < 3*cap(r.memory) {
		r.join(r.memory[:0])
		return
	}
	room := max(smallBatch, n+n/4)
	if n < devices {
		room = min(max(smallBatch, 2*n), devices)
	}
	r.join(make([]item, 0, room))
}

// join moves the list and the batch to the beginning of a memory, which may be their own.
func (r *sortedList) join(memory []item) {
	sorted := len(r.next) + len(r.rest)
	r.memory = append(append(append(memory, r.next...), r.rest...), r.batch...)
	r.next, r.rest, r.batch = nil, r.memory[:sorted:sorted], r.memory[sorted:]
}

// absorb sorts the collected items and the rest of the list into a new list. It returns a
// batch that is small, or smaller than the rest, instead of absorbing it. So sorting the
// rest again never takes longer than sorting the batch.
func (r *sortedList) absorb() (small []item) {
	if n := len(r.batch); n < smallBatch || n < len(r.next)+len(r.rest) {
		small, r.batch = r.batch, r.batch[:0]
		return small
	}
	r.join(r.memory[:0])
	r.sorter.inPlace(r.memory, r.space)
	r.rest, r.batch = r.memory, r.memory[len(r.memory):]
	return nil
}

func (r *sortedList) compact(wanted filter) {
	r.next, r.rest, r.batch = wanted(r.next), wanted(r.rest), wanted(r.batch)
}
