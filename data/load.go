package data

import (
	"fmt"

	"fedsim/config"
)

// Load reads or generates the whole set of the configuration, and divides it among
// clients if configured, before split and preparation. An error in a file is a
// *ParseError; errors of the file system are wrapped.
func Load(cfg Config) (*Set, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg, inPlaceOf := cfg.OrFallback()
	switch cfg.Source {
	case SourceSynthetic:
		set := generate(cfg)
		set.rename(inPlaceOf)
		return cfg.partition(set)
	case SourceAlphaBeta:
		return cfg.partition(cfg.AlphaBeta.make(cfg.Seed))
	case SourceExternal:
		return nil, errLearnersRows
	}
	path, err := Locate(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("data.path: %w", err)
	}
	source, _ := cfg.source()
	set, err := source.read(cfg, path)
	if err != nil {
		return nil, err
	}
	if err := cfg.requireOneTest(set); err != nil {
		return nil, err
	}
	cfg = cfg.Resolve()
	if err := cfg.setTarget(set, path); err != nil {
		return nil, err
	}
	return cfg.partition(set)
}

// check returns the first error in the configuration.
func (c Config) check() error {
	check := config.NewChecker()
	c.Validate(check)
	if problems := check.Problems(); len(problems) > 0 {
		return fmt.Errorf("load data: %w", problems[0])
	}
	return nil
}

// Prepare loads the set and prepares it for a run: split, skew of the training rows,
// validation rows taken from them, scaling fitted to the training rows, bias, rounding to the
// configured precision, sharing of tasks among devices, and pooling, in this order. The
// validation and the test set have one element per task of the loaded set.
func Prepare(cfg Config) (*Split, error) {
	split, err := cfg.split()
	if err != nil {
		return nil, err
	}
	if split.Train, err = Share(split.Train, cfg.ClientsPerTask, cfg.SplitSeed()); err != nil {
		return nil, err
	}
	if cfg.Pool {
		split.each(Pool)
	}
	return split, nil
}

// split returns both halves with prepared features.
func (c Config) split() (*Split, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if made, inPlaceOf := c.OrFallback(); made.streamable() {
		split := stream(made)
		for _, part := range split.Parts() {
			part.rename(inPlaceOf)
		}
		return split, nil
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

// Divide splits a loaded set into its own training and test rows, or by a seed, as
// configured. Then it skews the training rows and takes validation rows from them, if
// configured.
func (c Config) Divide(set *Set, seed uint64) (*Split, error) {
	var split *Split
	var err error
	if c.TestRows == TestRowsOwn && set.held() {
		split, err = splitHeld(set)
	} else {
		split, err = SplitSet(set, c.TestFraction, seed)
	}
	if err != nil {
		return nil, err
	}
	if c.Skew {
		if split.Train, err = Skew(split.Train, c.SkewMin, seed); err != nil {
			return nil, err
		}
	}
	return split, split.holdOut(c.validating(seed))
}

// Transform prepares the features of all parts in place, as configured: means of the
// training rows in place of missing values, scaling fitted to the training rows, then the
// bias, then rounding to the precision. It fails with a config.Problem for values beyond
// single precision, and if no training row has a feature.
func (c Config) Transform(split *Split) error {
	if err := c.requireDense(split.Train); err != nil {
		return err
	}
	if err := c.fillIn(split); err != nil {
		return err
	}
	parts := split.Parts()
	if c.Standardize {
		scaling := FitScaling(split.Train)
		for _, part := range parts {
			scaling.Apply(part)
		}
	}
	for _, part := range parts {
		if c.Bias {
			AppendBias(part)
		}
		if err := c.round(part); err != nil {
			return err
		}
	}
	return nil
}
