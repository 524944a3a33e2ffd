package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"fedsim/algorithms"
	"fedsim/analysis/ledger"
	"fedsim/config"
	"fedsim/data"
	"fedsim/devices/traces"
	"fedsim/federation"
	"fedsim/internal/checkpoint"
	"fedsim/internal/parallel"
	"fedsim/results"
	"fedsim/scenarios"
)

// CheckpointPolicy says where an experiment saves checkpoints, and how often.
type CheckpointPolicy = checkpoint.Policy

// CheckpointStore is where checkpoints are saved.
type CheckpointStore = checkpoint.Store

// Options say how a scenario is run; none of them changes its results.
type Options struct {
	Workers  int                                    // 0: one per core
	Queue    string                                 // the engine's event queue; empty: the default
	Progress func(Progress)                         // nil: none; calls do not overlap
	Finished func(index int, run results.Run) error // receives each finished run, in any order; calls do not overlap
	Clock    func() time.Time                       // the real clock, for wall times

	// Estimate is told, once, how long the runs will take, when that can be told; nil:
	// nothing is, and no time is spent on it.
	Estimate func(Estimate)

	// Rounds returns what is told of each round of a run, of which ID, Experiment,
	// Method, Algorithm, Point, Tuned, Seed, Real and Relative are set; nil: nothing is. It may be
	// called by several goroutines. Tuning is not told of; a run that is gone on with is
	// told of from its beginning.
	Rounds func(index int, run results.Run) func(results.Round)

	// Journal returns what is told of everything that happens in a run of so many
	// devices; nil: nothing. It is asked before each run, tuning aside; calls may
	// overlap. A nil function asks for none.
	Journal func(run *scenarios.Run, devices int) federation.Journal

	// Devices takes the rows by device of a run with run.devices, of which ID,
	// Experiment, Method, Algorithm and Seed are set; nil: they are not made. It may be
	// called by several goroutines. The rows are closed before the run is Finished.
	Devices func(index int, run results.Run) (DeviceRows, error)

	// Model takes the final model of a run with run.model, before the
	// run is Finished; nil: it is not stored. Calls may overlap.
	Model func(index int, w *data.Matrix) error

	// Keep keeps at the ends of rounds what there is, and all of it when ctx ends. Had
	// tells, by ID, of the runs that were finished before an interruption, which are not
	// made again. nil: there were none.
	Keep CheckpointPolicy
	Had  func(id string) bool
}

// DeviceRows takes the rows by device of one run, those of a round at a time.
type DeviceRows interface {
	Write([]results.DeviceRow) error
	Close() error
}

// Progress is how far a scenario has come.
type Progress struct {
	Done, Total int     // runs, candidates of the tuning included
	Share       float64 // of all rounds, in [0, 1]
	Before      float64 // share of all rounds that was made before an interruption, part of Share
	Run         string  // the run that has just moved
	TimeS       float64 // its virtual time
	Phase       string  // "preparing", "tuning" or "running"
}

// Total returns how many runs a scenario leaves.
func Total(experiments []scenarios.Experiment) int {
	n := 0
	for _, e := range experiments {
		for _, j := range e.Jobs {
			n += len(j.Seeds)
		}
	}
	return n
}

// Run runs expanded experiments. Run index counts jobs in their order, and the
// seeds of each. When ctx ends, runs stop after their round and are handed on as
// interrupted; the error then wraps ctx's. An error of a run ends all.
func Run(ctx context.Context, experiments []scenarios.Experiment, o Options) error {
	return run(ctx, experiments, o, mostRecorded)
}

func run(ctx context.Context, experiments []scenarios.Experiment, o Options, mostRecorded int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := newRunner(ctx, cancel, o, mostRecorded)
	r.simulate(r.jobs(experiments))
	return context.Cause(ctx)
}

