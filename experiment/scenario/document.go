package scenario

import (
	"fmt"

	"fedsim/config"
	"fedsim/results"
)

// document is a scenario file: its name, the base settings and the experiments.
type document struct {
	// name of the scenario: letters, digits, -, _ and .; default: the file's name
	Name string `toml:"name"`
	// one sentence about the scenario
	Description string `toml:"description"`
	Settings
	// lists of values by settings key, for all experiments that do not set or sweep the key
	Sweep *config.Node `toml:"sweep"`
	// the experiments; without any, the base settings are the only one, named as the scenario
	Experiment []experimentTable `toml:"experiment"`
}

// HintTOML returns what replaces tables of prediction errors.
func (*document) HintTOML(_ *config.Node, _, name string) string {
	if name == "table" {
		return "experiment.table, with experiment.tuning.folds and methods of algorithm \"central\" (scenario table1)"
	}
	return ""
}

type experimentTable struct {
	// name of the experiment: letters, digits, -, _ and .; required
	Name string `toml:"name"`
	// what the experiment compares; below its tables and figures
	Description string `toml:"description"`
	// labels of the methods that run, in this order; default: all, in the order of the file
	Methods []string `toml:"methods"`
	// settings of this experiment, over those of the file; keys are dotted keys in quotes, or
	// nested tables
	Set *config.Node `toml:"set"`
	// lists of values by settings key; the experiment runs all combinations
	Sweep *config.Node `toml:"sweep"`
	// named axes of the grid, whose points set several keys at once
	Axis []axisTable `toml:"axis"`
	// points drawn from ranges of keys, an axis of the grid beside the others
	Sample *config.Node `toml:"sample"`
	// by method label, lists of values by option key ("options.epochs") or settings key
	// ("problem.lambda"). All combinations run; the one with the least virtual time to the target
	// runs under all seeds (docs/methods.md#tuning)
	Tune map[string]*config.Node `toml:"tune"`
	// how tuned methods are compared
	Tuning *Tuning `toml:"tuning"`
	// rank the methods by errors and by costs to targets as far as the seeds make ranks certain,
	// into tables/NAME-ranks.csv, .md and .tex (docs/reference/examples.md). Needs several methods and
	// seeds
	Ranks bool `toml:"ranks"`
	// write the errors at the end as a table of methods by points, into tables/NAME.csv, .md and .tex
	Table *gridTable `toml:"table"`
	// how the experiment is drawn; default: sub-optimality, or else test error, training error or
	// participants, against time, with a line per method; and the distribution of a metric by
	// client, if there is one
	Figure *config.Node `toml:"figure"`
	// further figures of the experiment, each with the keys of [experiment.figure]
	Figures []*config.Node `toml:"figures"`
}

type gridTable struct {
	// title above the table
	Title string `toml:"title"`
	// errors to print beside those of the runs: by label of the point (labels of several axes are
	// joined by a comma and a space) and method, the mean and its standard error, in percent for a
	// share
	Published map[string]map[string][]float64 `toml:"published,omitempty"`
}

type axisTable struct {
	// name of the axis: letters, digits, - and _; required
	Name string `toml:"name"`
	// the points of the axis, in the order of figures
	Points []pointTable `toml:"points"`
}

type pointTable struct {
	// name of the point; required
	Label string `toml:"label"`
	// settings at this point; keys are dotted keys in quotes, or nested tables
	Set *config.Node `toml:"set"`
}

// Tuning sets how the candidates of a tuned method are compared.
type Tuning struct {
	// target of the comparison, by virtual time, such as { validation_error = 0.07 }; one on test rows
	// is possible, and the results say so
	Target results.Target `toml:"target"`
	// seeds under which each candidate runs, the first ones of run.seeds, or all where these are
	// fewer; the mean decides, and a candidate reaches the target if it does under all of them.
	// With run.vary = "split", several splits choose
	Seeds int `toml:"seeds"`
	// all methods of the experiment train on the validation rows, too, after these have chosen the
	// options
	Refit bool `toml:"refit"`
	// folds of a cross-validation on the training rows: each repetition chooses its own options by
	// the error on the held-out rows of all folds together, over clients as in run.metric, the
	// first of equally good ones. It takes no test rows, and target, seeds and refit must be left
	// out
	Folds int `toml:"folds" absent:"0: candidates are compared by target"`
	// most values added to each option below and above its grid, until the winner beats its
	// neighbors in every numeric option; 0: only the grid runs. See [methods.md](methods.md#tuning)
	Extend int `toml:"extend"`
}

func defaultTuning() Tuning { return Tuning{Target: results.ToSuboptimality(1e-3), Seeds: 3} }

// Validate reports all problems of the table.
func (t *Tuning) Validate(c *config.Checker) {
	c.Require(t.Target.IsSet() && (t.Target.Metric != results.Suboptimality || t.Target.Value <= 1), "target",
		t.Target.Value, "must be in (0, 1]")
	if t.Target.IsSet() {
		t.Target.Check(c, "target")
	}
	c.Require(t.Seeds >= 1, "seeds", t.Seeds, "must be at least 1")
	c.Require(t.Folds == 0 || t.Folds >= 2 && t.Folds <= 1000, "folds", t.Folds, "must be 0 or in [2, 1000]")
	if t.Folds > 0 {
		const want = "must be left out with experiment.tuning.folds, whose held-out rows decide"
		standard := defaultTuning()
		c.Require(t.Target == standard.Target, "target", t.Target.Value, want)
		c.Require(t.Seeds == standard.Seeds, "seeds", t.Seeds, want)
		c.Require(!t.Refit, "refit", t.Refit, want)
	}
	c.Require(t.Extend >= 0 && t.Extend <= maxExtend, "extend", t.Extend, fmt.Sprintf("must be in [0, %d]", maxExtend))
}

// maxExtend limits the growth of a grid: twenty doublings are a factor of a million.
const maxExtend = 20
