package experiment

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/config"
	"fedsim/data"
	"fedsim/engine"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/federation/session"
	"fedsim/internal/rooms/outside/external"
	"fedsim/internal/rooms/traces"
	"fedsim/mtl"
	"fedsim/results"
)

// scheduleOf returns the rounds and the limits of a run.
func scheduleOf(run *scenario.RunSpec) learning.Schedule {
	s := &run.Settings.Run
	return learning.Schedule{
		Outer: s.Outer, Rounds: s.MostRounds() / s.Outer, EvalEvery: s.EvalEvery,
		MaxTime: s.MaxTimeS, StopAt: s.StopAt, Real: run.Settings.Data.Target == data.TargetReal, ThetaEvery: s.ThetaEvery, EvalClients: s.EvalClients,
		ClientMetrics: s.ClientMetrics, ClientsEvery: s.ClientsEvery,
	}
}

// execute executes a run with its record, or a trial of tuning without one. An error ends all runs.
func (r *runner) execute(run *scenario.RunSpec, schedule learning.Schedule, rec *record) (*learning.Outcome, error) {
	out, err := r.run(run, schedule, rec)
	if err != nil {
		err = fmt.Errorf("run %s: %w", run.ID, err)
		r.cancel(err)
	}
	return out, err
}

// execution is a run that is executed, or a trial of a tuning.
type execution struct {
	*runner
	run    *scenario.RunSpec
	phase  string
	setup  *learning.Setup
	shared *recording     // nil: it computes for itself
	saved  *runCheckpoint // nil: no checkpoints
	rec    *record        // nil: a trial
}

// run executes a run without ending others.
func (r *runner) run(run *scenario.RunSpec, schedule learning.Schedule, rec *record) (out *learning.Outcome, err error) {
	name, phase := run.ID, "running"
	if rec == nil {
		name, phase = "tuning "+name, "tuning" // the winner runs again under its ID
	}
	p, err := r.prepare.prepare(&run.Settings)
	if err != nil {
		return nil, err
	}
	setup, shared, err := r.setup(run, p, phase)
	if err != nil {
		return nil, err
	}
	var program *external.Metered
	setup.Problem, program = p.served.metered(setup.Problem)
	if rec != nil {
		defer func() {
			addTime(&rec.about, program)
			if shared != nil {
				addTime(&rec.about, shared.program)
			}
		}()
	}
	x := &execution{runner: r, run: run, phase: phase, setup: setup, shared: shared, rec: rec}
	if o, ok := external.Of(run.Options); ok && run.Settings.Run.Mode == scenario.Learning {
		var end func() error
		setup.Factory.New, end = r.external(run, p, name, o)
		defer func() { err = cmp.Or(err, end()) }()
	}
	setup.Schedule = schedule
	setup.Schedule.Optimum, setup.Schedule.Constant = p.optimum, p.constant
	about := run.Describe(setup.Shape)
	if about.MinimizesP && (phase != "tuning" || needsOptimum(run)) {
		setup.Schedule.Solution = p.solution
	}
	if shared == nil && run.Settings.Run.Mode == scenario.Learning && run.Settings.Data.Folds == 0 {
		if x.saved, err = r.checkpointRun(name, setup); err != nil {
			return nil, err
		}
	}
	f, err := x.begin(&about)
	if err == nil {
		out, err = x.play(f)
	}
	if err != nil {
		return nil, x.saved.explain(setup, err)
	}
	if out.Status == results.Interrupted {
		err = x.interrupted(f, out)
	}
	return out, err
}

// begin makes the federation of a run of a method and begins its record.
func (x *execution) begin(about *algorithms.Description) (*learning.Federation, error) {
	if x.rec == nil {
		x.setup.Config.NonFinite = federation.TakeUpdate // a trial loses
	} else {
		x.setup.Journal = x.journal(about)
	}
	f, err := learning.New(*x.setup)
	if err != nil {
		return nil, err
	}
	if declares(x.run) {
		if err := x.declarations.check(x.run, x.phase, x.setup.Schedule.StopAt, f.Metrics()); err != nil {
			return nil, err
		}
	}
	if x.rec == nil {
		return f, nil
	}
	if err := x.runner.begin(x.rec, f.Metrics()); err != nil {
		return nil, err
	}
	return f, x.saved.resume(x.setup, x.rec.rows)
}

