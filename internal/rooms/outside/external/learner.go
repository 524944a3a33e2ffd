package external

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/data"
	"fedsim/internal/rooms"
	"fedsim/internal/tools/pipe"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// Learner is one run of a learner in another process. After an error it does nothing, and each
// call returns the first error.
type Learner struct {
	algorithms.Described
	of      *Learners
	process *process
	options *Options
	about   rooms.LearnerRun
	run     int // number of the run in its process
	clients int

	// Of a learner of the problem's model: the file of the model, and the model after the last answer.
	model *slots
	w     data.Matrix
	codes *coded // nil: messages are not compressed

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
func (l *Learner) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	failed := l.err
	if l.ask(request{Op: "finish", Run: l.run}, none); failed == nil && l.err != nil {
		failed = fmt.Errorf("%s: %w", l.About.Name, l.err)
	}
	l.of.release(l.process, l.err != nil)
	l.remove()
	return failed
}

// remove removes the files of the model.
func (l *Learner) remove() {
	l.model.remove()
	if l.codes != nil {
		l.codes.file.remove()
	}
}

// start sends the learner the description of the run.
func (l *Learner) start(s algorithms.Setup) error {
	options, err := pipe.Encode(plain(l.options.Learner))
	if err != nil {
		return err
	}
	start := request{
		Op: "start", Run: l.run, ID: l.about.ID, Seed: &l.about.Seed, Clients: l.clients, Rows: s.Rows,
		Feature: &s.Shape.Features, Options: options,
	}
	if s.Problem != nil {
		if labels := s.Problem.Train.Labels(); labels != nil {
			start.Labels = labels
		}
	}
	if slices.Contains(l.process.hello.can, canModel) {
		if start.Model, err = l.hand(&s); err != nil {
			return err
		}
	} else if s.Coding != nil {
		return errUncoded
	}
	if !l.ask(start, startFields.Into(&l.usual)) {
		return errors.Unwrap(l.err)
	}
	if l.model != nil && l.usual.local == nil {
		return errors.New("answers without local: a learner of the problem's model says what steps its clients make")
	}
	l.describe(s.Description, s.Shape)
	return nil
}

// hand makes the file of the problem's model, with its initial values, and says where it and the rows are.
func (l *Learner) hand(s *algorithms.Setup) (*learned, error) {
	p := s.Problem
	if p == nil {
		return nil, errors.New("it learns the model of a problem, which a scenario with data.source = \"external\" " +
			"and " +
			"no problem.model, and a check without a scenario, do not have")
	}
	train := p.Train
	about := &learned{ValueBytes: s.ValueBytes, Values: p.Values(),
		Told: told(train)}
	file := &dataFile{}
	switch m, _ := l.about.Model.(*Model); {
	case m != nil:
		about.Command, about.Fingerprint, file = m.options.Command, m.Fingerprint(), m.set
	case s.Shape.Hidden != (mtl.Widths{}):
		return nil, errors.New("it learns linear and external models: must be without problem.model = \"mlp\"")
	default:
		about.Loss, file = p.Config.Loss, l.of.dataFile(&p.Split, false)
	}
	var err error
	if about.Data, err = file.layout(); err != nil {
		return nil, err
	}
	l.w, l.model = data.NewMatrix(1, p.Values()), newSlot(p.Values())
	if err := l.model.reserve(); err != nil {
		return nil, err
	}
	p.Initial(s.Seed, l.w.Row(0))
	about.Path = l.model.path
	about.Coded, err = l.code(s)
	return about, cmp.Or(err, p.Err(), l.model.write(0, l.w.Row(0)))
}

// take reads the model that the learner has written before its last answer.
func (l *Learner) take(op string) {
	if l.model == nil || l.err != nil {
		return
	}
	if err := l.model.initial(l.w.Row(0)); err != nil {
		l.fail(op, err)
	}
}

// Model returns the model of a learner of the problem's model, and none of another learner.
func (l *Learner) Model() algorithms.Model {
	if l.model == nil {
		return algorithms.Model{}
	}
	return algorithms.Model{W: &l.w}
}

