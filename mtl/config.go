package mtl

import (
	"fmt"

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

	SigmaLemma9   = "lemma9"
	SigmaSpectral = "spectral"
	SigmaPerTask  = "per-task"
)

// Config is the table [problem] of a scenario: loss, regularizer and the
// constants of the dual method.
type Config struct {
	Loss           string  `toml:"loss" doc:"loss of one row, of those that fedsim algorithms lists (docs/models.md), or a loss of your own (docs/plugins.md); empty: \"hinge\" if a method of the experiment minimizes P, as dual methods and mb-sgd do, and otherwise \"softmax\" with several classes and \"logistic\" with two; \"squared\" with real targets. The summary names it. With several classes a loss of one score is one-vs-rest; \"softmax\" is of all scores of a row, for primal methods only"`
	Model          string  `toml:"model" doc:"model of a task: \"linear\" (a score x . w for each output), \"mlp\" (a network with hidden layers: docs/models.md), or \"external\" (any model, whose gradients the program of command computes: docs/model-protocol.md). The last two are for primal methods, and have no reference optimum"`
	Hidden         Widths  `toml:"hidden" doc:"widths of the one or two hidden layers of \"mlp\", such as [64]; its units are ReLU, with biases"`
	Command        Command `toml:"command" doc:"program of model \"external\" and its arguments, as in [\"python3\", \"model.py\"]. A file beside the scenario is found there; its loss takes the place of loss"`
	Processes      int     `toml:"processes" doc:"processes of the program, which share the clients; 0: one for each worker"`
	TimeoutS       float64 `toml:"timeout_s" doc:"longest real time for an answer of the program, in seconds. Then it is killed and the runs fail; 0: no limit"`
	Smoothing      float64 `toml:"smoothing" doc:"gamma of losses with a smoothed kink; \"smoothed-hinge\": the width of the interval of margins over which it is smoothed; the loss is (1/gamma)-smooth"`
	LossScaling    string  `toml:"loss_scaling" doc:"weight c_t of a task's loss: \"mean\" (1/n_t, the authors' code) or \"sum\" (1, eq. 1)"`
	Regularizer    string  `toml:"regularizer" doc:"how tasks are coupled: \"independent\" (not at all), \"mean\" (by a known Omega), \"clustered\", \"probabilistic\" or \"graphical\" (which learn Omega)"`
	Convention     string  `toml:"convention" doc:"constants of \"probabilistic\": \"authors\" (M = Omega/lambda, the published lambda grid) or \"paper\" (eq. prob)"`
	Lambda         float64 `toml:"lambda" doc:"regularization strength lambda of all but \"mean\""`
	Lambda1        float64 `toml:"lambda1" doc:"lambda_1: strength of the coupling term of \"mean\" (eq. fixed_cluster); of |W|_1 in \"graphical\" (eq. graph1), where 0 leaves it out"`
	Lambda2        float64 `toml:"lambda2" doc:"lambda_2: strength of the Frobenius term of \"mean\" (eq. fixed_cluster); of |Omega|_1 in \"graphical\" (eq. graph1), where 0 needs a W of full rank"`
	OmegaFile      string  `toml:"omega_file" doc:"csv file with the known Omega of \"mean\", a row of m numbers for each task and no header; symmetric, positive semidefinite; empty: that of clusters"`
	Clusters       string  `toml:"clusters" doc:"cluster of each task for \"mean\", which pulls a task to the mean of its cluster: \"0,0,1,1\"; empty: one cluster"`
	Eta            float64 `toml:"eta" doc:"eta of \"clustered\" (eq. cluster): a smaller eta gives Omega more weight"`
	ClusterCount   float64 `toml:"cluster_count" doc:"k of \"clustered\" (eq. cluster): the number of clusters, tr Omega; above 0 and below the number of tasks"`
	PriorPrecision float64 `toml:"prior_precision" doc:"1/sigma^2 of \"probabilistic\" in the paper's convention (eq. prob) and of \"graphical\" (eq. graph1)"`
	SigmaPrime     string  `toml:"sigma_prime" doc:"rule for sigma': \"spectral\" (largest eigenvalue, the smallest safe value for all tasks), \"lemma9\" or \"per-task\" (remark 5); for \"probabilistic\" and \"clustered\" on more than 20000 tasks only \"spectral\", since the others sum over all pairs"`
	Gamma          float64 `toml:"gamma" doc:"aggregation parameter gamma in (0, 1]: updates are scaled by gamma, and sigma' with them"`
	OmegaUpdate    string  `toml:"omega_update" doc:"floor of Omega from one update to the next: \"alternating\" (omega_floor after every update, as in the paper) or \"annealed\" (omega_decay to the power of the number of updates so far, and omega_floor at least), which approaches the joint optimum of \"probabilistic\" with more tasks than features"`
	OmegaDecay     float64 `toml:"omega_decay" doc:"ratio of the floors of two updates under omega_update = \"annealed\": closer to 1 takes more outer iterations and ends closer to the joint optimum"`
	OmegaFloor     float64 `toml:"omega_floor" doc:"share of (tr Omega/m) I mixed into Omega after every update; Omega stays positive definite and its trace is unchanged"`
	WarmOmega      int     `toml:"warm_omega" doc:"central outer iterations that learn the coupling before the run, in no virtual time; the run then starts at alpha = 0"`
	WarmFloor      float64 `toml:"warm_floor" doc:"share of (tr Omega/m) I mixed into the Omega learned by warm_omega"`
	OptimumGap     float64 `toml:"optimum_gap" doc:"relative duality gap to which the reference optimum P* is certified"`
	OptimumSweeps  int     `toml:"optimum_sweeps" doc:"maximum passes over all tasks for the reference optimum; 0: no reference, no sub-optimality"`
}

