package timeline

import (
	"math"
	"slices"

	"fedsim/clients"
	"fedsim/engine"
	"fedsim/federation"
)

// Journal is that of one run, of which a timeline is made. Entries of devices
// outside the sample take no memory.
type Journal struct {
	selection Selection
	devices   int
	items     []Item
	from, to  engine.Time // of the range; Never until known

	now      engine.Time
	round    int32       // the last round that began
	opened   engine.Time // when that round began
	open     bool        // that round is under way
	updated  engine.Time // when the coupling was updated after the last round
	updating bool        // the update of the coupling is under way
	lost     bool        // the server has lost the open round

	// The sample is drawn when time moves on after the first round of the range has
	// asked its devices. Entries of the range until then are early.
	before []standing         // by device, at the start of the range
	early  []federation.Entry // entries of the range until the sample is drawn
	asked  bool               // the first round of the range has asked a device

	drawn  bool    // the sample is drawn
	tracks []int32 // the devices of the sample, ascending
	states []state // by track
}

var _ federation.Journal = (*Journal)(nil)

// standing is the state of every device until the sample is drawn.
type standing struct {
	busy  bool    // with an attempt
	level float64 // of its battery; -1: it has none
}

// note updates the standing by an entry.
func (s *standing) note(e federation.Entry) {
	switch e.Kind {
	case federation.AttemptStarted:
		s.busy = true
	case federation.ResponseArrived, federation.AttemptFailed, federation.ResponseHeld:
		s.busy = false
	case federation.BatteryLevel:
		s.level = e.Amount
	}
}

// state is a device of the sample.
type state struct {
	standing
	device int32
	waits  bool             // since its response arrived in this round, at ended
	asked  engine.Time      // start of the attempt, or of the range
	round  int32            // of the last attempt
	try    int32            // of the last attempt in its round, from 1 on
	ended  engine.Time      // end of the last attempt
	in     int32            // the round in which the last attempt ended
	cut    federation.Entry // the span that was cut last
	shown  float64          // the last level that is an item
}

// NewJournal returns the journal of a run of so many devices.
func NewJournal(s Selection, devices int) *Journal {
	r := &Journal{selection: s, devices: devices, from: engine.Never, to: engine.Never,
		before: make([]standing, devices)}
	for client := range r.before {
		r.before[client].level = -1
	}
	return r
}

// Note takes the next entry of the journal.
func (jo *Journal) Note(e federation.Entry) {
	moved := e.To > jo.now
	jo.now = e.To
	if jo.from == engine.Never || jo.drawn {
		jo.take(e)
		return
	}
	if jo.asked && moved || e.Kind == federation.RoundEnded {
		jo.draw()
		jo.take(e)
		return
	}
	jo.asked = jo.asked || e.Kind == federation.AttemptStarted
	jo.early = append(jo.early, e)
}

// take processes an entry.
func (jo *Journal) take(e federation.Entry) {
	switch {
	case e.Device == engine.Server:
		jo.server(e)
	case !jo.drawn:
		jo.before[e.Device].note(e)
	default:
		if k, ok := slices.BinarySearch(jo.tracks, e.Device); ok {
			jo.device(&jo.states[k], e)
		}
	}
}

// server processes an entry of the server.
func (jo *Journal) server(e federation.Entry) {
	switch e.Kind {
	case federation.RoundStarted:
		if jo.updating {
			jo.update(e)
		}
		jo.round, jo.opened, jo.open, jo.lost = e.Round, e.To, true, false
		if int(e.Round) == jo.selection.First {
			jo.from = e.To
		}
	case federation.CouplingUpdated:
		jo.updated, jo.updating = e.To, true
	case federation.RoundLost:
		jo.lost = true
	case federation.RoundEnded:
		jo.open = false
		if jo.from != engine.Never && jo.to == engine.Never {
			jo.close(e)
		}
	}
}

// update adds the update of the coupling that ends now.
func (jo *Journal) update(e federation.Entry) {
	jo.updating = false
	if jo.from != engine.Never {
		jo.add(Item{Kind: Update, Device: engine.Server, Round: e.Round, From: jo.updated, To: e.To})
	}
}

// close adds a round of the range, which ends now.
func (jo *Journal) close(e federation.Entry) {
	jo.add(Item{Kind: Round, Device: engine.Server, Round: e.Round, From: jo.opened, To: e.To, Lost: jo.lost})
	for k := range jo.states {
		jo.states[k].waits = false
	}
	if int(e.Round) == jo.selection.Last {
		jo.to = e.To
	}
}

// draw draws the sample and processes the early entries.
func (jo *Journal) draw() {
	var asked []int32
	for _, e := range jo.early {
		if e.Kind == federation.AttemptStarted {
			asked = append(asked, e.Device)
		}
	}
	slices.Sort(asked)
	jo.tracks = sample(jo.selection.Devices, jo.devices, slices.Compact(asked))
	jo.states = make([]state, len(jo.tracks))
	jo.drawn = true
	for k, client := range jo.tracks {
		s := &jo.states[k]
		*s = state{standing: jo.before[client], device: client, asked: jo.from, ended: jo.from, shown: -1}
		if s.level >= 0 {
			jo.level(s, federation.Entry{Round: jo.round, To: jo.from, Amount: s.level})
		}
	}
	early := jo.early
	jo.before, jo.early = nil, nil
	for _, e := range early {
		jo.take(e)
	}
}