// describe completes the description of the method by the learner's answer.
func (l *Learner) describe(d algorithms.Description, shape mtl.Shape) {
	d.Name = l.About.Name
	d.Work.StepFLOPs, d.Work.StepValues = l.usual.stepFLOPs, l.usual.traffic/8
	if batch := l.usual.batch; batch > 1 {
		d.Work.Batches = func(_, steps int) int { return (steps + batch - 1) / batch }
	}
	d.Messages.Usual = func(int) (down, up int) { return l.usual.down, l.usual.up }
	d.Model = algorithms.DeviceModels
	if l.usual.oneModel {
		d.Model = algorithms.OneModel
	}
	if l.model != nil {
		d.Work = l.usual.local.workload(shape, l.usual.stepFLOPs)
		d.Model, d.Evaluated, d.Own, d.Means = algorithms.OneModel, algorithms.ByRun, false, true
	}
	d.Metrics = append(d.Metrics, l.process.hello.metrics...)
	can := func(what string) algorithms.Ability {
		return algorithms.Can(slices.Contains(l.process.hello.can, what))
	}
	d.Weights, d.Losses, d.Asynchronous = can(canWeights), can(canLoss), can(canReceive)
	if d.State = can(canSave); l.about.File == nil {
		d.State = algorithms.No
	}
	if l.codes != nil {
		l.codes.link.Describe(&d)
	}
	l.About = d
}

// ask sends pending requests and a new one, and reads the answer. It reports whether all
// went well.
func (l *Learner) ask(question request, into reader) bool {
	return l.flush() && l.send(question, into)
}

// send sends a request and reads the answer.
func (l *Learner) send(question request, into reader) bool {
	if l.err != nil {
		return false
	}
	if err := l.process.ask(l.of.ctx, l.options, l.about.ID, question, into); err != nil {
		return l.fail(question.Op, err)
	}
	return true
}

// fail notes the first error. It returns false.
func (l *Learner) fail(op string, err error) bool {
	if l.err == nil {
		l.err = fmt.Errorf("%s: %w", op, err)
	}
	return false
}

// Err returns the first error.
func (l *Learner) Err() error { return l.err }

// Ask sends a request of any operation and fields, and reads an answer of any fields. An error
// that the learner reports is a *[ReportedError], and does not end the run.
func (l *Learner) Ask(op string, fields map[string]any) error {
	line := map[string]any{"op": op, "run": l.run}
	maps.Copy(line, fields)
	response, err := l.process.exchange(l.of.ctx, l.options, l.about.ID, &request{Op: op}, line)
	if err != nil {
		l.fail(op, err)
		return err
	}
	return reported(response)
}

// flush sends the commits and discards that are pending.
func (l *Learner) flush() bool {
	if l.err != nil {
		return false
	}
	if len(l.commits) > 0 {
		q := request{Op: "commit", Run: l.run, Round: &l.round, Clients: l.commits}
		if l.weighted {
			q.Weights = l.weights
		}
		if !l.send(q, none) {
			return false
		}
		l.commits, l.weights, l.weighted = l.commits[:0], l.weights[:0], false
	}
	if len(l.discards) > 0 {
		if !l.send(request{Op: "discard", Run: l.run, Round: &l.round, Clients: l.discards}, none) {
			return false
		}
		l.discards = l.discards[:0]
	}
	return true
}

// Begin opens a round and returns the bytes of the server's message.
func (l *Learner) Begin() (algorithms.Sent, error) {
	if !l.flush() { // discards since the last round belong to it
		return algorithms.Sent{}, l.err
	}
	l.round++
	var sent algorithms.Sent
	if l.codes != nil {
		sent, _ = l.codes.link.Begin(l.w.Row(0))
		l.show("begin")
	}
	var size int
	l.send(request{Op: "begin", Run: l.run, Round: &l.round}, messageFields.Into(&size))
	if l.codes != nil {
		l.alone("begin", size)
		return sent, l.err
	}
	return algorithms.Sent{Size: size}, l.err
}

// Solve does the local work of a client.
func (l *Learner) Solve(r algorithms.Request) algorithms.Response {
	var one [1]algorithms.Response
	l.SolveAll([]algorithms.Request{r}, one[:])
	return one[0]
}

// SolveAll does the local work of clients.
func (l *Learner) SolveAll(requests []algorithms.Request, into []algorithms.Response) {
	for len(requests) > 0 {
		n := min(len(requests), solveAtOnce)
		if l.codes != nil {
			n = min(n, codedAtOnce)
		}
		if l.solve(requests[:n], into[:n]); l.err != nil {
			into[0].Err = l.err
			return
		}
		requests, into = requests[n:], into[n:]
	}
}

