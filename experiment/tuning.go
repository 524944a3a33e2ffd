package experiment

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/mtl"
	"fedsim/results"
)

// Grid is the tuning of a method at a point of an experiment: all candidates
// under the first seed or seeds, with the same budget of rounds.
type Grid struct {
	Experiment     string            `json:"experiment"`
	Method         string            `json:"method"`
	Point          []results.Setting `json:"point"`
	results.Target                   // of the comparison
	Relative       bool              `json:"relative"` // times are relative units, not seconds
	Winner         int               `json:"winner"`   // index into Trials
	Trials         []Trial           `json:"trials"`   // in the order of the grid, then in the order added
	Listed         int               `json:"listed"`   // the number of trials of the grid in the scenario
	Edges          []results.Edge    `json:"edges"`
	Real           bool              `json:"-"` // errors are root mean square errors, not shares
}

// Metric returns the metric of the target.
func (g *Grid) Metric() results.Metric {
	var run results.Run
	for i := range g.Trials {
		run.Metrics = append(run.Metrics, g.Trials[i].Named)
	}
	m, _ := run.Metric(g.Target.Metric)
	return m
}

// byClient reports whether the target is of a metric that clients measure, by rows or over clients.
func (g *Grid) byClient() bool {
	m, column := results.MetricNamed(g.Target.Metric)
	_, _, _, ok := results.ClientMetricNamed(g.Target.Metric)
	return m.Statistic != "" || ok && !column
}

// Trial is the result of a candidate.
type Trial struct {
	Options       []results.Setting `json:"options"`
	Reached       bool              `json:"reached"`       // the trial reached the target
	GivenUp       bool              `json:"given_up"`      // stopped because it was slower than the best before it
	Rounds        int               `json:"rounds"`        // to the target, or to the end
	TimeS         float64           `json:"time_s"`        // virtual seconds to the target, or to the end
	Last          float64           `json:"value"`         // value of the target's metric at the end, see Run.AtEnd
	Suboptimality float64           `json:"suboptimality"` // Last if it is one, NaN otherwise; Tune sets it

	// Named is the target's metric where the run declares it, or that of which it is a statistic over
	// clients; empty otherwise.
	Named results.NamedMetric `json:"-"`

	wrong wrongRows // of a run on a fold
}

// Tune runs the tuning of expanded experiments and nothing else. It omits methods without
// a grid.
func Tune(ctx context.Context, experiments []scenario.Experiment, o Options) ([]Grid, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := newRunner(ctx, cancel, o, mostRecorded)
	var tuned []job
	for _, j := range r.jobs(experiments) {
		if len(j.Candidates) > 1 {
			tuned = append(tuned, j)
		}
	}
	defer r.endPrograms()
	r.tuneOnly(tuned)
	grids := make([]Grid, len(tuned))
	for i := range tuned {
		grids[i] = tuned[i].Grid
		for k := range grids[i].Trials {
			t := &grids[i].Trials[k]
			if t.Suboptimality = math.NaN(); grids[i].Target.Metric == results.Suboptimality {
				t.Suboptimality = t.Last
			}
		}
	}
	return grids, context.Cause(ctx)
}

// tuneOnly tunes jobs and makes none of their runs.
func (r *runner) tuneOnly(jobs []job) {
	r.total = 0
	for i := range jobs {
		r.total += jobs[i].runs(len(jobs[i].Candidates))
	}
	r.choose(jobs)
}

// job is a method at a point: candidates to tune over, then seeds to repeat.
type job struct {
	*scenario.Job
	Grid
	places  []int            // of its runs to make, as indices into Seeds
	saved   *stepSaver       // its trials; nil: not restored yet
	under   int              // runs of a trial: those under the first seeds, or on the folds
	folds   int              // of the training rows of its one place; 0: seeds
	ended   []Trial          // of the trial under way: its runs
	seeds   *stepSaver       // ended; nil: there is one run
	refit   bool             // winners train on validation rows, too
	extend  int              // most values added to an option on each side
	winner  scenario.RunSpec // the first candidate until tuning ends
	first   int              // index of its first run
	drops   bool             // its experiment compares drop probabilities
	allDone bool             // all runs of the winner were finished before an interruption
}

