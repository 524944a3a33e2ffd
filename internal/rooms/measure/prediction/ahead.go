package prediction

import (
	"cmp"
	"context"
	"math"
	"slices"

	"fedsim/engine"
	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/network"
)

// Ahead says how well each round is predicted from the state that the log shows before it: when
// each client ended its previous reply, from which its polls follow. A poll that is wrong costs a
// period, which shifts all that follows in a free run and only one round here.
type Ahead struct {
	Round    Spread `json:"round"`    // of the lengths of rounds
	Response Spread `json:"response"` // of attempts
	// Polls is the number of attempts whose client's poll, and of responses whose server's poll, are
	// compared; Exact the share of them that the model predicts: less than half a period is between.
	Polls int     `json:"polls"`
	Exact float64 `json:"exact"`
}

// playAhead plays each round of a run from its state. It returns nil where nothing waits for polls,
// and for runs without rounds.
func playAhead(ctx context.Context, run *attemptlog.Run, on *System, measured *Played) (*Ahead, error) {
	p, err := newPlayer(ctx, run, on)
	if err != nil {
		return nil, err
	}
	if r := &p.runtime; withoutRounds(run) || r.ClientPollS <= 0 && r.ServerPollS <= 0 {
		return nil, nil
	}
	p.ends = previousEnds(run, &p.runtime)
	if err := p.play(run); err != nil {
		return nil, err
	}
	return p.compareAhead(measured), nil
}

// setPoll sets the polls of a client before an attempt of which the end of the previous reply is known.
func (p *player) setPoll(client int, a *attemptlog.Attempt) {
	period := engine.FromSeconds(p.runtime.ClientPollS)
	if end, known := p.ends[a]; known && period > 0 {
		since := engine.FromSeconds(max(0, a.Sent-end))
		p.session.SetPoll(client, p.session.Now().Add(network.NextPoll(period, period, since)-since))
	}
}

// compareAhead returns the errors of the rounds whose state is known.
func (p *player) compareAhead(measured *Played) *Ahead {
	var lengths, responses []float64
	var polls, exact int
	poll := func(difference, period float64) {
		if period > 0 && !math.IsNaN(difference) {
			polls++
			if math.Abs(difference) < period/2 {
				exact++
			}
		}
	}
	for i, round := range p.rounds {
		known := true
		r, q := &measured.Rounds[i], &p.predicted.Rounds[i]
		for j, a := range round {
			end, ok := p.ends[a]
			if ok = ok || p.runtime.ClientPollS <= 0; !ok {
				known = known && !asked(a)
				continue
			}
			m, s := &measured.Attempts[r.Attempts[j]], &p.predicted.Attempts[r.Attempts[j]]
			responses = append(responses, s.Response()/m.Response()-1)
			poll(s.Received-s.Sent+a.Sent-end-a.Idle, p.runtime.ClientPollS)
			poll(s.Seen-q.Begin-(m.Seen-r.Begin), p.runtime.ServerPollS)
		}
		if known {
			lengths = append(lengths, q.Length()/r.Length()-1)
		}
	}
	share := float64(exact) / float64(polls)
	return &Ahead{Round: spread(lengths), Response: spread(responses), Polls: polls, Exact: share}
}

// previousEnds returns when the client of an attempt had sent its previous reply, on the server's
// clock, where durations tell it. The client's clock is known up to a constant. It lies where every
// message waits between no time and a period for the client's poll, and every reply for the server's.
func previousEnds(run *attemptlog.Run, r *network.Runtime) map[*attemptlog.Attempt]float64 {
	ends := map[*attemptlog.Attempt]float64{}
	for _, name := range run.Clients() {
		var own []*attemptlog.Attempt
		for i := range run.Attempts {
			if a := &run.Attempts[i]; a.Client == name {
				own = append(own, a)
			}
		}
		slices.SortStableFunc(own, func(a, b *attemptlog.Attempt) int { return cmp.Compare(a.Sent, b.Sent) })
		for len(own) > 0 {
			n := 1
			for n < len(own) && !math.IsNaN(busy(own[n-1])) && !math.IsNaN(own[n].Idle) {
				n++
			}
			alignClock(own[:n], r, ends)
			own = own[n:]
		}
	}
	return ends
}

// busy returns how long an attempt took the client, from the first byte of the message to the end
// of its reply; NaN: not known.
func busy(a *attemptlog.Attempt) float64 {
	if !a.Responded() {
		return math.NaN()
	}
	return a.Receive + a.Wait + a.Compute + a.Reply
}

// alignClock adds the ends before all but the first of successive attempts of a client.
func alignClock(own []*attemptlog.Attempt, r *network.Runtime, ends map[*attemptlog.Attempt]float64) {
	low, high, clock := math.Inf(-1), math.Inf(1), 0.0
	for i, a := range own {
		if i > 0 {
			clock += a.Idle
		}
		low, high = max(low, a.Sent-clock), min(high, a.Sent+r.ClientPollS-clock)
		if length := busy(a); !math.IsNaN(length) {
			clock += length
			low, high = max(low, a.Seen-r.ServerPollS-clock), min(high, a.Seen-clock)
		}
	}
	clock = (low + high) / 2
	for i, a := range own {
		if i > 0 {
			ends[a] = clock
			clock += a.Idle
		}
		clock += busy(a)
	}
}
