package data

import (
	"fmt"

	"fedsim/config"
)

// Load reads or generates the whole set that the configuration names, before
// any split or preparation. Faults in a file are a *ParseError; errors of the
// file system are wrapped.
func Load(cfg Config) (*Set, error) {
	check := config.NewChecker()
	cfg.Validate(check)
	if problems := check.Problems(); len(problems) > 0 {
		return nil, fmt.Errorf("load data: %w", problems[0])
	}
	switch cfg.Source {
	case SourceHAR:
		return ReadHAR(cfg.Path, cfg.PositiveClass)
	case SourceCSV:
		return ReadCSVFile(cfg.Path, cfg.TaskColumn, cfg.LabelColumn, cfg.Target)
	default:
		return generate(cfg), nil
	}
}

// Prepare loads the set and makes of it what a run works on: split, then skew
// of the training rows, then scaling fitted to the training rows alone, then
// the bias, then the sharing of tasks among devices, which are pooled last. The
// test set has one element for each task of the set that was loaded.
func Prepare(cfg Config) (*Split, error) {
	set, err := Load(cfg)
	if err != nil {
		return nil, err
	}
	split, err := cfg.Divide(set, cfg.Seed)
	if err != nil {
		return nil, err
	}
	cfg.Transform(split)
	if split.Train, err = Share(split.Train, cfg.DevicesPerTask, cfg.Seed); err != nil {
		return nil, err
	}
	if cfg.Pool {
		split.Train, split.Test = Pool(split.Train), Pool(split.Test)
	}
	return split, nil
}

// Divide splits a set that was loaded as the configuration says, by a seed, and
// thins out the training rows when they are to be skewed.
func (c Config) Divide(set *Set, seed uint64) (*Split, error) {
	split, err := SplitSet(set, c.TestFraction, seed)
	if err != nil {
		return nil, err
	}
	if c.Skew {
		if split.Train, err = Skew(split.Train, c.SkewMin, seed); err != nil {
			return nil, err
		}
	}
	return split, nil
}

// Transform gives both halves of a split, in place, the features that the
// configuration asks for: scaling fitted to the training rows, then the bias.
func (c Config) Transform(split *Split) {
	if c.Standardize {
		scaling := FitScaling(split.Train)
		scaling.Apply(split.Train)
		scaling.Apply(split.Test)
	}
	if c.Bias {
		AppendBias(split.Train)
		AppendBias(split.Test)
	}
}