// jobs lists the jobs of experiments that have runs to make, and counts their runs.
func (r *runner) jobs(experiments []scenario.Experiment) []job {
	var jobs []job
	index := 0
	for i := range experiments {
		e := &experiments[i]
		for k := range e.Jobs {
			of := &e.Jobs[k]
			first := &of.Candidates[0]
			if declares(first) {
				r.declarations.expect(e, first)
			}
			var places []int
			for k := range of.Seeds {
				if r.options.only == nil || r.options.only(index+k) {
					places = append(places, k)
				}
			}
			index += len(of.Seeds)
			if len(places) == 0 {
				continue
			}
			j := job{
				Job: of, under: min(e.Tuning.Seeds, len(of.Seeds)), refit: e.Tuning.Refit, extend: e.Tuning.Extend,
				first: index - len(of.Seeds), places: places, winner: *first,
				drops: slices.ContainsFunc(e.Jobs, func(other scenario.Job) bool {
					return !reflect.DeepEqual(other.Candidates[0].Settings.Faults.DropProbability,
						first.Settings.Faults.DropProbability)
				}),
			}
			j.Grid = Grid{
				Experiment: e.Name, Method: first.Label, Point: first.Point, Target: e.Tuning.Target,
				Relative: first.Settings.Federation.Relative(), Real: first.Settings.Data.Target == data.TargetReal,
				Listed: len(j.Candidates),
			}
			for _, j := range j.byFolds(e.Tuning.Folds) {
				jobs = append(jobs, j)
				r.total += len(j.places)
				if len(j.Candidates) > 1 {
					r.total += j.runs(len(j.Candidates))
				}
			}
		}
	}
	return jobs
}

// tunedAt returns the indices of the seeds under which a job is tuned.
func (j *job) tunedAt() []int {
	if j.folds > 0 {
		return j.places
	}
	at := make([]int, j.under)
	for k := range at {
		at[k] = k
	}
	return at
}

// tellEstimate passes the estimate to the caller.
func (r *runner) tellEstimate(jobs []job) {
	if r.options.Estimate == nil || r.ctx.Err() != nil {
		return
	}
	if e, ok := r.estimate(jobs); ok {
		r.options.Estimate(e)
	}
}

// choose prepares the problems of the jobs, then picks the winner of each.
func (r *runner) choose(jobs []job) {
	for i := range jobs {
		if j := &jobs[i]; len(j.Candidates) > 1 && !j.allDone {
			if err := r.restore(j); err != nil {
				r.cancel(err)
				return
			}
		}
		r.countDone(&jobs[i])
	}
	served := slices.ContainsFunc(jobs,
		func(j job) bool { return j.Candidates[0].Settings.Problem.Model == mtl.ModelExternal })
	if !served {
		r.tellEstimate(jobs)
	}
	r.ready(jobs)
	if served { // the programs have said how large their models are
		r.tellEstimate(jobs)
	}
	r.pool.For(len(jobs), func(i, _ int) {
		j := &jobs[i]
		if len(j.Candidates) == 1 || j.allDone {
			return
		}
		r.tune(j)
		if err := j.save(); err != nil {
			r.cancel(err)
		}
	})
}

// countDone counts the runs and the candidates of a job from before an interruption.
func (r *runner) countDone(j *job) {
	switch {
	case j.allDone && len(j.Candidates) > 1:
		r.add(0, len(j.places)+j.runs(len(j.Candidates)))
	case j.allDone:
		r.add(0, len(j.places))
	case len(j.Candidates) > 1:
		begun := len(j.Trials)
		if len(j.ended) > 0 {
			begun++
		}
		r.add(j.runs(max(0, begun-j.Listed)), j.runs(len(j.Trials))+len(j.ended))
	}
}

// runs returns the runs of trials of a job: one for each seed of the tuning.
func (j *job) runs(trials int) int { return trials * j.under }

// tune picks the candidate that reaches the target first in virtual time. If none does,
// it picks the one with the best value of the target's metric at the end. All candidates
// have the same budget. One that is slower than the best so far cannot win and stops.
// After the grid, tune tries the neighbors of the winner until none is better.
func (r *runner) tune(j *job) {
	s := newSearch(j)
	for _, run := range j.Candidates {
		if !r.try(s, run) {
			return
		}
	}
	for {
		run, ok := s.next()
		if !ok {
			break
		}
		if len(s.tried) == len(j.Trials) && len(j.ended) == 0 { // a restored trial is counted already
			r.add(j.runs(1), 0)
		}
		if !r.try(s, run) {
			return
		}
	}
	if len(s.tried) < len(j.Trials) {
		why := fmt.Errorf("it holds %d trials of %s, which needs %d", len(j.Trials), j.winner.ID, len(s.tried))
		r.cancel(j.saved.from.Reject(why))
	}
	j.winner, j.Edges = *s.winner(), s.edges()
	r.forgetFolds(j, s.tried)
}

// try adds the result of a run to a search: a restored one, or that of a new run. It
// reports false if the search must stop.
func (r *runner) try(s *search, run scenario.RunSpec) bool {
	j := s.job
	if len(s.tried) < len(j.Trials) {
		j.Trials[len(s.tried)].Options = run.Tuned
	} else {
		trial, err := r.measure(j, run, s.best)
		if err == nil {
			j.Trials, j.ended = append(j.Trials, trial), nil
			err = j.saved.step()
		}
		if err != nil {
			r.cancel(err)
			return false
		}
	}
	s.note(run, j.Trials[len(s.tried)])
	return true
}

