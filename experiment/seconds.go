package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fedsim/algorithms"
	"fedsim/algorithms/methods"
	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/federation/learning"
	"fedsim/federation/protocols"
	"fedsim/internal/rooms/theory"
	"fedsim/results"
)

// InSeconds reports whether the experiments are about methods whose theorems bound seconds: the
// devices of all of them send a gradient.
func InSeconds(experiments []scenario.Experiment) bool {
	for j := range scenario.Jobs(experiments) {
		if _, ok := methods.GradientMethodOf(j.Candidates[0].Options); !ok {
			return false
		}
	}
	return true
}

type (
	// Descent has the constants of a problem that a theorem needs.
	Descent = theory.Descent
	// SecondsBound is the bound of a theorem for a method.
	SecondsBound = theory.Seconds
)

// Timed is a method at a point of an experiment, over its seeds, against the bound of its theorem on
// the seconds until E|grad f(w)|^2 is at most a target.
type Timed struct {
	Experiment, Method string
	Point              []results.Setting
	theory.Descent
	theory.Seconds
	Gamma     float64 // the step size of the scenario
	Gradients int     // B of rennala, R of ringmaster; 0: of other methods
	Stops     bool    // the server of these two stops devices with old models
	Measured  float64 // seconds after which the mean over the seeds of |grad f(w)|^2 is at most the target; NaN: never
}

// Ratio returns measured / bound; NaN without one of them.
func (t *Timed) Ratio() float64 {
	if math.IsInf(t.Seconds.Seconds, 1) {
		return math.NaN()
	}
	return t.Measured / t.Seconds.Seconds
}

// Broken reports whether the measurement exceeds a bound whose conditions hold: with the same data on all
// devices, to a relative bias of the gradient of 1e-6.
func (t *Timed) Broken() bool {
	return t.Measured > t.Seconds.Seconds && t.Bias2 <= 1e-12*t.Eps
}

// Seconds runs expanded experiments and compares each of their jobs with the bound of its theorem for a
// target of |grad f(w)|^2; target 0 is a tenth of that at the start.
func Seconds(ctx context.Context, experiments []scenario.Experiment, target float64, o Options) ([]Timed, error) {
	if err := checkSeconds(experiments); err != nil {
		return nil, err
	}
	return compareJobs(ctx, experiments, o, func(r *runner, j *job, runs []results.Run) (*Timed, error) {
		return r.timed(j, runs, target)
	})
}

// checkSeconds reports settings that the bounds do not cover.
func checkSeconds(experiments []scenario.Experiment) error {
	c := config.NewChecker()
	for j := range scenario.Jobs(experiments) {
		run := &j.Candidates[0]
		key := "methods." + run.Method + ".options."
		m, _ := methods.GradientMethodOf(run.Options)
		f := &run.Settings.Federation
		c.Require(m.Measures, key+"measure", m.Measures, "must be true: the bounds are about the gradient")
		c.Require(m.Constant, key+"step", m.Step,
			"must be that of every step: without a schedule, warm-up rounds and clipping")
		c.Require(f.Protocol == protocols.Asynchronous, "federation.protocol", f.Protocol,
			"must be \"asynchronous\": the bounds are about servers without rounds")
		c.Require(f.AsksAll(), "federation.clients_per_round", f.Clients,
			"must be left out: in the bounds all devices work all the time")
		c.Require(!f.Relative(), "federation.cost", f.Cost, "must be \"physical\": the bounds are in seconds")
		c.Require(run.Settings.Run.Vary == results.VarySystem, "run.vary", run.Settings.Run.Vary,
			"must be \"system\": the bounds are about one problem")
	}
	return c.Err()
}

// timed compares the runs of a job under its seeds with the bound.
func (r *runner) timed(j *job, runs []results.Run, target float64) (*Timed, error) {
	run := &j.winner
	p, err := r.prepare.prepare(&run.Settings)
	if err != nil {
		return nil, err
	}
	m, _ := methods.GradientMethodOf(run.Options)
	weight := func(device int) float64 {
		if m.ByRows {
			return float64(p.rows[device])
		}
		return 1
	}
	d, err := theory.DescentOf(p.problem, weight, m.L2)
	if err != nil {
		return nil, err
	}
	if d.Tau, err = r.responseTimes(run, p); err != nil {
		return nil, err
	}
	slices.Sort(d.Tau)
	t := &Timed{Experiment: j.Experiment, Method: j.Method, Point: j.Point, Gamma: m.Step,
		Gradients: m.Gather + m.Refuse, Stops: m.Stops, Measured: math.NaN()}
	if err := t.measure(runs, target, d); err != nil {
		return nil, err
	}
	switch run.Algorithm {
	case "rennala":
		t.Seconds = d.Rennala(m.Step, m.Gather, m.Stops)
	case "ringmaster":
		t.Seconds = d.Ringmaster(m.Step, m.Refuse)
	case "ringleader":
		t.Seconds = d.Ringleader()
	case "asgd":
		t.Seconds = d.Asynchronous(m.Step)
	default:
		t.Seconds = d.Rescaled()
	}
	t.Descent = *d
	return t, nil
}

// measure reads the target, the noise and the bias of gradients, and the time until the target from runs.
func (t *Timed) measure(runs []results.Run, target float64, d *theory.Descent) error {
	rounds := len(runs[0].Rounds)
	for i := range runs {
		rounds = min(rounds, len(runs[i].Rounds))
	}
	if d.Eps = target; rounds == 0 {
		return fmt.Errorf("it %s before its first round (%s)", runs[0].Status, runs[0].Reason)
	}
	for h := range rounds {
		norm2, latest := 0.0, 0.0
		for i := range runs {
			x := &runs[i].Rounds[h]
			value := func(name string) float64 {
				m, _ := runs[i].Metric(name)
				v := m.Of(x)
				return v * v
			}
			norm2 += value(methods.GradientNorm) / float64(len(runs))
			d.Noise2 = max(d.Noise2, value(methods.GradientNoise))
			d.Bias2 = max(d.Bias2, value(methods.GradientBias))
			latest = max(latest, x.TimeS)
		}
		if h == 0 && target == 0 {
			d.Eps = norm2 / 10
		}
		if norm2 <= d.Eps {
			t.Measured = latest
			return nil
		}
	}
	return nil
}

// responseTimes returns the usual response times of devices in seconds.
func (r *runner) responseTimes(run *scenario.RunSpec, p *prepared) ([]float64, error) {
	f, err := r.timing(run, p)
	if err != nil {
		return nil, err
	}
	seconds := make([]float64, len(p.rows))
	for k := range seconds {
		seconds[k] = f.UsualResponse(k).Seconds()
	}
	return seconds, nil
}

// timing returns the federation of a run without learning, which knows how long work and messages usually take.
func (r *runner) timing(run *scenario.RunSpec, p *prepared) (*learning.Federation, error) {
	setup, err := r.prepare.server(run, p)
	if err != nil {
		return nil, err
	}
	factory, _ := algorithms.Lookup(run.Algorithm)
	setup.Factory, setup.Options, setup.Pool = factory.Timed(), run.Options, r.pool
	setup.Schedule, setup.AnyDeadline = learning.Schedule{Outer: 1, Rounds: 1, EvalEvery: 1}, true
	return learning.New(*setup)
}
