package clients

import "fedsim/engine"

// Journal hears what clients do, in the order of virtual time. It changes nothing.
type Journal interface{ Note(Entry) }

// Entry is one thing that happened.
type Entry struct {
	Kind     EntryKind
	Why      Reason // of AttemptFailed
	Client   int32
	From, To engine.Time // of stretches; otherwise the instant
	Amount   float64     // of stretches: bytes on the device's own link, or FLOPs; of Level: a share in [0, 1]
}

// EntryKind is what an entry is about.
type EntryKind uint8

const (
	Started       EntryKind = iota // the client is sent a message
	Received                       // a stretch of downlink is over
	Computed                       // a stretch of computation is over
	Sent                           // a stretch of uplink is over
	AttemptFailed                  // an attempt has ended without a response
	GoneAway                       // the client is unavailable from now on
	BackAgain                      // it is available again
	WentFlat                       // its battery is empty
	Recharged                      // there is enough in it again
	Level                          // how full the battery is: at the start, and after each stretch
)

// note tells the journal of something at a device, now.
func (c *Clients) note(k EntryKind, t int, amount float64) {
	if c.setup.Journal != nil {
		now := c.clock.Now()
		c.setup.Journal.Note(Entry{Kind: k, Client: int32(t), From: now, To: now, Amount: amount})
	}
}

// noteStretch tells the journal of a stretch of a phase that is over, given when it
// began, its radio awake.
func (c *Clients) noteStretch(t int, start engine.Time, amount float64) {
	if c.setup.Journal == nil {
		return
	}
	d, now := &c.devices[t], c.clock.Now()
	kind := [...]EntryKind{downlink: Received, compute: Computed, uplink: Sent}[d.phase]
	c.setup.Journal.Note(Entry{Kind: kind, Client: int32(t), From: min(start, now), To: now, Amount: amount})
	c.NoteLevel(t)
}

// NoteLevel tells the journal how full the battery of device t is, if it has one.
func (c *Clients) NoteLevel(t int) {
	if c.setup.Journal != nil && !c.batteries.OnMains(t) {
		c.note(Level, t, c.batteries.Level(t, c.clock.Now()))
	}
}

// noteFailure tells the journal that an attempt of device t has failed.
func (c *Clients) noteFailure(t int, why Reason) {
	if c.setup.Journal != nil {
		now := c.clock.Now()
		c.setup.Journal.Note(Entry{Kind: AttemptFailed, Why: why, Client: int32(t), From: now, To: now})
	}
}
