package engine

// ScheduleBatch calls fill and sorts the events that it schedules in one pass. Many
// events that are known together, such as the arrivals of a synchronous round, cost less
// than one by one. They fire in the same order. Their handles are valid at once, and
// fill may cancel them.
//
// ScheduleBatch panics if fill calls Step, Run, RunUntil or ScheduleBatch.
func (e *Engine) ScheduleBatch(fill func()) {
	if e.collecting {
		panic("engine: ScheduleBatch within ScheduleBatch")
	}
	e.collecting = true
	defer e.endBatch()
	fill()
}

func (e *Engine) endBatch() {
	e.collecting = false
	for _, it := range e.sorted.Absorb() {
		e.queue.Push(it)
	}
}