// device processes an entry of a device of the sample.
func (jo *Journal) device(s *state, e federation.Entry) {
	switch e.Kind {
	case federation.AttemptStarted:
		s.waits = false
		s.try++
		if s.round != e.Round {
			s.round, s.try = e.Round, 1
		}
		s.asked = e.To
	case federation.ActivitySpan:
		jo.span(s, e)
	case federation.ResponseHeld:
		jo.over(s, e)
	case federation.ResponseArrived:
		jo.over(s, e)
		s.waits = true
	case federation.AttemptFailed:
		jo.over(s, e)
		jo.add(Item{Kind: Failure, Why: e.Why, Device: s.device, Round: e.Round, From: e.To, To: e.To})
	case federation.BatteryLevel:
		jo.level(s, e)
	}
	s.note(e)
}

// span adds an activity of a device. A span that is cut continues, and is added when it
// ends, or with the range; waiting is added by parts, since it ends with the round.
func (jo *Journal) span(s *state, e federation.Entry) {
	if s.cut.Cut {
		e.Throttled += s.cut.Throttled
	}
	s.cut = federation.Entry{}
	if e.Cut {
		s.cut = e
	}
	switch what, working := works[e.Activity]; {
	case e.Activity == clients.Idle && s.waits:
		jo.add(Item{Kind: Wait, Device: s.device, Round: e.Round, From: max(e.From, s.ended), To: e.To})
	case e.Cut:
	case working:
		jo.add(Item{Kind: what, Device: s.device, Round: e.Round, From: e.Began, To: e.To, Amount: e.Amount,
			Overhead: e.Overhead, Throttled: e.Throttled})
	default:
		jo.unreachable(s, e)
	}
}

// unreachable adds a span in which the device was unavailable or depleted, in two parts if an
// attempt ended in it.
func (jo *Journal) unreachable(s *state, e federation.Entry) {
	it := Item{Kind: Unavailable, Device: s.device, Round: int32(min(int(e.Round), jo.selection.Last)), From: e.Began,
		To: e.To}
	switch e.Activity {
	case clients.Depleted:
		it.Kind = Depleted
	case clients.Unavailable:
	default:
		return
	}
	if s.ended > it.From && s.ended < it.To {
		first := it
		first.To, first.Round, it.From = s.ended, s.in, s.ended
		jo.add(first)
	}
	jo.add(it)
}

// over adds the attempt that ends now.
func (jo *Journal) over(s *state, e federation.Entry) {
	s.ended, s.in = e.To, e.Round
	it := Item{Kind: Attempt, Why: e.Why, Device: s.device, Round: e.Round, Try: max(1, s.try), From: s.asked, To: e.To}
	if e.Kind == federation.ResponseArrived {
		it.Amount = e.Amount
	}
	jo.add(it)
}

// level adds the level of a battery, unless it is about that of the last item.
func (jo *Journal) level(s *state, e federation.Entry) {
	const resolution = 1e-4
	if s.shown >= 0 && math.Abs(e.Amount-s.shown) < resolution {
		return
	}
	s.shown = e.Amount
	jo.add(Item{Kind: Level, Device: s.device, Round: e.Round, From: e.To, To: e.To, Amount: e.Amount})
}

// add adds the part of an item that lies in the range. It leaves out slices of no
// length.
func (jo *Journal) add(it Item) {
	it.From, it.To = max(it.From, jo.from), min(it.To, jo.to)
	switch empty := it.From >= it.To; {
	case it.From > it.To, empty && !it.Kind.instant() && it.Kind != Update:
	default:
		jo.items = append(jo.items, it)
	}
}

// Timeline returns the timeline when the run is over. It returns an *EmptyError if the
// run ended before the range. No entry may follow.
func (jo *Journal) Timeline() (*Timeline, error) {
	if jo.from == engine.Never {
		return nil, &EmptyError{jo.selection.First, int(jo.round)}
	}
	if !jo.drawn {
		jo.draw()
	}
	jo.finish(federation.Entry{Round: jo.round, To: jo.now})
	slices.SortStableFunc(jo.items, order)
	return &Timeline{
		Devices: jo.devices, Tracks: jo.tracks, First: jo.selection.First, Last: min(jo.selection.Last, int(jo.round)),
		From: jo.from, To: min(jo.to, jo.now), Items: jo.items,
	}, nil
}

// finish adds the items that are not over when the run is.
func (jo *Journal) finish(e federation.Entry) {
	if jo.open {
		jo.add(Item{Kind: Round, Device: engine.Server, Round: jo.round, From: jo.opened, To: e.To})
	}
	for k := range jo.states {
		s := &jo.states[k]
		s.cut.Round = e.Round
		jo.unreachable(s, s.cut)
		if !s.busy {
			continue
		}
		open := Item{Kind: Attempt, Open: true, Device: s.device, Round: e.Round, Try: max(1, s.try), From: s.asked,
			To: e.To}
		jo.add(open)
		what, working := works[s.cut.Activity]
		if open.Kind, open.Try, open.From = what, 0, s.cut.Began; working && s.cut.Cut {
			jo.add(open)
		}
	}
}

// works are the slices within an attempt.
var works = map[clients.Activity]Kind{
	clients.Downlink: Download, clients.Compute: Compute, clients.Uplink: Upload, clients.Waiting: Poll,
}
