package external

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"fedsim/algorithms"
	"fedsim/mtl"
)

// Learner is one run of a learner in another process. After an error it does nothing, and each
// call returns the first error.
type Learner struct {
	algorithms.Described
	of      *Learners
	process *process
	options *Options
	about   Run
	run     int // number of the run in its process
	clients int

	usual  startResponse
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
	if a.ask(request{Op: "finish", Run: a.run}, &emptyResponse{}); failed == nil && a.err != nil {
		failed = fmt.Errorf("%s: %w", a.About.Name, a.err)
	}
	a.of.release(a.process, a.err != nil)
	return failed
}

// start sends the learner the description of the run.
func (a *Learner) start(s algorithms.Setup) error {
	options, err := json.Marshal(plain(a.options.Learner))
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
	a.ask(start, &a.usual)
	u := &a.usual
	switch {
	case a.err != nil:
		return errors.Unwrap(a.err)
	case u.StepFLOPs == nil || !(*u.StepFLOPs > 0):
		return errors.New("step_flops must be a positive number: the most FLOPs of one step")
	}
	if err := checkBytes("down_bytes", u.DownBytes); err != nil {
		return err
	}
	if err := checkBytes("up_bytes", u.UpBytes); err != nil {
		return err
	}
	a.describe(s.Description)
	return nil
}

// describe completes what was known of the method before the learner has answered.
func (a *Learner) describe(d algorithms.Description) {
	u := &a.usual
	d.Name = a.About.Name
	d.Work.StepFLOPs = *u.StepFLOPs
	d.Messages.Usual = func(int) (down, up int) { return int(*u.DownBytes), int(*u.UpBytes) }
	d.Model = algorithms.DeviceModels
	if u.OneModel {
		d.Model = algorithms.OneModel
	}
	for _, m := range a.process.hello.Metrics {
		d.Metrics = append(d.Metrics, algorithms.NamedMetric(m))
	}
	can := func(what string) algorithms.Ability {
		return algorithms.Can(slices.Contains(a.process.hello.Can, what))
	}
	d.Weights, d.Losses, d.Asynchronous = can(canWeights), can(canLoss), can(canReceive)
	if d.State = can(canSave); a.about.File == nil {
		d.State = algorithms.No
	}
	a.About = d
}

// ask sends pending requests and a new one, and reads the answer. It reports whether all
// went well.
func (a *Learner) ask(question request, answer any) bool {
	return a.flush() && a.send(question, answer)
}