// simulate tunes the jobs and runs the winners under every seed.
func (r *runner) simulate(jobs []job) {
	for i := range jobs {
		r.hadAll(&jobs[i])
	}
	r.choose(jobs)
	var seeds []repetition
	for i := range jobs {
		for k := range jobs[i].Seeds {
			seeds = append(seeds, repetition{&jobs[i], k})
		}
	}
	r.pool.For(len(seeds), func(i, _ int) { r.repeat(seeds[i]) })
}

type repetition struct {
	job  *job
	seed int // index into its seeds
}

type runner struct {
	options Options
	pool    *parallel.Pool
	prepare *preparer
	ctx     context.Context
	cancel  context.CancelCauseFunc

	trials       trials
	recordings   memo[recordingKey, *recording]
	mostRecorded int

	mu                 sync.Mutex
	done               int
	total              int
	made               float64 // runs, shares of those under way included
	before             float64 // of them, made before an interruption
	share, shareBefore float64 // of all, and of what was made before an interruption, as they were told last
}

func newRunner(ctx context.Context, cancel context.CancelCauseFunc, o Options, mostRecorded int) *runner {
	r := &runner{options: o, pool: parallel.NewPool(o.Workers), ctx: ctx, cancel: cancel, mostRecorded: mostRecorded}
	r.prepare = &preparer{ctx: ctx, pool: r.pool, policy: o.Keep}
	return r
}

// ready prepares what the runs start from, each problem once.
func (r *runner) ready(jobs []job) {
	var distinct []*scenarios.Run
	seen := map[problemKey]bool{}
	for i := range jobs {
		if jobs[i].had {
			continue
		}
		for k := range jobs[i].Candidates {
			for _, seed := range jobs[i].Seeds {
				run := jobs[i].Candidates[k].WithSeed(seed)
				if key := keyOf(&run.Settings); !seen[key] {
					seen[key] = true
					distinct = append(distinct, &run)
				}
				if run.Settings.Run.Vary == results.VarySystem {
					break // the other seeds have the same data
				}
			}
		}
	}
	r.pool.For(len(distinct), func(i, _ int) {
		if r.ctx.Err() != nil {
			return
		}
		r.report(distinct[i].ID, "preparing", 0, 0, 0)
		if _, err := r.prepare.prepare(&distinct[i].Settings); err != nil {
			r.cancel(err)
		}
	})
}

// repeat runs the winner of a job under one of its seeds.
func (r *runner) repeat(rep repetition) {
	if r.ctx.Err() != nil {
		return
	}
	run := rep.job.winner.WithSeed(rep.job.Seeds[rep.seed])
	if r.had(run.ID) {
		if !rep.job.had { // else it was counted
			r.add(0, 1)
		}
		r.report(run.ID, "running", math.NaN(), 0, 0)
		return
	}
	result := results.Run{
		ID: run.ID, Experiment: run.Experiment, Method: run.Label, Algorithm: run.Algorithm,
		Point: run.Point, Tuned: run.Tuned, Edges: rep.job.Edges, Seed: run.Seed, Real: run.Settings.Data.Target == data.TargetReal, Relative: run.Settings.Federation.Relative(),
	}
	if vary := run.Settings.Run.Vary; vary != results.VarySystem {
		result.Vary = vary
	}
	start := r.options.Clock()
	out, err := r.watch(rep.job.first+rep.seed, &run, result)
	if err != nil {
		return
	}
	p, err := r.prepare.prepare(&run.Settings)
	if err != nil {
		r.cancel(err)
		return
	}
	if run.Settings.Run.Model && r.options.Model != nil && out.Status != results.Interrupted {
		if err := r.options.Model(rep.job.first+rep.seed, out.Model); err != nil {
			r.cancel(err)
			return
		}
	}
	result.Status, result.Reason = out.Status, out.Reason
	result.Optimum, result.OptimumGap = p.optimum, p.optimumGap
	result.EventHash, result.ModelHash, result.Events, result.Steps = out.EventHash, out.ModelHash, out.Events, out.Steps
	result.Limit, result.Capped = out.Limit, out.Capped
	result.WallS, result.Rounds = r.options.Clock().Sub(start).Seconds(), out.Rounds
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.options.Finished(rep.job.first+rep.seed, result); err != nil {
		r.cancel(err)
	}
}

