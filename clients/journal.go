package clients

import (
	"fedsim/devices"
	"fedsim/engine"
)

// Journal receives what clients do, in the order of virtual time. It changes nothing.
type Journal interface{ Note(Entry) }

// Entry is an entry of the journal.
type Entry struct {
	Kind     EntryKind
	Client   int32
	Activity Activity    // of a Span
	Cut      bool        // of a Span: the activity continues
	Why      Reason      // of a Failure
	Began    engine.Time // of a Span: when the activity did; of transfers that are over, when the radio was awake
	From, To engine.Time // the same instant for all but a Span
	// Overhead is, of a Span of computing, the share of its time that is not that of FLOPs at the
	// device's rate, in [0, 1].
	Overhead float64
	// Throttled is how much of a Span of computing was below the usual speed, by the machine of the device.
	Throttled engine.Time
	// Shared is, of a Span of a transfer that is not cut, how much longer it took than it would have with
	// no other transfer on shared links, at the rates that its own link had.
	Shared engine.Time
	// Amount is, of a Span that is not cut, the bytes on the client's own link or the FLOPs; of a
	// Level, a share in [0, 1].
	Amount float64
}

// EntryKind is the kind of an entry.
type EntryKind uint8

const (
	// Start: the client is sent the message of an attempt.
	Start EntryKind = iota
	// Span: the client has done one thing for some time. The spans of a client follow
	// each other without gaps. One ends when the activity changes, and at CutSpans.
	Span
	// Failure: an attempt has ended without a response.
	Failure
	// Level: the level of the battery, at the start and after each span of work.
	Level
)

// recorder writes what clients do to a journal. Nothing is written where the journal is nil.
type recorder struct {
	journal Journal
	clock   *engine.Engine
	levels  *devices.Batteries
	// overhead returns which share of a client's computation is not that of its FLOPs.
	overhead func(client int) float64
	machines *machines // of clients; nil: they throttle nobody
	spans    []span    // by client; nil: there is no journal
}

// span is the present activity of a client, its start, and the start of its next entry.
type span struct {
	activity    Activity
	open        bool
	began, from engine.Time
}

func newRecorder(s *Setup, batteries *devices.Batteries, clock *engine.Engine,
	overhead func(client int) float64) recorder {
	r := recorder{journal: s.Journal, levels: batteries, clock: clock, overhead: overhead}
	if s.Journal != nil {
		r.spans = make([]span, s.Clients)
	}
	return r
}

func (r *recorder) written() bool { return r.journal != nil }

// note makes an entry of a client at this instant.
func (r *recorder) note(k EntryKind, client int, why Reason, amount float64) {
	if r.written() {
		now := r.clock.Now()
		r.journal.Note(Entry{Kind: k, Client: int32(client), Why: why, Amount: amount, Began: now, From: now, To: now})
	}
}

// failure notes that an attempt of a client has failed.
func (r *recorder) failure(client int, why Reason) { r.note(Failure, client, why, 0) }

// activity begins a span of a client when its activity has changed.
func (r *recorder) activity(c int, of *client) {
	if r.written() {
		r.begin(c, of.activity())
	}
}

func (r *recorder) begin(client int, a Activity) {
	s, now := &r.spans[client], r.clock.Now()
	if s.open && s.activity == a {
		return
	}
	r.end(client, Entry{})
	*s = span{activity: a, open: true, began: now, from: now}
}

// end ends the span of a client, if there is one.
func (r *recorder) end(client int, e Entry) {
	if s := &r.spans[client]; s.open {
		r.noteSpan(client, e)
		s.open = false
	}
}

func (r *recorder) noteSpan(client int, e Entry) {
	s := &r.spans[client]
	if s.activity == Compute {
		e.Overhead, e.Throttled = r.overhead(client), r.machines.throttled(client, s.from, r.clock.Now())
	}
	e.Kind, e.Client, e.Activity, e.Began, e.From, e.To = Span, int32(client), s.activity, s.began, s.from,
		r.clock.Now()
	r.journal.Note(e)
}

// start notes that a client is sent the message of an attempt.
func (r *recorder) start(client int) {
	if r.written() {
		r.end(client, Entry{})
		r.note(Start, client, 0, 0)
	}
}

// endWork ends a span of work of a client, which moved its first byte or computed from an
// instant on.
func (r *recorder) endWork(client int, began engine.Time, e Entry) {
	r.spans[client].began = min(began, r.clock.Now())
	r.end(client, e)
}

// NoteLevel notes the level of a client's battery in the journal, if it has one.
func (r *recorder) NoteLevel(client int) {
	if r.written() && !r.levels.OnMains(client) {
		r.note(Level, client, 0, r.levels.Level(client, r.clock.Now()))
	}
}

// CutSpans notes the spans of all clients up to now in the journal. Their activities
// continue.
func (r *recorder) CutSpans() {
	for client := range r.spans {
		if s := &r.spans[client]; s.open {
			r.noteSpan(client, Entry{Cut: true})
			s.from = r.clock.Now()
		}
	}
}
