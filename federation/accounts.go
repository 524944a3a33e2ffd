package federation

import (
	"fmt"
	"math/bits"
	"slices"

	"fedsim/clients"
	"fedsim/engine"
	"fedsim/internal/tools/roster"
	"fedsim/results"
)

// Limits of warnings: a cohort below this share of the wanted one, a larger share of
// rounds without an update, a smaller share of the trace.
const (
	leastCohort  = 0.5
	mostUnused   = 0.1
	leastCovered = 0.01
	leastCompute = 0.01 // of the time of responses
)

// Accounts counts the outcomes of clients and of their updates, and for a Messenger those of its
// messages outside of rounds.
type Accounts struct {
	setup     *Setup
	clients   *clients.Clients
	attempts  *attempts
	journal   *journal
	open      *OpenRound
	reports   *reports   // nil: no plugin uses the history of clients
	observers []Observer // those of the clients that observe the server, too
	tally     tally
	census    census
	part      []uint64 // bits of the clients whose updates the server took
	used      int64    // updates that the server took
	age       float64  // the sum of the staleness of those of the open round
	// the number of updates before the message to a client that is at work; nil: there are rounds
	before  *roster.Column[int64]
	flops   float64
	updates []int32 // by client, the number of updates that the server took; nil: nobody asks
	spent   float64 // the joules of all devices before the open round
}

// tally counts the clients of a round.
type tally struct {
	taken, dropped int
	cohort, asked  int // clients that were asked, and those that the server wanted to ask
	late           int // not responded when the round ended
	refused        int // responded with partial work, which the server drops
	more, canceled int // asked within the round, and stopped before they responded
}

// census counts the clients of all rounds.
type census struct {
	cohorts, asked []int32     // by round that asks for updates
	unused         int         // rounds of which the server took no update
	short          int         // selections that found fewer clients than the server wanted to ask
	began          engine.Time // after the wait of the first round
}

// add counts a round. One that asks for no update does not count.
func (c *census) add(t *tally) {
	if t.asked == 0 {
		return
	}
	c.cohorts, c.asked = append(c.cohorts, int32(t.cohort)), append(c.asked, int32(t.asked))
	if t.taken == 0 {
		c.unused++
	}
}

// countCohort counts the clients of the open round, and those that the server wanted to ask.
func (a *Accounts) countCohort(cohort, wanted int) {
	a.tally.cohort, a.tally.asked = min(wanted, cohort), wanted
}

// Accounts returns the accounts of the server.
func (s *Server) Accounts() *Accounts { return &s.accounts }

// Asked notes for selectors and protocols that a client is asked, in the round of a number.
func (a *Accounts) Asked(client, round int) {
	a.reports.ask([]int32{int32(client)}, round, a.clients.Now())
}

// Responded notes likewise that its response has arrived.
func (a *Accounts) Responded(client int) {
	a.reports.respond(client, a.clients.Now())
}

// Sent counts messages that ask for updates: so many were to be sent, and so many were.
func (a *Accounts) Sent(wanted, sent int) {
	a.tally.asked += wanted
	a.tally.cohort += sent
}

// Limit counts the cohort of the scenario as the one that the open round wanted, if it
// asked as many as it could.
func (a *Accounts) Limit(could int) {
	if a.tally.asked > 0 && a.tally.asked >= could {
		_, a.tally.asked = a.setup.Config.Sizes(a.setup.Clients)
	}
}

// Late counts a client whose response is late.
func (a *Accounts) Late(client int) {
	a.tally.late++
	a.journal.note(ResponseLate, client, 0)
}

// Drop counts a client when it drops for the first time in this round. It reports whether it
// did.
func (a *Accounts) Drop(client int, why clients.Reason) (first bool) {
	d := a.attempts.device(client)
	if first = !d.dropped; first {
		d.dropped = true
		a.tally.dropped++
		a.journal.noteWhy(ClientDropped, client, why, 0)
	}
	return first
}

// Undrop lets Drop count a client again, unless a response to a round is expected of it.
func (a *Accounts) Undrop(client int) {
	if d := a.attempts.device(client); !d.chosen {
		d.dropped = false
	}
}

// Take counts an update of a client that the server takes.
func (a *Accounts) Take(client int) {
	a.tally.taken++
	if a.part == nil {
		a.part = make([]uint64, (a.setup.Clients+63)/64)
	}
	a.part[client/64] |= 1 << (client % 64)
	age := a.staleness(client)
	a.age += age
	a.used++
	a.journal.note(UpdateTaken, client, age)
	if a.updates != nil {
		a.updates[client]++
	}
}

// staleness returns by how many rounds the update of a client is late, or without rounds how many others the server
// has taken since it sent the client the model.
func (a *Accounts) staleness(client int) float64 {
	if a.before != nil {
		return float64(a.used - *a.before.At(client))
	}
	return float64(a.open.Staleness(client))
}

// Idle returns how many clients never took part: the server took no update of them.
func (a *Accounts) Idle() int {
	n := a.setup.Clients
	for _, bits64 := range a.part {
		n -= bits.OnesCount64(bits64)
	}
	return n
}

