package learning

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/results"
)

// Outcome is the result of a run.
type Outcome struct {
	Rounds        []results.Round
	Metrics       []results.NamedMetric // that the learner declares
	Status        results.Status
	Reason        string
	EventHash     uint64
	ModelHash     uint64
	ClientMetrics []results.ClientMetric // the last ones
	AtOptimum     *results.Round         // the errors and metrics of Schedule.Solution; nil without it
	Model         *data.Matrix           // the final W; nil without learning, or when the rounds were computed before
	ModelRows     int                    // that are stored, see mtl.Problem.StoredRows
	Events        int64
	Steps         int64  // coordinate steps and rows, also of updates that failed
	Known         int    // clients with state, in a lazy population; 0 in others
	Limit         string // Factory.Limit
	MidRound      bool   // the run was interrupted within a round, which no checkpoint has
	Capped        int64  // updates taken whose local work ended at that limit
	Warnings      []results.Warning
}

// overtimeWork is how many operations an interrupted run spends on the local work of its
// round. Tests shorten it.
var overtimeWork = int64(algorithms.Overtime)

// course is the course of a run: its rounds so far, and who observes them.
type course struct {
	*Federation
	out     *Outcome
	observe func(results.Round) // nil: nobody
	target  results.Metric      // of Schedule.StopAt
}

// Run goes through the rounds of the schedule and calls observe, which may be nil,
// after each; round 0 is the state before the first. When ctx ends it stops after
// the round under way, or within it when that does not end soon.
func (f *Federation) Run(ctx context.Context, observe func(results.Round)) (*Outcome, error) {
	f.server.Watch(ctx)
	f.halt = algorithms.NewHalt(overtimeWork, func() bool { return ctx.Err() != nil })
	f.server.Begin()
	c := &course{
		Federation: f, out: &Outcome{Status: results.Done, Metrics: f.evaluation.named},
		observe: observe, target: f.evaluation.metric(f.setup.Schedule.StopAt),
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	schedule := &f.setup.Schedule
loop:
	for f.outer = range schedule.Outer {
		for h := range schedule.Rounds {
			if ctx.Err() != nil {
				c.out.Status = results.Interrupted
				break loop
			}
			if h == 0 && f.outer > 0 { // not earlier: a checkpoint between two rounds comes before it
				if err := f.updateCoupling(); err != nil {
					return nil, err
				}
			}
			if over, err := c.round(h == schedule.Rounds-1); err != nil {
				return nil, err
			} else if over {
				break loop
			}
		}
	}
	return c.end()
}

// start evaluates the state before the first round.
func (c *course) start() error {
	e, r := &c.evaluation, c.server.Accounts().First()
	err := c.answer(&r, func() (err error) {
		if r, err = e.evaluate(r); err == nil && e.clientsDue() {
			err = e.evaluateClients(&r)
		}
		return err
	})
	if err != nil {
		return err
	}
	e.checkLoss(&r)
	c.record(r)
	return nil
}

// record adds a round to the outcome.
func (c *course) record(r results.Round) {
	if c.observe != nil {
		c.observe(r)
	}
	if r.ClientMetrics != nil {
		c.out.ClientMetrics = r.ClientMetrics
	}
	r.ClientMetrics, r.Client = nil, nil // they may exceed the memory
	c.out.Rounds = append(c.out.Rounds, r)
}

// round runs and evaluates one round, which may be the last of an outer iteration, and reports
// whether the run is over.
func (c *course) round(last bool) (over bool, err error) {
	var r results.Round
	if !c.server.Aborted() {
		r = c.runRound()
	}
	if err := c.methodErr(); err != nil {
		return false, err
	}
	if why := c.server.Stalled(); why != "" {
		c.out.Status, c.out.Reason = results.Stalled, why
		return true, nil
	}
	if c.server.Aborted() {
		c.out.Status, c.out.MidRound = results.Interrupted, true
		return true, nil
	}
	schedule, e := &c.setup.Schedule, &c.evaluation
	lastOuter := c.outer == schedule.Outer-1
	last = last && lastOuter
	spent := schedule.MaxTime > 0 && r.TimeS >= schedule.MaxTime || c.server.Spent()
	if schedule.Rounds == math.MaxInt && r.TimeS == 0 { // the time will not end the run
		if spent = true; !c.method.About.Messages.None {
			c.out.Status, c.out.Reason = results.Stalled,
				"its rounds take no time, so that run.max_time_s never comes: set run.rounds"
		}
	}
	stops := func(r *results.Round) bool {
		return spent || c.target.Reached(c.target.Of(r), schedule.StopAt.Value) && (lastOuter || !c.target.Couples)
	}
	evaluated := c.server.Rounds()%schedule.EvalEvery == 0 || last || spent
	err = c.answer(&r, func() (err error) {
		if !evaluated {
			return nil
		}
		if r, err = e.evaluate(r); err == nil && (last || e.clientsDue() || stops(&r)) {
			err = e.evaluateClients(&r)
		}
		return err
	})
	if err == nil {
		err = c.log.EndRound()
	}
	if err != nil {
		return false, err
	}
	if evaluated {
		e.checkLoss(&r)
	}
	c.record(r)
	if c.setup.Checkpoint != nil && !c.Replaying() {
		if err := c.setup.Checkpoint(c.Federation); err != nil {
			return false, err
		}
	}
	return stops(&r), nil
}

// idle notes that clients never took part, if their rows are tested.
func (c *course) idle() []results.Warning {
	n, idle := c.setup.Clients, c.server.Accounts().Idle()
	tested := slices.ContainsFunc(c.out.Rounds, func(r results.Round) bool { return !math.IsNaN(r.TestError) })
	if idle == 0 || idle == n || c.setup.Problem == nil || !tested {
		return nil
	}
	return []results.Warning{
		{About: "never took part", Note: true,
			Text: fmt.Sprintf("%d of %d clients never took part; their rows are tested, not learned", idle, n)},
	}
}

func (c *course) end() (*Outcome, error) {
	out, e := c.out, &c.evaluation
	c.clients.CutSpans()
	if out.Status != results.Interrupted {
		out.Warnings = append(e.warnings(), c.server.Accounts().Warnings()...)
		if about := &c.method.About; about.Own {
			out.Warnings = append(out.Warnings, results.Unreported(named(about.Metrics), out.Rounds)...)
		}
		out.Warnings = append(out.Warnings, c.idle()...)
	}
	out.EventHash, out.Events, out.Steps = c.clients.Clock().Digest(), c.clients.Clock().Fired(), c.count.steps
	out.Limit, out.Capped = c.work.Limit, int64(c.count.taken)
	if roster := c.clients.Roster(); roster.Lazy() {
		out.Known = roster.Known()
	}
	out.ModelHash = e.modelHash()
	var err error
	if out.AtOptimum, err = e.atOptimum(); err != nil {
		return nil, err
	}
	if c.evaluates() {
		out.Model = e.model()
		out.ModelRows = c.setup.Problem.StoredRows(out.Model)
	}
	return out, nil
}
