package learnercheck

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"fedsim/algorithms"
	"fedsim/internal/rooms/outside/external"
	"fedsim/internal/tools/rng"
	"fedsim/internal/tools/state"
)

// fate is what becomes of a client's work that is not committed at once.
type fate int

const (
	no      fate = iota // the work is committed at once
	skip                // the client is not asked
	discard             // the work is discarded
	commit              // the work is committed
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

// play plays rounds and returns the answers. They are nil if the learner breaks a rule. After
// an error the learner does nothing, and finish reports it.
func (ch *checking) play(l *external.Learners, g game) (answers []answer) {
	a := ch.start(l)
	if a == nil || g.load != nil && !ch.load(a, g.load) {
		return nil
	}
	first := 1
	if g.load != nil {
		first = 2 // a state is taken after round 1: late work is open
	} else {
		answers = ch.evaluate(a, "before the first round")
	}
	for round := first; round <= ch.Rounds && a.Err() == nil; round++ {
		place := fmt.Sprintf("round %d", round)
		answers = append(answers, ch.round(a, &g, round, place)...)
		answers = append(answers, ch.evaluate(a, place)...)
		if g.twice {
			ch.evaluate(a, place)
		}
		if g.save != nil {
			ch.save(a, g.save)
		}
	}
	if !ch.finish(a) {
		return nil
	}
	return answers
}

// save lets the learner save its state. The first state is remembered.
func (ch *checking) save(a *external.Learner, to *bytes.Buffer) {
	var w io.Writer = to
	if ch.saved {
		w = io.Discard
	}
	a.State(state.Writing(w))
	ch.saved = true
}

// load lets the learner load a state. It reports whether it has.
func (ch *checking) load(a *external.Learner, from *bytes.Buffer) bool {
	c := state.Reading(bytes.NewReader(from.Bytes()))
	a.State(c)
	if c.Err() != nil {
		ch.wrong("%v", c.Err())
		_ = a.Close() // it has been reported
	}
	return c.Err() == nil
}

func (ch *checking) round(a *external.Learner, g *game, round int, place string) []answer {
	_, _ = a.Begin()
	lost, last := round%ch.Clients, ch.Clients-1
	late := g.late != no && round%2 == 1  // the last client's work of this round is late
	after := g.late != no && round%2 == 0 // the work of the round before is late
	if g.losses {
		ch.losses(a)
	}
	var requests []algorithms.Request
	for client := range ch.Clients {
		if client == last && (after || late && g.late == skip) || client == lost && g.lost == skip {
			continue
		}
		requests = append(requests, order(client, round, g.limit))
	}
	responses := make([]algorithms.Response, len(requests))
	if g.single {
		for i := range requests {
			a.SolveAll(requests[i:i+1], responses[i:i+1])
		}
	} else {
		a.SolveAll(requests, responses)
	}
	if g.again {
		ch.again(a, requests[0], responses[0], place)
	}
	var answers []answer
	for i, r := range requests {
		if r.Device != lost {
			answers = append(answers, responseOf(place, r.Device, responses[i]))
		}
	}
	for client := range ch.Clients {
		weight := 1.0
		if g.weighted {
			weight = 1 / float64(1+client)
		}
		switch {
		case client == last && (late || after && g.late == skip):
		case client == last && after && g.late == discard, client == lost && !(client == last && after):
			a.Discard(client)
		default:
			a.Commit(client, weight)
		}
	}
	flops, _ := a.End()
	return append(answers, answer{place + ", FLOPs of end", number(flops)})
}

// order returns the request for a client's work in a round.
func order(client, round, limit int) algorithms.Request {
	if limit == 0 {
		limit = algorithms.NoLimit
	}
	return algorithms.Request{Device: client, Steps: limit, Stream: rng.New(1, rng.Solve, client, round)}
}

// again discards a client's work and asks for it again: it must be the same.
func (ch *checking) again(a *external.Learner, r algorithms.Request, first algorithms.Response, place string) {
	a.Discard(r.Device)
	if second := a.Solve(r); a.Err() == nil && first != second {
		ch.wrong("%s, client %d: its work is %s, and after a discard %s with the same seed", place, r.Device,
			responseText(first), responseText(second))
	}
}

func (ch *checking) losses(a *external.Learner) {
	clients, into := make([]int32, ch.Clients), make([]float64, ch.Clients)
	for i := range clients {
		clients[i] = int32(i)
	}
	_ = a.Losses(clients, into) // finish reports it
}

func (ch *checking) evaluate(a *external.Learner, place string) []answer {
	evaluation, err := a.Evaluate()
	if err != nil {
		return nil // finish reports it
	}
	if err := ch.Store(a.About.Metrics, ch.Clients, evaluation.Values, evaluation.Clients); err != nil {
		ch.wrong("evaluate: %v", err)
	}
	var answers []answer
	for _, v := range evaluation.Values {
		answers = append(answers, answer{place + ", " + fullName(v.Split, v.Name), number(v.Value)})
	}
	for _, c := range evaluation.Clients {
		for i, client := range c.Clients {
			answers = append(answers,
				answer{fmt.Sprintf("%s, %s of client %d", place, fullName(c.Split, c.Name), client),
					number(c.Values[i])})
		}
	}
	if evaluation.Hash != 0 {
		answers = append(answers, answer{place + ", model_hash", fmt.Sprintf("%016x", evaluation.Hash)})
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

func responseText(w algorithms.Response) string {
	text := fmt.Sprintf("%d steps, %s FLOPs, %d bytes", w.Steps, number(w.FLOPs), w.Values)
	if w.Batches > 0 {
		text += fmt.Sprintf(", %d mini-batches", w.Batches)
	}
	if w.Traffic > 0 {
		text += fmt.Sprintf(", %s bytes of memory", number(w.Traffic))
	}
	return text
}

func responseOf(place string, client int, w algorithms.Response) answer {
	return answer{fmt.Sprintf("%s, work of client %d", place, client), responseText(w)}
}

// compare reports the first place at which answers differ. When is the condition of the
// second ones. Places that only one of them has do not count.
func (ch *checking) compare(when string, first, second []answer) {
	values := map[string]string{}
	for _, x := range second {
		values[x.place] = x.value
	}
	for _, x := range first {
		if y, ok := values[x.place]; ok && x.value != y {
			ch.find(Finding{Text: fmt.Sprintf("%s: %s, but %s %s", x.place, x.value, y, when)})
			return
		}
	}
}

// asynchronous checks a run without rounds, the same in another process, and one that
// continues in a third.
func (ch *checking) asynchronous(first, second, third *external.Learners) {
	want := ch.playAsynchronous(first, nil, nil)
	if want == nil {
		return
	}
	ch.compare("in another process", want, ch.playAsynchronous(second, nil, nil))
	if ch.can["save"] {
		ch.continues(want, first, third, ch.playAsynchronous)
	}
}

// playAsynchronous plays a run without rounds: models are sent to all clients, and each
// response but one a turn is received. The state is saved to the first buffer in the
// middle, with work under way, or loaded from the second.
func (ch *checking) playAsynchronous(l *external.Learners, save, load *bytes.Buffer) []answer {
	a := ch.start(l)
	if a == nil || load != nil && !ch.load(a, load) {
		return nil
	}
	var answers []answer
	turn, half := 1, max(ch.Rounds/2, 1)
	if load != nil {
		turn = half
	} else {
		for client := range ch.Clients {
			_, _ = a.Send(client)
		}
	}
	for ; turn <= ch.Rounds && a.Err() == nil; turn++ {
		place := fmt.Sprintf("turn %d", turn)
		for i := range ch.Clients {
			client, saving := (i+turn)%ch.Clients, i == 0 && turn == half
			if !saving || load == nil { // else its work was asked before the state was saved
				answers = append(answers, responseOf(place, client, a.Solve(order(client, turn, 0))))
			}
			if saving && save != nil {
				ch.save(a, save)
			}
			if i == 1 {
				ch.discardSent(a, place, client)
			} else {
				taken, flops, _ := a.Receive(client)
				answers = append(answers,
					answer{fmt.Sprintf("%s, response of client %d", place, client),
						fmt.Sprintf("taken %t, %s FLOPs", taken, number(flops))})
			}
			_, _ = a.Send(client)
		}
		answers = append(answers, ch.evaluate(a, place)...)
	}
	if !ch.finish(a) {
		return nil
	}
	return answers
}

// discardSent discards the work of a client: it must leave no trace.
func (ch *checking) discardSent(a *external.Learner, place string, client int) {
	place = fmt.Sprintf("%s, after the work of client %d", place, client)
	before := ch.evaluate(a, place)
	a.Discard(client)
	ch.compare("after that work was discarded", before, ch.evaluate(a, place))
}