// watch executes a run, tells of its rounds, and writes its rows by device, when
// they are asked for.
func (r *runner) watch(index int, run *scenarios.Run, about results.Run) (*federation.Outcome, error) {
	var observe func(results.Round)
	if r.options.Rounds != nil {
		observe = r.options.Rounds(index, about)
	}
	if !run.Settings.Run.Devices || r.options.Devices == nil {
		return r.execute(run, plan(run), "running", r.options.Journal, observe)
	}
	rows, err := r.options.Devices(index, about)
	if err != nil {
		r.cancel(err)
		return nil, err
	}
	var book *ledger.Ledger
	out, err := r.execute(run, plan(run), "running", func(run *scenarios.Run, devices int) federation.Journal {
		book = ledger.New(devices, rows.Write)
		if r.options.Journal != nil {
			if also := r.options.Journal(run, devices); also != nil {
				return federation.Journals(also, book)
			}
		}
		return book
	}, observe)
	closed := rows.Close()
	if err != nil {
		return nil, err
	}
	if err = book.Err(); err == nil {
		err = closed
	}
	if err != nil {
		r.cancel(err)
		return nil, err
	}
	return out, nil
}

// had reports whether a run was finished before an interruption.
func (r *runner) had(id string) bool { return r.options.Had != nil && r.options.Had(id) }

// hadAll looks for the candidate of a job whose runs were all finished before an
// interruption: it is the winner.
func (r *runner) hadAll(j *job) {
	for i, run := range j.Candidates {
		had := 0
		for _, seed := range j.Seeds {
			if r.had(run.WithSeed(seed).ID) {
				had++
			}
		}
		if had == len(j.Seeds) {
			j.Winner, j.winner, j.had = i, run, true
		}
	}
}

// plan is how long a run goes on by its settings.
func plan(run *scenarios.Run) federation.Plan {
	s := &run.Settings.Run
	return federation.Plan{
		Outer: s.Outer, Rounds: s.Rounds, EvalEvery: s.EvalEvery,
		MaxTime: s.MaxTimeS, StopAt: s.StopAt, ThetaEvery: s.ThetaEvery, EvalTasks: s.EvalTasks,
	}
}

// execute runs one run, with a journal when there is one for it, and tells of each
// round unless observe is nil; an error ends all others.
func (r *runner) execute(run *scenarios.Run, plan federation.Plan, phase string, journal journalOf, observe func(results.Round)) (*federation.Outcome, error) {
	out, err := r.run(run, plan, phase, journal, observe)
	if err != nil {
		err = fmt.Errorf("run %s: %w", run.ID, err)
		r.cancel(err)
	}
	return out, err
}

// journalOf is Options.Journal.
type journalOf = func(run *scenarios.Run, devices int) federation.Journal

