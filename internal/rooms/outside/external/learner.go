package external

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"fedsim/algorithms"
	"fedsim/internal/tools/pipe"
)

// Learner is one run of a learner in another process. After an error it does nothing, and each
// call returns the first error.
type Learner struct {
	algorithms.Described
	of      *Learners
	process *process
	options *Options
	about   RunInfo
	run     int // number of the run in its process
	clients int

	usual  usual
	round  int    // the open round, or the last one; 0: none yet
	solved []bool // by client: its work is neither committed nor discarded

	// Commits and discards are sent together, before the next request.
	commits  []int32
	weights  []float64
	weighted bool // a weight is not 1
	discards []int32

	file   int // the name of the last saved state
	closed bool
	err    error
}

var (
	_ algorithms.Reporter     = (*Learner)(nil)
	_ algorithms.Batched      = (*Learner)(nil)
	_ algorithms.Asynchronous = (*Learner)(nil)
	_ algorithms.Stateful     = (*Learner)(nil)
)

// most bounds counts of bytes and steps: they are exact as floats.
const most = 1 << 53

// solveAtOnce is the most clients of a request for local work.
const solveAtOnce = 100_000

// Close ends the run. The process is used again for another run, unless this one failed. It does
// not report the failure of an earlier call.
func (a *Learner) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	failed := a.err
	if a.ask(request{Op: "finish", Run: a.run}, none); failed == nil && a.err != nil {
		failed = fmt.Errorf("%s: %w", a.About.Name, a.err)
	}
	a.of.release(a.process, a.err != nil)
	return failed
}

// start sends the learner the description of the run.
func (a *Learner) start(s algorithms.Setup) error {
	options, err := pipe.Encode(plain(a.options.Learner))
	if err != nil {
		return err
	}
	start := request{
		Op: "start", Run: a.run, ID: a.about.ID, Seed: &a.about.Seed, Clients: a.clients, Rows: s.Rows, Feature: &s.Shape.Features,
		Data: a.about.Data, Options: options,
	}
	if s.Problem != nil {
		if labels := s.Problem.Train.Labels(); labels != nil {
			start.Labels = labels
		}
	}
	if !a.ask(start, startFields.Into(&a.usual)) {
		return errors.Unwrap(a.err)
	}
	a.describe(s.Description)
	return nil
}

// describe completes the description of the method by the learner's answer.
func (a *Learner) describe(d algorithms.Description) {
	d.Name = a.About.Name
	d.Work.StepFLOPs, d.Work.StepValues = a.usual.stepFLOPs, a.usual.traffic/8
	if batch := a.usual.batch; batch > 1 {
		d.Work.Batches = func(_, steps int) int { return (steps + batch - 1) / batch }
	}
	d.Messages.Usual = func(int) (down, up int) { return a.usual.down, a.usual.up }
	d.Model = algorithms.DeviceModels
	if a.usual.oneModel {
		d.Model = algorithms.OneModel
	}
	d.Metrics = append(d.Metrics, a.process.hello.metrics...)
	can := func(what string) algorithms.Ability {
		return algorithms.Can(slices.Contains(a.process.hello.can, what))
	}
	d.Weights, d.Losses, d.Asynchronous = can(canWeights), can(canLoss), can(canReceive)
	if d.State = can(canSave); a.about.File == nil {
		d.State = algorithms.No
	}
	a.About = d
}

// ask sends pending requests and a new one, and reads the answer. It reports whether all
// went well.
func (a *Learner) ask(question request, into reader) bool {
	return a.flush() && a.send(question, into)
}

// send sends a request and reads the answer.
func (a *Learner) send(question request, into reader) bool {
	if a.err != nil {
		return false
	}
	if err := a.process.ask(a.of.ctx, a.options, a.about.ID, question, into); err != nil {
		return a.fail(question.Op, err)
	}
	return true
}

// fail notes the first error. It returns false.
func (a *Learner) fail(op string, err error) bool {
	if a.err == nil {
		a.err = fmt.Errorf("%s: %w", op, err)
	}
	return false
}

// Err returns the first error.
func (a *Learner) Err() error { return a.err }

// Ask sends a request of any operation and fields, and reads an answer of any fields. An error
// that the learner reports is a *[ReportedError], and does not end the run.
func (a *Learner) Ask(op string, fields map[string]any) error {
	line := map[string]any{"op": op, "run": a.run}
	maps.Copy(line, fields)
	response, err := a.process.exchange(a.of.ctx, a.options, a.about.ID, &request{Op: op}, line)
	if err != nil {
		a.fail(op, err)
		return err
	}
	return reported(response)
}

// flush sends the commits and discards that are pending.
func (a *Learner) flush() bool {
	if a.err != nil {
		return false
	}
	if len(a.commits) > 0 {
		q := request{Op: "commit", Run: a.run, Round: &a.round, Clients: a.commits}
		if a.weighted {
			q.Weights = a.weights
		}
		if !a.send(q, none) {
			return false
		}
		a.commits, a.weights, a.weighted = a.commits[:0], a.weights[:0], false
	}
	if len(a.discards) > 0 {
		if !a.send(request{Op: "discard", Run: a.run, Round: &a.round, Clients: a.discards}, none) {
			return false
		}
		a.discards = a.discards[:0]
	}
	return true
}

// Begin opens a round and returns the bytes of the server's message.
func (a *Learner) Begin() (algorithms.Sent, error) {
	if !a.flush() { // discards since the last round belong to it
		return algorithms.Sent{}, a.err
	}
	a.round++
	var size int
	a.send(request{Op: "begin", Run: a.run, Round: &a.round}, messageFields.Into(&size))
	return algorithms.Sent{Size: size}, a.err
}

