package engine

// ScheduleBatch calls fill and collects what it schedules, to be sorted at once: many
// events known together, such as the arrivals of a synchronous round, cost less
// than one by one. Nothing else is different: the events fire in the same order,
// their handles are valid from the start, and fill may cancel and move them.
//
// ScheduleBatch panics when fill calls Step, Run, RunUntil or ScheduleBatch.
func (e *Engine) ScheduleBatch(fill func()) {
	if e.run.collecting {
		panic("engine: ScheduleBatch within ScheduleBatch")
	}
	e.run.collecting = true
	defer e.endBatch()
	fill()
}

func (e *Engine) endBatch() {
	e.run.collecting = false
	for _, it := range e.run.absorb() {
		e.queue.push(it)
	}
}

// run is a sorted list of items beside the queue, and the batch that is to be absorbed.
type run struct {
	next   []item // the first of the list, looked at not long ago
	rest   []item // what follows
	batch  []item
	memory []item // where the three are, in this order

	collecting bool
	sorter     sorter
	space      *chunks // to sort through: those of the queue, if it has any
}

const (
	smallBatch = 64  // fewer items are better left to the queue
	lookAhead  = 256 // how many items are looked at together
)

func (r *run) len() int { return len(r.next) + len(r.rest) + len(r.batch) }

// first returns the first item, after those that are not wanted, if it is known
// that they are not.
func (r *run) first(wanted filter) (item, bool) {
	for len(r.next) == 0 {
		if len(r.rest) == 0 {
			return item{}, false
		}
		n := min(len(r.rest), lookAhead)
		r.next, r.rest = wanted(r.rest[:n]), r.rest[n:]
	}
	return r.next[0], true
}

func (r *run) pop() { r.next = r.next[1:] }

// collect adds an item to the batch.
func (r *run) collect(it item, devices int, wanted filter) {
	if len(r.batch) == cap(r.batch) {
		r.makeRoom(devices, wanted)
	}
	r.batch = append(r.batch, it)
}

// makeRoom lets the batch grow, into what the run has left behind when that is a
// quarter of the memory. Most batches have at most one item for each of the devices,
// so that there is no more room as long as that is enough.
func (r *run) makeRoom(devices int, wanted filter) {
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

// join moves the run and the batch to the beginning of a memory, which may be their
// own.
func (r *run) join(memory []item) {
	sorted := len(r.next) + len(r.rest)
	r.memory = append(append(append(memory, r.next...), r.rest...), r.batch...)
	r.next, r.rest, r.batch = nil, r.memory[:sorted:sorted], r.memory[sorted:]
}

// absorb makes a run of the collected items and what is left of the run. A
// batch that is small, or smaller than what is left, is returned instead and not
// absorbed, so that sorting again what is left takes no longer than sorting the
// batch.
func (r *run) absorb() (small []item) {
	if n := len(r.batch); n < smallBatch || n < len(r.next)+len(r.rest) {
		small, r.batch = r.batch, r.batch[:0]
		return small
	}
	r.join(r.memory[:0])
	r.sorter.inPlace(r.memory, r.space)
	r.rest, r.batch = r.memory, r.memory[len(r.memory):]
	return nil
}

func (r *run) compact(wanted filter) {
	r.next, r.rest, r.batch = wanted(r.next), wanted(r.rest), wanted(r.batch)
}
