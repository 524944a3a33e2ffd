package scenario

import (
	"fmt"
	"slices"

	"fedsim/algorithms/privacy"
	"fedsim/config"
	"fedsim/results"
)

// isPrivateMetric reports whether a metric is one that [privacy] declares.
func isPrivateMetric(name string) bool { return name == results.Epsilon || name == results.LostRounds }

// declaresPrivate reports whether [privacy] may declare a metric in a run of some methods under
// the settings, or under those of a method.
func (s *Settings) declaresPrivate(metric string) bool {
	if metric == results.Epsilon && s.Privacy.Differential() || metric == results.LostRounds && s.Privacy.Secure() {
		return true
	}
	key := config.Path{"privacy", "mechanism"}
	if metric == results.LostRounds {
		key = config.Path{"privacy", "secure_aggregation"}
	}
	return isPrivateMetric(metric) && slices.ContainsFunc(s.labels(), func(label string) bool {
		return slices.ContainsFunc(s.Methods[label].Set, func(a config.Assignment) bool { return a.Path.Equal(key) })
	})
}

// private reports whether any run of the experiment has a metric that [privacy] declares.
func (e *Experiment) private(metric string) bool {
	return slices.ContainsFunc(e.Jobs, func(j Job) bool { return j.Candidates[0].Settings.declaresPrivate(metric) })
}

// checkPrivate reports figures and a tuning target of metrics that no run has.
func (p *design) checkPrivate(e *Experiment, problems *config.Errors) {
	missing := func(key, name string) {
		if isPrivateMetric(name) && !e.private(name) {
			problems.Add(p.at, fmt.Sprintf("experiment %s: %s = %q has no values: privacy.mechanism (of epsilon) or privacy.secure_aggregation (of lost_rounds) must not be \"none\"", p.name, key, name))
		}
		if want := e.missing(name); want != "" {
			problems.Add(p.at, fmt.Sprintf("experiment %s: %s = %q has no values: %s", p.name, key, name, want))
		}
	}
	for i := range p.figures {
		missing("figure.x", p.figures[i].X)
		missing("figure.y", p.figures[i].Y)
	}
	missing("tuning.target", p.tuning.Target.Metric)
}

// notePrivacy notes what epsilon assumes.
func (p *design) notePrivacy(s *Settings) {
	if !s.Privacy.Differential() || s.Privacy.Noise == 0 {
		return
	}
	note := ""
	switch {
	case s.Privacy.Accounting == privacy.Poisson && (s.Federation.Clients > 0 || s.Federation.Fraction < 1):
		note = "epsilon assumes that each client is in a cohort by itself (Poisson): cohorts here have a fixed size, for which privacy.accounting = \"fixed\" is a guarantee"
	case s.Privacy.Mechanism == privacy.Distributed && !s.Privacy.Secure():
		note = "epsilon is that of the sum: without privacy.secure_aggregation the server sees each update with its share of the noise alone"
	case s.Privacy.Mechanism == privacy.Distributed:
		note = "epsilon is that of Gaussian noise: rounding to the ring and privacy.value_range change it, which the accountant does not count"
	default:
		return
	}
	if note = fmt.Sprintf("experiment %s: %s", p.name, note); !slices.Contains(p.notes, note) {
		p.notes = append(p.notes, note)
	}
}
