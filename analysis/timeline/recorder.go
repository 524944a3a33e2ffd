package timeline

import (
	"math"
	"slices"

	"fedsim/engine"
	"fedsim/federation"
)

// Recorder is the journal of one run of which a timeline is made. Entries of
// devices that are not in the sample take no memory.
type Recorder struct {
	selection Selection
	devices   int
	items     []Item
	from, to  engine.Time // of the range; Never until known

	now      engine.Time
	round    int32 // the last one that was begun, at opened
	opened   engine.Time
	open     bool
	learnt   engine.Time // when the coupling was updated, since the last round
	learning bool

	// The sample is drawn when time moves on after the first round of the range has
	// asked its devices. What happens in the range until then is put off.
	before []standing // by device, at the beginning of the range
	early  []federation.Entry
	asked  bool

	drawn  bool
	tracks []int32
	states []state // of tracks
}

var _ federation.Journal = (*Recorder)(nil)

// standing is where a device stands.
type standing struct {
	away, flat bool
	busy       bool        // with an attempt
	doing      What        // of the attempt: Download, Compute, Upload; then Attempt
	start      engine.Time // of that, or of the present stretch of it
	level      float64     // of its battery; -1: it has none
}

// note takes what an entry says of it.
func (s *standing) note(e federation.Entry) {
	switch e.Kind {
	case federation.Asked:
		s.busy, s.doing, s.start = true, Download, e.To
	case federation.Received, federation.Computed, federation.Sent:
		s.start = e.To
		if !s.away { // otherwise it is interrupted, not over
			s.doing = after[s.doing]
		}
	case federation.Answered, federation.Lost:
		s.busy = false
	case federation.GoneAway:
		s.away = true
	case federation.BackAgain:
		s.away, s.start = false, e.To
	case federation.WentFlat:
		s.flat = true
	case federation.Recharged:
		s.flat = false
	case federation.Level:
		s.level = e.Amount
	}
}

// after is what a device does next for its attempt.
var after = [...]What{Download: Compute, Compute: Upload, Upload: Attempt, Attempt: Attempt}

// state is a device of the sample.
type state struct {
	standing
	device int32
	waits  bool
	since  engine.Time // it is away, flat or waiting; all before is booked
	asked  engine.Time // begin of the attempt, or of the range
	round  int32       // of the last attempt
	try    int32
	shown  float64 // the last level that is an item
}

// what returns which slice without work a device is in.
func (s *state) what() (what What, ok bool) {
	switch {
	case s.flat:
		return Flat, true
	case s.away:
		return Away, true
	case s.waits:
		return Wait, true
	default:
		return 0, false
	}
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
	if r.asked && moved || e.Kind == federation.Closed {
		r.draw()
		r.take(e)
		return
	}
	r.asked = r.asked || e.Kind == federation.Asked
	r.early = append(r.early, e)
}

// take books an entry.
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

// server books an entry of the server.
func (r *Recorder) server(e federation.Entry) {
	switch e.Kind {
	case federation.Opened:
		if r.learning {
			r.update(e)
		}
		r.round, r.opened, r.open = e.Round, e.To, true
		if int(e.Round) == r.selection.First {
			r.from = e.To
		}
	case federation.Learnt:
		r.learnt, r.learning = e.To, true
	case federation.Closed:
		r.open = false
		if r.from != engine.Never && r.to == engine.Never {
			r.close(e)
		}
	}
}

// update books the update of the coupling that is over now.
func (r *Recorder) update(e federation.Entry) {
	r.learning = false
	if r.from != engine.Never {
		r.add(Item{What: Update, Device: engine.Server, Round: e.Round, From: r.learnt, To: e.To})
	}
}

// close books the end of a round of the range.
func (r *Recorder) close(e federation.Entry) {
	r.add(Item{What: Round, Device: engine.Server, Round: e.Round, From: r.opened, To: e.To})
	for k := range r.states {
		s := &r.states[k]
		if what, ok := s.what(); ok && what == Wait {
			r.cut(s, e)
		}
		s.waits = false
	}
	if int(e.Round) == r.selection.Last {
		for k := range r.states {
			r.cut(&r.states[k], e)
		}
		r.to = e.To
	}
}

