package experiment

import (
	"cmp"
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
	"fedsim/internal/rooms"
	"fedsim/internal/rooms/traces"
	"fedsim/internal/rooms/upkeep"
	"fedsim/mtl"
	"fedsim/results"
)

// scheduleOf returns the rounds and the limits of a run.
func scheduleOf(run *scenario.RunSpec) learning.Schedule {
	s := &run.Settings.Run
	return learning.Schedule{
		Outer: s.Outer, Rounds: s.MostRounds() / s.Outer, EvalEvery: s.EvalEvery,
		MaxTime: s.MaxTimeS, StopAt: s.StopAt, Real: run.Settings.Data.Target == data.TargetReal,
		ThetaEvery: s.ThetaEvery, EvalClients: s.EvalClients, ClientMetrics: s.ClientMetrics,
		ClientsEvery: s.ClientsEvery,
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
	joins  *joins         // of new clients, into the record
}

// run executes a run without ending others.
func (r *runner) run(run *scenario.RunSpec, schedule learning.Schedule,
	rec *record) (out *learning.Outcome, err error) {
	name, phase := run.ID, "running"
	if rec == nil {
		name, phase = "tuning "+name, "tuning" // the winner runs again under its ID
	}
	p, err := r.prepare.prepare(&run.Settings)
	if err != nil {
		return nil, err
	}
	method, err := r.method(run, p, phase, name)
	if err != nil {
		return nil, err
	}
	method.factory = upkeep.Of(method.factory,
		upkeep.Options{EncoderFLOPs: run.Settings.Data.EncoderFLOPs, Memory: upkeep.Measured(run.Settings.ForRooms())})
	setup, err := r.setup(run, p, method.factory)
	if err != nil {
		return nil, err
	}
	var program rooms.Metered
	setup.Problem, program = p.served.metered(setup.Problem)
	if rec != nil {
		defer func() {
			addTime(&rec.about, program)
			if method.shared != nil {
				addTime(&rec.about, method.shared.program)
			}
		}()
	}
	if rec == nil && setup.Problem != nil && setup.Problem.New != nil { // by which nothing is chosen
		setup.Problem = withoutNew(setup.Problem)
	}
	x := &execution{runner: r, run: run, phase: phase, setup: setup, shared: method.shared, rec: rec}
	if method.end != nil {
		defer func() { err = cmp.Or(err, method.end()) }()
	}
	setup.Schedule = schedule
	setup.Schedule.Optimum, setup.Schedule.Constant = p.optimum, p.constant
	about := run.Describe(setup.Shape)
	if about.MinimizesP && (phase != "tuning" || needsOptimum(run)) {
		setup.Schedule.Solution = p.solution
	}
	if method.shared == nil && run.Settings.Run.Mode == scenario.Learning && run.Settings.Data.Folds == 0 {
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

// withoutNew returns a problem without its new clients.
func withoutNew(p *mtl.Problem) *mtl.Problem {
	without, rows := *p, *p.Rows
	rows.New, without.Rows = nil, &rows
	return &without
}

// begin makes the federation of a run of a method and begins its record.
func (e *execution) begin(about *algorithms.Description) (*learning.Federation, error) {
	if e.rec == nil {
		e.setup.Config.NonFinite = federation.TakeUpdate // a trial loses
	} else {
		e.setup.Journal = e.journal(about)
	}
	f, err := learning.New(*e.setup)
	if err != nil {
		return nil, err
	}
	if declares(e.run) {
		if err := e.declarations.check(e.run, e.phase, e.setup.Schedule.StopAt, f.Metrics()); err != nil {
			return nil, err
		}
	}
	if e.rec == nil {
		return f, nil
	}
	e.joins = newJoins(f, e.run.Settings.Federation.Relative())
	if err := e.runner.begin(e.rec, e.joins.metrics); err != nil {
		return nil, err
	}
	return f, e.saved.resume(e.setup, e.rec.rows)
}

// play makes the rounds of a run, with their record and progress.
func (e *execution) play(f *learning.Federation) (*learning.Outcome, error) {
	limits := &e.run.Settings.Run
	done, all := 0.0, float64(limits.MostRounds())
	out, err := f.Run(e.ctx, func(round results.Round) {
		share := float64(round.Round) / all
		if limits.MaxTimeS > 0 {
			share = min(max(share, round.TimeS/limits.MaxTimeS), 1)
		}
		step := share - done
		done += step
		if e.rec != nil {
			e.joins.add(&round)
			e.rec.round(round)
		}
		if f.Replaying() || e.shared != nil && round.Round > 0 && round.Round <= e.shared.restored {
			e.again(step)
		}
		e.report(e.run.ID, e.phase, round.TimeS, step, 0)
	})
	e.report(e.run.ID, e.phase, math.NaN(), 1-done, 1)
	if e.rec != nil && out != nil {
		out.Metrics = e.joins.metrics
		for i := range out.Rounds {
			e.joins.add(&out.Rounds[i])
		}
	}
	if err == nil && out.Status != results.Interrupted {
		err = CheckModels(&e.setup.System)
	}
	return out, err
}

// interrupted saves what an interrupted run has computed.
func (e *execution) interrupted(f *learning.Federation, out *learning.Outcome) (err error) {
	e.shared.saveLast()
	if !out.MidRound { // within a round the last checkpoint stays
		err = e.saved.saveLast(f)
	}
	if e.saved != nil && !f.Stateful() && e.options.Stderr != nil {
		_, _ = fmt.Fprintf(e.options.Stderr,
			"fedsim: run %s: its learner does not save its state: a resumed run starts from the beginning\n", e.run.ID)
	}
	return err
}

// method is the method of a run: that of the registry, or what stands for it in the run.
type method struct {
	factory algorithms.Factory
	shared  *recording   // that the run reads; nil: it computes for itself
	end     func() error // ends a learner in another process; nil: there is none
}

// method returns the method of a run. All that may stand for the registered one is here: its time alone, a learner
// in another process, or a recording that the run shares with others.
func (r *runner) method(run *scenario.RunSpec, p *prepared, phase, name string) (m method, err error) {
	s := &run.Settings
	if run.Algorithm == scenario.Driven {
		return m,
			config.Problem{Key: "methods." + run.Method + ".algorithm", Value: run.Algorithm,
				Want: "needs the program that drives it: that program starts fedsim engine SCENARIO"}
	}
	var ok bool
	if m.factory, ok = algorithms.Lookup(run.Algorithm); !ok {
		return m, fmt.Errorf("algorithm %q is not registered", run.Algorithm)
	}
	if about := run.Describe(mtl.Shape{}); s.Run.SaveModel && about.Own {
		return m,
			config.Problem{Key: "run.save_model", Value: true,
				Want: "must be false: " + m.factory.Name + " has no linear model to write"}
	}
	if s.Run.Mode == scenario.Timing {
		m.factory = m.factory.Timed()
		return m, nil
	}
	if p.problem != nil {
		if want, fits := scenario.ModelFits(p.problem.Tasks(), p.problem.Values()); s.Run.SaveModel && !fits {
			return m, config.Problem{Key: "run.save_model", Value: s.Run.SaveModel, Want: want}
		}
		if err := r.prepare.fitsRun(run, p.problem); err != nil {
			return m, err
		}
	}
	if o, ok := run.Options.(algorithms.Outside); ok {
		m.factory, m.end = r.external(m.factory, run, p, name, o)
		return m, nil
	}
	if p.problem != nil && (phase == "tuning" || !s.Run.SaveModel) && r.recordable(run, len(p.rows)) {
		if m.shared, err = r.record(run, p, m.factory); m.shared != nil {
			m.factory = m.shared.Follow(m.factory)
		}
	}
	return m, err
}

// setup returns the setup of a run of a method, without its schedule, journal and checkpoints.
func (r *runner) setup(run *scenario.RunSpec, p *prepared, factory algorithms.Factory) (*learning.Setup, error) {
	s := &run.Settings
	setup, err := r.prepare.server(run, p)
	if err != nil {
		return nil, err
	}
	if s.Run.Mode == scenario.Learning && p.problem == nil {
		setup.Shape.Hidden = mtl.Widths{} // the learner has another model
	}
	setup.Problem, setup.Coupling, setup.Factory, setup.Options = p.problem, p.coupling, factory, run.Options
	setup.Pool, setup.Queue = r.pool, r.options.Queue
	return setup, nil
}

// server returns the setup of the server of a run and of its system, without its method.
func (p *preparer) server(run *scenario.RunSpec, of *prepared) (*learning.Setup, error) {
	s := &run.Settings
	system, err := p.system(run, of)
	if err != nil {
		return nil, err
	}
	setup := &learning.Setup{
		Setup:  federation.Setup{System: system, Config: s.Federation},
		Coding: s.Coding(), Privacy: s.Privacy(), Shape: of.shape, PerTask: s.Data.ClientsPerTask,
	}
	setup.Shape.Hidden = s.Problem.Hidden
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
	if err := p.capacity(&system, s); err != nil {
		return system, err
	}
	return system, cmp.Or(modelDevices(&system, &s.Devices), modelLinks(&system, &s.Network))
}

// resultOf returns what results say of a run before it starts.
func resultOf(run *scenario.RunSpec) results.Run {
	r := results.Run{
		ID: run.ID, Experiment: run.Experiment, Method: run.Label, Algorithm: run.Algorithm,
		Point: run.Point, Tuning: results.Tuning{Tuned: run.Tuned}, Seed: run.Seed,
		Real: run.Settings.Data.Target == data.TargetReal, Relative: run.Settings.Federation.Relative(),
		Objective: objectiveOf(run), Protocol: run.Settings.Federation.InForce(),
		Reporting: results.Reporting{StopAt: run.Settings.Run.StopAt},
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
	if recorded.HasChannel() {
		s.Channel = recorded
	}
	if have.Has(traces.Speed) {
		s.Speed = recorded
	}
}
