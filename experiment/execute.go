package experiment

import (
	"fmt"
	"math"
	"slices"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/devices/traces"
	"fedsim/federation"
	"fedsim/results"
	"fedsim/scenarios"
)

// planOf returns the rounds and the limits of a run.
func planOf(run *scenarios.Run) federation.Plan {
	s := &run.Settings.Run
	return federation.Plan{
		Outer: s.Outer, Rounds: s.Rounds, EvalEvery: s.EvalEvery,
		MaxTime: s.MaxTimeS, StopAt: s.StopAt, ThetaEvery: s.ThetaEvery, EvalTasks: s.EvalTasks,
	}
}

// execute executes a run. journal and observe may be nil. An error ends all runs.
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

// run executes a run without ending others.
func (r *runner) run(run *scenarios.Run, plan federation.Plan, phase string, journal journalOf, observe func(results.Round)) (*federation.Outcome, error) {
	p, err := r.prepare.prepare(&run.Settings)
	if err != nil {
		return nil, err
	}
	setup, shared, err := r.setup(run, p, phase)
	if err != nil {
		return nil, err
	}
	setup.Plan = plan
	setup.Plan.Optimum, setup.Plan.Constant = p.optimum, p.constant
	if journal != nil {
		setup.Journal = journal(run, setup.Size.Devices)
	}
	var saved *runCheckpoint
	if shared == nil && p.problem != nil {
		name := run.ID
		if phase == "tuning" {
			name = "tuning " + name // the winner runs again under its ID
		}
		if saved, err = r.checkpointRun(name, setup); err != nil {
			return nil, err
		}
	}
	f, err := federation.New(*setup)
	if err != nil {
		return nil, saved.explain(setup, err)
	}
	done, all := 0.0, float64(plan.Outer*plan.Rounds)
	out, err := f.Run(r.ctx, func(x results.Round) {
		step := float64(x.Round)/all - done
		done += step
		if observe != nil {
			observe(x)
		}
		if f.Replaying() || shared != nil && x.Round > 0 && x.Round <= shared.restored {
			r.again(step)
		}
		r.report(run.ID, phase, x.TimeS, step, 0)
	})
	r.report(run.ID, phase, math.NaN(), 1-done, 1)
	if err != nil {
		return nil, saved.explain(setup, err)
	}
	if out.Status == results.Interrupted {
		shared.saveLast()
		if !out.MidRound { // within a round the last checkpoint stays
			err = saved.saveLast(f)
		}
	}
	return out, err
}

// setup returns the setup of a run, without its plan, journal and checkpoints, and the
// recording that the run shares with others, or nil.
func (r *runner) setup(run *scenarios.Run, p *prepared, phase string) (*federation.Setup, *recording, error) {
	s := &run.Settings
	factory, ok := algorithms.Lookup(run.Algorithm)
	if !ok {
		return nil, nil, fmt.Errorf("algorithm %q is not registered", run.Algorithm)
	}
	if s.Run.Model && factory.OwnMetrics {
		return nil, nil, config.Problem{Key: "run.model", Value: true, Want: "must be false: " + factory.Name + " has no linear model to write"}
	}
	var size federation.Size
	var shared *recording
	if s.Run.Mode == scenarios.Timing {
		size = federation.Size{Devices: len(p.rows), MinRows: int(slices.Min(p.rows)), Rows: p.rows, Features: p.features, PerTask: s.Data.DevicesPerTask}
		timed := factory
		factory.New = func(algorithms.Setup, algorithms.Options) (algorithms.Algorithm, error) {
			return algorithms.NewTimingOnly(timed, run.Options, p.rows, p.features)
		}
	} else {
		size.Devices = p.problem.Devices()
		if want, fits := scenarios.ModelFits(p.problem.Tasks(), p.problem.Features()); s.Run.Model && !fits {
			return nil, nil, config.Problem{Key: "run.model", Value: s.Run.Model, Want: want}
		}
		if (phase == "tuning" || !s.Run.Model) && r.recordable(run, size.Devices) {
			var err error
			if shared, err = r.record(run, p, factory); err != nil {
				return nil, nil, err
			}
			factory.New = func(algorithms.Setup, algorithms.Options) (algorithms.Algorithm, error) {
				return &replay{recording: shared}, nil
			}
		}
	}
	setup := &federation.Setup{
		Config: s.Federation, Devices: s.Devices, Network: s.Network, Fleet: s.Fleet.Fleet(), Faults: s.Faults,
		Problem: p.problem, Size: size, Coupling: p.coupling, Factory: factory, Options: run.Options,
		Seed: run.System, Pool: r.pool, Queue: r.options.Queue,
	}
	sets, err := r.prepare.tracesOf(&s.Traces)
	if err != nil {
		return nil, nil, err
	}
	follow(setup, s.Traces.Source(sets, run.System, size.Devices))
	return setup, shared, model(setup, s)
}

// follow sets the traces of a run.
func follow(s *federation.Setup, recorded *traces.Combined) {
	have := recorded.Kinds()
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