// Defaults returns the table's defaults.
func Defaults() Config {
	return Config{
		Loss: LossHinge, Model: ModelLinear, Smoothing: 0.5, LossScaling: Mean, Regularizer: RegProbabilistic, Convention: ConventionAuthors,
		Lambda: 1e-2, Lambda1: 1e-2, Lambda2: 1e-2, Eta: 0.1, ClusterCount: 2, SigmaPrime: SigmaSpectral, Gamma: 1,
		OmegaUpdate: UpdateAlternating, OmegaDecay: 0.9, OmegaFloor: 1e-6, WarmFloor: 0.1, OptimumGap: 1e-6, OptimumSweeps: 5000,
	}
}

// Validate reports all invalid values of the table.
func (p *Config) Validate(c *config.Checker) {
	positive := func(key string, v float64) {
		c.Require(v >= 1e-12 && v <= 1e12, key, v, "must be in [1e-12, 1e12]")
	}
	if p.Loss != "" {
		c.OneOf("loss", p.Loss, LossNames()...)
	}
	c.OneOf("model", p.Model, ModelLinear, ModelMLP, ModelExternal)
	if p.Model == ModelMLP {
		p.validateNetwork(c)
	} else {
		c.Require(p.Hidden == Widths{}, "hidden", p.Hidden.list(), "must be empty unless model is \"mlp\"")
	}
	p.validateExternal(c)
	c.Require(p.Smoothing >= 1e-6 && p.Smoothing <= 1e6, "smoothing", p.Smoothing, "must be in [1e-6, 1e6]")
	c.OneOf("loss_scaling", p.LossScaling, Mean, Sum)
	c.OneOf("regularizer", p.Regularizer, RegIndependent, RegMean, RegClustered, RegProbabilistic, RegGraphical)
	p.checkCentral(c)
	c.OneOf("convention", p.Convention, ConventionAuthors, ConventionPaper)
	c.OneOf("sigma_prime", p.SigmaPrime, SigmaSpectral, SigmaLemma9, SigmaPerTask)
	positive("lambda", p.Lambda)
	if p.Regularizer == RegGraphical {
		c.Require(p.Lambda1 >= 0 && p.Lambda1 <= 1e12, "lambda1", p.Lambda1, "must be in [0, 1e12]")
		c.Require(p.Lambda2 >= 0 && p.Lambda2 <= 1e12, "lambda2", p.Lambda2, "must be in [0, 1e12]")
	} else {
		positive("lambda1", p.Lambda1)
		positive("lambda2", p.Lambda2)
	}
	if _, err := parseClusters(p.Clusters); err != nil {
		c.Require(false, "clusters", p.Clusters, err.Error())
	}
	c.Require(p.OmegaFile == "" || p.Clusters == "", "omega_file", p.OmegaFile,
		"must be empty when clusters are given: they are another Omega")
	positive("eta", p.Eta)
	c.Require(p.ClusterCount > 0 && p.ClusterCount <= 1e6, "cluster_count", p.ClusterCount, "must be in (0, 1e6]")
	c.Require(p.PriorPrecision >= 0 && p.PriorPrecision <= 1e12, "prior_precision", p.PriorPrecision,
		"must be in [0, 1e12]")
	c.Require(p.PriorPrecision == 0 || p.Regularizer != RegProbabilistic || p.Convention == ConventionPaper,
		"prior_precision", p.PriorPrecision, "must be 0 for \"probabilistic\" under convention \"authors\", which has no such term")
	c.Require(p.Gamma > 0 && p.Gamma <= 1, "gamma", p.Gamma, "must be in (0, 1]")
	c.OneOf("omega_update", p.OmegaUpdate, UpdateAlternating, UpdateAnnealed)
	c.Require(p.OmegaDecay > 0 && p.OmegaDecay < 1, "omega_decay", p.OmegaDecay, "must be in (0, 1)")
	c.Require(p.OmegaFloor > 0 && p.OmegaFloor <= 1, "omega_floor", p.OmegaFloor, "must be in (0, 1]")
	c.Require(p.WarmFloor >= 0 && p.WarmFloor <= 1, "warm_floor", p.WarmFloor, "must be in [0, 1]")
	c.Require(p.WarmOmega >= 0 && p.WarmOmega <= 1000, "warm_omega", p.WarmOmega, "must be in [0, 1000]")
	learns := p.LearnsOmega()
	c.Require(p.WarmOmega == 0 || learns, "warm_omega", p.WarmOmega,
		fmt.Sprintf("must be 0: regularizer %q does not learn its coupling", p.Regularizer))
	c.Require(p.OptimumGap >= 1e-12 && p.OptimumGap <= 1, "optimum_gap", p.OptimumGap, "must be in [1e-12, 1]")
	c.Require(p.OptimumSweeps >= 0, "optimum_sweeps", p.OptimumSweeps, "must not be negative")
}

