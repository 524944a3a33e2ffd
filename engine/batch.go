package engine

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
	items []item // from next on
	next  int

	collecting bool
	batch      []item // what is to be absorbed
	sorter     sorter
}

// smallBatch is how many items are better left to the queue.
const smallBatch = 64

func (r *run) len() int { return len(r.items) - r.next + len(r.batch) }

func (r *run) first() (item, bool) {
	if r.next == len(r.items) {
		return item{}, false
	}
	return r.items[r.next], true
}

func (r *run) collect(it item) { r.batch = append(r.batch, it) }

// absorb makes a run of the collected items and what is left of the run. A
// batch that is small, or smaller than what is left, is returned instead and not
// absorbed, so that sorting again what is left takes no longer than sorting the
// batch.
func (r *run) absorb() (small []item) {
	left := r.items[r.next:]
	if n := len(r.batch); n < smallBatch || n < len(left) {
		small, r.batch = r.batch, r.batch[:0]
		return small
	}
	r.batch = append(r.batch, left...)
	r.items, r.next = grown(r.items, len(r.batch)), 0
	r.sorter.sort(r.items, r.batch)
	r.batch = r.batch[:0]
	return nil
}

func (r *run) compact(keep func(item) bool) {
	r.items, r.next = filter(r.items[r.next:], r.items[:0], keep), 0
	r.batch = filter(r.batch, r.batch[:0], keep)
}

// filter appends the items to keep to kept, which may begin where items does or
// before.
func filter(items, kept []item, keep func(item) bool) []item {
	for _, it := range items {
		if keep(it) {
			kept = append(kept, it)
		}
	}
	return kept
}
