package external

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"

	"fedsim/algorithms"
	"fedsim/internal/rng"
	"fedsim/internal/state"
)

// fate is what becomes of a client's work that is not committed at once.
type fate int

const (
	no      fate = iota // it is committed at once
	skip                // the client is not asked
	discard             // it is discarded
	commit              // it is committed
)

// game is a way to drive a run. Its zero value has plain rounds, in which the work of one
// client is discarded.
type game struct {
	single   bool // a line for each client
	lost     fate // skip: the client whose work is discarded is not asked
	again    bool // one client's work is discarded and asked again
	late     fate // of the last client's work of an odd round, in the next one
	limit    int  // of steps; 0: none
	twice    bool // evaluate twice
	losses   bool // ask for losses
	weighted bool // commit with weights

	save *bytes.Buffer // after each round the learner saves its state, the first time to here
	load *bytes.Buffer // the run continues from there
}

// answer is a learner's answer at a place of a game.
type answer struct{ place, value string }

// savedAfter is the round after which a game's state is taken: late work is open.
const savedAfter = 1

// play plays rounds and returns the answers. They are nil if the learner breaks a rule.
func (k *checking) play(l *Learners, g game) (answers []answer, ok bool) {
	a := k.start(l)
	if a == nil {
		return nil, false
	}
	first := 1
	if g.load != nil {
		c := state.Reading(bytes.NewReader(g.load.Bytes()))
		a.State(c)
		if err := c.Err(); err != nil {
			k.wrong("%v", err)
			a.err = err
			a.Close()
			return nil, false
		}
		first = savedAfter + 1
	} else {
		answers = k.evaluate(a, "before the first round")
	}
	for round := first; round <= k.Rounds && a.err == nil; round++ {
		place := fmt.Sprintf("round %d", round)
		answers = append(answers, k.round(a, &g, place)...)
		answers = append(answers, k.evaluate(a, place)...)
		if g.twice && a.err == nil {
			k.evaluate(a, place)
		}
		if g.save != nil && a.err == nil {
			if g.save.Len() == 0 {
				a.State(state.Writing(g.save))
			} else {
				a.file = 1 // the next states overwrite the other file
				a.State(state.Writing(io.Discard))
			}
		}
	}
	if !k.finish(a) {
		return nil, false
	}
	return answers, true
}

// round plays a round, whose number the learner counts.
func (k *checking) round(a *Learner, g *game, place string) []answer {
	_, _ = a.Begin() // a.err
	round := a.round
	lost, last := round%k.Clients, k.Clients-1
	late := g.late != no && round%2 == 1  // the last client's work of this round is late
	after := g.late != no && round%2 == 0 // that of the round before is
	if g.losses && a.err == nil {
		k.losses(a)
	}
	var requests []algorithms.Request
	for client := range k.Clients {
		if client == last && (after || late && g.late == skip) || client == lost && g.lost == skip {
			continue
		}
		requests = append(requests, k.order(client, round, g.limit))
	}
	works := k.solve(a, g, requests)
	if g.again && a.err == nil {
		k.again(a, requests[0], works[0])
	}
	var answers []answer
	for i, r := range requests {
		if r.Device != lost {
			answers = append(answers, answer{fmt.Sprintf("%s, work of client %d", place, r.Device), workText(works[i])})
		}
	}
	for client := range k.Clients {
		switch {
		case client == last && (late || after && g.late == skip):
		case client == last && after && g.late == discard, client == lost && !(client == last && after):
			a.Discard(client)
		case g.weighted:
			a.Commit(client, 1/float64(1+client))
		default:
			a.Commit(client, 1)
		}
	}
	flops, _ := a.End()
	return append(answers, answer{place + ", FLOPs of end", number(flops)})
}

// order returns the request for a client's work in a round.
func (k *checking) order(client, round, limit int) algorithms.Request {
	if limit == 0 {
		limit = algorithms.NoLimit
	}
	return algorithms.Request{Device: client, Steps: limit, Stream: rng.New(1, rng.Solve, client, round)}
}

// solve asks for the work of clients.
func (k *checking) solve(a *Learner, g *game, requests []algorithms.Request) []algorithms.Work {
	works := make([]algorithms.Work, len(requests))
	if !g.single {
		a.SolveAll(requests, works)
		return works
	}
	for i, r := range requests {
		if a.err == nil {
			works[i] = a.Solve(r)
		}
	}
	return works
}

// again discards a client's work and asks for it again: it must be the same.
func (k *checking) again(a *Learner, r algorithms.Request, first algorithms.Work) {
	a.Discard(r.Device)
	second := a.Solve(r)
	if a.err == nil && first != second {
		k.wrong("round %d, client %d: its work is %s, and after a discard %s with the same seed", a.round, r.Device, workText(first), workText(second))
	}
}