// play makes the rounds of a run, with their record and progress.
func (x *execution) play(f *learning.Federation) (*learning.Outcome, error) {
	limits := &x.run.Settings.Run
	done, all := 0.0, float64(limits.MostRounds())
	out, err := f.Run(x.ctx, func(round results.Round) {
		share := float64(round.Round) / all
		if limits.MaxTimeS > 0 {
			share = min(max(share, round.TimeS/limits.MaxTimeS), 1)
		}
		step := share - done
		done += step
		if x.rec != nil {
			x.rec.round(round)
		}
		if f.Replaying() || x.shared != nil && round.Round > 0 && round.Round <= x.shared.restored {
			x.again(step)
		}
		x.report(x.run.ID, x.phase, round.TimeS, step, 0)
	})
	x.report(x.run.ID, x.phase, math.NaN(), 1-done, 1)
	if err == nil && out.Status != results.Interrupted {
		err = CheckModels(&x.setup.System)
	}
	return out, err
}

// interrupted saves what an interrupted run has computed.
func (x *execution) interrupted(f *learning.Federation, out *learning.Outcome) (err error) {
	x.shared.saveLast()
	if !out.MidRound { // within a round the last checkpoint stays
		err = x.saved.saveLast(f)
	}
	if x.saved != nil && !f.Stateful() && x.options.Stderr != nil {
		_, _ = fmt.Fprintf(x.options.Stderr,
			"fedsim: run %s: its learner does not save its state: a resumed run starts from the beginning\n", x.run.ID)
	}
	return err
}

// setup returns the setup of a run, without its schedule, journal and checkpoints, and the
// recording that the run shares with others, or nil.
func (r *runner) setup(run *scenario.RunSpec, p *prepared, phase string) (*learning.Setup, *recording, error) {
	s := &run.Settings
	if run.Algorithm == scenario.Driven {
		return nil, nil, config.Problem{Key: "methods." + run.Method + ".algorithm", Value: run.Algorithm, Want: "needs the program that drives it: that program starts fedsim engine SCENARIO"}
	}
	factory, ok := algorithms.Lookup(run.Algorithm)
	if !ok {
		return nil, nil, fmt.Errorf("algorithm %q is not registered", run.Algorithm)
	}
	about := run.Describe(mtl.Shape{})
	if s.Run.Model && about.Own {
		return nil, nil, config.Problem{Key: "run.model", Value: true, Want: "must be false: " + factory.Name + " has no linear model to write"}
	}
	var shared *recording
	if s.Run.Mode == scenario.Timing {
		factory = factory.Timed()
	} else if p.problem != nil {
		if want, fits := scenario.ModelFits(p.problem.Tasks(), p.problem.Values()); s.Run.Model && !fits {
			return nil, nil, config.Problem{Key: "run.model", Value: s.Run.Model, Want: want}
		}
		if err := r.prepare.fitsRun(run, p.problem); err != nil {
			return nil, nil, err
		}
		if (phase == "tuning" || !s.Run.Model) && r.recordable(run, len(p.rows)) {
			var err error
			if shared, err = r.record(run, p, factory); err != nil {
				return nil, nil, err
			}
			if shared != nil {
				factory.New = shared.New
			}
		}
	}
	setup, err := r.prepare.server(run, p)
	if err != nil {
		return nil, nil, err
	}
	if s.Run.Mode == scenario.Learning && p.problem == nil {
		setup.Shape.Hidden = mtl.Widths{} // the learner has another model
	}
	setup.Problem, setup.Coupling, setup.Factory, setup.Options = p.problem, p.coupling, factory, run.Options
	setup.Pool, setup.Queue = r.pool, r.options.Queue
	return setup, shared, nil
}

// server returns the setup of the server of a run and of its system, without its method.
func (p *preparer) server(run *scenario.RunSpec, of *prepared) (*learning.Setup, error) {
	s := &run.Settings
	system, err := p.system(run, of)
	if err != nil {
		return nil, err
	}
	setup := &learning.Setup{
		Setup:       federation.Setup{System: system, Config: s.Federation},
		Compression: &s.Compression, Shape: of.shape, PerTask: s.Data.ClientsPerTask,
	}
	setup.Shape.Hidden = s.Problem.Hidden
	if s.Privacy.On() {
		setup.Privacy = &s.Privacy
	}
	return setup, nil
}

