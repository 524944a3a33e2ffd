package experiment

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"fedsim/results"
	"fedsim/scenarios"
)

// Estimate is the time that the runs of a scenario take if all make all their rounds and
// every round takes as long as the first rounds of its kind.
type Estimate struct {
	Time   time.Duration
	AtMost bool // runs may end early: by tuning or by a stopping rule
}

// estimateFor limits the time of an estimate. The current round may end after it, and is
// interrupted after twice the time.
const estimateFor = time.Second

// errEstimated ends the runs of an estimate.
var errEstimated = errors.New("enough rounds were timed")

// timing is the timing of the first rounds of a run, for all runs of its kind.
type timing struct {
	job   *job
	run   *scenarios.Run
	count float64       // runs of its kind
	begin time.Duration // before the first round
	round time.Duration // of each round; 0: not timed
}

// estimate times the first rounds of every candidate of every job on all workers, and
// discards their results. ok is false if a method was not timed, or if there is only one
// kind of run: its progress shows as much.
func (r *runner) estimate(jobs []job) (e Estimate, ok bool) {
	samples := samplesOf(jobs)
	if len(samples) < 2 || slices.ContainsFunc(samples, func(s timing) bool { return isExternal(s.run) }) {
		return e, false // a learner in another process is started for its runs only
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	o := Options{Workers: r.options.Workers, Queue: r.options.Queue, Clock: r.options.Clock}
	timer := newRunner(ctx, cancel, o, r.mostRecorded)
	timer.pool, timer.prepare = r.pool, r.prepare
	end := o.Clock().Add(estimateFor)
	late := time.AfterFunc(2*estimateFor, func() { cancel(errEstimated) })
	defer late.Stop()
	r.pool.For(len(samples), func(i, _ int) {
		if ctx.Err() == nil {
			timer.time(&samples[i], end)
		}
	})
	return total(samples, r.pool.Size())
}

// samplesOf lists the candidates of jobs, the first ones of all before the second ones.
func samplesOf(jobs []job) (all []timing) {
	for k, more := 0, true; more; k++ {
		more = false
		for i := range jobs {
			j := &jobs[i]
			if n := len(j.Candidates); k < n {
				more = true
				s := timing{job: j, run: &j.Candidates[k], count: float64(len(j.Seeds)) / float64(n)}
				if n > 1 {
					s.count++ // the trial
				}
				all = append(all, s)
			}
		}
	}
	return all
}

// time runs the first rounds of a sample.
func (r *runner) time(s *timing, end time.Time) {
	plan := planOf(s.run)
	plan.Rounds = min(plan.Rounds, max(3, min(plan.EvalEvery, 10))) // the last one is evaluated
	plan.Outer = 1
	begin := r.options.Clock()
	var first, last time.Time
	rounds := 0
	_, _ = r.run(s.run, plan, "estimating", nil, func([]results.NamedMetric) (func(results.Round), ClientRows) {
		return func(x results.Round) {
			last = r.options.Clock()
			if rounds = x.Round; rounds == 0 {
				first = last
			}
			if !last.Before(end) {
				r.cancel(errEstimated)
			}
		}, nil
	}) // the run itself reports its error
	if rounds > 0 {
		s.begin, s.round = first.Sub(begin), max(last.Sub(first)/time.Duration(rounds), 1)
	}
}

// total adds up the times of all runs. A sample that was not timed takes as long as the
// others of its method in its experiment.
func total(samples []timing, workers int) (e Estimate, ok bool) {
	type kind struct{ experiment, method string }
	type sums struct{ begin, round, timed float64 }
	known := map[kind]sums{}
	of := func(s *timing) kind { return kind{s.job.Experiment, s.job.Method} }
	for i := range samples {
		if s := &samples[i]; s.round > 0 {
			x := known[of(s)]
			known[of(s)] = sums{x.begin + s.begin.Seconds(), x.round + s.round.Seconds(), x.timed + 1}
		}
	}
	seconds, runs := 0.0, 0.0
	for i := range samples {
		s := &samples[i]
		x := known[of(s)]
		if x.timed == 0 {
			return e, false
		}
		begin, round := x.begin/x.timed, x.round/x.timed
		if s.round > 0 {
			begin, round = s.begin.Seconds(), s.round.Seconds()
		}
		c := &s.run.Settings.Run
		seconds += float64(s.count * (begin + float64(float64(c.Outer)*float64(c.Rounds)*round)))
		runs += s.count
		e.AtMost = e.AtMost || len(s.job.Candidates) > 1 || c.StopAt.IsSet() || c.MaxTimeS > 0
	}
	e.Time = time.Duration(math.Min(seconds/math.Min(float64(workers), runs)*1e9, math.MaxInt64/2))
	return e, true
}
