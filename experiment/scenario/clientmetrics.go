package scenario

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/data"
	"fedsim/mtl"
	"fedsim/results"
)

// checkClients reports metrics by client that the data do not have.
func (r *RunConfig) checkClients(s *Settings, c *config.Checker) {
	for i, name := range r.ClientMetrics {
		key := fmt.Sprintf("client_metrics[%d]", i)
		if s.Problem.Model == mtl.ModelExternal &&
			(name == results.ClientAUC || !slices.Contains(results.ClientMetricNames, name)) {
			continue // its program may declare it, which is checked when it has started
		}
		c.OneOf(key, name, results.ClientMetricNames...)
		switch s.Data.Target {
		case data.TargetReal:
			c.Require(name != results.ClientAUC && name != results.ClientAccuracy, key, name,
				"must be \"error\" or \"loss\" with real targets")
		case data.TargetClasses:
			c.Require(name != results.ClientAUC, key, name, "must be another with several classes: the AUC is of two")
		}
	}
}

// checkStatistic reports why a metric that clients measure, by rows, or a statistic over clients, has no
// values; ok is false for the name of another metric. With during, values must be there
// before a run ends. A learner may report metrics by client that the run does not compute.
func (s *Settings) checkStatistic(c *config.Checker, key string, value any, metric string,
	declares, during bool) (ok bool) {
	split, name, statistic, ok := results.ClientMetricNamed(metric)
	_, column := results.MetricNamed(metric)
	computed := slices.Contains(s.Run.ClientMetrics, name)
	if !ok || column || declares && !computed {
		return false
	}
	switch {
	case s.Problem.Model == mtl.ModelExternal && !statistic: // which may declare it
		return false
	case !computed:
		c.Require(false, key, value, fmt.Sprintf("needs values by client: run.client_metrics must hold %q", name))
	default:
		s.checkRows(c, key, value, split+"_error", false)
		c.Require(!during || s.Run.ClientsEvery > 0, key, value,
			"needs values by client during the run: run.clients_every must be positive")
	}
	return true
}

// checkRows reports a metric on rows that the data do not have, and an accuracy of real
// targets. A learner may have other rows.
func (s *Settings) checkRows(c *config.Checker, key string, value any, metric string, declares bool) {
	if _, known := results.MetricNamed(metric); !known {
		return
	}
	needs := func(split string) bool { return strings.HasPrefix(metric, split+"_") }
	accuracy := results.IsAccuracy(metric)
	c.Require(!needs("test") || accuracy && declares || s.Data.TestFraction > 0, key, value,
		"needs test rows: data.test_fraction must be positive")
	c.Require(!needs("validation") || declares || s.Data.Validation > 0, key, value,
		"needs validation rows: data.validation_fraction must be positive")
	c.Require(!accuracy || declares || s.Data.Target != data.TargetReal, key, value,
		"must be another metric with real targets: an accuracy is the share of right classes")
}

// isByClient reports whether a metric needs values by client; see checkStatistics.
func isByClient(metric string) bool {
	_, _, _, ok := results.ClientMetricNamed(metric)
	return ok
}

// checkStatistics reports statistics over clients, and metrics on certain rows, in the figures
// and the tuning target of the experiment that have no values under some settings.
func (d *design) checkStatistics(s *Settings, problems *config.Errors) {
	c := config.NewChecker()
	for i := range d.figures {
		if f := &d.figures[i]; f.Kind == results.Lines {
			s.checkStatistic(c, "figure.y", f.Y, f.Y, d.declares, true)
			s.checkRows(c, "figure.y", f.Y, f.Y, d.declares)
		}
	}
	if t := d.tuning.Target; len(d.tuned) > 0 {
		s.checkStatistic(c, "tuning.target."+t.Metric, t.Value, t.Metric, d.declares, true)
		s.checkRows(c, "tuning.target."+t.Metric, t.Value, t.Metric, d.declares)
	}
	for _, wrong := range c.Problems() {
		wrong.Key = "experiment." + wrong.Key
		problems.AddProblem(d.at, wrong)
	}
}