// Solve does the local work of a client.
func (a *Learner) Solve(r algorithms.Request) algorithms.Work {
	var one [1]algorithms.Work
	a.SolveAll([]algorithms.Request{r}, one[:])
	return one[0]
}

// SolveAll does the local work of clients.
func (a *Learner) SolveAll(requests []algorithms.Request, into []algorithms.Work) {
	for len(requests) > 0 {
		n := min(len(requests), solveAtOnce)
		if a.solve(requests[:n], into[:n]); a.err != nil {
			into[0].Err = a.err
			return
		}
		requests, into = requests[n:], into[n:]
	}
}

func (a *Learner) solve(requests []algorithms.Request, into []algorithms.Work) {
	q := request{Op: "solve", Run: a.run, Round: &a.round, Work: make([]workOrder, len(requests))}
	for i, r := range requests {
		stream := r.Stream
		order := workOrder{Client: r.Device, Seed: stream.Uint64() >> 11}
		if r.Steps != algorithms.NoLimit {
			order.Steps = &requests[i].Steps
		}
		q.Work[i] = order
	}
	var all []work
	if !a.ask(q, solveFields.Into(&all)) {
		return
	}
	seen := make(map[int]bool, len(requests))
	for i := range all {
		if err := all[i].check(i, requests, seen); err != nil {
			a.fail("solve", err)
			return
		}
		into[i] = all[i].Work
		a.solved[all[i].client] = true
	}
	if len(all) < len(requests) {
		a.fail("solve", fmt.Errorf("answers with the work of %d clients: must be that of %d; client %d is missing", len(all), len(requests), requests[len(all)].Device))
	}
}

// check reports work in place i of an answer that was not asked.
func (w *work) check(i int, requests []algorithms.Request, seen map[int]bool) error {
	k := w.client
	switch {
	case seen[k]:
		return fmt.Errorf("answers with the work of client %d twice", k)
	case i < len(requests) && requests[i].Device == k: // as it must be
	case !slices.ContainsFunc(requests, func(r algorithms.Request) bool { return r.Device == k }):
		return fmt.Errorf("answers with the work of client %d, which was not asked", k)
	default:
		return fmt.Errorf("answers with the work of client %d in place %d: must be in the order of the request", k, i)
	}
	seen[k] = true
	if limit := requests[i].Steps; w.Steps > limit {
		return fmt.Errorf("client %d: steps = %d: must be at most %d, as the request says", k, w.Steps, limit)
	}
	return nil
}

// Commit makes the work of a client final, with a weight.
func (a *Learner) Commit(client int, weight float64) {
	a.solved[client] = false
	a.commits, a.weights = append(a.commits, int32(client)), append(a.weights, weight)
	a.weighted = a.weighted || weight != 1
}

// Discard forgets the work of a client.
func (a *Learner) Discard(client int) {
	if a.solved[client] {
		a.solved[client] = false
		a.discards = append(a.discards, int32(client))
	}
}

// End closes the round and returns the FLOPs of the server.
func (a *Learner) End() (float64, error) {
	var flops float64
	a.ask(request{Op: "end", Run: a.run, Round: &a.round}, endFields.Into(&flops))
	return flops, a.err
}

// Send fixes the message to a client and returns its bytes.
func (a *Learner) Send(client int) (int, error) {
	var size int
	a.ask(request{Op: "send", Run: a.run, Client: &client}, messageFields.Into(&size))
	return size, a.err
}

// Receive hands the response of a client to the server.
func (a *Learner) Receive(client int) (taken bool, flops float64, err error) {
	a.solved[client] = false
	var r receipt
	a.ask(request{Op: "receive", Run: a.run, Client: &client}, receiveFields.Into(&r))
	return r.taken, r.flops, a.err
}

// Losses returns the mean losses of the global model on the rows of clients.
func (a *Learner) Losses(clients []int32, into []float64) error {
	var losses []float64
	if a.ask(request{Op: "loss", Run: a.run, Clients: clients}, lossFields.Into(&losses)) && len(losses) != len(clients) {
		a.fail("loss", fmt.Errorf("answers with %d losses: must be %d, one for each client", len(losses), len(clients)))
	}
	if a.err == nil {
		copy(into, losses)
	}
	return a.err
}

// Evaluate evaluates the model. All figures are under names.
func (a *Learner) Evaluate() (algorithms.Evaluation, error) {
	e := algorithms.Evaluation{Metrics: algorithms.Unknown()}
	if a.ask(request{Op: "evaluate", Run: a.run, Round: &a.round}, evaluateFields.Into(&e)) {
		if err := a.checkShares(&e); err != nil {
			a.fail("evaluate", err)
		}
	}
	return e, a.err
}

// checkShares reports accuracies and errors that are no shares of rows.
func (a *Learner) checkShares(e *algorithms.Evaluation) error {
	for _, m := range a.process.hello.metrics {
		for _, v := range e.Values {
			if v.Split == m.Split && v.Name == m.Name {
				if err := checkShare(m, a.about.Real, v.Value); err != nil {
					return fmt.Errorf("answers with %w", err)
				}
			}
		}
		for _, c := range e.Clients {
			for i, x := range c.Values[:min(len(c.Values), len(c.Clients))] {
				if err := checkShare(m, a.about.Real, x); err != nil && c.Split == m.Split && c.Name == m.Name {
					return fmt.Errorf("client %d: answers with %w", c.Clients[i], err)
				}
			}
		}
	}
	return nil
}
