package timeline

import (
	"math"
	"slices"

	"fedsim/clients"
	"fedsim/engine"
	"fedsim/federation"
)

// Recorder is the journal of one run of which a timeline is made. Entries of devices
// outside the sample take no memory.
type Recorder struct {
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

var _ federation.Journal = (*Recorder)(nil)

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
	case federation.ResponseArrived, federation.AttemptFailed:
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

// NewRecorder returns the journal of a run of so many devices.
func NewRecorder(s Selection, devices int) *Recorder {
	r := &Recorder{selection: s, devices: devices, from: engine.Never, to: engine.Never, before: make([]standing, devices)}
	for t := range r.before {
		r.before[t].level = -1
	}
	return r
}

// Note takes the next entry of the journal.
func (r *Recorder) Note(e federation.Entry) {
	moved := e.To > r.now
	r.now = e.To
	if r.from == engine.Never || r.drawn {
		r.take(e)
		return
	}
	if r.asked && moved || e.Kind == federation.RoundEnded {
		r.draw()
		r.take(e)
		return
	}
	r.asked = r.asked || e.Kind == federation.AttemptStarted
	r.early = append(r.early, e)
}

// take processes an entry.
func (r *Recorder) take(e federation.Entry) {
	switch {
	case e.Device == engine.Server:
		r.server(e)
	case !r.drawn:
		r.before[e.Device].note(e)
	default:
		if k, ok := slices.BinarySearch(r.tracks, e.Device); ok {
			r.device(&r.states[k], e)
		}
	}
}

// server processes an entry of the server.
func (r *Recorder) server(e federation.Entry) {
	switch e.Kind {
	case federation.RoundStarted:
		if r.updating {
			r.update(e)
		}
		r.round, r.opened, r.open, r.lost = e.Round, e.To, true, false
		if int(e.Round) == r.selection.First {
			r.from = e.To
		}
	case federation.CouplingUpdated:
		r.updated, r.updating = e.To, true
	case federation.RoundLost:
		r.lost = true
	case federation.RoundEnded:
		r.open = false
		if r.from != engine.Never && r.to == engine.Never {
			r.close(e)
		}
	}
}

// update adds the update of the coupling that ends now.
func (r *Recorder) update(e federation.Entry) {
	r.updating = false
	if r.from != engine.Never {
		r.add(Item{Kind: Update, Device: engine.Server, Round: e.Round, From: r.updated, To: e.To})
	}
}

// close adds a round of the range, which ends now.
func (r *Recorder) close(e federation.Entry) {
	r.add(Item{Kind: Round, Device: engine.Server, Round: e.Round, From: r.opened, To: e.To, Lost: r.lost})
	for k := range r.states {
		r.states[k].waits = false
	}
	if int(e.Round) == r.selection.Last {
		r.to = e.To
	}
}

// draw draws the sample and processes the early entries.
func (r *Recorder) draw() {
	var asked []int32
	for _, e := range r.early {
		if e.Kind == federation.AttemptStarted {
			asked = append(asked, e.Device)
		}
	}
	slices.Sort(asked)
	r.tracks = sample(r.selection.Devices, r.devices, slices.Compact(asked))
	r.states = make([]state, len(r.tracks))
	r.drawn = true
	for k, t := range r.tracks {
		s := &r.states[k]
		*s = state{standing: r.before[t], device: t, asked: r.from, ended: r.from, shown: -1}
		if s.level >= 0 {
			r.level(s, federation.Entry{Round: r.round, To: r.from, Amount: s.level})
		}
	}
	early := r.early
	r.before, r.early = nil, nil
	for _, e := range early {
		r.take(e)
	}
}

// device processes an entry of a device of the sample.
func (r *Recorder) device(s *state, e federation.Entry) {
	switch e.Kind {
	case federation.AttemptStarted:
		s.waits = false
		s.try++
		if s.round != e.Round {
			s.round, s.try = e.Round, 1
		}
		s.asked = e.To
	case federation.ActivitySpan:
		r.span(s, e)
	case federation.ResponseArrived:
		r.over(s, e)
		s.waits = true
	case federation.AttemptFailed:
		r.over(s, e)
		r.add(Item{Kind: Failure, Why: e.Why, Device: s.device, Round: e.Round, From: e.To, To: e.To})
	case federation.BatteryLevel:
		r.level(s, e)
	}
	s.note(e)
}

// span adds an activity of a device. A span that is cut continues, and is added when it
// ends, or with the range; waiting is added by parts, since it ends with the round.
func (r *Recorder) span(s *state, e federation.Entry) {
	s.cut = federation.Entry{}
	if e.Cut {
		s.cut = e
	}
	switch what, working := works[e.Activity]; {
	case e.Activity == clients.Idle && s.waits:
		r.add(Item{Kind: Wait, Device: s.device, Round: e.Round, From: max(e.From, s.ended), To: e.To})
	case e.Cut:
	case working:
		r.add(Item{Kind: what, Device: s.device, Round: e.Round, From: e.Began, To: e.To, Amount: e.Amount, Overhead: e.Overhead})
	default:
		r.unreachable(s, e)
	}
}

// unreachable adds a span in which the device was unavailable or depleted, in two parts if an
// attempt ended in it.
func (r *Recorder) unreachable(s *state, e federation.Entry) {
	it := Item{Kind: Unavailable, Device: s.device, Round: int32(min(int(e.Round), r.selection.Last)), From: e.Began, To: e.To}
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
		r.add(first)
	}
	r.add(it)
}

