package external

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"fedsim/algorithms"
)

// Learner is one run of a learner in another process. After an error it does nothing; Err
// returns the first.
type Learner struct {
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

	values   []algorithms.NamedValue
	byClient []algorithms.ClientMetric
	hash     uint64
	file     int // the name of the last saved state
	closed   bool
	err      error
}

var (
	_ algorithms.NamedReporter = (*Learner)(nil)
	_ algorithms.Fallible      = (*Learner)(nil)
	_ algorithms.Partial       = (*Learner)(nil)
	_ algorithms.Batched       = (*Learner)(nil)
	_ algorithms.Sized         = (*Learner)(nil)
	_ algorithms.Shared        = (*Learner)(nil)
	_ algorithms.Weighted      = (*Learner)(nil)
	_ algorithms.LossReporter  = (*Learner)(nil)
	_ algorithms.Asynchronous  = (*Learner)(nil)
	_ algorithms.Stateful      = (*Learner)(nil)
)

// most bounds counts of bytes and steps: they are exact as floats.
const most = 1 << 53

// solveAtOnce is the most clients of a request for local work.
const solveAtOnce = 100_000

// Name names the learner in errors.
func (a *Learner) Name() string { return "learner " + a.process.name() }

// Supports reports whether the learner has said that it supports an interface.
func (a *Learner) Supports(extension any) bool {
	switch extension.(type) {
	case *algorithms.Weighted:
		return a.can(canWeights)
	case *algorithms.LossReporter:
		return a.can(canLoss)
	case *algorithms.Asynchronous:
		return a.can(canReceive)
	case *algorithms.Stateful:
		return a.can(canSave) && a.about.File != nil
	default:
		return true
	}
}

func (a *Learner) can(what string) bool { return slices.Contains(a.process.hello.Can, what) }

// Err returns the first error.
func (a *Learner) Err() error { return a.err }

// Close ends the run. The process is used again for another run, unless this one failed. A
// failure is reported once, here or by Err.
func (a *Learner) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	failed := a.err
	if a.ask(request{Op: "finish", Run: a.run}, &emptyResponse{}); failed == nil && a.err != nil {
		failed = fmt.Errorf("%s: %w", a.Name(), a.err)
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
		Op: "start", Run: a.run, ID: a.about.ID, Seed: &a.about.Seed, Clients: a.clients, Rows: s.Rows, Feature: &s.Features,
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
	return checkBytes("up_bytes", u.UpBytes)
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

// StepFLOPs returns the most FLOPs of a step.
func (a *Learner) StepFLOPs() float64 { return *a.usual.StepFLOPs }

// UsualBytes returns the usual sizes of messages.
func (a *Learner) UsualBytes() (down, up int) { return int(*a.usual.DownBytes), int(*a.usual.UpBytes) }

// OneModel reports whether the learner has said that clients share one model.
func (a *Learner) OneModel() bool { return a.usual.OneModel }

// Begin opens a round and returns the bytes of the server's message.
func (a *Learner) Begin() int {
	if !a.flush() { // discards since the last round belong to it
		return 0
	}
	a.round++
	var answer messageResponse
	if !a.send(request{Op: "begin", Run: a.run, Round: &a.round}, &answer) {
		return 0
	}
	return a.bytes("begin", answer.DownBytes)
}

// bytes returns the size of a message.
func (a *Learner) bytes(op string, n *int64) int {
	if err := checkBytes("down_bytes", n); err != nil {
		a.fail(op, err)
		return 0
	}
	return int(*n)
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
		a.solve(requests[:n], into[:n])
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

// Commit makes the work of a client final.
func (a *Learner) Commit(client int) { a.CommitWeighted(client, 1) }

// CommitWeighted is Commit with a weight.
func (a *Learner) CommitWeighted(client int, weight float64) {
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
func (a *Learner) End() float64 {
	var answer endResponse
	if !a.ask(request{Op: "end", Run: a.run, Round: &a.round}, &answer) {
		return 0
	}
	if err := checkFLOPs(answer.FLOPs); err != nil {
		a.fail("end", err)
		return 0
	}
	return *answer.FLOPs
}

// Send fixes the message to a client and returns its bytes.
func (a *Learner) Send(client int) int {
	var answer messageResponse
	if !a.ask(request{Op: "send", Run: a.run, Client: &client}, &answer) {
		return 0
	}
	return a.bytes("send", answer.DownBytes)
}

// Receive hands the response of a client to the server.
func (a *Learner) Receive(client int) (taken bool, flops float64) {
	a.solved[client] = false
	var answer receiveResponse
	if !a.ask(request{Op: "receive", Run: a.run, Client: &client}, &answer) {
		return false, 0
	}
	if answer.Taken == nil {
		a.fail("receive", errors.New("taken is missing: must be true or false"))
		return false, 0
	}
	if err := checkFLOPs(answer.FLOPs); err != nil {
		a.fail("receive", err)
		return false, 0
	}
	return *answer.Taken, *answer.FLOPs
}

// Loss returns the mean loss of the global model on the rows of a client.
func (a *Learner) Loss(client int) float64 {
	var one [1]float64
	a.Losses([]int32{int32(client)}, one[:])
	return one[0]
}

// Losses returns the losses of clients.
func (a *Learner) Losses(clients []int32, into []float64) {
	var answer lossResponse
	if !a.ask(request{Op: "loss", Run: a.run, Clients: clients}, &answer) {
		return
	}
	if len(answer.Losses) != len(clients) {
		a.fail("loss", fmt.Errorf("answers with %d losses: must be %d, one for each client", len(answer.Losses), len(clients)))
		return
	}
	copy(into, answer.Losses)
}

// Metrics evaluates the model. All figures are under names; see Values.
func (a *Learner) Metrics() algorithms.Metrics {
	a.values, a.byClient = nil, nil
	var answer evaluateResponse
	if !a.ask(request{Op: "evaluate", Run: a.run, Round: &a.round}, &answer) {
		return algorithms.Unknown()
	}
	if err := a.note(&answer); err != nil {
		a.fail("evaluate", err)
	}
	return algorithms.Unknown()
}

// note checks and keeps an evaluation.
func (a *Learner) note(e *evaluateResponse) error {
	a.hash = 0
	if e.ModelHash != "" {
		hash, err := strconv.ParseUint(e.ModelHash, 16, 64)
		if err != nil || len(e.ModelHash) != 16 {
			return fmt.Errorf("model_hash = %q: must be 16 hexadecimal digits", e.ModelHash)
		}
		a.hash = hash
	}
	for _, v := range e.Metrics {
		value := math.NaN()
		if v.Value != nil {
			value = *v.Value
		}
		a.values = append(a.values, algorithms.NamedValue{Split: v.Split, Name: v.Name, Value: value})
	}
	for _, c := range e.Clients {
		a.byClient = append(a.byClient, algorithms.ClientMetric{Split: c.Split, Name: c.Name, Clients: c.Devices, Values: c.Values})
	}
	return nil
}

// Named returns the metrics that the learner has announced.
func (a *Learner) Named() []algorithms.NamedMetric {
	var all []algorithms.NamedMetric
	for _, m := range a.process.hello.Metrics {
		all = append(all, algorithms.NamedMetric(m))
	}
	return all
}

// Values returns the figures of the last evaluation.
func (a *Learner) Values() ([]algorithms.NamedValue, []algorithms.ClientMetric) {
	return a.values, a.byClient
}

// Hash returns the hash that the learner gave the model in the last evaluation; 0: none.
func (a *Learner) Hash() uint64 { return a.hash }
