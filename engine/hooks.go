package engine

// Hooks are called when events are scheduled, fired or canceled. Each may be nil. A
// hook only observes: it must not schedule or cancel events. Moving a timer calls
// Canceled for the old event and Scheduled for the new one.
type Hooks struct {
	Scheduled func(Event)
	Fired     func(Event) // before the handler is called
	Canceled  func(Event)
}