// system returns the system of a run: its devices and links with their traces and models.
func (p *preparer) system(run *scenario.RunSpec, of *prepared) (clients.System, error) {
	s := &run.Settings
	system := clients.System{
		Clients: of.clients, Rows: of.rows, Lazy: s.Federation.Lazy(), Seed: run.System,
		Devices: s.Devices, Network: s.Network, Fleet: s.Fleet.Fleet(), Faults: s.Faults,
	}
	sets, err := p.traces.get(fmt.Sprintf("%q", s.Traces.Files), s.Traces.Load)
	if err != nil {
		return system, err
	}
	if system.Features, err = s.Features(p.features.get); err != nil {
		return system, err
	}
	recorded := s.Traces.Source
	if system.Lazy {
		recorded = s.Traces.LazySource
	}
	follow(&system, recorded(sets, run.System, of.clients))
	if generated := s.Traces.Availability; generated.Generated() {
		system.MeanUp = engine.FromSeconds(generated.AtLevel().MeanUpS)
	}
	return system, cmp.Or(modelDevices(&system, &s.Devices), modelLinks(&system, &s.Network))
}

// resultOf returns what results say of a run before it starts.
func resultOf(run *scenario.RunSpec) results.Run {
	r := results.Run{
		ID: run.ID, Experiment: run.Experiment, Method: run.Label, Algorithm: run.Algorithm,
		Point: run.Point, Tuning: results.Tuning{Tuned: run.Tuned}, Seed: run.Seed, Real: run.Settings.Data.Target == data.TargetReal, Relative: run.Settings.Federation.Relative(),
		Objective: objectiveOf(run), Protocol: run.Settings.Federation.InForce(), StopAt: run.Settings.Run.StopAt,
	}
	r.ReportLast = run.Settings.Run.LastEvaluations(false)
	if main := run.Settings.Run.Metric; main != results.DefaultMetric {
		r.MainMetric = main
	}
	if vary := run.Settings.Run.Vary; vary != results.VarySystem {
		r.Vary = vary
	}
	return r
}

// objectiveOf names the objective P that the method of a run minimizes: runs with the same name
// minimize the same one, if they have the same data. With one task, P is an objective of one
// model, which all methods minimize.
func objectiveOf(run *scenario.RunSpec) string {
	s := &run.Settings
	about := run.Describe(mtl.Shape{})
	if about.Own || !about.MinimizesP && !s.Data.Pool {
		return results.OwnObjective
	}
	of := fnv.New64a()
	fmt.Fprintf(of, "%+v %t %d", s.Problem, s.Data.Pool, s.Run.Outer)
	return results.Hash(of.Sum64()).String()
}

// Driven returns the setup of a run that another program drives, without a method, and
// what results say of the run. It reads the sizes of the data only: nothing is generated
// and no optimum is computed.
func Driven(ctx context.Context, run *scenario.RunSpec) (*session.Setup, results.Run, error) {
	about := resultOf(run)
	about.Optimum, about.OptimumGap = math.NaN(), math.NaN()
	p := &preparer{Preparation: &Preparation{}, ctx: ctx}
	sized, err := p.sizesOf(&run.Settings)
	if err != nil {
		return nil, about, err
	}
	setup, err := p.server(run, sized)
	if err != nil {
		return nil, about, err
	}
	return &session.Setup{
		Setup: setup.Setup, PassFLOPs: float64(setup.MinRows()) * setup.Shape.StepFLOPs(), Values: setup.Shape.Values(),
	}, about, nil
}

func follow(s *clients.System, recorded *traces.Combined) {
	have := recorded.Kinds()
	s.TraceSpan = recorded.Span()
	if have.Has(traces.Available) {
		s.Availability = recorded
	}
	if have.Has(traces.Charging) {
		s.Charging = recorded
	}
	if recorded.HasRates() {
		s.Bandwidth = recorded
	}
	if have.Has(traces.Speed) {
		s.Speed = recorded
	}
}
