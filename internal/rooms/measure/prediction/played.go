// Package prediction plays the rounds of a log of a real federation on simulated clients, and
// says how far the two are apart.
//
// The messages of the log are sent to the simulated clients in the log's rounds, with their bytes
// and their work. Faults of the log are inputs: a client that did not respond is not asked. When
// an attempt ends, in which order, and which responses a round takes, follows from the model.
//
// It must not know how a model was fitted, or where results go.
package prediction

import (
	"math"
	"slices"
	"sort"
	"strings"

	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/rooms/measure/attemptlog"
)

// Played is the attempts and the rounds of a run, measured or predicted. Instants are in
// seconds from the first message of the run.
type Played struct {
	Attempts []Attempt // in the order of Attempts of the log's rounds
	Rounds   []Round   // none under a protocol without rounds
	Makespan float64   // from the first message to the last response, in seconds
}

// Attempt is an attempt. Durations are in seconds; NaN: not known, or there was none.
type Attempt struct {
	Round      int
	Client     string
	Sent, Seen float64 // Seen is NaN without a response
	// Received is when the client began to receive the message; NaN if measured: clocks may differ.
	Received                           float64
	Downlink, Waiting, Compute, Uplink float64 // Waiting: from the message to the work
	Energy                             float64 // J
	Taken                              bool    // by the round that asked for it; without rounds, at all
	// Staleness is how many other responses arrived between the message and the response.
	Staleness float64
}

// Response returns how long the response took from the message on; NaN without a response.
func (a *Attempt) Response() float64 { return a.Seen - a.Sent }

// Round is a round.
type Round struct {
	Attempts   []int   // places in Played.Attempts
	Taken      []int   // likewise, ascending, of the responses that the server took in the round, late ones included
	Begin, End float64 // the first message; that of the next round, or the last response in time
}

// Length returns how long the round took.
func (r *Round) Length() float64 { return r.End - r.Begin }

// training returns the rounds of a run with the attempts that train.
func training(run *attemptlog.Run) [][]*attemptlog.Attempt {
	var rounds [][]*attemptlog.Attempt
	for _, round := range run.Rounds() {
		round = slices.DeleteFunc(round, func(a *attemptlog.Attempt) bool { return a.Kind != attemptlog.Train })
		if len(round) > 0 {
			rounds = append(rounds, round)
		}
	}
	return rounds
}

// taken returns the places of the responses that the server took in a round. If it keeps late ones, it took all
// that arrived then.
func (p *Played) taken(r *Round, keeps bool) (places []int) {
	if !keeps {
		return slices.DeleteFunc(slices.Clone(r.Attempts), func(k int) bool { return !p.Attempts[k].Taken })
	}
	for k := range p.Attempts {
		if s := p.Attempts[k].Seen; r.Begin < s && s <= r.End {
			places = append(places, k)
		}
	}
	return places
}

// Training returns the attempts of a run that train, in the order of Played.Attempts.
func Training(run *attemptlog.Run) []*attemptlog.Attempt { return slices.Concat(training(run)...) }

// Measured returns the measured times of a run from its log.
func Measured(run *attemptlog.Run) *Played {
	p := &Played{}
	continuous := withoutRounds(run)
	begin := math.Inf(1)
	for i := range run.Attempts {
		begin = min(begin, run.Attempts[i].Sent)
	}
	for _, attempts := range training(run) {
		round := Round{Begin: math.Inf(1)}
		for _, a := range attempts {
			round.Attempts = append(round.Attempts, len(p.Attempts))
			m := Attempt{
				Round: a.Round, Client: a.Client, Sent: a.Sent - begin, Seen: a.Seen - begin,
				Taken: a.Outcome == attemptlog.Taken, Received: math.NaN(), Downlink: a.Receive, Waiting: a.Wait,
				Compute: a.Compute, Uplink: a.Seen - a.ReplyFirst, Energy: a.EnergyJ,
			}
			round.Begin = min(round.Begin, m.Sent)
			p.Attempts = append(p.Attempts, m)
		}
		if !continuous {
			p.Rounds = append(p.Rounds, round)
		}
	}
	p.finish(run)
	return p
}

// finish sets what follows from the attempts of a run.
func (p *Played) finish(run *attemptlog.Run) {
	var seen []float64
	for i := range p.Attempts {
		if a := &p.Attempts[i]; a.Taken {
			p.Makespan = max(p.Makespan, a.Seen)
		}
		if s := p.Attempts[i].Seen; !math.IsNaN(s) {
			seen = append(seen, s)
		}
	}
	slices.Sort(seen)
	late, _ := run.Setting("federation.late").(string)
	keeps := strings.HasPrefix(late, federation.Keep)
	for i := range p.Rounds {
		r := &p.Rounds[i]
		switch needed, _ := run.Setting("federation.clients_per_round").(int64); {
		case i+1 < len(p.Rounds):
			r.End = p.Rounds[i+1].Begin
		case keeps && needed > 0 && run.Setting("federation.protocol") == protocols.First:
			// The responses that end the last round may be late ones.
			later := seen[sort.Search(len(seen), func(k int) bool { return seen[k] > r.Begin }):]
			if n := min(len(later), int(needed)); n > 0 {
				r.End = later[n-1]
			}
			p.Makespan = max(p.Makespan, r.End)
		default:
			for _, k := range r.Attempts {
				if a := &p.Attempts[k]; a.Taken {
					r.End = max(r.End, a.Seen)
				}
			}
		}
		r.Taken = p.taken(r, keeps)
	}
	for i := range p.Attempts {
		a := &p.Attempts[i]
		a.Staleness = math.NaN()
		if !math.IsNaN(a.Seen) {
			before := sort.Search(len(seen), func(k int) bool { return seen[k] > a.Sent })
			until, _ := slices.BinarySearch(seen, a.Seen)
			a.Staleness = float64(max(0, until-before))
		}
	}
}
