package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/internal/checkpoint"
	"fedsim/internal/parallel"
	"fedsim/internal/rng"
	"fedsim/internal/state"
	"fedsim/mtl"
	"fedsim/scenarios"
)

// recording is the computation that several runs share because they differ in time
// alone. Under wait-for-all with all devices the server takes every update of every
// round, so links, clocks, drops and batteries do not change the model. The first run to
// reach a round computes it; the others read its work and its metrics.
type recording struct {
	method   *algorithms.Method
	problem  *mtl.Problem
	coupling mtl.Coupling
	pool     *parallel.Pool
	seed     uint64
	halt     *algorithms.Halt // when it ends work, no further round is computed

	mu       sync.Mutex
	saver    *checkpoint.Saver // nil: no checkpoints
	saved    int               // rounds in the last checkpoint
	restored int               // rounds from before an interruption
	failed   func(error)       // receives the error of a checkpoint
	err      error             // of the method; nil: none
	states   []modelState      // before the first round and after each
	rounds   []*recordedRound  // round h leads from state h to state h+1
}

// recordedRound is the work of a round.
type recordedRound struct {
	works  []algorithms.Work // by device
	values int               // numbers the server sends to each device
	flops  float64           // of the server
	broken map[int]string    // by device, the array of its update that has NaN or an infinity
}

// modelState is the metrics and the hash of a model.
type modelState struct {
	objective mtl.Objective
	hash      uint64
	values    []algorithms.NamedValue // of a method that declares metrics
	clients   []algorithms.ClientMetric
}

// recordingKey identifies runs with the same computation.
type recordingKey struct {
	problem            problemKey
	algorithm, options string
	seed               uint64
}

// mostRecorded limits devices times rounds of a recording, 24 bytes each.
const mostRecorded = 4_000_000

// recordable reports whether the computation of a run is independent of time and worth
// recording. All devices take part in every round, every round is evaluated, the coupling
// is fixed, theta is not measured, which needs the state within a round, and no metrics by
// client, which may exceed the memory. Compressed messages differ from device to device, and
// partial work is drawn by the federation.
func (r *runner) recordable(run *scenarios.Run, devices int) bool {
	s := &run.Settings.Run
	_, asked := run.Settings.Federation.Sizes(devices)
	protocol := run.Settings.Federation.Traits()
	return !isExternal(run) && !needsOptimum(run) && !run.Settings.Privacy.On() && !run.Settings.Compression.On() && run.Settings.Federation.PartialShare == 0 && protocol.WaitsForAll && !protocol.LimitsWork && !protocol.Weighs && asked == devices &&
		s.Outer == 1 && s.EvalEvery == 1 && s.ThetaEvery == 0 && len(s.ClientMetrics) == 0 && devices*s.Rounds <= r.mostRecorded
}

// record returns the recording of a run; nil for a method whose messages to devices differ, or with
// rounds of hubs.
// The first call for a key creates it.
func (r *runner) record(run *scenarios.Run, p *prepared, factory algorithms.Factory) (*recording, error) {
	key := recordingKey{keyOf(&run.Settings), run.Algorithm, fmt.Sprintf("%+v", run.Options), run.System}
	return r.recordings.get(key, func() (*recording, error) {
		method, err := factory.Start(algorithms.Setup{
			Rows: p.problem.RowCounts(), Shape: p.problem.Shape(),
			Problem: p.problem, Coupling: p.coupling, Workers: r.pool.Size(), Pool: r.pool, Seed: run.System,
		}, run.Options)
		if err != nil {
			return nil, err
		}
		if method.About.Messages.Differ || method.Tiered != nil {
			return nil, nil
		}
		rec := &recording{method: method, problem: p.problem, coupling: p.coupling, pool: r.pool, seed: run.System, failed: r.cancel}
		rec.halt = algorithms.NewHalt(algorithms.Overtime, func() bool { return r.ctx.Err() != nil })
		if method.Stateful != nil {
			rec.saver = r.saver(fmt.Sprintf("recording %+v", key))
		}
		c, err := rec.saver.Restore()
		switch {
		case err != nil:
			return nil, err
		case c == nil:
			rec.evaluate()
			err = rec.err
		default:
			if rec.state(c); c.Err() != nil {
				return nil, rec.saver.Reject(c.Err())
			}
			rec.saved = len(rec.rounds)
			rec.restored = rec.saved
		}
		return rec, err
	})
}

