package federation

import (
	"fmt"
	"slices"

	"fedsim/engine"
	"fedsim/internal/tools/parallel"
	"fedsim/results"
)

// Cohort is whom a round asks.
type Cohort struct {
	Clients []int32     // in ascending order
	Wanted  int         // the number of clients that the server wanted to ask
	Began   engine.Time // from when on the protocol counts its time; 0: from Start on
	// Bytes returns the size of the message to a client of the cohort; nil: sizes are those of
	// clients.Clients.SetBytesDown and SetBytesDownOf.
	Bytes func(client int) float64
}

// Begin starts the clients. It comes before the first round.
func (s *Server) Begin() { s.clients.Begin() }

// Started is a round that has begun. What comes next is a method of what came before: [Started.Play]
// gives a Played, [Played.Close] an Ended, and [Ended.Account] the results of the round.
type Started struct {
	server *Server
	at     engine.Time
}

// Start begins a round.
func (s *Server) Start() Started {
	s.open.began = s.clients.Now()
	s.journal.note(RoundStarted, engine.Server, 0)
	return Started{s, s.open.began}
}

// Await lets time pass until the round can ask a client. It returns how many can be asked;
// results.UnknownCount without rounds. Responses count for the round from now on: before, they are
// those of late clients between two rounds.
func (s Started) Await() (available int) {
	f := s.server
	f.open.ended = false
	if f.continuous == nil || !f.continuous.started {
		f.AwaitAvailable()
	}
	if f.continuous != nil {
		return results.UnknownCount
	}
	f.AwaitFirst()
	if f.setup.Lazy {
		return results.UnknownCount
	}
	return f.Askable()
}

// AwaitFirst lets time pass while there are NoneAvailable.
func (s *Server) AwaitFirst() {
	for !s.Aborted() && s.NoneAvailable() {
		if !s.clients.Step() || s.supervisor.noneEverAvailable() {
			s.supervisor.stalled = s.supervisor.whyNoneAvailable()
		}
	}
}

// NoneAvailable reports whether a round that begins now has no device to ask and no late
// response to wait for. A round that waits for all devices begins in any case, and so does one
// whose selector finds out which devices are available.
func (s *Server) NoneAvailable() bool {
	if s.traits.WaitsForAll && s.selector == nil || s.selection.declared.Unlisted {
		return false
	}
	return s.clients.Unavailable() == s.setup.Clients && len(s.open.late) == 0
}

// Askable returns how many clients are available and owe no response to an earlier round.
func (s *Server) Askable() int {
	n := s.supervisor.numberAvailable()
	for _, client := range s.open.late {
		if s.clients.Available(int(client)) {
			n--
		}
	}
	return n
}

// Played is a round that its protocol has ended: it is known whose responses the server takes.
type Played struct{ server *Server }

// Play asks a cohort, whose list must not change until Close, lets the driver do the local work,
// and lets time pass until the protocol ends the round. The server takes the responses, or none if
// they are too few, or accept, which may be nil, does not accept them. ok is false if the run has
// ended within the round.
func (s Started) Play(of Cohort, accept func() bool) (played Played, ok bool) {
	f := s.server
	f.open.ended = false
	if of.Began == 0 {
		of.Began = s.at
	}
	f.openCohort(of)
	f.play()
	if f.Aborted() {
		return Played{}, false
	}
	f.count(accept)
	return Played{f}, true
}

// PlayOn lets time pass until a part of a run without rounds has ended, and asks the first clients in its first.
func (s Started) PlayOn() Ended {
	s.server.play()
	return Ended(s)
}

// Unplayed ends a round in which only the driver has sent messages.
func (s Started) Unplayed() Ended { return Ended(s) }

// openCohort prepares the attempts of a cohort, lets the driver do the local work, and sends the
// messages.
func (s *Server) openCohort(of Cohort) {
	s.open.asked, s.open.began, s.open.played, s.open.bytes = of.Clients, of.Began, true, of.Bytes
	s.accounts.reports.ask(of.Clients, s.round, s.clients.Now())
	up, possible := s.openAttempts()
	if !possible {
		return
	}
	s.accounts.tally.dropped += len(s.open.asked) - up
	cohort := up
	if s.traits.WaitsForAll { // those that are not available now are asked later
		cohort = len(s.open.asked)
	}
	s.accounts.countCohort(cohort+len(s.open.late), of.Wanted)
	for _, client := range s.open.asked {
		if s.attempts.device(int(client)).dropped {
			s.journal.noteWhy(ClientDropped, int(client), s.clients.WhyUnavailable(int(client)), 0)
		}
	}
	s.open.reset()
	s.open.outstanding = up
	for _, client := range s.open.late {
		switch d := s.attempts.device(int(client)); {
		case d.responded: // since the last round
			s.attempts.countReceived(int(client))
		case s.clients.AtWork(int(client)): // not lost since
			d.dropped = false
			s.open.outstanding++
		case s.clients.Failed(int(client)): // which the server does not know yet
			s.open.outstanding++
		}
	}
	s.tiers.open()
	s.clients.OpenGroup(s.round, s.open.asked, s.traits.WaitsForAll)
	if of.Bytes != nil {
		for _, client := range s.open.asked {
			s.clients.SetBytesDown(of.Bytes(int(client)))
			s.prepare(int(client))
		}
	} else {
		each(s.setup.Pool, s.open.asked, s.prepare)
	}
	s.attempts.solve(s.open.asked)
	s.chargeAuthors()
	each(s.setup.Pool, s.open.asked, s.attempts.prepareUplink)
	s.open.expected = s.clients.SendGroup(s.open.asked)
	if !s.open.ended {
		s.protocol.Open(&s.open)
	}
}

