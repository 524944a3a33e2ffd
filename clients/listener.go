package clients

// Listener hears of the changes of clients. Functions that are nil hear nothing. They
// are called at the instant of the change and after it, and may start and cancel attempts
// and set timers.
type Listener struct {
	// Downloaded: the downlink transfer of an attempt is over, though the message may
	// be lost. It is the last moment for SetWork. The client computes when it returns
	// true, and fails for lack of time otherwise. nil: it computes.
	Downloaded func(client int) (compute bool)
	// Responded: the response has arrived.
	Responded func(client int)
	// Failed: the attempt has ended without a response.
	Failed func(client int, why Reason)

	// Available: the client can be started from now on, unless it is at work.
	Available func(client int)
	// Unavailable: the client cannot be reached, or refuses new work.
	Unavailable func(client int)
	// Depleted: the battery is empty. If that ended an attempt, Failed has reported it.
	Depleted func(client int)
	// Recharged: there is enough in the battery again.
	Recharged func(client int)

	// Needed reports whether a client of a lazy population that is not at work may be started when it
	// is available again. Otherwise its availability is not followed until Admit. nil: it may not.
	Needed func(client int) bool

	// Timer: the time of SetTimer has come; engine.Server for SetServerTimer.
	Timer func(client int)

	// Repeat: a message of a hub was lost for the n-th time. It is sent again when
	// Repeat returns true. nil: it always is.
	Repeat func(hub, n int) bool
	// Unreached: a hub no longer serves a client in the open group, since a message to or
	// from it was lost, or it is unavailable.
	Unreached func(client int, why Reason)

	// Gathered: no response to a hub is missing. It reports whether RepeatHub has let the
	// hub ask again; otherwise the hub sends the responses that it has. nil: it sends them.
	Gathered func(hub int) (again bool)

	// Watch is called once in WatchEvery events.
	Watch func()
}

// WatchEvery is how many events pass between two calls of Listener.Watch.
const WatchEvery = 1 << 10

// ensureDefaults replaces functions that are nil.
func (l *Listener) ensureDefaults() {
	for _, f := range [...]*func(int){&l.Responded, &l.Available, &l.Unavailable, &l.Depleted, &l.Recharged, &l.Timer} {
		if *f == nil {
			*f = func(int) {}
		}
	}
	if l.Downloaded == nil {
		l.Downloaded = func(int) bool { return true }
	}
	if l.Failed == nil {
		l.Failed = func(int, Reason) {}
	}
	if l.Needed == nil {
		l.Needed = func(int) bool { return false }
	}
	if l.Repeat == nil {
		l.Repeat = func(int, int) bool { return true }
	}
	if l.Unreached == nil {
		l.Unreached = func(int, Reason) {}
	}
	if l.Gathered == nil {
		l.Gathered = func(int) bool { return false }
	}
	if l.Watch == nil {
		l.Watch = func() {}
	}
}
