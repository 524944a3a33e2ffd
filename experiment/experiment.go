package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/internal/rooms"
	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/parallel"
	"fedsim/mtl"
	"fedsim/results"
)

// CheckpointPolicy is where and how often an experiment saves checkpoints.
type CheckpointPolicy = checkpoint.Policy

// CheckpointStore stores checkpoints.
type CheckpointStore = checkpoint.Store

// Options set how a scenario is run. They do not change its results.
type Options struct {
	Workers  int              // 0: one per core
	Memory   float64          // of the machine, in bytes, for sets from files; 0: not known
	Queue    string           // the engine's event queue; empty: the default
	Clock    func() time.Time // the real clock, for wall times
	Progress func(Progress)   // nil: none; calls do not overlap

	// Recorder records the runs; nil: nothing is recorded. An error of it ends all runs.
	Recorder results.Recorder

	// Next returns the places of the runs that are made now, also of those that are recorded already; none: all are
	// made. It is called again after each batch; nil: one batch has all runs.
	Next func() (places []int, err error)

	// Journal returns the journal of a run with a number of devices, or nil. It is
	// called before each run, but not for tuning. Calls may overlap.
	Journal func(run *scenario.RunSpec, devices int) federation.Journal

	// Estimate receives, at most once and before anything is computed, the time that the runs
	// will take; nil: the sizes of data in files are not read for it.
	Estimate func(Estimate)

	// Stderr receives the standard error of learners in other processes, line by line, and
	// warnings about them; nil: they are dropped. Writes may overlap, as those to a file may.
	Stderr io.Writer

	// Waits receives a function that says what an interrupted call waits for besides rounds, as
	// "waiting for learner x ..."; it returns "" for nothing. nil: nobody asks.
	Waits func(say func() string)

	// Checkpoints saves unfinished work at the ends of rounds and when ctx ends.
	Checkpoints CheckpointPolicy

	// AllowOtherProgram resumes runs of an external model with another program than before the
	// interruption. The results say so.
	AllowOtherProgram bool

	only   func(place int) bool // reports whether to make the run at a place; nil: all runs
	shared Shared
}

// Shared is what several calls of Do share that make different items of the same scenario.
type Shared struct {
	// of digests of data, reference optima and complete tunings; nil: that of Options.Checkpoints
	Store       CheckpointStore
	Needs       func(state string) bool // reports whether another call needs a state; nil: it may
	Preparation *Preparation            // of data and problems; nil: they are prepared for this call
}

// Progress is the progress of a scenario.
type Progress struct {
	Done, Total int     // runs, candidates of the tuning included
	Share       float64 // of all rounds, in [0, 1]
	Before      float64 // part of Share from before an interruption
	Run         string  // the run that this report is about
	TimeS       float64 // its virtual time
	Phase       string  // "preparing", "tuning" or "running"
}

// Total returns the number of runs of experiments, without candidates that lose; 0: as many as make results certain.
func Total(experiments []scenario.Experiment) int {
	n := 0
	for j := range scenario.Jobs(experiments) {
		if untilCertain(j) {
			return 0
		}
		n += len(j.Seeds)
	}
	return n
}

func untilCertain(j *scenario.Job) bool { return scenario.Seeds(j.Seeds).UntilCertain() }

// requireSeeds refuses seeds that are added until results are certain.
func requireSeeds(experiments []scenario.Experiment) error {
	for j := range scenario.Jobs(experiments) {
		if untilCertain(j) {
			return config.Problem{Key: "run.seeds", Value: "until-certain", Want: "must be a list here, as " +
				"--set run.seeds=[1,2,3]: only fedsim run and fedsim settle add seeds until results are certain"}
		}
	}
	return nil
}

// Run runs expanded experiments. The index of a run counts jobs in their order, and the
// seeds of each. When ctx ends, runs stop after their round and finish as interrupted;
// the error then wraps that of ctx. An error of a run ends all runs. Seeds that are added until results are certain
// require o.Next.
func Run(ctx context.Context, experiments []scenario.Experiment, o Options) error {
	return run(ctx, experiments, o, mostRecorded)
}