// send sends a request and reads the answer.
func (a *Learner) send(question request, answer any) bool {
	if a.err != nil {
		return false
	}
	if err := a.process.ask(a.of.ctx, a.options, a.about.ID, question, answer); err != nil {
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
		if !a.send(q, &emptyResponse{}) {
			return false
		}
		a.commits, a.weights, a.weighted = a.commits[:0], a.weights[:0], false
	}
	if len(a.discards) > 0 {
		if !a.send(request{Op: "discard", Run: a.run, Round: &a.round, Clients: a.discards}, &emptyResponse{}) {
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
	var answer messageResponse
	a.send(request{Op: "begin", Run: a.run, Round: &a.round}, &answer)
	size, err := a.bytes("begin", answer.DownBytes)
	return algorithms.Sent{Size: size}, err
}

// bytes returns the size of a message, or the first error.
func (a *Learner) bytes(op string, n *int64) (int, error) {
	if a.err == nil {
		if err := checkBytes("down_bytes", n); err != nil {
			a.fail(op, err)
		}
	}
	if a.err != nil {
		return 0, a.err
	}
	return int(*n), nil
}

func checkBytes(name string, n *int64) error {
	if n == nil {
		return fmt.Errorf("%s is missing: must be the bytes of a message", name)
	}
	if *n < 0 || *n > min(most, math.MaxInt) { // the latter on 32 bits
		return fmt.Errorf("%s = %d: must be in [0, 2^53]", name, *n)
	}
	return nil
}

func checkFLOPs(x *float64) error {
	if x == nil {
		return errors.New("flops is missing: must be the FLOPs of the work")
	}
	if !(*x >= 0) {
		return fmt.Errorf("flops = %g: must not be negative", *x)
	}
	return nil
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
	var answer solveResponse
	if !a.ask(q, &answer) {
		return
	}
	seen := make(map[int]bool, len(requests))
	for i := range answer.Work {
		if err := answer.Work[i].check(i, requests, seen); err != nil {
			a.fail("solve", err)
			return
		}
		w := &answer.Work[i]
		into[i] = algorithms.Work{Steps: *w.Steps, FLOPs: *w.FLOPs, Values: int(*w.UpBytes)}
		a.solved[*w.Client] = true
	}
	if len(answer.Work) < len(requests) {
		a.fail("solve", fmt.Errorf("answers with the work of %d clients: must be that of %d; client %d is missing", len(answer.Work), len(requests), requests[len(answer.Work)].Device))
	}
}

// check reports errors in place i of an answer.
func (w *work) check(i int, requests []algorithms.Request, seen map[int]bool) error {
	if w.Client == nil {
		return fmt.Errorf("work[%d]: client is missing", i)
	}
	k := *w.Client
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
	limit := requests[i].Steps
	switch {
	case w.Steps == nil:
		return fmt.Errorf("client %d: steps is missing", k)
	case *w.Steps < 0 || int64(*w.Steps) > most:
		return fmt.Errorf("client %d: steps = %d: must be in [0, 2^53]", k, *w.Steps)
	case *w.Steps > limit:
		return fmt.Errorf("client %d: steps = %d: must be at most %d, as the request says", k, *w.Steps, limit)
	}
	if err := checkFLOPs(w.FLOPs); err != nil {
		return fmt.Errorf("client %d: %w", k, err)
	}
	if err := checkBytes("up_bytes", w.UpBytes); err != nil {
		return fmt.Errorf("client %d: %w", k, err)
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
	var answer endResponse
	a.ask(request{Op: "end", Run: a.run, Round: &a.round}, &answer)
	return a.flops("end", answer.FLOPs)
}

// flops returns FLOPs of an answer, or the first error.
func (a *Learner) flops(op string, x *float64) (float64, error) {
	if a.err == nil {
		if err := checkFLOPs(x); err != nil {
			a.fail(op, err)
		}
	}
	if a.err != nil {
		return 0, a.err
	}
	return *x, nil
}

// Model returns none: the learner has it.
func (a *Learner) Model() algorithms.Model { return algorithms.Model{} }

// SetCoupling does nothing: learners have no problem.
func (a *Learner) SetCoupling(mtl.Coupling) {}

// Send fixes the message to a client and returns its bytes.
func (a *Learner) Send(client int) (int, error) {
	var answer messageResponse
	a.ask(request{Op: "send", Run: a.run, Client: &client}, &answer)
	return a.bytes("send", answer.DownBytes)
}

// Receive hands the response of a client to the server.
func (a *Learner) Receive(client int) (taken bool, flops float64, err error) {
	a.solved[client] = false
	var answer receiveResponse
	if a.ask(request{Op: "receive", Run: a.run, Client: &client}, &answer) && answer.Taken == nil {
		a.fail("receive", errors.New("taken is missing: must be true or false"))
	}
	if flops, err = a.flops("receive", answer.FLOPs); err != nil {
		return false, 0, err
	}
	return *answer.Taken, flops, nil
}

// Losses returns the mean losses of the global model on the rows of clients.
func (a *Learner) Losses(clients []int32, into []float64) error {
	var answer lossResponse
	if a.ask(request{Op: "loss", Run: a.run, Clients: clients}, &answer) && len(answer.Losses) != len(clients) {
		a.fail("loss", fmt.Errorf("answers with %d losses: must be %d, one for each client", len(answer.Losses), len(clients)))
	}
	if a.err == nil {
		copy(into, answer.Losses)
	}
	return a.err
}

// Evaluate evaluates the model. All figures are under names.
func (a *Learner) Evaluate() (algorithms.Evaluation, error) {
	var answer evaluateResponse
	said := algorithms.Evaluation{Metrics: algorithms.Unknown()}
	if a.ask(request{Op: "evaluate", Run: a.run, Round: &a.round}, &answer) {
		if err := answer.read(&said); err != nil {
			a.fail("evaluate", err)
		}
	}
	return said, a.err
}

// read checks an evaluation and adds it.
func (e *evaluateResponse) read(into *algorithms.Evaluation) error {
	if e.ModelHash != "" {
		hash, err := strconv.ParseUint(e.ModelHash, 16, 64)
		if err != nil || len(e.ModelHash) != 16 {
			return fmt.Errorf("model_hash = %q: must be 16 hexadecimal digits", e.ModelHash)
		}
		into.Hash = hash
	}
	for _, v := range e.Metrics {
		value := math.NaN()
		if v.Value != nil {
			value = *v.Value
		}
		into.Values = append(into.Values, algorithms.NamedValue{Split: v.Split, Name: v.Name, Value: value})
	}
	for _, c := range e.Clients {
		into.Clients = append(into.Clients, algorithms.ClientMetric{Split: c.Split, Name: c.Name, Clients: c.Devices, Values: c.Values})
	}
	return nil
}
