package scenario

import (
	"cmp"
	"fmt"
	"math"

	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/rooms"
	"fedsim/mtl"
	"fedsim/results"
)

// RunConfig is the table [run] of a scenario.
type RunConfig struct {
	// "learning", or "timing": only events, times, bytes and energy, for methods whose work does
	// not depend on the model
	Mode string `toml:"mode"`
	// rounds per outer iteration
	Rounds int `toml:"rounds" absent:"0: 100, or no limit with max_time_s"`
	// outer iterations. The coupling is updated between two of them; 1 is a single W update
	Outer int `toml:"outer"`
	// rounds between two evaluations of objective and errors, in no virtual time; the last round is
	// always evaluated
	EvalEvery int `toml:"eval_every"`
	// number of clients in evaluations of objective and errors, drawn once for a run. Loss and dual
	// are estimated from their means
	EvalClients int `toml:"eval_clients" absent:"0: that of all clients"`
	// measures of the model on the rows of each client, training, validation and test, written to
	// client_values.parquet (docs/results.md): "error" (root mean square error of real targets),
	// "accuracy", "loss" and "auc" (two classes), or a metric that the program of an external model
	// declares. Their statistics over clients are metrics, such as test_error_worst10. Takes no
	// virtual time. Learners report their own
	ClientMetrics []string `toml:"client_metrics"`
	// rounds between two measurements of client_metrics, a multiple of eval_every
	ClientsEvery int `toml:"clients_every" absent:"0: only at the end of the run"`
	// rounds between two measurements of the accuracy theta_t^h of every local solve (eq.
	// localSolutionQuality2a), written to devices.parquet, for methods with dual variables. Takes
	// no virtual time
	ThetaEvery int `toml:"theta_every" absent:"0: never"`
	// write devices.parquet: rows of times, work and outcomes by device and round (results.md).
	// "auto": of runs with at most 200,000 rows, devices times rounds, estimated from max_time_s
	// where it alone ends a run; none of a lazy population, and with theta_every those of its
	// measurements alone
	Devices AutoBool `toml:"devices"`
	// store the final model W of every run in models/NNNNNN.npy, 8 bytes x tasks x features and at
	// most 1 GB. "fedsim export" writes it as npy or csv
	SaveModel bool `toml:"save_model"`
	// value of a metric at which a run ends, as in { test_error = 0.07 }: suboptimality, which is
	// (P - P*)/|P* - R(0)| (docs/methods.md), primal, gap, train_error, test_error or
	// validation_error (by rows), the same with _clients (mean over clients), train_accuracy,
	// test_accuracy or validation_accuracy, and with _clients (for classes; higher is better), a
	// statistic over clients, such as test_error_worst10 (client_metrics, clients_every), epsilon
	// (privacy.mechanism), or a metric that the learner or the program of the model declares, such
	// as test_loss
	StopAt results.Target `toml:"stop_at" absent:"{}: none, a run makes all rounds"`
	// virtual seconds after which no further round begins
	MaxTimeS float64       `toml:"max_time_s" absent:"0: unlimited"`
	Rooms    config.Extras `toml:"-"` // their keys
	// evaluations at the end of a run whose mean stands for it in tables, and in tuning where no
	// candidate reaches the target; 1: the last one. For P and what is derived from it, such as a
	// sub-optimality, always the last one
	ReportLast int `toml:"report_last" absent:"0: 5, or 1 where stop_at ended the run"`
	// the metric that tables, stars, ranks and figures show first, one of stop_at. "test_error" is
	// by rows: the share of all test rows; "test_error_clients" is the mean over clients of their
	// errors, whatever their numbers of rows
	Metric string `toml:"metric"`
	// seeds of the repetitions of every run; methods are tuned under the first, or several
	// (experiment.tuning.seeds). "until-certain" adds seeds until run.certain is settled, up from 1, without those of
	// tuning
	Seeds Seeds `toml:"seeds"`
	// effect of the seeds: "system" (draws of devices, links, faults and methods; the same data),
	// "split" (held-out rows, skew and clients_per_task: seed s adds s - 1 to data.split_seed; the
	// system has the first seed) or "all" (both, and generated data: seed s adds s - 1 to
	// data.seed)
	Vary results.Vary `toml:"vary"`
	// values of metrics for which results have rounds, time, bytes and energy, as in
	// { test_error = [0.08, 0.07], suboptimality = [1e-3] }. Metrics as in stop_at.
	// The accuracy of runs without targets is the highest whole percent that all runs of an
	// experiment reached before the first of them ended
	Targets results.Targets `toml:"targets" absent:"{}: for classes, an accuracy that all reach"`
}

// The modes of a run.
const (
	Learning = "learning" // the devices learn
	Timing   = "timing"   // they take as long, without learning
)

func defaultRun() RunConfig {
	return RunConfig{
		Mode: Learning, Outer: 1, EvalEvery: 1, Devices: Auto, Metric: results.DefaultMetric,
		Seeds: Seeds{1}, Vary: results.VarySystem,
		Targets: results.Targets{}, Rooms: rooms.Extras("run"),
	}
}

// usualLast is the number of evaluations that stand for the end of a run which run.stop_at did not end.
const usualLast = 5

// LastEvaluations returns how many evaluations stand for the end of a run.
func (r *RunConfig) LastEvaluations(stopped bool) int {
	if r.ReportLast == 0 && stopped {
		return 1
	}
	return cmp.Or(r.ReportLast, usualLast)
}

// usualRounds are those of a run without a limit of its own.
const usualRounds = 100

// endless reports whether the time alone ends a run.
func (r *RunConfig) endless() bool { return r.Rounds == 0 && r.MaxTimeS > 0 }

// MostRounds returns the rounds of a run without another limit; the largest int: there is no limit of rounds.
func (r *RunConfig) MostRounds() int {
	if r.endless() {
		return math.MaxInt
	}
	return r.Outer * cmp.Or(r.Rounds, usualRounds)
}

// WholeRounds reports whether the rows by device that a run has are those of all its rounds, not only of those in
// which theta was measured.
func (r *RunConfig) WholeRounds() bool {
	return r.Devices == Yes || r.Devices == Auto && r.ThetaEvery == 0
}

// Validate reports all problems of the table.
func (r *RunConfig) Validate(c *config.Checker) {
	c.OneOf("mode", r.Mode, Learning, Timing)
	c.Require(r.Rounds >= 0, "rounds", r.Rounds, "must not be negative")
	c.Require(r.Outer >= 1, "outer", r.Outer, "must be at least 1")
	c.Require(r.Outer <= 1 || !r.endless(), "outer", r.Outer,
		"must be 1 with run.max_time_s and without run.rounds: the first outer iteration would not end")
	c.Require(r.EvalEvery >= 1, "eval_every", r.EvalEvery, "must be at least 1")
	c.Require(r.EvalClients >= 0, "eval_clients", r.EvalClients, "must not be negative")
	c.Require(distinct(r.ClientMetrics), "client_metrics", r.ClientMetrics, "must hold every metric once")
	c.Require(r.ClientsEvery >= 0, "clients_every", r.ClientsEvery, "must not be negative")
	if r.EvalEvery >= 1 && r.ClientsEvery > 0 {
		c.Require(r.ClientsEvery%r.EvalEvery == 0, "clients_every", r.ClientsEvery,
			fmt.Sprintf("must be a multiple of run.eval_every, which is %d", r.EvalEvery))
		c.Require(len(r.ClientMetrics) > 0, "clients_every", r.ClientsEvery, "must be 0 without run.client_metrics")
	}
	c.Require(r.ThetaEvery >= 0, "theta_every", r.ThetaEvery, "must not be negative")
	if r.StopAt.IsSet() {
		r.StopAt.Check(c, "stop_at")
	}
	c.Require(r.MaxTimeS >= 0 && r.MaxTimeS <= 1e9, "max_time_s", r.MaxTimeS, "must be in [0, 1e9] seconds")
	c.Require(r.ReportLast >= 0, "report_last", r.ReportLast, "must not be negative")
	c.Require(len(r.Seeds) > 0, "seeds", r.Seeds, "must hold at least one seed")
	c.Require(r.Seeds.UntilCertain() || distinct(r.Seeds), "seeds", r.Seeds, "must hold every seed once")
	c.OneOf("vary", string(r.Vary), string(results.VarySystem), string(results.VarySplit), string(results.VaryAll))
	if r.Mode == Timing {
		const want = " in mode \"timing\", which does not learn"
		c.Require(r.Outer == 1, "outer", r.Outer, "must be 1"+want)
		c.Require(r.EvalClients == 0, "eval_clients", r.EvalClients, "must be 0"+want)
		c.Require(r.ThetaEvery == 0, "theta_every", r.ThetaEvery, "must be 0"+want)
		c.Require(!r.SaveModel, "save_model", r.SaveModel, "must be false"+want)
		c.Require(len(r.ClientMetrics) == 0, "client_metrics", r.ClientMetrics, "must be empty"+want)
		c.Require(r.Metric == results.DefaultMetric, "metric", r.Metric, "must be left out"+want)
		c.Require(!r.StopAt.IsSet(), "stop_at", r.StopAt.Value, "must be left out"+want)
	}
	r.Targets.Check(c, "targets")
	r.main().Check(c, "metric")
}

// main returns Metric as a target with any value.
func (r *RunConfig) main() results.Target { return results.Target{Metric: r.Metric, Value: 1} }

// checkMetrics reports targets that the data, the problem and the methods exclude: test
// errors without test rows, shares above 1, a sub-optimality in stop_at without an optimum,
// and metrics that no method can have. With declares, a method may declare further ones, and so may the
// program of an external model.
func (r *RunConfig) checkMetrics(s *Settings, declares bool, c *config.Checker) {
	check := func(t results.Target, key string, during bool) {
		statistic := s.checkStatistic(c, key+"."+t.Metric, t.Value, t.Metric, declares, during)
		if !declares && !statistic && !s.mayDeclare(t.Metric) && s.Problem.Model != mtl.ModelExternal {
			t.CheckColumn(c, key)
		}
		if s.Data.Target != data.TargetReal {
			t.CheckShare(c, key)
		}
		s.checkRows(c, key+"."+t.Metric, t.Value, t.Metric, declares)
	}
	r.checkClients(s, c)
	if r.Metric != results.DefaultMetric {
		if !s.checkStatistic(c, "metric", r.Metric, r.Metric, declares, false) && !declares &&
			!s.mayDeclare(r.Metric) && s.Problem.Model != mtl.ModelExternal {
			r.main().CheckColumn(c, "metric")
		}
		s.checkRows(c, "metric", r.Metric, r.Metric, declares)
	}
	for _, t := range r.Targets {
		check(t, "targets", false)
	}
	check(r.StopAt, "stop_at", true)
	c.Require(r.StopAt.Metric != results.Suboptimality || s.Problem.HasReference(), "stop_at", r.StopAt.Value,
		"must be of another metric when problem.optimum.when is \"never\" or problem.model is not \"linear\": "+
			"without a reference optimum there is no sub-optimality to stop at")
}

const mostModel = 1e9

// ModelFits reports whether the model of some tasks with some values each may be stored.
// want is the remedy if not.
func ModelFits(tasks, values int) (want string, fits bool) {
	bytes := 8 * float64(tasks) * float64(values)
	return fmt.Sprintf("must be false: W of %d tasks x %d values takes %.3g GB, and at most 1 GB is stored for a run",
		tasks, values, bytes/1e9), bytes <= mostModel
}

// SyntheticShape returns the size of the models on generated data.
func (s *Settings) SyntheticShape() mtl.Shape {
	if s.Problem.Model == mtl.ModelExternal {
		return mtl.Shape{} // its program knows it
	}
	of := s.Data.Resolve().Synthetic
	shape := mtl.Shape{Features: of.Features, Outputs: max(1, of.Classes), Hidden: s.Problem.Hidden}
	if s.Data.Bias {
		shape.Features++
	}
	return shape
}

// checkModel reports a model of generated data that is too large to store. It does not
// read data files.
func (r *RunConfig) checkModel(s *Settings, c *config.Checker) {
	if !r.SaveModel || s.Data.Source != data.SourceSynthetic {
		return
	}
	tasks := s.Data.Resolve().Synthetic.Clients
	if s.Data.Pool {
		tasks = 1
	}
	want, fits := ModelFits(tasks, s.SyntheticShape().Values())
	c.Require(fits, "save_model", r.SaveModel, want)
}

// distinct reports whether no value occurs twice.
func distinct[T comparable](values []T) bool {
	seen := make(map[T]bool, len(values))
	for _, v := range values {
		if seen[v] {
			return false
		}
		seen[v] = true
	}
	return true
}