func (l *Learner) solve(requests []algorithms.Request, into []algorithms.Response) {
	q := request{Op: "solve", Run: l.run, Round: &l.round, Work: make([]workOrder, len(requests))}
	for i, r := range requests {
		stream := r.Stream
		order := workOrder{Client: r.Device, Seed: stream.Uint64() >> 11}
		if r.Steps != algorithms.NoLimit {
			order.Steps = &requests[i].Steps
		}
		if l.model != nil {
			order.Streams = []string{r.Stream.Text(), r.Stream.Fork(rng.Model).Text()}
		}
		q.Work[i] = order
	}
	var all []work
	if !l.ask(q, solveFields.Into(&all)) {
		return
	}
	seen := make(map[int]bool, len(requests))
	for i := range all {
		if err := all[i].check(i, requests, seen); err != nil {
			l.fail("solve", err)
			return
		}
		into[i] = all[i].Response
		l.solved[all[i].client] = true
	}
	if len(all) < len(requests) {
		l.fail("solve",
			fmt.Errorf("answers with the work of %d clients: must be that of %d; client %d is missing", len(all),
				len(requests), requests[len(all)].Device))
	}
	if l.codes != nil && l.err == nil {
		l.pass(requests, into)
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
func (l *Learner) Commit(client int, weight float64) {
	l.solved[client] = false
	l.commits, l.weights = append(l.commits, int32(client)), append(l.weights, weight)
	l.weighted = l.weighted || weight != 1
	l.link().Commit(client)
}

// Discard forgets the work of a client.
func (l *Learner) Discard(client int) {
	if l.solved[client] {
		l.solved[client] = false
		l.discards = append(l.discards, int32(client))
		l.link().Discard(client)
	}
}

// End closes the round and returns the FLOPs of the server.
func (l *Learner) End() (float64, error) {
	var flops float64
	l.ask(request{Op: "end", Run: l.run, Round: &l.round}, endFields.Into(&flops))
	l.take("end")
	return flops + l.link().Take(), l.err
}

// Send fixes the message to a client and returns its bytes.
func (l *Learner) Send(client int) (int, error) {
	coded := 0
	if l.codes != nil {
		coded = l.codes.link.Send(client, l.codes.taken, l.w.Row(0))
		l.show("send")
	}
	var size int
	l.ask(request{Op: "send", Run: l.run, Client: &client}, messageFields.Into(&size))
	if l.codes != nil {
		l.alone("send", size)
		return coded, l.err
	}
	return size, l.err
}

// Receive hands the response of a client to the server.
func (l *Learner) Receive(client int) (taken bool, flops float64, err error) {
	l.solved[client] = false
	var r receipt
	l.ask(request{Op: "receive", Run: l.run, Client: &client}, receiveFields.Into(&r))
	l.take("receive")
	if l.codes != nil && r.taken {
		l.codes.taken++
		l.codes.link.Commit(client)
	}
	l.link().Discard(client)
	return r.taken, r.flops + l.link().Take(), l.err
}

// Losses returns the mean losses of the global model on the rows of clients.
func (l *Learner) Losses(clients []int32, into []float64) error {
	var losses []float64
	if l.ask(request{Op: "loss", Run: l.run, Clients: clients}, lossFields.Into(&losses)) &&
		len(losses) != len(clients) {
		l.fail("loss", fmt.Errorf("answers with %d losses: must be %d, one for each client", len(losses), len(clients)))
	}
	if l.err == nil {
		copy(into, losses)
	}
	return l.err
}

// Evaluate evaluates the model. All figures are under names.
func (l *Learner) Evaluate() (algorithms.Evaluation, error) {
	e := algorithms.Evaluation{Metrics: algorithms.Unknown()}
	if l.ask(request{Op: "evaluate", Run: l.run, Round: &l.round}, evaluateFields.Into(&e)) {
		if err := l.checkShares(&e); err != nil {
			l.fail("evaluate", err)
		}
	}
	return e, l.err
}

// checkShares reports accuracies and errors that are no shares of rows.
func (l *Learner) checkShares(e *algorithms.Evaluation) error {
	for _, m := range l.process.hello.metrics {
		for _, v := range e.Values {
			if v.Split == m.Split && v.Name == m.Name {
				if err := checkShare(m, l.about.Real, v.Value); err != nil {
					return fmt.Errorf("answers with %w", err)
				}
			}
		}
		for _, c := range e.Clients {
			for i, x := range c.Values[:min(len(c.Values), len(c.Clients))] {
				if err := checkShare(m, l.about.Real, x); err != nil && c.Split == m.Split && c.Name == m.Name {
					return fmt.Errorf("client %d: answers with %w", c.Clients[i], err)
				}
			}
		}
	}
	return nil
}

// workload is the work of so many mini-batch steps, whose most is so many FLOPs.
func (l *localSteps) workload(shape mtl.Shape, stepFLOPs float64) algorithms.Workload {
	steps := kit.LocalSGDOptions{Epochs: l.epochs, Batch: l.batch}
	w := steps.Workload(shape, l.update > float64(5*float64(shape.Values())))
	w.StepFLOPs, w.Epochs = stepFLOPs, l.epochs
	w.FLOPs = func(rows, n int) float64 {
		return float64(float64(n)*shape.RowFLOPs()) + float64(float64(steps.Updates(rows, n))*l.update)
	}
	return w
}