// draw draws the sample and books what was put off until then.
func (r *Recorder) draw() {
	var asked []int32
	for _, e := range r.early {
		if e.Kind == federation.Asked {
			asked = append(asked, e.Device)
		}
	}
	slices.Sort(asked)
	r.tracks = sample(r.selection.Devices, r.devices, slices.Compact(asked))
	r.states = make([]state, len(r.tracks))
	r.drawn = true
	for k, t := range r.tracks {
		s := &r.states[k]
		*s = state{standing: r.before[t], device: t, since: r.from, asked: r.from, shown: -1}
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

// device books an entry of a device of the sample.
func (r *Recorder) device(s *state, e federation.Entry) {
	switch e.Kind {
	case federation.Asked:
		r.cut(s, e)
		s.waits = false
		s.try++
		if s.round != e.Round {
			s.round, s.try = e.Round, 1
		}
		s.asked = e.To
	case federation.Received:
		r.stretch(s, e, Download)
	case federation.Computed:
		r.stretch(s, e, Compute)
	case federation.Sent:
		r.stretch(s, e, Upload)
	case federation.Answered:
		r.over(s, e)
		s.waits = true
	case federation.Lost:
		r.over(s, e)
		r.add(Item{What: Loss, Why: e.Why, Device: s.device, Round: e.Round, From: e.To, To: e.To})
	case federation.Level:
		r.level(s, e)
	case federation.GoneAway, federation.BackAgain, federation.WentFlat, federation.Recharged:
		r.cut(s, e)
	}
	s.note(e)
}

// cut books what the device has been in without work until now.
func (r *Recorder) cut(s *state, e federation.Entry) {
	if what, ok := s.what(); ok {
		r.add(Item{What: what, Device: s.device, Round: e.Round, From: s.since, To: e.To})
	}
	s.since = e.To
}

// stretch books a stretch of work.
func (r *Recorder) stretch(s *state, e federation.Entry, what What) {
	r.add(Item{What: what, Device: s.device, Round: e.Round, From: e.From, To: e.To, Amount: e.Amount})
}

// over books the end of an attempt, and cuts the absence in which it may lie.
func (r *Recorder) over(s *state, e federation.Entry) {
	r.cut(s, e)
	it := Item{What: Attempt, Why: e.Why, Device: s.device, Round: e.Round, Try: max(1, s.try), From: s.asked, To: e.To}
	if e.Kind == federation.Answered {
		it.Amount = e.Amount
	}
	r.add(it)
}

// level books how full a battery is, unless the last item says about the same.
func (r *Recorder) level(s *state, e federation.Entry) {
	const resolution = 1e-4
	if s.shown >= 0 && math.Abs(e.Amount-s.shown) < resolution {
		return
	}
	s.shown = e.Amount
	r.add(Item{What: Level, Device: s.device, Round: e.Round, From: e.To, To: e.To, Amount: e.Amount})
}

// add keeps what of an item lies in the range, slices of no length aside.
func (r *Recorder) add(it Item) {
	it.From, it.To = max(it.From, r.from), min(it.To, r.to)
	switch empty := it.From >= it.To; {
	case it.From > it.To, empty && !it.What.instant() && it.What != Update:
	default:
		r.items = append(r.items, it)
	}
}

// Timeline returns what was recorded, the run being over. It is an *EmptyError when
// the run was over before the range begins. No entry may follow.
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

// finish books what is not over when the run is.
func (r *Recorder) finish(e federation.Entry) {
	if r.open {
		r.add(Item{What: Round, Device: engine.Server, Round: r.round, From: r.opened, To: e.To})
	}
	for k := range r.states {
		s := &r.states[k]
		r.cut(s, e)
		if !s.busy {
			continue
		}
		open := Item{What: Attempt, Open: true, Device: s.device, Round: e.Round, Try: max(1, s.try), From: s.asked, To: e.To}
		r.add(open)
		if open.What, open.Try, open.From = s.doing, 0, s.start; s.doing != Attempt && !s.away {
			r.add(open)
		}
	}
}
