package clients

import "fedsim/engine"

// Journal hears of clients, in the order of virtual time. It changes nothing.
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
	Amount   float64     // of a Span that is not cut, bytes on the client's own link or FLOPs; of a Level, a share in [0, 1]
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

// span is the present activity of a client, its start, and the start of its next entry.
type span struct {
	activity    Activity
	open        bool
	began, from engine.Time
}

// note makes an entry of a device at this instant.
func (c *Clients) note(k EntryKind, t int, why Reason, amount float64) {
	if c.spans != nil { // there is a journal
		c.noteNow(Entry{Kind: k, Client: int32(t), Why: why, Amount: amount})
	}
}

func (c *Clients) noteNow(e Entry) {
	now := c.clock.Now()
	e.Began, e.From, e.To = now, now, now
	c.setup.Journal.Note(e)
}

// noteActivity begins a span of device t when its activity has changed.
func (c *Clients) noteActivity(t int) {
	if c.spans != nil {
		c.beginSpan(t)
	}
}

func (c *Clients) beginSpan(t int) {
	s, a, now := &c.spans[t], c.devices[t].activity(), c.clock.Now()
	if s.open && s.activity == a {
		return
	}
	c.endSpan(t, 0)
	*s = span{activity: a, open: true, began: now, from: now}
}

// endSpan ends the span of device t, if there is one.
func (c *Clients) endSpan(t int, amount float64) {
	if c.spans != nil && c.spans[t].open {
		c.noteSpan(t, Entry{Amount: amount})
		c.spans[t].open = false
	}
}

func (c *Clients) noteSpan(t int, e Entry) {
	s := &c.spans[t]
	e.Kind, e.Client, e.Activity, e.Began, e.From, e.To = Span, int32(t), s.activity, s.began, s.from, c.clock.Now()
	c.setup.Journal.Note(e)
}

// noteWork ends a span of work of device t, which moved its first byte or computed from
// an instant on.
func (c *Clients) noteWork(t int, began engine.Time, amount float64) {
	c.spans[t].began = min(began, c.clock.Now())
	c.endSpan(t, amount)
	c.NoteLevel(t)
}

// CutSpans notes the spans of all clients up to now. Their activities continue.
func (c *Clients) CutSpans() {
	for t := range c.spans {
		if s := &c.spans[t]; s.open {
			c.noteSpan(t, Entry{Cut: true})
			s.from = c.clock.Now()
		}
	}
}

// NoteLevel notes the level of a client's battery, if it has one.
func (c *Clients) NoteLevel(t int) {
	if c.setup.Journal != nil && !c.batteries.OnMains(t) {
		c.note(Level, t, 0, c.batteries.Level(t, c.clock.Now()))
	}
}

// noteFailure notes that an attempt of device t has failed.
func (c *Clients) noteFailure(t int, why Reason) { c.note(Failure, t, why, 0) }
