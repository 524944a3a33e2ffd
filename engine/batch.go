package engine

import "slices"

// Batch calls fill and collects what it schedules, to be sorted at once: many
// events known together, such as the arrivals of a synchronous round, cost less
// than one by one. Nothing else is different: the events fire in the same order,
// their handles are valid from the start, and fill may cancel and move them.
//
// Batch panics when fill calls Step, Run, RunUntil or Batch.
func (e *Engine) Batch(fill func()) {
	if e.run.collecting {
		panic("engine: Batch within Batch")
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

// run is a sorted list of items beside the queue.
type run struct {
	next []item // the first of the list, looked at not long ago
	rest []item // what follows

	collecting bool
	batch      []item // what is to be absorbed
	memory     []item // where next and rest are
	sorter     sorter
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

// collect adds an item to the batch. Most batches have at most one for each of
// the devices, so that room is made for no more as long as that is enough.
func (r *run) collect(it item, devices int) {
	if n := len(r.batch); n == cap(r.batch) {
		room := max(2*n, smallBatch)
		if n < devices {
			room = min(room, devices)
		}
		r.batch = slices.Grow(r.batch, room-n)
	}
	r.batch = append(r.batch, it)
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
	r.batch = append(append(r.batch, r.next...), r.rest...)
	if n := len(r.batch); cap(r.memory) < n {
		r.memory = make([]item, n, cap(r.batch))
	}
	r.memory = r.memory[:len(r.batch)]
	r.sorter.sort(r.memory, r.batch)
	r.next, r.rest = nil, r.memory
	r.batch = r.batch[:0]
	return nil
}

func (r *run) compact(wanted filter) {
	r.next, r.rest, r.batch = wanted(r.next), wanted(r.rest), wanted(r.batch)
}
