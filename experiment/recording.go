package experiment

import (
	"fmt"
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

// recording is the mathematics of all runs that differ in time alone. A server
// that waits for everyone takes every update of every round, so that what is
// computed does not depend on links, clocks, drops or batteries: the first run
// that comes to a round computes it, the others read what it took and what came
// of it. It relies on mathematics never seeing time.
type recording struct {
	method   algorithms.Algorithm
	problem  *mtl.Problem
	coupling mtl.Coupling
	pool     *parallel.Pool
	seed     uint64

	mu     sync.Mutex
	stay   *checkpoint.Saver // nil: it is not kept
	saved  int               // rounds that were kept last
	before int               // rounds that were made before an interruption
	failed func(error)       // is told when it cannot be kept
	states []known           // before the first round and after each
	rounds []*recorded       // round h leads from state h to state h+1
}

// recorded is what a round took.
type recorded struct {
	works  []algorithms.Work // by device
	values int               // numbers the server sends to each device
	flops  float64           // of the server
}

// known is what is known of a model.
type known struct {
	objective mtl.Objective
	hash      uint64
}

// recordingKey is what the mathematics of a run depends on.
type recordingKey struct {
	problem            problemKey
	algorithm, options string
	seed               uint64
}

// mostRecorded bounds the devices times rounds of a recording: 24 bytes each.
const mostRecorded = 4_000_000

// recordable reports whether a run's mathematics is independent of time, and
// worth recording: every device takes part in every round, rounds are evaluated one
// by one, the coupling is fixed, and no theta is measured, which takes a round's
// open state.
func (r *runner) recordable(run *scenarios.Run, devices int) bool {
	s := &run.Settings.Run
	_, asked := run.Settings.Federation.Sizes(devices)
	protocol := run.Settings.Federation.Traits()
	return protocol.WaitsForAll && !protocol.LimitsWork && !protocol.Weighs && asked == devices &&
		s.Outer == 1 && s.EvalEvery == 1 && s.ThetaEvery == 0 && devices*s.Rounds <= r.mostRecorded
}

// record returns the recording of a run, a new one for the first that asks.
func (r *runner) record(run *scenarios.Run, p *prepared, factory algorithms.Factory) (*recording, error) {
	key := recordingKey{keyOf(&run.Settings), run.Algorithm, fmt.Sprintf("%+v", run.Options), run.System}
	return r.recordings.get(key, func() (*recording, error) {
		method, err := factory.New(algorithms.Setup{
			Rows: p.problem.RowCounts(), Features: p.problem.Features(),
			Problem: p.problem, Coupling: p.coupling, Workers: r.pool.Size(), Pool: r.pool,
		}, run.Options)
		if err != nil {
			return nil, fmt.Errorf("starting %s: %w", factory.Name, err)
		}
		rec := &recording{method: method, problem: p.problem, coupling: p.coupling, pool: r.pool, seed: run.System, failed: r.cancel}
		if _, able := method.(algorithms.Stateful); able {
			rec.stay = r.keeping(fmt.Sprintf("recording %+v", key))
		}
		c, err := rec.stay.Restore()
		switch {
		case err != nil:
			return nil, err
		case c == nil:
			rec.look()
		default:
			if rec.state(c); c.Err() != nil {
				return nil, rec.stay.Reject(c.Err())
			}
			rec.saved = len(rec.rounds)
			rec.before = rec.saved
		}
		return rec, nil
	})
}

// round returns round h, computing what is missing before it.
func (r *recording) round(h int) *recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.rounds) <= h {
		r.compute()
	}
	return r.rounds[h]
}

// compute runs the next round with every device.
func (r *recording) compute() {
	h := len(r.rounds)
	now := &recorded{works: make([]algorithms.Work, r.problem.Devices())}
	now.values = r.method.Begin()
	r.pool.For(len(now.works), func(k, worker int) {
		now.works[k] = r.method.Solve(algorithms.Request{
			Device: k, Steps: algorithms.NoLimit, Worker: worker, Stream: rng.New(r.seed, rng.Solve, k, h),
		})
	})
	for k := range now.works {
		r.method.Commit(k)
	}
	now.flops = r.method.End()
	r.rounds = append(r.rounds, now)
	r.look()
	if r.stay.Due() {
		r.keep()
	}
}

// keep keeps the recording; when that fails, everything ends.
func (r *recording) keep() {
	if err := r.stay.Save(r.state); err != nil {
		r.failed(err)
	}
	r.saved = len(r.rounds)
}

// leave keeps the rounds that were not, when a run over the recording is
// interrupted.
func (r *recording) leave() {
	if r == nil || r.stay == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rounds) > r.saved {
		r.keep()
	}
}

// state names all that was recorded, and the method behind it.
func (r *recording) state(c *state.Coder) {
	for h := range c.Count(len(r.rounds)) {
		if c.Reads() {
			r.rounds = append(r.rounds, &recorded{works: make([]algorithms.Work, r.problem.Devices())})
		}
		if r.rounds[h].state(c); c.Err() != nil {
			return
		}
	}
	for h := range len(r.rounds) + 1 {
		if c.Reads() {
			r.states = append(r.states, known{})
		}
		r.states[h].state(c)
	}
	r.method.(algorithms.Stateful).State(c)
}

func (r *recorded) state(c *state.Coder) {
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

func (k *known) state(c *state.Coder) {
	o := &k.objective
	for _, x := range []*float64{&o.Primal, &o.Dual, &o.Gap, &o.TrainError, &o.TestError} {
		c.Float64(x)
	}
	c.Uint64(&k.hash)
}

// look evaluates the present model.
func (r *recording) look() {
	if own, ok := r.method.(algorithms.Reporter); ok {
		r.states = append(r.states, known{own.Metrics(), own.Hash()})
		return
	}
	m := r.method.(algorithms.Linear).Model()
	r.states = append(r.states, known{
		objective: r.problem.Evaluate(r.pool, r.coupling, m.W, m.V, m.Duals),
		hash:      federation.HashWeights(m.W),
	})
}

// after returns what came of h rounds, which have been asked for.
func (r *recording) after(h int) known {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states[h]
}

// replay is one run over a recording, as an algorithm.
type replay struct {
	*recording
	done int // rounds
	now  *recorded
}

var (
	_ algorithms.Algorithm = (*replay)(nil)
	_ algorithms.Reporter  = (*replay)(nil)
)

func (r *replay) StepFLOPs() float64 { return r.method.StepFLOPs() }

func (r *replay) Begin() int {
	r.now = r.round(r.done)
	return r.now.values
}

func (r *replay) Solve(q algorithms.Request) algorithms.Work { return r.now.works[q.Device] }

func (r *replay) Commit(int) {}

// Discard cannot happen to a run that is recorded but at its very end, when it
// stalls in the middle of a round.
func (r *replay) Discard(int) {}

func (r *replay) End() float64 {
	r.done++
	return r.now.flops
}

// Metrics returns the metrics after the rounds so far.
func (r *replay) Metrics() algorithms.Metrics { return r.after(r.done).objective }

// Hash returns the hash of the weights after the rounds so far.
func (r *replay) Hash() uint64 { return r.after(r.done).hash }
