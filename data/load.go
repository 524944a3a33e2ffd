package data

import (
	"fmt"

	"fedsim/config"
	"fedsim/internal/tools/input"
)

// Load reads or generates the whole set of the configuration, and divides it among
// clients if configured, before split and preparation. An error in a file is a
// *ParseError; errors of the file system are wrapped.
func Load(cfg Config) (*Set, error) {
	set, err := load(cfg)
	if err != nil {
		return nil, err
	}
	set.gather()
	return set, nil
}

// load is Load of a set whose clients may have selected their rows.
func load(cfg Config) (*Set, error) {
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
	if err := set.requireOneTest(&cfg); err != nil {
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
	return cfg.shared(split)
}

// PrepareLoaded is Prepare of the rows of a set that [Load] has returned, which it does not change. The set may
// have been loaded with another split, fold or pooling.
func PrepareLoaded(set *Set, cfg Config) (*Split, error) {
	split, err := cfg.Divide(set, cfg.SplitSeed())
	if err == nil {
		err = cfg.Transform(split)
	}
	if err != nil {
		return nil, err
	}
	return cfg.shared(split)
}

// shared shares tasks among devices and pools them, as configured.
func (c Config) shared(split *Split) (_ *Split, err error) {
	if split.Train, err = Share(split.Train, c.ClientsPerTask, c.SplitSeed()); err != nil {
		return nil, err
	}
	if c.Pool {
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
	split, err := c.divided()
	if err != nil {
		return nil, err
	}
	if err := c.Transform(split); err != nil {
		return nil, err
	}
	return split, nil
}

// divided loads the set and divides it into parts whose features Transform can prepare.
func (c *Config) divided() (*Split, error) {
	set, err := load(*c)
	if err != nil {
		return nil, err
	}
	split, err := c.divide(set, c.SplitSeed())
	if err != nil {
		return nil, err
	}
	return split, c.requireDense(split.Train)
}

// Divide splits a loaded set into its own training and test rows, or by a seed, as
// configured. Then it skews the training rows and takes validation rows from them, if
// configured.
func (c Config) Divide(set *Set, seed uint64) (*Split, error) {
	split, err := c.divide(set, seed)
	if err != nil {
		return nil, err
	}
	split.gather()
	return split, nil
}

// divide is Divide into parts whose clients have selected their rows.
func (c *Config) divide(set *Set, seed uint64) (*Split, error) {
	var split *Split
	var err error
	if c.TestRows == TestRowsOwn && set.held() {
		split, err = splitHeld(set)
	} else {
		split, err = splitSet(set, c.TestFraction, seed)
	}
	if err != nil {
		return nil, err
	}
	if c.Skew > 0 {
		if split.Train, err = skew(split.Train, c.Skew, seed); err != nil {
			return nil, err
		}
	}
	if c.Folds == 0 {
		err = split.holdOut(c.validating(seed))
	} else if parts, foldErr := Fold(split.Train, c.Folds, c.Fold, seed); foldErr == nil {
		split.Train, split.Validation = parts.Train, parts.Test
	} else {
		err = foldErr
	}
	if err != nil {
		return nil, err
	}
	return split, c.takeNew(split, seed)
}

// Transform prepares the features of all parts, as configured: means of the training rows in
// place of missing values, scaling fitted to the training rows, then the bias, then rounding to
// the precision. Rows that change are copies. It fails with a config.Problem for values beyond
// single precision, and if no training row has a feature.
func (c Config) Transform(split *Split) error {
	if err := c.requireDense(split.Train); err != nil {
		return err
	}
	if err := c.fillIn(split); err != nil {
		return err
	}
	scaling := c.scaling(split.Train)
	for _, part := range split.all() {
		if err := c.transform(part, scaling); err != nil {
			return err
		}
	}
	return nil
}

// scaling returns that of training rows; nil: features are not scaled.
func (c *Config) scaling(train *Set) *Scaling {
	if !c.Standardize {
		return nil
	}
	return new(FitScaling(train))
}

// transform scales rows, unless scaling is nil, appends the bias and rounds, as configured. It is the
// only copy of rows that clients have selected.
func (c *Config) transform(set *Set, scaling *Scaling) error {
	for t := range set.Clients {
		client := &set.Clients[t]
		switch {
		case !client.X.Dense():
			if c.Bias {
				client.X = client.X.withOnes()
			}
		case client.selected != nil || scaling != nil || c.Bias || c.single():
			x, err := c.transformed(set, client, scaling)
			if err != nil {
				return err
			}
			client.X, client.selected = x, nil
		}
	}
	c.addBias(set)
	return nil
}

// addBias counts and names the feature that is always 1, if there is one.
func (c *Config) addBias(set *Set) {
	if !c.Bias {
		return
	}
	set.Features++
	if len(set.FeatureNames) > 0 {
		set.FeatureNames = input.UniqueNames(append(set.FeatureNames, "bias"))
	}
}

// transformed returns the rows of a client as transform leaves them.
func (c *Config) transformed(set *Set, of *Client, scaling *Scaling) (Matrix, error) {
	features, columns := of.X.Cols, c.columns(of.X.Cols)
	into := newRows(c.single(), of.X.Rows, columns)
	row := make([]float64, columns)
	for i := range into.Rows {
		if !c.single() {
			row = into.Row(i)
		}
		x := of.values(i, row[:features])
		if scaling != nil {
			scaling.apply(x, row)
		} else {
			copy(row, x)
		}
		if c.Bias {
			row[features] = 1
		}
		if !c.single() {
			continue
		}
		if j := narrow(into.row32(i), row); j >= 0 {
			return Matrix{}, config.Problem{Key: "data.precision", Value: c.Precision, Want: fmt.Sprintf(
				"must be %q: feature %d of row %d of client %q of %s is %g, float32 ends at 3.4e38",
				PrecisionDouble, j+1, i+1, of.Name, set.Name, row[j])}
		}
	}
	return into, nil
}