// round returns round h, after computing the missing rounds up to it; nil when work was ended, or
// the method has failed.
func (r *recording) round(h int) (*recordedRound, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.rounds) <= h {
		if r.compute(); r.halt.Halted() || r.err != nil {
			return nil, r.err
		}
	}
	return r.rounds[h], nil
}

// compute runs the next round with every device, unless work is ended.
func (r *recording) compute() {
	h := len(r.rounds)
	now := &recordedRound{works: make([]algorithms.Work, r.problem.Devices())}
	sent, err := r.method.Begin()
	now.values = sent.Size
	r.pool.For(len(now.works), func(k, worker int) {
		now.works[k] = r.method.Solve(algorithms.Request{
			Device: k, Round: h, Steps: algorithms.NoLimit, Worker: worker, Stream: rng.New(r.seed, rng.Solve, k, h), Halt: r.halt,
		})
	})
	if r.halt.Halted() {
		return
	}
	for k := range now.works {
		err = cmp.Or(err, now.works[k].Err)
		if of := r.method.Inspected; of != nil {
			if update := of.Update(k); !update.Finite() {
				if now.broken == nil {
					now.broken = map[int]string{}
				}
				now.broken[k] = update.Array
			}
		}
		r.method.Commit(k, 1)
	}
	flops, failed := r.method.End()
	if r.err = cmp.Or(err, failed); r.err != nil {
		return
	}
	now.flops = flops
	if r.evaluate(); r.err != nil {
		return
	}
	r.rounds = append(r.rounds, now)
	if r.saver.Due() {
		r.save()
	}
}

// save saves the recording. An error ends all runs.
func (r *recording) save() {
	if err := r.saver.Save(r.state); err != nil {
		r.failed(err)
	}
	r.saved = len(r.rounds)
}

// saveLast saves the rounds after the last checkpoint when a run is interrupted.
func (r *recording) saveLast() {
	if r == nil || r.saver == nil || r.halt.Halted() { // the state of the method is within a round
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rounds) > r.saved {
		r.save()
	}
}

// state encodes or decodes the recording and the state of its method.
func (r *recording) state(c *state.Coder) {
	for h := range c.Count(len(r.rounds)) {
		if c.Reads() {
			r.rounds = append(r.rounds, &recordedRound{works: make([]algorithms.Work, r.problem.Devices())})
		}
		if r.rounds[h].state(c); c.Err() != nil {
			return
		}
	}
	for h := range len(r.rounds) + 1 {
		if c.Reads() {
			r.states = append(r.states, modelState{})
		}
		r.states[h].state(c)
	}
	r.method.Stateful.State(c)
}

func (r *recordedRound) state(c *state.Coder) {
	for k := range r.works {
		w := &r.works[k]
		c.Int(&w.Steps)
		c.Float64(&w.FLOPs)
		c.Int(&w.Values)
		c.Bool(&w.Capped)
	}
	c.Int(&r.values)
	c.Float64(&r.flops)
}

func (k *modelState) state(c *state.Coder) {
	for _, x := range k.objective.Fields() {
		c.Float64(x)
	}
	c.Uint64(&k.hash)
	n := c.Count(len(k.values))
	for i := 0; i < n && c.Err() == nil; i++ {
		if c.Reads() {
			k.values = append(k.values, algorithms.NamedValue{})
		}
		v := &k.values[i]
		c.String(&v.Split)
		c.String(&v.Name)
		c.Float64(&v.Value)
	}
	n = c.Count(len(k.clients))
	for i := 0; i < n && c.Err() == nil; i++ {
		if c.Reads() {
			k.clients = append(k.clients, algorithms.ClientMetric{})
		}
		m := &k.clients[i]
		c.String(&m.Split)
		c.String(&m.Name)
		for j := range c.Count(len(m.Clients)) {
			if c.Err() != nil {
				return
			}
			if c.Reads() {
				m.Clients, m.Values = append(m.Clients, 0), append(m.Values, 0)
			}
			client := int(m.Clients[j])
			c.Int(&client)
			m.Clients[j] = int32(client)
			c.Float64(&m.Values[j])
		}
	}
}

// evaluate appends the metrics of the model.
func (r *recording) evaluate() {
	var s modelState
	if r.method.Reporter != nil {
		said, err := r.method.Reporter.Evaluate()
		if r.err = cmp.Or(r.err, err); err != nil {
			return
		}
		s.objective, s.hash = said.Metrics, said.Hash
		s.hold(said.Values, said.Clients)
	}
	if r.method.About.Evaluated == algorithms.ByRun {
		m := r.method.Model()
		w := m.Evaluated()
		s.objective = r.problem.Evaluate(r.pool, r.coupling, w, m.V, m.Duals)
		s.hash = federation.HashWeights(w, r.problem.StoredRows(w))
	}
	r.states = append(r.states, s)
}

// hold holds copies of named values.
func (k *modelState) hold(values []algorithms.NamedValue, clients []algorithms.ClientMetric) {
	k.values = slices.Clone(values)
	for _, m := range clients {
		m.Clients, m.Values = slices.Clone(m.Clients), slices.Clone(m.Values)
		k.clients = append(k.clients, m)
	}
}

// after returns the state after h computed rounds.
func (r *recording) after(h int) modelState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states[h]
}

// replay is the algorithm of a run that reads a recording.
type replay struct {
	*recording
	done int // rounds
	now  *recordedRound
}

var (
	_ algorithms.Reporter  = (*replay)(nil)
	_ algorithms.Inspected = (*replay)(nil)
)

// replay starts the method of a run that reads the recording.
func (r *recording) replay(algorithms.Setup, algorithms.Options) (algorithms.Algorithm, error) {
	return &replay{recording: r}, nil
}

// Describe returns the description of the recorded method, which the recording evaluates.
func (r *replay) Describe() algorithms.Description {
	d := r.method.About
	return algorithms.Description{
		Name: d.Name, Model: d.Model, Needs: d.Needs, MinimizesP: d.MinimizesP, Evaluated: algorithms.ByMethod, Own: d.Own,
		Metrics: d.Metrics, Messages: d.Messages, Work: d.Work, Inspected: true,
	}
}

func (r *replay) Begin() (algorithms.Sent, error) {
	var err error
	if r.now, err = r.round(r.done); r.now == nil {
		return algorithms.Sent{}, err
	}
	return algorithms.Sent{Size: r.now.values}, nil
}

func (r *replay) Solve(q algorithms.Request) algorithms.Work {
	if r.now == nil {
		q.Halt.Pass(r.halt)
		return algorithms.Work{}
	}
	return r.now.works[q.Device]
}

// Update returns whether the recorded update was finite.
func (r *replay) Update(device int) algorithms.Update {
	if r.now == nil || r.now.broken[device] == "" {
		return algorithms.Update{}
	}
	return algorithms.Update{Array: r.now.broken[device], Values: []float64{math.NaN()}}
}

func (r *replay) Commit(int, float64) {}

// Discard does nothing: a recorded run discards work only if it stalls, in its last
// round.
func (r *replay) Discard(int) {}

func (r *replay) End() (float64, error) {
	r.done++
	if r.now == nil { // the method has failed
		return 0, nil
	}
	return r.now.flops, nil
}

// Evaluate returns the evaluation after the rounds so far.
func (r *replay) Evaluate() (algorithms.Evaluation, error) {
	s := r.after(r.done)
	return algorithms.Evaluation{Metrics: s.objective, Hash: s.hash, Values: s.values, Clients: s.clients}, nil
}

// Model returns none: the recording evaluates it.
func (r *replay) Model() algorithms.Model { return algorithms.Model{} }

// SetCoupling does nothing: the coupling is fixed.
func (r *replay) SetCoupling(mtl.Coupling) {}