func (r *runner) run(run *scenarios.Run, plan federation.Plan, phase string, journal journalOf, observe func(results.Round)) (*federation.Outcome, error) {
	s := &run.Settings
	p, err := r.prepare.prepare(s)
	if err != nil {
		return nil, err
	}
	factory, ok := algorithms.Lookup(run.Algorithm)
	if !ok {
		return nil, fmt.Errorf("algorithm %q is not registered", run.Algorithm)
	}
	var size federation.Size
	var recorded *recording
	if s.Run.Mode == scenarios.Timing {
		size = federation.Size{Devices: len(p.rows), MinRows: int(slices.Min(p.rows)), Rows: p.rows, Features: p.features, PerTask: s.Data.DevicesPerTask}
		timed := factory
		factory.New = func(algorithms.Setup, algorithms.Options) (algorithms.Algorithm, error) {
			return algorithms.NewTimingOnly(timed, run.Options, p.rows, p.features)
		}
	} else if (phase == "tuning" || !s.Run.Model) && r.recordable(run, p.problem.Devices()) {
		rec, err := r.record(run, p, factory)
		if err != nil {
			return nil, err
		}
		factory.New = func(algorithms.Setup, algorithms.Options) (algorithms.Algorithm, error) {
			return &replay{recording: rec}, nil
		}
		recorded = rec
	}
	if s.Run.Model && factory.OwnMetrics {
		return nil, config.Problem{Key: "run.model", Value: true, Want: "must be false: " + factory.Name + " has no linear model to write"}
	}
	if p.problem != nil {
		size.Devices = p.problem.Devices()
		if want, fits := scenarios.ModelFits(p.problem.Tasks(), p.problem.Features()); s.Run.Model && !fits {
			return nil, config.Problem{Key: "run.model", Value: s.Run.Model, Want: want}
		}
	}
	plan.Optimum, plan.Constant = p.optimum, p.constant
	setup := federation.Setup{
		Config: s.Federation, Devices: s.Devices, Network: s.Network, Fleet: s.Fleet.Fleet(), Faults: s.Faults, Plan: plan,
		Problem: p.problem, Size: size, Coupling: p.coupling, Factory: factory, Options: run.Options,
		Seed: run.System, Pool: r.pool, Queue: r.options.Queue,
	}
	if journal != nil {
		setup.Journal = journal(run, size.Devices)
	}
	sets, err := r.prepare.tracesOf(&s.Traces)
	if err != nil {
		return nil, err
	}
	follow(&setup, s.Traces.Source(sets, run.System, size.Devices))
	if err := model(&setup, s); err != nil {
		return nil, err
	}
	var stays *stayed
	if recorded == nil && p.problem != nil {
		name := run.ID
		if phase == "tuning" {
			name = "tuning " + name // a winner is run once more
		}
		if stays, err = r.stays(name, &setup); err != nil {
			return nil, err
		}
	}
	f, err := federation.New(setup)
	if err != nil {
		return nil, stays.explain(&setup, err)
	}
	done, all := 0.0, float64(plan.Outer*plan.Rounds)
	out, err := f.Run(r.ctx, func(x results.Round) {
		step := float64(x.Round)/all - done
		done += step
		if observe != nil {
			observe(x)
		}
		if f.Replaying() || recorded != nil && x.Round > 0 && x.Round <= recorded.before {
			r.again(step)
		}
		r.report(run.ID, phase, x.TimeS, step, 0)
	})
	r.report(run.ID, phase, math.NaN(), 1-done, 1)
	if err != nil {
		return nil, stays.explain(&setup, err)
	}
	if out.Status == results.Interrupted {
		recorded.leave()
		if !out.Cut { // else what was kept last stays
			err = stays.leave(f)
		}
	}
	return out, err
}

// follow lets the devices do what traces tell of them.
func follow(s *federation.Setup, told *traces.Combined) {
	have := told.Kinds()
	if have.Has(traces.Available) {
		s.Presence = told
	}
	if have.Has(traces.Charging) {
		s.Charging = told
	}
	if told.HasRates() {
		s.Bandwidth = told
	}
	if have.Has(traces.Speed) {
		s.Pace = told
	}
}

// report passes progress on.
func (r *runner) report(id, phase string, timeS, step float64, finished int) {
	if r.options.Progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done += finished
	r.made += step
	// A grid that grows takes nothing back.
	r.shareBefore = max(r.shareBefore, r.before/float64(r.total))
	r.share = max(r.share, r.made/float64(r.total), r.shareBefore)
	r.options.Progress(Progress{Done: r.done, Total: r.total, Share: r.share, Before: r.shareBefore, Run: id, TimeS: timeS, Phase: phase})
}

// add counts runs that are to be made, and such that were made before.
func (r *runner) add(more, had int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total += more
	r.done += had
	r.made += float64(had)
	r.before += float64(had)
}

// again counts a share of a run that was made before an interruption.
func (r *runner) again(step float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before += step
}

// Interrupted reports whether an error of Run says that the user stopped it.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }
