package federation

import (
	"fmt"

	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// OpenRound is the open round, for a protocol to see and to end. Of the future it shows only
// the expectations of the server.
type OpenRound struct {
	server      *Server
	ended       bool
	began       engine.Time
	asked       []int32 // clients of this round, in order
	late        []int32 // clients that still work for an earlier one, in order
	merged      []int32 // scratch of all
	received    int
	outstanding int
	expected    engine.Time
	timed       bool // EndAt was called
	enough      bool // the server takes the responses of the round that closes
	played      bool // Open was called, and Account was not
}

// Number returns how many rounds there were before this one, over all outer iterations.
func (r *OpenRound) Number() int { return r.server.round }

// Now returns the virtual time.
func (r *OpenRound) Now() engine.Time { return r.server.clients.Now() }

// Began returns when the round began. If no client was available then, the server has
// waited before Open.
func (r *OpenRound) Began() engine.Time { return r.began }

// Asked returns the clients that the round asks, in ascending order. The slice must not
// be changed.
func (r *OpenRound) Asked() []int32 { return r.asked }

// Needed returns how many responses the round is for: federation.clients_per_round or
// what clients_per_round says. Where clients are unavailable fewer may be asked.
func (r *OpenRound) Needed() int { return r.server.wanted }

// Received returns how many responses there are to take in this round, including late
// ones since the last round.
func (r *OpenRound) Received() int { return r.received }

// Outstanding returns how many responses the server still expects in this round, those to
// an earlier one included. It knows of no failure before the response is overdue.
func (r *OpenRound) Outstanding() int { return r.outstanding }

// Late returns how many clients of this round had not responded when it ended, and had not
// failed. It is known at Protocol.Close.
func (r *OpenRound) Late() int { return r.server.accounts.tally.late }

// Staleness returns by how many rounds the response of a client is late: 0 for a response
// to this round.
func (r *OpenRound) Staleness(client int) int { return r.server.round - r.server.askedIn(client) }

// Expected returns when the last response is expected of the clients that were asked, if
// none fails and links are not shared.
func (r *OpenRound) Expected() engine.Time { return r.expected }

// Sharing reports whether transfers share links or have rates that change: then
// responses may take longer than expected.
func (r *OpenRound) Sharing() bool { return r.server.clients.Sharing() }

// History returns the server's record of a client's earlier rounds. The protocol's
// factory must declare History.
func (r *OpenRound) History(client int32) History {
	if r.server.reports == nil {
		panic(fmt.Sprintf("federation: protocol %s calls Round.History and does not declare History in its factory",
			r.server.setup.Config.Protocol))
	}
	return r.server.reports.of(int(client))
}

// MinRows returns the rows of the smallest task.
func (r *OpenRound) MinRows() int { return r.server.minRows }

// Stream returns the random numbers that a protocol has for a client in this round: the
// same whenever it is called.
func (r *OpenRound) Stream(client int) Stream {
	return rng.New(r.server.setup.Seed, rng.Work, client, r.server.round)
}

// StepsWithin returns how many steps of the method a client can do such that its
// response takes a given time. The client knows the time of the message, its link's usual
// speed, and its processor's present speed. The margin lengthens the uplink by a share.
func (r *OpenRound) StepsWithin(client int, length engine.Time, margin float64) float64 {
	return r.server.estimates.stepsWithin(client, length, margin)
}

// EndAt ends the round at an instant, behind what else happens then. It is called at
// most once in a round.
func (r *OpenRound) EndAt(at engine.Time) {
	r.timed = true
	r.server.clients.SetServerTimer(max(at, r.Now())) // no client may be expected
}

// StepsOf returns how many steps of the method so many mini-batches of a client are.
func (r *OpenRound) StepsOf(client, batches int) float64 {
	if of := r.server.work.BatchSteps; of != nil {
		return float64(of(client, batches))
	}
	return float64(batches)
}

// WakeAt calls Grouper.Gather for engine.Server at an instant, behind what else happens then, in
// place of the instant of the last call; engine.Never: not at all.
func (r *OpenRound) WakeAt(at engine.Time) {
	r.server.clients.StopServerTimer()
	if at < engine.Never {
		r.server.clients.SetServerTimer(at)
	}
}

// End ends the round now.
func (r *OpenRound) End() {
	r.ended = true
	r.server.clients.Stop()
}

// reset forgets the events of the round before.
func (r *OpenRound) reset() {
	r.received, r.outstanding, r.expected, r.timed = 0, 0, 0, false
}