// losses asks for the losses of all clients.
func (k *checking) losses(a *Learner) {
	clients, into := make([]int32, k.Clients), make([]float64, k.Clients)
	for i := range clients {
		clients[i] = int32(i)
	}
	_ = a.Losses(clients, into) // a.err
}

// evaluate returns the answers of an evaluation.
func (k *checking) evaluate(a *Learner, place string) []answer {
	if a.err != nil {
		return nil
	}
	said, err := a.Evaluate()
	if err != nil {
		return nil
	}
	if err := k.Store(a.About.Metrics, k.Clients, said.Values, said.Clients); err != nil {
		k.wrong("evaluate: %v", err)
	}
	var answers []answer
	for _, v := range said.Values {
		answers = append(answers, answer{place + ", " + fullName(v.Split, v.Name), number(v.Value)})
	}
	for _, c := range said.Clients {
		for i, client := range c.Clients {
			answers = append(answers, answer{fmt.Sprintf("%s, %s of client %d", place, fullName(c.Split, c.Name), client), number(c.Values[i])})
		}
	}
	if said.Hash != 0 {
		answers = append(answers, answer{place + ", model_hash", fmt.Sprintf("%016x", said.Hash)})
	}
	return answers
}

func fullName(split, name string) string {
	if split == "" {
		return name
	}
	return split + "_" + name
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func workText(w algorithms.Work) string {
	return fmt.Sprintf("%d steps, %s FLOPs, %d bytes", w.Steps, number(w.FLOPs), w.Values)
}

// compare reports the first place at which answers differ. When is the condition of the
// second ones. Places that only one of them has do not count.
func (k *checking) compare(when string, first, second []answer) {
	values := map[string]string{}
	for _, x := range second {
		values[x.place] = x.value
	}
	for _, x := range first {
		if y, ok := values[x.place]; ok && x.value != y {
			k.differs("%s: %s, but %s %s", x.place, x.value, y, when)
			return
		}
	}
}

// asynchronous checks a run without rounds, the same in another process, and one that
// continues in a third.
func (k *checking) asynchronous(first, second, third *Learners) {
	var saved bytes.Buffer
	want := k.playAsynchronous(first, nil, nil)
	if want == nil {
		return
	}
	k.compare("in another process", want, k.playAsynchronous(second, nil, nil))
	if !slices.Contains(k.hello.can, canSave) {
		return
	}
	k.compare("if the state is saved", want, k.playAsynchronous(first, &saved, nil))
	if saved.Len() > 0 {
		k.compare("after it was loaded by another process", want, k.playAsynchronous(third, nil, &saved))
	}
}

// playAsynchronous plays a run without rounds: models are sent to all clients, and each
// response but one a turn is received. The state is saved to the first buffer in the
// middle, with work under way, or loaded from the second.
func (k *checking) playAsynchronous(l *Learners, save, load *bytes.Buffer) []answer {
	a := k.start(l)
	if a == nil {
		return nil
	}
	var answers []answer
	turn, half := 1, max(k.Rounds/2, 1)
	if load != nil {
		c := state.Reading(bytes.NewReader(load.Bytes()))
		if a.State(c); c.Err() != nil {
			k.wrong("%v", c.Err())
			a.err = c.Err()
			a.Close()
			return nil
		}
		turn = half
	} else {
		for client := range k.Clients {
			if a.err == nil {
				_, _ = a.Send(client)
			}
		}
	}
	for ; turn <= k.Rounds && a.err == nil; turn++ {
		place := fmt.Sprintf("turn %d", turn)
		for i := range k.Clients {
			client := (i + turn) % k.Clients
			if i == 0 && turn == half && load != nil {
				// its work was asked before the state was saved
			} else if w := a.Solve(k.order(client, turn, 0)); a.err == nil {
				answers = append(answers, answer{fmt.Sprintf("%s, work of client %d", place, client), workText(w)})
			}
			if i == 0 && turn == half && save != nil && a.err == nil {
				a.State(state.Writing(save))
			}
			switch {
			case a.err != nil:
			case i == 1:
				k.discardSent(a, place, client)
			default:
				taken, flops, _ := a.Receive(client)
				answers = append(answers, answer{fmt.Sprintf("%s, response of client %d", place, client), fmt.Sprintf("taken %t, %s FLOPs", taken, number(flops))})
			}
			if a.err == nil {
				_, _ = a.Send(client)
			}
		}
		answers = append(answers, k.evaluate(a, place)...)
	}
	if !k.finish(a) {
		return nil
	}
	return answers
}

// discardSent discards the work of a client: it must leave no trace.
func (k *checking) discardSent(a *Learner, place string, client int) {
	before := k.evaluate(a, fmt.Sprintf("%s, after the work of client %d", place, client))
	a.Discard(client)
	k.compare("after that work was discarded", before, k.evaluate(a, fmt.Sprintf("%s, after the work of client %d", place, client)))
}
