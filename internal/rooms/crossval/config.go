package crossval

import (
	"slices"

	"fedsim/config"
	"fedsim/data"
	"fedsim/mtl"
)

// The models of a table.
const (
	Global = "global" // one model for the rows of all tasks
	Local  = "local"  // one model for each task, no sharing
	MTL    = "mtl"    // one model for each task, coupled by the regularizer of [problem]
)

// models lists the models with their names in the paper's tables.
var models = []struct{ name, title string }{{Global, "Global"}, {Local, "Local"}, {MTL, "MTL"}}

// Models returns the valid model names, in the order of the paper's tables.
func Models() []string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.name
	}
	return names
}

// Config is the configuration that all data sets of a table share.
type Config struct {
	Title        string    `toml:"title" doc:"title above the table"`
	Models       []string  `toml:"models" doc:"models in the order of the rows: \"global\" (one for the rows of all tasks), \"local\" (one for each task), \"mtl\" (one for each task, coupled by the regularizer of [problem])"`
	Shuffles     int       `toml:"shuffles" doc:"random splits into training and test rows; their seeds count up from data.seed + data.split"`
	Folds        int       `toml:"folds" doc:"folds of the cross-validation that chooses lambda; it uses training rows only"`
	Lambdas      []float64 `toml:"lambdas" doc:"candidate values of lambda, for each model and shuffle; the largest wins a tie"`
	OmegaUpdates int       `toml:"omega_updates" doc:"updates of Omega for \"mtl\", starting at I/m; each follows a W step, and one more W step ends the alternation"`
	Gap          float64   `toml:"gap" doc:"relative duality gap of the models that are tested; W steps of \"mtl\" before the last Omega update use 0.1, or this gap if it is larger"`
	FoldGap      float64   `toml:"fold_gap" doc:"relative duality gap of the models of the cross-validation"`
	Sweeps       int       `toml:"sweeps" doc:"maximum passes over all rows in one W step"`
}

// Defaults returns the paper's protocol.
func Defaults() Config {
	return Config{
		Models: Models(), Shuffles: 10, Folds: 5,
		Lambdas:      []float64{1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10},
		OmegaUpdates: 10, Gap: 1e-2, FoldGap: 0.1, Sweeps: 3000,
	}
}

// Validate reports all invalid values of the table.
func (t *Config) Validate(c *config.Checker) {
	c.Require(len(t.Models) > 0, "models", t.Models, "must name at least one model")
	c.Require(distinct(t.Models), "models", t.Models, "must not name a model twice")
	for _, m := range t.Models {
		c.OneOf("models", m, Models()...)
	}
	c.Require(t.Shuffles >= 1 && t.Shuffles <= 10_000, "shuffles", t.Shuffles, "must be in [1, 10000]")
	c.Require(t.Folds >= 2 && t.Folds <= 1000, "folds", t.Folds, "must be in [2, 1000]")
	c.Require(len(t.Lambdas) > 0, "lambdas", t.Lambdas, "must have at least one value")
	c.Require(distinct(t.Lambdas), "lambdas", t.Lambdas, "must not have a value twice")
	for _, l := range t.Lambdas {
		c.Require(l >= 1e-12 && l <= 1e12, "lambdas", t.Lambdas, "must be in [1e-12, 1e12]")
	}
	c.Require(t.OmegaUpdates >= 0 && t.OmegaUpdates <= 1000, "omega_updates", t.OmegaUpdates, "must be in [0, 1000]")
	c.Require(t.Gap >= 1e-9 && t.Gap <= 1, "gap", t.Gap, "must be in [1e-9, 1]")
	c.Require(t.FoldGap >= 1e-9 && t.FoldGap <= 1, "fold_gap", t.FoldGap, "must be in [1e-9, 1]")
	c.Require(t.Sweeps >= 1, "sweeps", t.Sweeps, "must be at least 1")
}

// ValidateProblem reports a problem that is not solved centrally, or whose lambda cannot be
// chosen by cross-validation. The checker must be that of the table [problem].
func (t *Config) ValidateProblem(p *mtl.Config, c *config.Checker) {
	c.Require(p.Model == mtl.ModelLinear, "model", p.Model, "must be \"linear\" in a table: its models are solved centrally")
	if slices.Contains(t.Models, MTL) {
		c.Require(p.Regularizer != mtl.RegIndependent && p.Regularizer != mtl.RegMean, "regularizer", p.Regularizer,
			"must be a regularizer with a strength lambda that couples tasks, such as \"probabilistic\", for the model \"mtl\" of a table")
	}
}

// ValidateData reports data settings that a table does not support. The checker must be
// that of the table [data].
func ValidateData(d *data.Config, c *config.Checker) {
	c.Require(d.TestFraction > 0, "test_fraction", d.TestFraction, "must be above 0 in a table: its errors are measured on test rows")
	c.Require(d.Validation == 0, "validation_fraction", d.Validation, "must be 0 in a table: it chooses lambda on folds of the training rows")
	c.Require(d.ClientsPerTask == 1, "clients_per_task", d.ClientsPerTask, "must be 1 in a table, which has no rounds")
	c.Require(!d.Pool, "pool", d.Pool, "must be false in a table: its model \"global\" already uses all tasks")
}

// distinct reports whether all values differ.
func distinct[T comparable](values []T) bool {
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return false
		}
	}
	return true
}
