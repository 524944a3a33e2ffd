package engine

// Hooks are called at what happens to events. Each may be nil. A hook observes:
// it must not schedule, cancel or move events. Moving an event is a Cancelled
// of the old and a Scheduled of the new one.
type Hooks struct {
	Scheduled func(Event)
	Fired     func(Event) // before the handler is called
	Cancelled func(Event)
}

// Tee returns hooks that call those of a, then those of b. Either may be nil.
func Tee(a, b *Hooks) *Hooks {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return &Hooks{
		Scheduled: both(a.Scheduled, b.Scheduled),
		Fired:     both(a.Fired, b.Fired),
		Cancelled: both(a.Cancelled, b.Cancelled),
	}
}

func both(a, b func(Event)) func(Event) {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return func(ev Event) { a(ev); b(ev) }
}
