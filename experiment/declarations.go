package experiment

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/mtl"
	"fedsim/results"
)

// declarations checks the names of metrics in a scenario once learners, and programs of external
// models, have declared theirs.
// Methods without metrics of their own may lack a metric: their results show none.
type declarations struct {
	mu      sync.Mutex
	methods map[string][]declaration // by experiment
	figures map[string][]string      // by experiment, the vertical axes of lines
}

// declaration is the declaration of metrics by a method of an experiment.
type declaration struct {
	method   string
	declared bool // a run of the method has started
	metrics  []results.NamedMetric
}

// declares reports whether the learner of a run, or the program of its model, may declare metrics.
func declares(run *scenario.RunSpec) bool {
	s := &run.Settings
	return run.Algorithm != scenario.Driven &&
		(run.Describe(mtl.Shape{}).Own || s.Problem.Model == mtl.ModelExternal && s.Run.Mode == scenario.Learning)
}

// expect notes a method of an experiment that declares.
func (d *declarations) expect(e *scenario.Experiment, run *scenario.RunSpec) {
	if d.methods == nil {
		d.methods, d.figures = map[string][]declaration{}, map[string][]string{}
	}
	if d.methods[e.Name] == nil {
		for i := range e.Figures {
			if f := &e.Figures[i]; f.Kind == results.Lines {
				d.figures[e.Name] = append(d.figures[e.Name], f.Y)
			}
		}
	}
	of := d.methods[e.Name]
	if !slices.ContainsFunc(of, func(x declaration) bool { return x.method == run.Method }) {
		d.methods[e.Name] = append(of, declaration{method: run.Method})
	}
}

// check returns a config.Problem for a metric that a run stops at, or is tuned for, and that
// it does not declare; and for a target or a vertical axis that none of the experiment declares,
// once all have started.
func (d *declarations) check(run *scenario.RunSpec, phase string, stopAt results.Target,
	metrics []results.NamedMetric) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := config.NewChecker()
	require := func(key, name string, among []results.NamedMetric, columns []string) {
		for i := range among {
			if own := among[i].FullName(); !slices.Contains(columns, own) { // which may be an accuracy
				columns = append(slices.Clip(columns), own)
			}
		}
		_, _, statistic, checked := results.ClientMetricNamed(name)
		if statistic && checked && run.Settings.Problem.Model == mtl.ModelExternal {
			return // when the scenario was read
		}
		// also of a statistic over clients, which are not listed
		if m, ok := (&results.Run{Metrics: among}).Metric(name); ok {
			if phase != "tuning" || key == tuningTarget {
				checkByClient(c, &run.Settings, key, &m)
			}
			return
		}
		if present, old := results.Renamed(name, among...); old {
			c.Require(false, key, name, fmt.Sprintf("must be %q", present))
		} else if name != "" {
			c.OneOf(key, name, columns...)
		}
	}
	key := "run.stop_at"
	if phase == "tuning" {
		key = tuningTarget
	}
	require(key, stopAt.Metric, metrics, results.MetricNames())
	var all []results.NamedMetric
	started := true
	for i := range d.methods[run.Experiment] {
		of := &d.methods[run.Experiment][i]
		if of.method == run.Method {
			of.declared, of.metrics = true, metrics
		}
		started = started && of.declared
		all = append(all, of.metrics...)
	}
	if started {
		require("run.metric", run.Settings.Run.Metric, all, results.MetricNames())
		for _, t := range run.Settings.Run.Targets {
			require("run.targets", t.Metric, all, results.MetricNames())
		}
		for _, y := range d.figures[run.Experiment] {
			require("experiment.figure.y", y, all, results.YNames)
		}
	}
	if problems := c.Problems(); len(problems) > 0 {
		return problems[0]
	}
	return nil
}

const tuningTarget = "experiment.tuning.target"

// checkByClient requires the values by client of a statistic over them: of a metric that the program of
// an external model declares.
func checkByClient(c *config.Checker, s *scenario.Settings, key string, m *results.Metric) {
	if s.Problem.Model != mtl.ModelExternal || m.Statistic == "" {
		return
	}
	_, own, _ := strings.Cut(strings.TrimSuffix(m.Name, "_"+m.Statistic), "_")
	c.Require(slices.Contains(s.Run.ClientMetrics, own), key, m.Name,
		fmt.Sprintf("needs values by client: run.client_metrics must hold %q", own))
	c.Require(s.Run.ClientsEvery > 0 || key == "run.targets", key, m.Name,
		"needs values by client during the run: run.clients_every must be positive")
}
