package federation

import (
	"fedsim/clients"
	"fedsim/engine"
)

// Journal hears what happens in a run, in the order of virtual time. Rows by device,
// timelines and explanations are made of it. It changes nothing.
type Journal interface{ Note(Entry) }

// Entry is an entry of the journal.
type Entry struct {
	Kind      EntryKind
	Device    int32            // engine.Server for entries of the server
	Round     int32            // the open round, from 1 on; between two rounds, the next
	Activity  clients.Activity // of an ActivitySpan
	Cut       bool             // of an ActivitySpan: the activity continues
	Why       clients.Reason   // of AttemptFailed and ClientDropped
	Began     engine.Time      // of an ActivitySpan: when the activity did
	From, To  engine.Time      // the same instant for all but an ActivitySpan
	Amount    float64          // see the kinds
	Overhead  float64          // of an ActivitySpan of computing: see clients.Entry
	Throttled engine.Time      // likewise
	Shared    engine.Time      // of an ActivitySpan of a transfer: see clients.Entry
}

// EntryKind is the kind of an entry.
type EntryKind uint8

const (
	RoundStarted   EntryKind = iota // a round begins
	AttemptStarted                  // the server, or its hub, sends the device a message
	// an activity of the device, see clients.Span; Amount: bytes on its own link, or FLOPs
	ActivitySpan
	ResponseArrived // the response has arrived at the server; Amount: steps of the local work
	AttemptFailed   // an attempt has ended without a response
	UpdateTaken     // the server takes the device's update; Amount: its staleness
	UpdateRefused   // the server does not take the device's update
	ResponseRead    // the server has read a response that is no update
	ClientDropped   // the round counts the device as dropped
	ResponseLate    // the round counts the device's response as late
	ThetaMeasured   // Amount: theta of the device's local work, in rounds in which it is measured
	// Amount: level of the battery in [0, 1], at the start, after each span of work, and when a round ends
	BatteryLevel
	EnergyUsed      // Amount: joules from battery or mains since the last such entry of the device
	CouplingUpdated // the server has updated the coupling
	RoundEnded      // a round ends: entries that follow are not of it
	// too few clients have responded to unmask their sum: the server takes nothing; Amount: responses
	RoundLost
	// the attempt has ended with a response to the hub, which asks the device again before it reports to the server
	ResponseHeld
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

func (jo journals) Note(e Entry) {
	for _, j := range jo {
		j.Note(e)
	}
}

// journal makes the entries of a server, and passes on those of its clients.
type journal struct {
	to      Journal // nil: nobody listens
	clients *clients.Clients
	round   *int      // the number of rounds before the open one
	joules  []float64 // by device, the energy that was noted
}

// Note passes on an entry of the clients.
func (j *journal) Note(e clients.Entry) {
	kind := [...]EntryKind{
		clients.Start: AttemptStarted, clients.Span: ActivitySpan, clients.Failure: AttemptFailed,
		clients.Level: BatteryLevel,
	}[e.Kind]
	j.to.Note(Entry{
		Kind: kind, Device: e.Client, Round: int32(*j.round + 1),
		Activity: e.Activity, Cut: e.Cut, Why: e.Why, Began: e.Began, From: e.From, To: e.To, Amount: e.Amount,
		Overhead: e.Overhead, Throttled: e.Throttled, Shared: e.Shared,
	})
}

// note makes an entry of a device, or the server, at this instant.
func (j *journal) note(k EntryKind, client int, amount float64) {
	j.noteWhy(k, client, 0, amount)
}

func (j *journal) noteWhy(k EntryKind, client int, why clients.Reason, amount float64) {
	if j.to == nil {
		return
	}
	now := j.clients.Now()
	j.to.Note(Entry{Kind: k, Device: int32(client), Round: int32(*j.round + 1), Why: why, Began: now, From: now,
		To: now, Amount: amount})
}

// noteRound notes the end of a round, after the energy, the battery and the present
// activity of each device. Energies must be accounted up to now.
func (j *journal) noteRound() {
	if j.to == nil {
		return
	}
	for client, before := range j.joules {
		if used := j.clients.Batteries().Spent(client); used != before {
			j.note(EnergyUsed, client, used-before)
			j.joules[client] = used
		}
		j.clients.NoteLevel(client)
	}
	j.clients.CutSpans()
	j.note(RoundEnded, engine.Server, 0)
}