// checkCentral reports a regularizer that the central solver of the loss does not take.
func (p *Config) checkCentral(c *config.Checker) {
	loss, _ := LookupLoss(p.Loss)
	c.Require(loss.NewOfScores == nil || p.OptimumSweeps == 0 && p.WarmOmega == 0 || p.Regularizer != RegGraphical || p.Lambda1 == 0, "lambda1", p.Lambda1,
		fmt.Sprintf("must be 0 with loss %q, or optimum_sweeps and warm_omega 0: its central solver needs a regularizer without |W|_1", p.Loss))
}

// validateNetwork reports keys that are invalid for model "mlp".
func (p *Config) validateNetwork(c *config.Checker) {
	const most = 1 << 16
	first, second := p.Hidden[0], p.Hidden[1]
	c.Require(first >= 1 && first <= most && second >= 0 && second <= most, "hidden", p.Hidden.list(),
		fmt.Sprintf("must be one or two widths in [1, %d] when model is \"mlp\", such as [64]", most))
	p.forbidWarmOmega(c)
}

// forbidWarmOmega reports a coupling that a central solver has to learn.
func (p *Config) forbidWarmOmega(c *config.Checker) {
	c.Require(p.WarmOmega == 0, "warm_omega", p.WarmOmega,
		fmt.Sprintf("must be 0 when model is %q: the central solver is for linear models", p.Model))
}

// validateExternal reports what is invalid for model "external", and its keys with another model.
func (p *Config) validateExternal(c *config.Checker) {
	words := p.Command.Words()
	if p.Model != ModelExternal {
		const want = "must be left out unless model is \"external\", which has a program to start"
		c.Require(len(words) == 0, "command", words, want)
		c.Require(p.Processes == 0, "processes", p.Processes, want)
		c.Require(p.TimeoutS == 0, "timeout_s", p.TimeoutS, want)
		return
	}
	p.forbidWarmOmega(c)
	c.Require(len(words) > 0 && words[0] != "", "command", words, "must be the program of the model and its arguments, as in [\"python3\", \"model.py\"]")
	c.Require(p.Processes >= 0 && p.Processes <= 1000, "processes", p.Processes, "must be in [0, 1000]; 0: one for each worker")
	c.Require(p.TimeoutS >= 0 && p.TimeoutS <= 1e6, "timeout_s", p.TimeoutS, "must be in [0, 1e6] seconds; 0: no limit")
	c.Require(p.Loss == "" || p.Loss == Defaults().Loss, "loss", p.Loss, "must be left out when model is \"external\": its program has the loss")
}

// LearnsOmega reports whether the regularizer learns its coupling.
func (p *Config) LearnsOmega() bool {
	return p.Regularizer != RegIndependent && p.Regularizer != RegMean
}

// HasReference reports whether runs have a reference optimum.
func (p *Config) HasReference() bool { return p.OptimumSweeps > 0 && p.Model == ModelLinear }

// Floor returns the floor of the n-th update of Omega, counted from 1.
func (c *Config) Floor(n int) float64 {
	if c.OmegaUpdate == UpdateAnnealed {
		floor := 1.0
		for range n {
			floor *= c.OmegaDecay
		}
		return max(c.OmegaFloor, floor)
	}
	return c.OmegaFloor
}

// MinMemory returns a lower bound, in bytes, of the memory for the given numbers of tasks,
// values of a task's model and outer iterations: W and V, and three m x m matrices when the learned
// coupling is dense.
func (c *Config) MinMemory(tasks, values, outer int) float64 {
	m := float64(tasks)
	least := float64(2 * 8 * m * float64(values))
	if c.Regularizer == RegGraphical && (outer > 1 || c.WarmOmega > 0) {
		least += float64(3 * 8 * m * m)
	}
	return least
}
