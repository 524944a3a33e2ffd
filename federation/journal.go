package federation

import (
	"math"

	"fedsim/clients"
	"fedsim/engine"
	"fedsim/results"
)

// Journal is told what happens in a run, in the order of virtual time: what makes
// rows by device, timelines and explanations. It changes nothing.
type Journal interface{ Note(Entry) }

// Entry is one thing that happened.
type Entry struct {
	Kind   EntryKind
	Why    Loss        // of Lost and Missed
	Device int32       // engine.Server for those of a round
	Round  int32       // the one that is open, from 1 on; between two, the next
	From   engine.Time // of stretches; otherwise the instant, as To
	To     engine.Time
	Amount float64 // of stretches: bytes on the device's own link, or FLOPs; of Answered: steps; of Spent: joules; of Measured: theta; of Level: a share in [0, 1]
}

// EntryKind is what an entry is about.
type EntryKind uint8

const (
	Opened    EntryKind = iota // a round begins
	Asked                      // the server, or its hub, sends the device a message, its first or another in this round
	Received                   // a stretch of download is over
	Computed                   // a stretch of computation is over
	Sent                       // a stretch of upload is over
	Answered                   // the answer has arrived at the server
	Lost                       // an attempt has ended without an answer
	Taken                      // the server takes the device's answer
	Refused                    // the server has no use for the device's answer
	Missed                     // the round counts the device as one that dropped
	Late                       // the round counts the device's answer as late
	Measured                   // theta of the device's local solve, in rounds in which it is measured
	GoneAway                   // the device cannot be reached from now on
	BackAgain                  // it can be reached again
	WentFlat                   // the device's battery is empty
	Recharged                  // there is enough in it again
	Level                      // how full the device's battery is: at the start, after each stretch, when a round ends
	Spent                      // what a device has drawn from battery or mains since its last such entry
	Learnt                     // the server has updated the coupling
	Closed                     // a round ends: what follows is not of it
)

// Loss is why an attempt brings no answer.
type Loss = clients.Reason

const (
	Dropped   = clients.DroppedOut
	Message   = clients.MessageLost
	Away      = clients.BecameUnavailable
	Flat      = clients.BatteryDepleted
	OutOfTime = clients.Cancelled
	NoTime    = clients.NoTime
	Low       = clients.BatteryLow
)

// Journals returns a journal that passes every entry on to each of those given, in
// their order; nil when there are none.
func Journals(all ...Journal) Journal {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	default:
		return journals(all)
	}
}

type journals []Journal

func (all journals) Note(e Entry) {
	for _, j := range all {
		j.Note(e)
	}
}

// clientsJournal passes on what the clients note.
type clientsJournal struct{ f *Federation }

func (j clientsJournal) Note(e clients.Entry) {
	kind := [...]EntryKind{
		clients.Started: Asked, clients.Received: Received, clients.Computed: Computed, clients.Sent: Sent, clients.AttemptFailed: Lost,
		clients.GoneAway: GoneAway, clients.BackAgain: BackAgain, clients.WentFlat: WentFlat, clients.Recharged: Recharged, clients.Level: Level,
	}[e.Kind]
	j.f.setup.Journal.Note(Entry{Kind: kind, Why: e.Why, Device: e.Client, Round: int32(j.f.round + 1), From: e.From, To: e.To, Amount: e.Amount})
}

// note tells the journal of something at a device, now.
func (f *Federation) note(k EntryKind, t int, amount float64) {
	if f.setup.Journal != nil {
		now := f.clients.Now()
		f.setup.Journal.Note(Entry{Kind: k, Device: int32(t), Round: int32(f.round + 1), From: now, To: now, Amount: amount})
	}
}

// noteMissed tells the journal that the round counts device t as dropped.
func (f *Federation) noteMissed(t int, why Loss) {
	if f.setup.Journal != nil {
		now := f.clients.Now()
		f.setup.Journal.Note(Entry{Kind: Missed, Why: why, Device: int32(t), Round: int32(f.round + 1), From: now, To: now})
	}
}

// noteUnreached tells the journal of the chosen devices that cannot be asked.
func (f *Federation) noteUnreached() {
	if f.setup.Journal == nil {
		return
	}
	for _, t := range f.chosen {
		if f.devices[t].dropped {
			f.noteMissed(int(t), f.clients.WhyUnavailable(int(t)))
		}
	}
}

// noteThetas tells the journal what was measured of the local solves.
func (f *Federation) noteThetas(thetas []results.Theta) {
	if f.setup.Journal == nil {
		return
	}
	for t := range thetas {
		if theta := thetas[t].Value; !math.IsNaN(theta) {
			f.note(Measured, t, theta)
		}
	}
}

// noteRound tells the journal of the end of a round, the energies of its devices
// before. Energies are accounted up to now.
func (f *Federation) noteRound() {
	if f.setup.Journal == nil {
		return
	}
	if f.noted == nil {
		f.noted = make([]float64, len(f.devices))
	}
	for t := range f.devices {
		if spent := f.clients.Batteries().Spent(t); spent != f.noted[t] {
			f.note(Spent, t, spent-f.noted[t])
			f.noted[t] = spent
		}
		f.clients.NoteLevel(t)
	}
	f.note(Closed, engine.Server, 0)
}
