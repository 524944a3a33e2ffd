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
	ends, wakes engine.Time // of EndAt and WakeAt; engine.Never: none
	timed       bool        // EndAt was called
	enough      bool        // the server takes the responses of the round that closes
	played      bool        // Open was called, and Account was not
	asking
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
	if r.server.accounts.reports == nil {
		panic(fmt.Sprintf("federation: protocol %s calls Round.History and does not declare History in its factory",
			r.server.setup.Config.Protocol))
	}
	return r.server.accounts.reports.of(int(client))
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
// speed, and its processor's present speed. The margin lengthens the uplink by a share. A response
// that would be given up is too late.
func (r *OpenRound) StepsWithin(client int, length engine.Time, margin float64) float64 {
	if most := r.server.setup.Config.answerTimeout(); most > 0 {
		length = min(length, most)
	}
	return r.server.estimates.stepsWithin(client, length, margin)
}

// EndAt ends the round at an instant, behind what else happens then, in place of the instant of the
// last call.
func (r *OpenRound) EndAt(at engine.Time) {
	r.timed, r.ends = true, max(at, r.Now()) // no client may be expected
	r.setTimer()
}

// StepsOf returns how many steps of the method so many mini-batches of a client are.
func (r *OpenRound) StepsOf(client, batches int) float64 {
	if of := r.server.work.BatchSteps; of != nil {
		return float64(of(client, batches))
	}
	return float64(batches)
}

// WakeAt calls Waker.Wake at an instant, behind responses of that instant and before EndAt of it, in place
// of the instant of the last call; engine.Never: not at all. Under a Grouper it calls Gather for
// engine.Server.
func (r *OpenRound) WakeAt(at engine.Time) {
	if _, wakes := r.server.protocol.(Waker); !wakes && r.server.continuous == nil {
		panic(fmt.Sprintf("federation: protocol %s calls OpenRound.WakeAt and is no Waker",
			r.server.setup.Config.Protocol))
	}
	r.wakes = at
	r.setTimer()
}

// setTimer sets the timer of the server to the next instant of EndAt and WakeAt.
func (r *OpenRound) setTimer() {
	r.server.clients.StopServerTimer()
	if at := min(r.ends, r.wakes); at < engine.Never {
		r.server.clients.SetServerTimer(max(at, r.Now()))
	}
}

// timeout hears that the timer of the server has run out.
func (r *OpenRound) timeout() {
	now, s := r.Now(), r.server
	if r.wakes <= now {
		r.wakes = engine.Never
		if s.continuous != nil {
			s.continuous.gather(engine.Server, false)
			return
		}
		if s.protocol.(Waker).Wake(r); !r.ended {
			r.checkExhausted()
		}
		if r.ended {
			return
		}
	}
	if r.ends <= now {
		r.End()
		return
	}
	r.setTimer()
}

// checkExhausted calls the protocol when no further response can arrive in the round.
func (r *OpenRound) checkExhausted() {
	if r.outstanding <= 0 {
		r.server.protocol.Exhausted(r)
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
	r.ends, r.wakes = engine.Never, engine.Never
	r.owns, r.draws = false, 0
}