// over adds the attempt that ends now.
func (r *Recorder) over(s *state, e federation.Entry) {
	s.ended, s.in = e.To, e.Round
	it := Item{Kind: Attempt, Why: e.Why, Device: s.device, Round: e.Round, Try: max(1, s.try), From: s.asked, To: e.To}
	if e.Kind == federation.ResponseArrived {
		it.Amount = e.Amount
	}
	r.add(it)
}

// level adds the level of a battery, unless it is about that of the last item.
func (r *Recorder) level(s *state, e federation.Entry) {
	const resolution = 1e-4
	if s.shown >= 0 && math.Abs(e.Amount-s.shown) < resolution {
		return
	}
	s.shown = e.Amount
	r.add(Item{Kind: Level, Device: s.device, Round: e.Round, From: e.To, To: e.To, Amount: e.Amount})
}

// add adds the part of an item that lies in the range. It leaves out slices of no
// length.
func (r *Recorder) add(it Item) {
	it.From, it.To = max(it.From, r.from), min(it.To, r.to)
	switch empty := it.From >= it.To; {
	case it.From > it.To, empty && !it.Kind.instant() && it.Kind != Update:
	default:
		r.items = append(r.items, it)
	}
}

// Timeline returns the timeline when the run is over. It returns an *EmptyError if the
// run ended before the range. No entry may follow.
func (r *Recorder) Timeline() (*Timeline, error) {
	if r.from == engine.Never {
		return nil, &EmptyError{r.selection.First, int(r.round)}
	}
	if !r.drawn {
		r.draw()
	}
	r.finish(federation.Entry{Round: r.round, To: r.now})
	slices.SortStableFunc(r.items, order)
	return &Timeline{
		Devices: r.devices, Tracks: r.tracks, First: r.selection.First, Last: min(r.selection.Last, int(r.round)),
		From: r.from, To: min(r.to, r.now), Items: r.items,
	}, nil
}

// finish adds the items that are not over when the run is.
func (r *Recorder) finish(e federation.Entry) {
	if r.open {
		r.add(Item{Kind: Round, Device: engine.Server, Round: r.round, From: r.opened, To: e.To})
	}
	for k := range r.states {
		s := &r.states[k]
		s.cut.Round = e.Round
		r.unreachable(s, s.cut)
		if !s.busy {
			continue
		}
		open := Item{Kind: Attempt, Open: true, Device: s.device, Round: e.Round, Try: max(1, s.try), From: s.asked, To: e.To}
		r.add(open)
		what, working := works[s.cut.Activity]
		if open.Kind, open.Try, open.From = what, 0, s.cut.Began; working && s.cut.Cut {
			r.add(open)
		}
	}
}

// works are the slices within an attempt.
var works = map[clients.Activity]Kind{
	clients.Downlink: Download, clients.Compute: Compute, clients.Uplink: Upload, clients.Waiting: Poll,
}