func run(ctx context.Context, experiments []scenario.Experiment, o Options, mostRecorded int) error {
	if o.Next == nil {
		if err := requireSeeds(experiments); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := newRunner(ctx, cancel, o, mostRecorded)
	defer r.endPrograms()
	for r.next() {
		jobs := r.jobs(experiments)
		r.simulate(jobs)
		for i := range jobs {
			if !jobs[i].allDone { // else its trials are still in the checkpoint
				r.tuned[jobs[i].name()] = &jobs[i]
			}
		}
		if r.options.Estimate = nil; r.options.Next == nil {
			break
		}
	}
	return context.Cause(ctx)
}

// next restricts the runs to the next batch; false: there is none.
func (r *runner) next() bool {
	if r.options.Next == nil || r.ctx.Err() != nil {
		return r.ctx.Err() == nil
	}
	list, err := r.options.Next()
	if err != nil {
		r.cancel(err)
	}
	places := map[int]bool{}
	for _, at := range list {
		places[at] = true
	}
	r.options.only = func(place int) bool { return places[place] }
	return len(places) > 0
}

// endPrograms ends the processes of learners and models. Their runs are finished: what fails now is
// only a warning.
func (r *runner) endPrograms() {
	if r.programs == nil {
		return
	}
	if r.ctx.Err() != nil { // the user waits
		r.programs.Remind(r.options.Clock, rooms.Reminders{After: time.Second / 2, Every: time.Minute})
	}
	if err := r.programs.Close(); err != nil && r.options.Stderr != nil {
		_, _ = fmt.Fprintf(r.options.Stderr, "fedsim: warning: %v\n", err)
	}
}

// simulate tunes the jobs and runs the winners under every seed.
func (r *runner) simulate(jobs []job) {
	for i := range jobs {
		r.findDone(&jobs[i])
	}
	r.choose(jobs)
	seeds := r.order(jobs)
	r.pool.For(len(seeds), func(i, _ int) { r.repeat(seeds[i]) })
}

type runner struct {
	options Options
	pool    *parallel.Pool
	prepare *preparer
	ctx     context.Context
	cancel  context.CancelCauseFunc

	programs     rooms.Programs // of learners and models; nil: no room has any
	declarations declarations
	tuned        map[string]*job // of earlier batches, by name

	recordings   memo[recordingKey, *recording]
	mostRecorded int
	compared     []results.Run // receives the finished runs by index; nil: they are recorded only

	mu                 sync.Mutex
	done               int
	total              int
	made               float64 // runs, with the shares of unfinished ones
	before             float64 // part of made from before an interruption
	share, shareBefore float64 // shares of made and before in the last report
}

func newRunner(ctx context.Context, cancel context.CancelCauseFunc, o Options, mostRecorded int) *runner {
	r := &runner{options: o, pool: parallel.NewPool(o.Workers), ctx: ctx, cancel: cancel, mostRecorded: mostRecorded,
		tuned: map[string]*job{}}
	r.prepare = &preparer{
		Preparation: o.shared.Preparation, ctx: ctx, pool: r.pool, policy: r.shared(), saver: r.stateSaver,
		memory: o.Memory, workers: r.pool.Size(),
	}
	if r.prepare.Preparation == nil {
		r.prepare.Preparation = &Preparation{}
	}
	// A run that is interrupted ends after its round.
	r.programs = rooms.StartPrograms(context.WithoutCancel(ctx), o.Stderr)
	r.prepare.others, r.prepare.otherProgram = r.programs, o.AllowOtherProgram
	if r.programs != nil {
		r.programs.Remind(o.Clock, rooms.Reminders{After: 10 * time.Second, Every: time.Minute})
		if o.Waits != nil {
			o.Waits(r.programs.Pending)
		}
	}
	return r
}

// shared returns the policy of states that several calls share.
func (r *runner) shared() CheckpointPolicy {
	policy := r.options.Checkpoints
	if r.options.shared.Store != nil {
		policy.Store, policy.Clock = r.options.shared.Store, r.options.Clock
	}
	return policy
}

// stateSaver returns the saver of a complete state, and whether other calls need it.
func (r *runner) stateSaver(name string) (saver *checkpoint.Saver, shared bool) {
	of := &r.options.shared
	if shared = of.Store != nil && (of.Needs == nil || of.Needs(name)); !shared {
		return r.saver(name), false
	}
	return r.shared().Saver(r.ctx, name), true
}

// ready prepares the problems of candidates and of runs without tuning, each problem once. Those
// of winners are prepared when they run.
func (r *runner) ready(jobs []job) {
	r.growFor(jobs)
	var distinct []*scenario.RunSpec
	seen := map[problemKey]bool{}
	for i := range jobs {
		j := &jobs[i]
		if j.allDone || j.saved.complete() || j.folds > 0 { // folds hold the memory of their rows
			continue
		}
		seeds, tuned := j.places, len(j.Candidates) > 1
		if tuned { // under the seeds of trials; the problems of the winner are prepared when it runs
			seeds = j.tunedAt()
		}
		for k := range j.Candidates {
			for _, at := range seeds {
				run := j.final(&j.Candidates[k], at)
				if tuned {
					run = j.trial(j.Candidates[k].WithSeed(j.Seeds[at]))
				}
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
	run := rep.job.final(&rep.job.winner, rep.seed)
	if r.finished(run.ID) {
		if !rep.job.allDone { // else it was counted
			r.add(0, 1)
		}
		r.report(run.ID, "running", math.NaN(), 0, 0)
		return
	}
	result := resultOf(&run)
	result.Edges, result.Trials = rep.job.Edges, len(rep.job.Trials)
	if len(rep.job.Trials) > 0 {
		result.Searched, result.Chosen = rep.job.Ranges(), rep.job.folds == 0 && rep.seed < rep.job.under
	}
	start := r.options.Clock()
	rec := &record{index: rep.job.first + rep.seed, about: result}
	out, err := r.execute(&run, scheduleOf(&run), rec)
	if err != nil {
		return
	}
	p, err := r.prepare.prepare(&run.Settings)
	if err != nil {
		r.cancel(err)
		return
	}
	result.Status, result.Reason = out.Status, out.Reason
	result.External = p.served.about
	result.Optimum, result.OptimumGap, result.Data = p.optimum, p.optimumGap, dataOf(&run, p)
	result.TestRows = p.test
	if about := run.Describe(mtl.Shape{}); p.problem != nil && !about.Own {
		result.Loss = p.problem.LossText()
	}
	result.AtOptimum = out.AtOptimum
	result.EventHash, result.ModelHash = out.EventHash, out.ModelHash
	result.Events, result.Steps, result.Known = out.Events, out.Steps, out.Known
	result.Metrics, result.Limit, result.Capped = out.Metrics, out.Limit, out.Capped
	result.Stragglers = results.StragglersOf(out.Rounds)
	if last, ok := (&results.Run{Rounds: out.Rounds}).LastEvaluated(); !ok {
		result.ReportLast = 0
	} else {
		stop := run.Settings.Run.StopAt
		metric, _ := (&results.Run{Metrics: out.Metrics}).Metric(stop.Metric)
		result.ReportLast = run.Settings.Run.LastEvaluations(stop.IsSet() &&
			metric.Reached(metric.Of(&last), stop.Value))
	}
	result.Warnings = append(rep.job.warnings(&run, p), out.Warnings...)
	result.ProgramTime = rec.about.ProgramTime
	result.WallS, result.Rounds = r.options.Clock().Sub(start).Seconds(), out.Rounds
	if r.compared != nil {
		r.compared[rec.index] = result
	}
	if err := rec.end(&run, out, result); err != nil {
		r.cancel(err)
	}
}

// finished reports whether a run was finished before an interruption.
func (r *runner) finished(id string) bool {
	return r.options.Recorder != nil && r.options.Recorder.Done(id)
}

// findDone looks for the candidate of a job whose runs were all finished before an
// interruption: it is the winner.
func (r *runner) findDone(j *job) {
	for i, run := range j.Candidates {
		had := 0
		for _, at := range j.places {
			if r.finished(run.WithSeed(j.Seeds[at]).ID) {
				had++
			}
		}
		if had == len(j.places) {
			j.Winner, j.winner, j.allDone = i, run, true
		}
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
	r.share = max(r.share, min(1, r.made/float64(r.total)), r.shareBefore) // sums of steps are rounded
	r.options.Progress(Progress{
		Done: r.done, Total: r.total, Share: r.share, Before: r.shareBefore, Run: id, TimeS: timeS, Phase: phase,
	})
}

// add counts further runs, and runs from before an interruption.
func (r *runner) add(more, had int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total += more
	r.done += had
	r.made += float64(had)
	r.before += float64(had)
}

// again counts a share of a run from before an interruption.
func (r *runner) again(step float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before += step
}

// Interrupted reports whether an error of Run is an interruption by the user.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }
