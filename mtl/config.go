package mtl

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/config"
)

// Values of the keys of [problem].
const (
	Sum  = "sum"  // c_t = 1, as in eq. (1)
	Mean = "mean" // c_t = 1/n_t, as in the authors' released code

	RegIndependent   = "independent"
	RegMean          = "mean"
	RegClustered     = "clustered"
	RegProbabilistic = "probabilistic"
	RegGraphical     = "graphical"

	ConventionPaper   = "paper"
	ConventionAuthors = "authors"

	UpdateAlternating = "alternating"
	UpdateAnnealed    = "annealed"

	OptimumAuto  = "auto"
	OptimumNever = "never"

	SigmaLemma9   = "lemma9"
	SigmaSpectral = "spectral"
	SigmaPerTask  = "per-task"
)

// ModelConfig is the table [problem.model_options].
type ModelConfig struct {
	// widths of the one or two hidden layers of "mlp", such as [64]; its units are ReLU, with
	// biases
	Hidden Widths `toml:"hidden"`
}

// ProgramConfig is the table [problem.program].
type ProgramConfig struct {
	// program of model "external" and its arguments, as in ["python3", "model.py"]. A file beside
	// the scenario is found there; its loss takes the place of loss
	Command Command `toml:"command"`
	// processes of the program, which share the clients
	Processes int `toml:"processes" absent:"0: one for each worker"`
	// longest real time for an answer of the program, in seconds. Then it is killed and the runs
	// fail
	TimeoutS float64 `toml:"timeout_s" absent:"0: no limit"`
}

// LossConfig is the table [problem.loss_options].
type LossConfig struct {
	// gamma of losses with a smoothed kink; "smoothed-hinge": the width of the interval of margins
	// over which it is smoothed; the loss is (1/gamma)-smooth
	Smoothing float64 `toml:"smoothing"`
}

// RegularizerConfig is the table [problem.regularizer_options].
type RegularizerConfig struct {
	// constants of "probabilistic": "authors" (M = Omega/lambda, the published lambda grid) or
	// "paper" (eq. prob)
	Convention string `toml:"convention"`
	// lambda_1: strength of the coupling term of "mean" (eq. fixed_cluster); of |W|_1 in
	// "graphical" (eq. graph1), where 0 leaves it out
	Lambda1 float64 `toml:"lambda1"`
	// lambda_2: strength of the Frobenius term of "mean" (eq. fixed_cluster); of |Omega|_1 in
	// "graphical" (eq. graph1), where 0 needs a W of full rank
	Lambda2 float64 `toml:"lambda2"`
	// csv file with the known Omega of "mean", a row of m numbers for each task and no header; symmetric,
	// positive semidefinite
	OmegaFile string `toml:"omega_file" absent:"\"\": that of clusters"`
	// cluster of each task for "mean", which pulls a task to the mean of its cluster: "0,0,1,1"
	Clusters string `toml:"clusters" absent:"\"\": one cluster"`
	// eta of "clustered" (eq. cluster): a smaller eta gives Omega more weight
	Eta float64 `toml:"eta"`
	// k of "clustered" (eq. cluster): the number of clusters, tr Omega; above 0 and below the
	// number of tasks
	ClusterCount float64 `toml:"cluster_count"`
	// 1/sigma^2 of "probabilistic" in the paper's convention (eq. prob) and of "graphical" (eq.
	// graph1)
	PriorPrecision float64 `toml:"prior_precision"`
	// floor of Omega from one update to the next: "alternating" (omega_floor after every update, as
	// in the paper) or "annealed" (omega_decay to the power of the number of updates so far, and
	// omega_floor at least), which approaches the joint optimum of "probabilistic" with more tasks
	// than features
	OmegaUpdate string `toml:"omega_update"`
	// ratio of the floors of two updates under omega_update = "annealed": closer to 1 takes more
	// outer iterations and ends closer to the joint optimum
	OmegaDecay float64 `toml:"omega_decay"`
	// share of (tr Omega/m) I mixed into Omega after every update; Omega stays positive definite
	// and its trace is unchanged
	OmegaFloor float64 `toml:"omega_floor"`
	// central outer iterations that learn the coupling before the run, in no virtual time; the run
	// then starts at alpha = 0
	WarmOmega int `toml:"warm_start"`
}

// OptimumConfig is the table [problem.optimum].
type OptimumConfig struct {
	// whether runs have a reference optimum: "auto" (with linear models) or "never", without which there is no
	// sub-optimality
	OptimumWhen string `toml:"when"`
	// relative duality gap to which the reference optimum P* is certified
	OptimumGap float64 `toml:"gap"`
	// maximum passes over all tasks for the reference optimum
	OptimumSweeps int `toml:"sweeps"`
}

// Config is the table [problem] of a scenario: loss, regularizer and the
// constants of the dual method.
type Config struct {
	// loss of one row, of those that fedsim methods lists (docs/methods.md), or a loss of your
	// own (docs/extend.md). Without the key it is "hinge" if a method of the experiment minimizes P, as dual
	// methods and mb-sgd do, and otherwise "softmax" with several classes and "logistic" with two;
	// "squared" with real targets. The summary names it. With several classes a loss of one score
	// is one-vs-rest; "softmax" is of all scores of a row, for primal methods only
	Loss string `toml:"loss" absent:"\"\": by methods and data"`
	// of losses with a kink
	LossConfig `toml:"loss_options"`
	// model of a task: "linear" (a score x . w for each output), "mlp" (a network with hidden
	// layers: docs/methods.md), or "external" (any model, whose gradients program
	// computes: docs/protocols.md#model). The last two are for primal methods, and have no reference
	// optimum
	Model string `toml:"model"`
	// of "mlp"
	ModelConfig `toml:"model_options"`
	// of "external"
	ProgramConfig `toml:"program"`
	// weight c_t of a task's loss: "mean" (1/n_t, the authors' code) or "sum" (1, eq. 1)
	LossScaling string `toml:"loss_scaling"`
	// how tasks are coupled: "independent" (not at all), "mean" (by a known Omega), "clustered",
	// "probabilistic" or "graphical" (which learn Omega)
	Regularizer string `toml:"regularizer"`
	// regularization strength lambda of all but "mean"
	Lambda float64 `toml:"lambda"`
	// of one regularizer each
	RegularizerConfig `toml:"regularizer_options"`
	// rule for sigma': "spectral" (largest eigenvalue, the smallest safe value for all tasks),
	// "lemma9" or "per-task" (remark 5); for "probabilistic" and "clustered" on more than 20000
	// tasks only "spectral", since the others sum over all pairs
	SigmaPrime string `toml:"sigma_prime"`
	// aggregation parameter gamma in (0, 1]: updates are scaled by gamma, and sigma' with them
	Gamma float64 `toml:"gamma"`
	// reference optimum P* of runs, from which sub-optimality is measured
	OptimumConfig `toml:"optimum"`
}

// Defaults returns the table's defaults.
func Defaults() Config {
	return Config{
		Loss: LossHinge, Model: ModelLinear, LossConfig: LossConfig{Smoothing: 0.5}, LossScaling: Mean,
		Regularizer: RegProbabilistic, Lambda: 1e-2, SigmaPrime: SigmaSpectral, Gamma: 1,
		RegularizerConfig: RegularizerConfig{
			Convention: ConventionAuthors, Lambda1: 1e-2, Lambda2: 1e-2, Eta: 0.1, ClusterCount: 2,
			OmegaUpdate: UpdateAlternating, OmegaDecay: 0.9, OmegaFloor: 1e-6,
		},
		OptimumConfig: OptimumConfig{OptimumWhen: OptimumAuto, OptimumGap: 1e-6, OptimumSweeps: 5000},
	}
}

// Validate reports all invalid values of the table.
func (cfg *Config) Validate(c *config.Checker) {
	if cfg.Loss != "" {
		c.OneOf("loss", cfg.Loss, LossNames()...)
	}
	c.OneOf("model", cfg.Model, ModelLinear, ModelMLP, ModelExternal)
	if cfg.Model == ModelMLP {
		cfg.validateNetwork(c)
	} else {
		c.Require(cfg.Hidden == Widths{}, "model_options.hidden", cfg.Hidden.list(),
			"must be empty unless model is \"mlp\"")
	}
	cfg.validateExternal(c)
	c.Require(cfg.Smoothing >= 1e-6 && cfg.Smoothing <= 1e6, "loss_options.smoothing", cfg.Smoothing,
		"must be in [1e-6, 1e6]")
	c.OneOf("loss_scaling", cfg.LossScaling, Mean, Sum)
	c.OneOf("regularizer", cfg.Regularizer, RegIndependent, RegMean, RegClustered, RegProbabilistic, RegGraphical)
	positive(c, "lambda", cfg.Lambda)
	options := c.In("regularizer_options")
	cfg.RegularizerConfig.Validate(options)
	cfg.validateRegularizer(options)
	c.OneOf("sigma_prime", cfg.SigmaPrime, SigmaSpectral, SigmaLemma9, SigmaPerTask)
	c.Require(cfg.Gamma > 0 && cfg.Gamma <= 1, "gamma", cfg.Gamma, "must be in (0, 1]")
	cfg.OptimumConfig.Validate(c.In("optimum"))
}

func positive(c *config.Checker, key string, v float64) {
	c.Require(v >= 1e-12 && v <= 1e12, key, v, "must be in [1e-12, 1e12]")
}

// Validate reports all invalid values of the table.
func (r *RegularizerConfig) Validate(c *config.Checker) {
	c.OneOf("convention", r.Convention, ConventionAuthors, ConventionPaper)
	if _, err := parseClusters(r.Clusters); err != nil {
		c.Require(false, "clusters", r.Clusters, err.Error())
	}
	c.Require(r.OmegaFile == "" || r.Clusters == "", "omega_file", r.OmegaFile,
		"must be empty when clusters are given: they are another Omega")
	positive(c, "eta", r.Eta)
	c.Require(r.ClusterCount > 0 && r.ClusterCount <= 1e6, "cluster_count", r.ClusterCount, "must be in (0, 1e6]")
	c.Require(r.PriorPrecision >= 0 && r.PriorPrecision <= 1e12, "prior_precision", r.PriorPrecision,
		"must be in [0, 1e12]")
	c.OneOf("omega_update", r.OmegaUpdate, UpdateAlternating, UpdateAnnealed)
	c.Require(r.OmegaDecay > 0 && r.OmegaDecay < 1, "omega_decay", r.OmegaDecay, "must be in (0, 1)")
	c.Require(r.OmegaFloor > 0 && r.OmegaFloor <= 1, "omega_floor", r.OmegaFloor, "must be in (0, 1]")
	c.Require(r.WarmOmega >= 0 && r.WarmOmega <= 1000, "warm_start", r.WarmOmega, "must be in [0, 1000]")
}

// validateRegularizer reports options that the regularizer of the table does not take.
func (cfg *Config) validateRegularizer(c *config.Checker) {
	if cfg.Regularizer == RegGraphical {
		c.Require(cfg.Lambda1 >= 0 && cfg.Lambda1 <= 1e12, "lambda1", cfg.Lambda1, "must be in [0, 1e12]")
		c.Require(cfg.Lambda2 >= 0 && cfg.Lambda2 <= 1e12, "lambda2", cfg.Lambda2, "must be in [0, 1e12]")
	} else {
		positive(c, "lambda1", cfg.Lambda1)
		positive(c, "lambda2", cfg.Lambda2)
	}
	cfg.checkForeign(c)
	cfg.checkCentral(c)
	c.Require(cfg.PriorPrecision == 0 || cfg.Regularizer != RegProbabilistic || cfg.Convention == ConventionPaper,
		"prior_precision", cfg.PriorPrecision,
		"must be 0 for \"probabilistic\" under convention \"authors\", which has no such term")
	c.Require(cfg.WarmOmega == 0 || cfg.LearnsOmega(), "warm_start", cfg.WarmOmega,
		fmt.Sprintf("must be 0: regularizer %q does not learn its coupling", cfg.Regularizer))
	c.Require(cfg.WarmOmega == 0 || cfg.Model != ModelMLP && cfg.Model != ModelExternal, "warm_start", cfg.WarmOmega,
		fmt.Sprintf("must be 0 when model is %q: the central solver is for linear models", cfg.Model))
}

// checkForeign reports options of other regularizers that are set.
func (cfg *Config) checkForeign(c *config.Checker) {
	if len(c.Problems()) > 0 { // of a value, which come first
		return
	}
	usual := Defaults()
	foreign := func(key string, value, usual any, of ...string) {
		c.Require(value == usual || slices.Contains(of, cfg.Regularizer), key, value, fmt.Sprintf(
			"must be left out: it is of regularizer %s, not of %q", strings.Join(of, ", "), cfg.Regularizer))
	}
	foreign("convention", cfg.Convention, usual.Convention, RegProbabilistic)
	foreign("lambda1", cfg.Lambda1, usual.Lambda1, RegMean, RegGraphical)
	foreign("lambda2", cfg.Lambda2, usual.Lambda2, RegMean, RegGraphical)
	foreign("omega_file", cfg.OmegaFile, usual.OmegaFile, RegMean)
	foreign("clusters", cfg.Clusters, usual.Clusters, RegMean)
	foreign("eta", cfg.Eta, usual.Eta, RegClustered)
	foreign("cluster_count", cfg.ClusterCount, usual.ClusterCount, RegClustered)
	foreign("prior_precision", cfg.PriorPrecision, usual.PriorPrecision, RegProbabilistic, RegGraphical)
	learn := []string{RegClustered, RegProbabilistic, RegGraphical}
	foreign("omega_update", cfg.OmegaUpdate, usual.OmegaUpdate, learn...)
	foreign("omega_decay", cfg.OmegaDecay, usual.OmegaDecay, learn...)
	foreign("omega_floor", cfg.OmegaFloor, usual.OmegaFloor, learn...)
}

// checkCentral reports a regularizer that the central solver of the loss does not take.
func (cfg *Config) checkCentral(c *config.Checker) {
	loss, _ := LookupLoss(cfg.Loss)
	c.Require(loss.NewOfScores == nil || !cfg.HasReference() && cfg.WarmOmega == 0 ||
		cfg.Regularizer != RegGraphical || cfg.Lambda1 == 0, "lambda1", cfg.Lambda1,
		fmt.Sprintf("must be 0 with loss %q, or problem.optimum.when \"never\" and warm_start 0: its central solver "+
			"needs a regularizer without |W|_1", cfg.Loss))
}

// Validate reports all invalid values of the table.
func (o *OptimumConfig) Validate(c *config.Checker) {
	c.OneOf("when", o.OptimumWhen, OptimumAuto, OptimumNever)
	c.Require(o.OptimumGap >= 1e-12 && o.OptimumGap <= 1, "gap", o.OptimumGap, "must be in [1e-12, 1]")
	c.Require(o.OptimumSweeps > 0, "sweeps", o.OptimumSweeps, "must be positive")
}

// validateNetwork reports keys that are invalid for model "mlp".
func (cfg *Config) validateNetwork(c *config.Checker) {
	const most = 1 << 16
	first, second := cfg.Hidden[0], cfg.Hidden[1]
	c.Require(first >= 1 && first <= most && second >= 0 && second <= most, "model_options.hidden", cfg.Hidden.list(),
		fmt.Sprintf("must be one or two widths in [1, %d] when model is \"mlp\", such as [64]", most))
}

// validateExternal reports all errors of keys with model "external", and its keys with another model.
func (cfg *Config) validateExternal(c *config.Checker) {
	words, program := cfg.Command.Words(), c.In("program")
	if cfg.Model != ModelExternal {
		const want = "must be left out unless model is \"external\", which has a program to start"
		program.Require(len(words) == 0, "command", words, want)
		program.Require(cfg.Processes == 0, "processes", cfg.Processes, want)
		program.Require(cfg.TimeoutS == 0, "timeout_s", cfg.TimeoutS, want)
		return
	}
	program.Require(len(words) > 0 && words[0] != "", "command", words,
		"must be the program of the model and its arguments, as in [\"python3\", \"model.py\"]")
	program.Require(cfg.Processes >= 0 && cfg.Processes <= 1000, "processes", cfg.Processes, "must be in [1, 1000]")
	program.Require(cfg.TimeoutS >= 0 && cfg.TimeoutS <= 1e6, "timeout_s", cfg.TimeoutS, "must be in (0, 1e6] seconds")
	c.Require(cfg.Loss == "" || cfg.Loss == Defaults().Loss, "loss", cfg.Loss,
		"must be left out when model is \"external\": its program has the loss")
}

// LearnsOmega reports whether the regularizer learns its coupling.
func (cfg *Config) LearnsOmega() bool {
	return cfg.Regularizer != RegIndependent && cfg.Regularizer != RegMean
}

// HasReference reports whether runs have a reference optimum.
func (cfg *Config) HasReference() bool {
	return cfg.OptimumWhen != OptimumNever && cfg.OptimumSweeps > 0 && cfg.Model == ModelLinear
}

// Floor returns the floor of the n-th update of Omega, counted from 1.
func (cfg *Config) Floor(n int) float64 {
	if cfg.OmegaUpdate == UpdateAnnealed {
		floor := 1.0
		for range n {
			floor *= cfg.OmegaDecay
		}
		return max(cfg.OmegaFloor, floor)
	}
	return cfg.OmegaFloor
}

// MinMemory returns a lower bound, in bytes, of the memory for the given numbers of tasks,
// values of a task's model and outer iterations: W and V, and three m x m matrices when the learned
// coupling is dense.
func (cfg *Config) MinMemory(tasks, values, outer int) float64 {
	m := float64(tasks)
	least := float64(2 * 8 * m * float64(values))
	if cfg.Regularizer == RegGraphical && (outer > 1 || cfg.WarmOmega > 0) {
		least += float64(3 * 8 * m * m)
	}
	return least
}
