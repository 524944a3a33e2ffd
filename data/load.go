package data

import (
	"fmt"

	"fedsim/config"
)

// Load reads or generates the whole set that the configuration names, before
// any split or preparation. Faults in a file are a *ParseError; errors of the
// file system are wrapped.
func Load(cfg Config) (*Set, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Source == SourceSynthetic {
		return generate(cfg), nil
	}
	path, err := Locate(cfg.Path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("data.path: %w", err)
	case cfg.Source == SourceHAR:
		return ReadHAR(path, cfg.PositiveClass)
	default:
		return ReadCSVFile(path, cfg.TaskColumn, cfg.LabelColumn, cfg.Target)
	}
}

// check returns what is wrong with the configuration first.
func (c Config) check() error {
	check := config.NewChecker()
	c.Validate(check)
	if problems := check.Problems(); len(problems) > 0 {
		return fmt.Errorf("load data: %w", problems[0])
	}
	return nil
}

// Prepare loads the set and makes of it what a run works on: split, then skew
// of the training rows, then scaling fitted to the training rows alone, then
// the bias, then rounding to the precision asked for, then the sharing of tasks among devices, which are pooled last. The
// test set has one element for each task of the set that was loaded.
func Prepare(cfg Config) (*Split, error) {
	split, err := cfg.split()
	if err != nil {
		return nil, err
	}
	if split.Train, err = Share(split.Train, cfg.DevicesPerTask, cfg.SplitSeed()); err != nil {
		return nil, err
	}
	if cfg.Pool {
		split.Train, split.Test = Pool(split.Train), Pool(split.Test)
	}
	return split, nil
}

// split makes both halves with the features that are asked for.
func (c Config) split() (*Split, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.streamable() {
		return stream(c), nil
	}
	set, err := Load(c)
	if err != nil {
		return nil, err
	}
	split, err := c.Divide(set, c.SplitSeed())
	if err != nil {
		return nil, err
	}
	if err := c.Transform(split); err != nil {
		return nil, err
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
// configuration asks for: scaling fitted to the training rows, then the bias;
// last it rounds them to the precision asked for. It fails, with a
// config.Problem, on values that are beyond single precision.
func (c Config) Transform(split *Split) error {
	if c.Standardize {
		scaling := FitScaling(split.Train)
		scaling.Apply(split.Train)
		scaling.Apply(split.Test)
	}
	if c.Bias {
		AppendBias(split.Train)
		AppendBias(split.Test)
	}
	if err := c.round(split.Train); err != nil {
		return err
	}
	return c.round(split.Test)
}
