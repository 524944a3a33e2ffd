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
func (f *Server) Begin() { f.clients.Begin() }

// Started is a round that has begun. What comes next is a method of what came before: [Started.Play]
// gives a Played, [Played.Close] an Ended, and [Ended.Account] the results of the round.
type Started struct {
	server *Server
	at     engine.Time
}

// Start begins a round.
func (f *Server) Start() Started {
	f.open.began = f.clients.Now()
	f.journal.note(RoundStarted, engine.Server, 0)
	return Started{f, f.open.began}
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
func (f *Server) AwaitFirst() {
	for !f.Aborted() && f.NoneAvailable() {
		if !f.clients.Step() || f.supervisor.noneEverAvailable() {
			f.supervisor.stalled = f.supervisor.whyNoneAvailable()
		}
	}
}

// NoneAvailable reports whether a round that begins now has no device to ask and no late
// response to wait for. A round that waits for all devices begins in any case, and so does one
// whose selector finds out which devices are available.
func (f *Server) NoneAvailable() bool {
	if f.traits.WaitsForAll && f.selector == nil || f.selection.declared.Unlisted {
		return false
	}
	return f.clients.Unavailable() == f.setup.Clients && len(f.open.late) == 0
}

// Askable returns how many clients are available and owe no response to an earlier round.
func (f *Server) Askable() int {
	n := f.supervisor.numberAvailable()
	for _, t := range f.open.late {
		if f.clients.Available(int(t)) {
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

// Unplayed ends a round in which the driver has sent messages of its own alone.
func (s Started) Unplayed() Ended { return Ended(s) }

// openCohort prepares the attempts of a cohort, lets the driver do the local work, and sends the
// messages.
func (f *Server) openCohort(of Cohort) {
	f.open.asked, f.open.began, f.open.played = of.Clients, of.Began, true
	f.reports.ask(of.Clients, f.round, f.clients.Now())
	up, possible := f.openAttempts()
	if !possible {
		return
	}
	f.accounts.tally.dropped += len(f.open.asked) - up
	f.accounts.countCohort(up, of.Wanted)
	f.journal.noteUnavailable()
	f.open.reset()
	f.open.outstanding = up
	for _, t := range f.open.late {
		switch d := f.attempts.device(int(t)); {
		case d.responded: // since the last round
			f.attempts.countReceived(int(t))
		case f.clients.AtWork(int(t)): // not lost since
			d.dropped = false
			f.open.outstanding++
		case f.clients.Failed(int(t)): // which the server does not know yet
			f.open.outstanding++
		}
	}
	f.tiers.open()
	f.clients.OpenGroup(f.round, f.open.asked, f.traits.WaitsForAll)
	if of.Bytes != nil {
		for _, t := range f.open.asked {
			f.clients.SetBytesDown(of.Bytes(int(t)))
			f.prepare(int(t))
		}
	} else {
		each(f.setup.Pool, f.open.asked, f.prepare)
	}
	f.attempts.solve(f.open.asked)
	f.estimates.chargeAuthors()
	each(f.setup.Pool, f.open.asked, f.attempts.prepareUplink)
	f.open.expected = f.clients.SendGroup(f.open.asked)
	if !f.open.ended {
		f.protocol.Open(&f.open)
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
	for _, t := range list {
		work(int(t))
	}
}

// openAttempts resets the state of the devices that the round asks, and counts those that are
// available. It is not possible to wait for all if one of them can never respond.
func (f *Server) openAttempts() (up int, possible bool) {
	for _, t := range f.open.asked {
		d := f.attempts.device(int(t))
		available := f.clients.Available(int(t))
		*d = device{steps: d.steps, chosen: true, dropped: !available}
		f.clients.Release(int(t))
		if available {
			up++
		} else if depleted, charged := f.clients.Depleted(int(t)); f.traits.WaitsForAll && depleted && !charged {
			f.attempts.stall(int(t), f.clients.Obstacle(int(t)).String())
			return up, false
		}
	}
	return up, true
}

// prepare draws the downlink and the drop of device t in this round, and limits its
// steps.
func (f *Server) prepare(t int) {
	f.clients.PrepareDownlink(t, f.number(t), 0)
	f.attempts.limit(t)
}

// play lets time pass until the protocol ends the open round. A server without rounds asks
// clients first.
func (f *Server) play() {
	if f.Aborted() {
		return
	}
	if f.continuous != nil {
		f.continuous.open()
	}
	if !f.Aborted() && !f.open.ended {
		f.clock.RunUntil(engine.Never)
	}
	if !f.Aborted() && !f.open.ended {
		f.supervisor.stalled = f.stallReason()
	}
}

// stallReason returns why a round without further events has not ended.
func (f *Server) stallReason() string {
	listed := f.Listed()
	if f.continuous != nil {
		listed = f.supervisor.everyone()
	}
	what := beyond(fmt.Sprintf("round %d", f.round+1))
	if f.clients.Clock().Pending() == 0 && !f.open.timed {
		what = fmt.Sprintf("round %d waits for responses that never arrive", f.round+1)
	}
	return f.supervisor.explain(what, listed)
}

// CurrentRound returns the open round.
func (f *Server) CurrentRound() *OpenRound { return &f.open }

// Ended reports whether the protocol has ended the open round.
func (f *Server) Ended() bool { return f.open.ended }

// count decides whether the server takes the responses of the round.
func (f *Server) count(accept func() bool) {
	f.clients.CloseGroup()
	responses := 0
	for _, t := range f.Listed() {
		if f.attempts.device(int(t)).responded && !f.partial.drops(int(t)) {
			responses++
		}
	}
	f.open.enough = responses >= f.setup.Config.MinReports && (accept == nil || accept())
}

// Listed returns the clients whose responses the open round takes, in order: those it
// asked, and those that still owe one from before. It is valid until the next call.
func (f *Server) Listed() []int32 {
	if len(f.open.late) == 0 {
		return f.open.asked
	}
	f.open.merged = append(append(f.open.merged[:0], f.open.asked...), f.open.late...)
	slices.Sort(f.open.merged)
	return f.open.merged
}

// Takes reports whether the server takes a response of a client in the round that closes. It
// is known after Play.
func (f *Server) Takes(client int) bool {
	d := f.attempts.device(client)
	return d.chosen && d.responded && f.open.enough && !f.partial.drops(client)
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
	for _, t := range all {
		d := f.attempts.device(int(t))
		fresh := f.askedIn(int(t)) == f.round // it was asked in this round
		switch {
		case f.Takes(int(t)):
			if d.solved { // otherwise its hub has taken its work before
				f.driver.Commit(int(t), f.weight(int(t)))
			}
			f.accounts.Take(int(t))
		case d.responded:
			f.driver.Discard(int(t))
			f.journal.note(UpdateRefused, int(t), 0)
			if f.partial.drops(int(t)) {
				f.accounts.tally.refused++
				f.journal.note(ResponseLate, int(t), 0)
			}
		case !d.dropped && f.traits.Late && f.clients.AtWork(int(t)):
			f.open.late = append(f.open.late, t)
			if fresh {
				f.accounts.Late(int(t))
			}
			continue
		case f.traits.Late && f.clients.Failed(int(t)): // its response is not overdue yet
			f.open.late = append(f.open.late, t)
			continue
		default:
			f.attempts.end(int(t), fresh)
		}
		d.chosen = false
	}
	f.protocol.Close(&f.open)
	return Ended{server: f}
}

// weight returns the factor that the protocol gives to the update of device t.
func (f *Server) weight(t int) float64 {
	if f.weigher == nil {
		return 1
	}
	return f.weigher.Weight(&f.open, t)
}

// number returns that of the next attempt of device t.
func (f *Server) number(t int) int {
	if f.tiers == nil {
		return f.round
	}
	return f.round*f.tiers.rounds + int(f.tiers.done[t/f.setup.Network.HubSize])
}

// perRound returns how many numbers of attempts a round has.
func (f *Server) perRound() int {
	if f.tiers == nil {
		return 1
	}
	return f.tiers.rounds
}

// askedIn returns the round of the last attempt of device t.
func (f *Server) askedIn(t int) int {
	number := f.clients.Number(t)
	if number < 0 {
		return number
	}
	return number / f.perRound()
}

// LocalRound returns how often a client that takes part in everything has worked before the
// attempt that a client was asked for; 0 without rounds.
func (f *Server) LocalRound(client int) int {
	if f.tiers == nil {
		return f.round
	}
	return f.clients.Number(client)
}

// Account ends the accounts of the round, and returns its results without metrics.
func (e Ended) Account() results.Round {
	f := e.server
	f.open.played = false
	r := f.accounts.close()
	f.journal.noteRound()
	f.round++
	f.accounts.spend(&r)
	return r
}