// Taken returns how many updates of the open round the server has taken.
func (a *Accounts) Taken() int { return a.tally.taken }

// close ends the counts of the open round, and returns its results without its number and metrics.
func (a *Accounts) close() results.Round {
	traffic := a.clients.Take()
	r := results.NewRound()
	r.Participants, r.Dropped, r.Late = a.tally.taken, a.tally.dropped, a.tally.late+a.tally.refused
	a.flops += traffic.FLOPs
	r.FLOPs, r.BytesDown, r.BytesUp = traffic.FLOPs, traffic.BytesDown, traffic.BytesUp
	if a.tally.taken > 0 {
		r.Staleness = a.age / float64(a.tally.taken)
	}
	a.age = 0
	if a.attempts.traits.Asks {
		askingColumns.Set(&r, float64(a.tally.more), float64(a.tally.canceled))
	}
	a.census.add(&a.tally)
	a.tally = tally{} // events between two rounds count for the second
	a.clients.Batteries().AccountAll(a.clients.Now())
	return r
}

// spend adds the time and the energy to the results of a round. The energy between two rounds
// counts for the second.
func (a *Accounts) spend(r *results.Round) {
	spent := a.clients.Batteries().Total().DrainedJ
	r.TimeS, r.EnergyJ = a.clients.Now().Seconds(), spent-a.spent
	a.spent = spent
	a.observe(r)
}

// First returns round 0, the state at the start, without metrics.
func (a *Accounts) First() results.Round {
	r := results.NewRound()
	a.observe(&r)
	return r
}

// observe lets observers add to a round that ends.
func (a *Accounts) observe(r *results.Round) {
	for _, o := range a.observers {
		o.EndRound(a.clients.Now(), r)
	}
}

// availability says that availability by traces did not change; empty if it did, and in a lazy population, which
// does not follow it.
func (a *Accounts) availability() string {
	c, s := a.clients, a.setup
	if s.Availability == nil || s.Lazy || c.Changes() > 0 {
		return ""
	}
	text := "availability did not change: the run covers " +
		results.TimeText(c.Now().Seconds(), s.Config.Relative())
	switch {
	case s.MeanUp > 0:
		text += ", an interval lasts " + results.HumanTime(s.MeanUp.Seconds())
	case s.TraceSpan > 0:
		text += " of a trace of " + results.HumanTime(s.TraceSpan.Seconds())
	}
	never := 0
	for client := range s.Clients {
		if !c.Askable(client) {
			never++
		}
	}
	if never > 0 {
		text += fmt.Sprintf("; %d of %d clients were never there", never, s.Clients)
	}
	return text
}

// Warnings returns reasons to doubt the numbers of the run, and notes on their meaning.
func (a *Accounts) Warnings() []results.Warning {
	var all []results.Warning
	warn := func(about, format string, args ...any) {
		all = append(all, results.Warning{About: about, Text: fmt.Sprintf(format, args...)})
	}
	c, cfg := &a.census, &a.setup.Config
	rounds := len(c.cohorts)
	if rounds == 0 {
		return all
	}
	if cohort, asked := median(c.cohorts), median(c.asked); float64(cohort) < leastCohort*float64(asked) {
		warn("cohort", "half of the rounds have at most %d of the %d clients that they are to ask: "+
			"the others are not available (federation.min_available = %d)", cohort, asked, cfg.MinAvailable)
	}
	if c.short > 0 {
		warn("tries", "%d selections found fewer clients than they were to ask: federation.selection_options.tries "+
			"limits how many they consider", c.short)
	}
	because := "no response came in time"
	if cfg.MinReports > 0 {
		because = fmt.Sprintf("fewer than federation.min_reports = %d responses came in time", cfg.MinReports)
	}
	switch {
	case c.unused == rounds:
		warn("unused", "no update was ever used: in all %d rounds %s", rounds, because)
	case float64(c.unused) > mostUnused*float64(rounds):
		warn("unused", "%d of %d rounds were discarded: %s", c.unused, rounds, because)
	}
	now, span := (a.clients.Now() - c.began).Seconds(), a.setup.TraceSpan.Seconds()
	if now < leastCovered*span && !cfg.Relative() {
		warn("trace", "the rounds cover %s of a trace of %s, less than %g %%: see devices.flops_scale and \"Time "+
			"scale\" in docs/time.md#traces", results.HumanTime(now), results.HumanTime(span), leastCovered*100)
	}
	if text := a.availability(); text != "" {
		warn("availability", "%s", text)
	}
	if share := a.clients.ComputeShare(); share < leastCompute && a.flops > 0 && !cfg.Relative() {
		warn("computing", "computing is %.2g %% of the time: speeds of devices have no effect; "+
			"devices.flops_scale stands for a larger model", 100*share)
		all[len(all)-1].Note = true
	}
	return all
}

// median returns the lower median of numbers.
func median(of []int32) int32 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[(len(sorted)-1)/2]
}