// each does little work for each client of a list: on one core if there are few, since waking
// another takes longer.
func each(pool *parallel.Pool, list []int32, work func(client int)) {
	const few = 256
	if len(list) > few {
		pool.For(len(list), func(i, _ int) { work(int(list[i])) })
		return
	}
	for _, client := range list {
		work(int(client))
	}
}

// openAttempts resets the state of the devices that the round asks, and counts those that are
// available. It is not possible to wait for all if one of them can never respond.
func (s *Server) openAttempts() (up int, possible bool) {
	for _, client := range s.open.asked {
		d := s.attempts.device(int(client))
		available := s.clients.Available(int(client))
		*d = device{steps: d.steps, chosen: true, dropped: !available}
		s.clients.Release(int(client))
		if available {
			up++
		} else if depleted, charged := s.clients.Depleted(int(client)); s.traits.WaitsForAll && depleted && !charged {
			s.supervisor.stallFor(int(client), s.clients.Obstacle(int(client)).String())
			return up, false
		}
	}
	return up, true
}

// prepare draws the downlink and the drop of a device in this round, and limits its
// steps.
func (s *Server) prepare(client int) {
	s.clients.PrepareDownlink(client, s.number(client), 0)
	s.attempts.limit(client)
}

// play lets time pass until the protocol ends the open round. A server without rounds asks
// clients first.
func (s *Server) play() {
	if s.Aborted() {
		return
	}
	if s.continuous != nil {
		s.continuous.open()
	}
	if !s.Aborted() && !s.open.ended {
		s.clock.RunUntil(engine.Never)
	}
	if !s.Aborted() && !s.open.ended {
		s.supervisor.stalled = s.stallReason()
	}
}

// stallReason returns why a round without further events has not ended.
func (s *Server) stallReason() string {
	listed := s.Listed()
	if s.continuous != nil {
		listed = s.supervisor.everyone()
	}
	what := beyond(fmt.Sprintf("round %d", s.round+1))
	if s.clients.Clock().Pending() == 0 && !s.open.timed {
		what = fmt.Sprintf("round %d waits for responses that never arrive", s.round+1)
	}
	return s.supervisor.explain(what, listed)
}

// CurrentRound returns the open round.
func (s *Server) CurrentRound() *OpenRound { return &s.open }

// Ended reports whether the protocol has ended the open round.
func (s *Server) Ended() bool { return s.open.ended }

// count decides whether the server takes the responses of the round.
func (s *Server) count(accept func() bool) {
	s.clients.CloseGroup()
	responses := 0
	for _, client := range s.Listed() {
		if s.attempts.device(int(client)).responded && !s.attempts.partial.drops(int(client)) {
			responses++
		}
	}
	s.open.enough = responses >= s.setup.Config.MinReports && (accept == nil || accept())
}

// Listed returns the clients whose responses the open round takes, in order: those it
// asked, and those that still owe one from before. It is valid until the next call.
func (s *Server) Listed() []int32 {
	return s.open.listed()
}

// listed implements Server.Listed.
func (r *OpenRound) listed() []int32 {
	if len(r.late) == 0 {
		return r.asked
	}
	r.merged = append(append(r.merged[:0], r.asked...), r.late...)
	slices.Sort(r.merged)
	return r.merged
}

// Takes reports whether the server takes a response of a client in the round that closes. It
// is known after Play.
func (s *Server) Takes(client int) bool {
	return s.attempts.taken(client)
}

// Ended is a round that takes no further responses.
type Ended Started

// Close ends the round. The server takes the updates that it has received, in device order. All
// other work is discarded on both sides, or continues under a protocol that takes late responses.
func (p Played) Close() Ended {
	f := p.server
	f.clients.StopServerTimer()
	all := f.Listed()
	defer f.clients.Flush()
	f.tiers.close()
	f.open.late = f.open.late[:0]
	for _, client := range all {
		d := f.attempts.device(int(client))
		fresh := f.askedIn(int(client)) == f.round // it was asked in this round
		switch {
		case !d.chosen: // it was canceled
			continue
		case f.Takes(int(client)):
			if d.solved { // otherwise its hub has taken its work before
				f.attempts.commit(int(client))
			}
			f.accounts.Take(int(client))
		case d.responded:
			f.driver.Discard(int(client))
			f.journal.note(UpdateRefused, int(client), 0)
			if f.attempts.partial.drops(int(client)) {
				f.accounts.tally.refused++
				f.journal.note(ResponseLate, int(client), 0)
			}
		case !d.dropped && f.traits.Late && f.clients.AtWork(int(client)):
			f.open.late = append(f.open.late, client)
			if fresh {
				f.accounts.Late(int(client))
			}
			continue
		case f.traits.Late && f.clients.Failed(int(client)): // its response is not overdue yet
			f.open.late = append(f.open.late, client)
			continue
		default:
			reactions{f}.countCanceled(int(client))
			reactions{f}.end(int(client), fresh)
		}
		d.chosen = false
	}
	f.protocol.Close(&f.open)
	return Ended{server: f}
}

// number returns that of the next attempt of a device.
func (s *Server) number(client int) int {
	if s.tiers == nil {
		return s.round
	}
	return s.tiers.number(client)
}

// askedIn returns the round of the last attempt of a device.
func (s *Server) askedIn(client int) int {
	number := s.clients.Number(client)
	if number < 0 {
		return number
	}
	return number / s.estimates.rounds
}

// Account ends the accounts of the round, and returns its results without metrics.
func (e Ended) Account() results.Round {
	f := e.server
	f.open.played = false
	if c := f.continuous; c != nil {
		f.accounts.countCohort(f.wanted-c.free, f.wanted)
	}
	r := f.accounts.close()
	f.journal.noteRound()
	f.round++
	r.Round = f.round
	f.accounts.spend(&r)
	return r
}