// final returns the run of a candidate that has won, under the seed of an index.
func (j *job) final(winner *scenario.RunSpec, seed int) scenario.RunSpec {
	run := winner.WithSeed(j.Seeds[seed])
	if j.refit {
		run.Settings.Data.Validation = 0
	}
	return run
}

// trial returns a candidate without what its target does not look at: metrics by client, and the
// reference optimum.
func (j *job) trial(run scenario.RunSpec) scenario.RunSpec {
	if j.folds == 0 && !j.byClient() {
		run.Settings.Run.ClientMetrics = nil
	}
	if j.Target.Metric != results.Suboptimality && !needsOptimum(&run) {
		run.Settings.Problem.OptimumWhen = mtl.OptimumNever
	}
	return run
}

// needsOptimum reports whether the method of a run needs the reference optimum.
func needsOptimum(run *scenario.RunSpec) bool {
	return run.Describe(mtl.Shape{}).Needs.Optimum
}

// measure runs a candidate under the seeds of the tuning that have not ended, until its mean time is
// above the best so far.
func (r *runner) measure(j *job, run scenario.RunSpec, best float64) (trial Trial, err error) {
	if j.folds > 0 {
		return r.measureFolds(j, &run)
	}
	n := float64(j.under)
	var time, last float64
	rounds, reached := 0, true
	for k := range j.under {
		if k == len(j.ended) {
			if trial, err = r.measureUnder(j, run.WithSeed(j.Seeds[k]), float64(best*n)-time); err != nil {
				return trial, err
			}
			j.ended = append(j.ended, trial)
		}
		trial = j.ended[k]
		time, last, rounds, reached = time+trial.TimeS, last+trial.Last, rounds+trial.Rounds, reached && trial.Reached
		if k+1 == j.under {
			break
		}
		if trial.GivenUp || !reached && !math.IsInf(best, 1) || time >= best*n {
			trial.GivenUp, reached = true, false
			n, rounds = float64(k+1), rounds*j.under/(k+1)
			r.report(run.ID, "tuning", math.NaN(), float64(j.under-k-1), j.under-k-1) // its other seeds are not run
			break
		}
		if err := j.seeds.step(); err != nil {
			return trial, err
		}
	}
	trial.Options, trial.Reached = run.Tuned, reached
	trial.TimeS, trial.Last, trial.Rounds = time/n, last/n, rounds/j.under
	return trial, nil
}

// measureUnder runs a candidate under one seed until it is slower than the best so far. An interrupted
// run is an error.
func (r *runner) measureUnder(j *job, run scenario.RunSpec, best float64) (Trial, error) {
	if r.ctx.Err() != nil {
		return Trial{}, context.Cause(r.ctx)
	}
	run = j.trial(run)
	plan := scheduleOf(&run)
	if plan.StopAt = j.Target; j.folds > 0 {
		plan.StopAt = results.Target{}
	}
	plan.ThetaEvery = 0
	limited := !math.IsInf(best, 1) && (plan.MaxTime == 0 || best < plan.MaxTime)
	if limited {
		plan.MaxTime = best
	}
	out, err := r.execute(&run, plan, nil)
	if err == nil && out.Status == results.Interrupted {
		err = context.Cause(r.ctx)
	}
	if err != nil {
		return Trial{}, err
	}
	trial := Trial{Options: run.Tuned}
	trial.wrong.count(out, j.Real)
	x := results.Run{Rounds: out.Rounds, Metrics: out.Metrics,
		Reporting: results.Reporting{ReportLast: run.Settings.Run.LastEvaluations(false)}}
	if last, ok := x.Last(); ok {
		metric, _ := x.Metric(j.Target.Metric)
		trial.Rounds, trial.TimeS, trial.Last = last.Round, last.TimeS, x.AtEnd(&metric).Mean
	}
	for _, m := range out.Metrics {
		of := results.Run{Metrics: []results.NamedMetric{m}}
		if metric, ok := of.Metric(j.Target.Metric); ok &&
			(m.FullName() == j.Target.Metric || metric.Statistic != "" && trial.Named.Name == "") {
			trial.Named = m
		}
	}
	if hit, ok := x.Reached(j.Target); ok && j.folds == 0 {
		trial.Reached, trial.Rounds, trial.TimeS = true, hit.Round, hit.TimeS
	} else {
		trial.GivenUp = limited && trial.TimeS >= best
	}
	return trial, nil
}
