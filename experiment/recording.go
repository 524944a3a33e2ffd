package experiment

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"fedsim/algorithms"
	"fedsim/devices"
	"fedsim/experiment/scenario"
	"fedsim/federation/learning"
	"fedsim/internal/rooms"
	"fedsim/internal/rooms/newclients"
	"fedsim/internal/rooms/replay"
	"fedsim/internal/rooms/traces"
	"fedsim/internal/tools/checkpoint"
	"fedsim/mtl"
)

// recording is the computation that several runs share because they differ in time
// alone. Under wait-for-all with all devices the server takes every update of every
// round; so it does under a protocol that draws the limits of work, where nothing fails.
type recording struct {
	*replay.Shared
	program  rooms.Metered // of an external model; nil: it is another. A run takes its time
	restored int           // rounds from before an interruption

	mu     sync.Mutex
	saver  *checkpoint.Saver // nil: no checkpoints
	saved  int               // rounds in the last checkpoint
	failed func(error)       // receives the error of a checkpoint
}

// recordingKey identifies runs with the same computation.
type recordingKey struct {
	problem            problemKey
	algorithm, options string
	seed               uint64
	limits             string // of the work, where a protocol draws them
}

func recordingKeyOf(run *scenario.RunSpec) recordingKey {
	key := recordingKey{problem: keyOf(&run.Settings), algorithm: run.Algorithm,
		options: fmt.Sprintf("%+v", run.Options), seed: run.System}
	if f := &run.Settings.Federation; f.Traits().DrawnSteps != nil {
		key.limits = fmt.Sprintf("%s %+v", f.Protocol, f.ProtocolOptions)
	}
	return key
}

// mostRecorded limits devices times rounds of a recording, 24 bytes each.
const mostRecorded = 4_000_000

// recordable reports whether the computation of a run is independent of time and worth
// recording. All devices take part in every round, every round is evaluated on all clients, the coupling
// is fixed, theta is not measured, which needs the state within a round, and no metrics by
// client, which may exceed the memory. Compressed messages differ from device to device, and
// partial work is drawn by the federation.
func (r *runner) recordable(run *scenario.RunSpec, clients int) bool {
	s := &run.Settings.Run
	_, asked := run.Settings.Federation.Sizes(clients)
	protocol := run.Settings.Federation.Traits()
	takesAll := protocol.WaitsForAll && !protocol.LimitsWork ||
		protocol.DrawnSteps != nil && nothingFails(&run.Settings)
	return !isExternal(run) && !needsOptimum(run) && run.Settings.Shares() &&
		takesAll && !protocol.Weighs && asked == clients &&
		s.Outer == 1 && s.EvalEvery == 1 && s.EvalClients == 0 && s.ThetaEvery == 0 && len(s.ClientMetrics) == 0 &&
		s.Rounds > 0 && clients*s.Rounds <= r.mostRecorded
}

// nothingFails reports whether every device is available at all times, and every attempt succeeds in its round.
func nothingFails(s *scenario.Settings) bool {
	return s.Devices.BatteryWh == devices.Mains && s.Devices.Model == "" && s.Fleet.Fleet() == nil &&
		reflect.DeepEqual(s.Faults, devices.DefaultFaults()) && reflect.DeepEqual(s.Traces, traces.Default()) &&
		s.Network.LossProbability == 0 && s.Network.Model == "" && s.Network.HubSize == 0 && !s.Network.SharesLinks()
}

// record returns the recording of a run; nil for a method whose messages to devices differ, or with
// rounds of hubs.
// The first call for a key creates it.
func (r *runner) record(run *scenario.RunSpec, p *prepared, factory algorithms.Factory) (*recording, error) {
	key := recordingKeyOf(run)
	return r.recordings.get(key, func() (*recording, error) {
		problem, program := p.served.metered(p.problem)
		method, err := newclients.Start(factory, algorithms.Setup{
			Rows: problem.RowCounts(), Shape: problem.Shape,
			Problem: problem, Coupling: p.coupling, Workers: r.pool.Size(), Pool: r.pool, Seed: run.System,
		}, run.Options)
		if err != nil {
			return nil, err
		}
		if method.About.Messages.Differ || method.Tiered != nil {
			return nil, nil
		}
		rec := &recording{failed: r.cancel, program: program, Shared: &replay.Shared{
			Of: method, Problem: problem, Devices: p.problem.Clients(), Seed: run.System, Pool: r.pool,
			Halt:     algorithms.NewHalt(algorithms.Overtime, func() bool { return r.ctx.Err() != nil }),
			Evaluate: func() (algorithms.Evaluation, error) { return r.evaluate(p, problem, method) },
		}}
		if drawn := run.Settings.Federation.Traits().DrawnSteps; drawn != nil {
			seed, least := run.System, int(slices.Min(p.problem.RowCounts()))
			rec.Steps = func(device, round int) int { return drawn(seed, least, device, round) }
		}
		if method.Stateful == nil {
			return rec, nil
		}
		rec.saver = r.saver(fmt.Sprintf("recording %+v", key))
		rec.Computed = rec.saveDue
		_, err = rec.saver.Load(rec.State)
		rec.restored = rec.Rounds()
		rec.saved = rec.restored
		return rec, err
	})
}

// evaluate evaluates the present model of a method.
func (r *runner) evaluate(p *prepared, problem *mtl.Problem,
	method *algorithms.Method) (values algorithms.Evaluation, err error) {
	if method.Reporter != nil {
		if values, err = method.Reporter.Evaluate(); err != nil {
			return values, err
		}
	}
	if method.About.Evaluated == algorithms.ByRun {
		m := method.Model()
		w := m.Evaluated()
		values.Metrics = problem.Evaluate(r.pool, p.coupling, w, m.V, m.Duals)
		values.Values = append(values.Values, learning.ProgramValues(problem, &values.Metrics)...)
		values.Hash = learning.HashWeights(w, p.problem.StoredRows(w))
	}
	return values, nil
}

// saveDue saves the recording if it is time.
func (r *recording) saveDue() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Rounds() > r.saved && r.saver.Due() {
		r.save()
	}
}

// saveLast saves the rounds after the last checkpoint when a run is interrupted.
func (r *recording) saveLast() {
	if r == nil || r.saver == nil || r.Halt.Halted() { // the state of the method is within a round
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Rounds() > r.saved {
		r.save()
	}
}

// save saves the recording. An error ends all runs.
func (r *recording) save() {
	r.saved = r.Rounds()
	if err := r.saver.Save(r.State); err != nil {
		r.failed(err)
	}
}
