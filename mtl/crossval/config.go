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
	MTL    = "mtl"    // the models tied together by the regularizer of [problem]
)

// models are all models with their names in the paper's tables.
var models = []struct{ name, title string }{{Global, "Global"}, {Local, "Local"}, {MTL, "MTL"}}

// Models returns the names a configuration may give, in the order of the paper's
// tables.
func Models() []string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.name
	}
	return names
}

// Config is what the sets of a table have in common.
type Config struct {
	Title        string    `toml:"title" doc:"title above the table"`
	Models       []string  `toml:"models" doc:"models in the order of the rows: \"global\" (one for the rows of all tasks), \"local\" (one for each task), \"mtl\" (tied together by the regularizer of [problem])"`
	Shuffles     int       `toml:"shuffles" doc:"random splits into training and test rows; their seeds count up from data.seed + data.split"`
	Folds        int       `toml:"folds" doc:"folds of the cross-validation, on the training rows alone, that chooses lambda"`
	Lambdas      []float64 `toml:"lambdas" doc:"values of lambda to choose from, for each model and shuffle; of equally good ones the largest is taken"`
	OmegaUpdates int       `toml:"omega_updates" doc:"updates of Omega for \"mtl\", from I/m, each after a W step; another W step ends the alternation"`
	Gap          float64   `toml:"gap" doc:"relative duality gap to which the models that are tested are solved; W steps of \"mtl\" before the last Omega update are solved to 0.1, or to this when it is more"`
	FoldGap      float64   `toml:"fold_gap" doc:"the same for the models of the cross-validation, which only have to tell good lambdas from bad ones"`
	Sweeps       int       `toml:"sweeps" doc:"most passes over all rows that one W step may take"`
}

// Defaults returns the paper's protocol.
func Defaults() Config {
	return Config{
		Models: Models(), Shuffles: 10, Folds: 5,
		Lambdas:      []float64{1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10},
		OmegaUpdates: 10, Gap: 1e-2, FoldGap: 0.1, Sweeps: 3000,
	}
}

// Validate reports everything wrong with the table.
func (t *Config) Validate(c *config.Checker) {
	c.Require(len(t.Models) > 0, "models", t.Models, "must name at least one model")
	c.Require(distinct(t.Models), "models", t.Models, "must name every model once")
	for _, m := range t.Models {
		c.OneOf("models", m, Models()...)
	}
	c.Require(t.Shuffles >= 1 && t.Shuffles <= 10_000, "shuffles", t.Shuffles, "must be in [1, 10000]")
	c.Require(t.Folds >= 2 && t.Folds <= 1000, "folds", t.Folds, "must be in [2, 1000]")
	c.Require(len(t.Lambdas) > 0, "lambdas", t.Lambdas, "must hold at least one value")
	c.Require(distinct(t.Lambdas), "lambdas", t.Lambdas, "must hold every value once")
	for _, l := range t.Lambdas {
		c.Require(l >= 1e-12 && l <= 1e12, "lambdas", t.Lambdas, "must be in [1e-12, 1e12]")
	}
	c.Require(t.OmegaUpdates >= 0 && t.OmegaUpdates <= 1000, "omega_updates", t.OmegaUpdates, "must be in [0, 1000]")
	c.Require(t.Gap >= 1e-9 && t.Gap <= 1, "gap", t.Gap, "must be in [1e-9, 1]")
	c.Require(t.FoldGap >= 1e-9 && t.FoldGap <= 1, "fold_gap", t.FoldGap, "must be in [1e-9, 1]")
	c.Require(t.Sweeps >= 1, "sweeps", t.Sweeps, "must be at least 1")
}

// ValidateProblem reports a problem whose lambda cannot be chosen. The checker
// is that of the problem's own table.
func (t *Config) ValidateProblem(p *mtl.Config, c *config.Checker) {
	if slices.Contains(t.Models, MTL) {
		c.Require(p.Regularizer != mtl.RegIndependent && p.Regularizer != mtl.RegMean, "regularizer", p.Regularizer,
			"must be one that ties tasks together with a strength lambda, such as \"probabilistic\", for the model \"mtl\" of a table")
	}
}

// ValidateData reports data that no table can be made of. The checker is that of
// the data's own table.
func ValidateData(d *data.Config, c *config.Checker) {
	c.Require(d.TestFraction > 0, "test_fraction", d.TestFraction, "must be above 0 in a table, whose figures are those of held-out rows")
	c.Require(d.DevicesPerTask == 1, "devices_per_task", d.DevicesPerTask, "must be 1 in a table, which knows tasks and no devices")
	c.Require(!d.Pool, "pool", d.Pool, "must be false in a table, whose model \"global\" is of all tasks")
}

// distinct reports whether no value occurs twice.
func distinct[T comparable](values []T) bool {
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return false
		}
	}
	return true
}
