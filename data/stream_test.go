package data

import (
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// drawn returns the configuration of a small generated set.
func drawn(t *rapid.T) Config {
	cfg := Defaults()
	s := &cfg.Synthetic
	s.Clients = rapid.IntRange(3, 9).Draw(t, "tasks")
	s.Features = rapid.IntRange(4, 20).Draw(t, "features")
	s.Factors = 4
	s.RowsMin = rapid.IntRange(1, 9).Draw(t, "rows_min")
	s.RowsMax = s.RowsMin + rapid.IntRange(0, 30).Draw(t, "more")
	cfg.TestFraction = rapid.SampledFrom([]float64{0, 0.25, 0.5}).Draw(t, "test_fraction")
	cfg.Bias = rapid.Bool().Draw(t, "bias")
	return cfg
}

// Generating task by task gives the same set as generating, splitting and preparing it
// as a whole.
func TestStreamedSetsAreThoseMadeAsAWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawn(t)
		cfg.Validation = rapid.SampledFrom([]float64{0, 0.2, 0.5}).Draw(t, "validation_fraction")
		cfg.Target = rapid.SampledFrom([]string{TargetClass, TargetClasses, TargetReal}).Draw(t, "target")
		cfg.Seed = rapid.Uint64().Draw(t, "seed")
		cfg.Split = rapid.Uint64().Draw(t, "split")
		set := loaded(t, cfg)
		want := expect.Value(cfg.Divide(set, cfg.SplitSeed()))(t)
		cfg.Transform(want)
		diff := cmp.Diff(want, stream(cfg), cmpopts.IgnoreUnexported(Set{}, Client{}))
		expect.That(t, diff == "", "as a whole (-), streamed (+):\n%s", diff)
	})
}

func TestWhatIsFittedToAllTasksIsNotStreamed(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Standardize = true },
		func(c *Config) { c.Skew = 3 },
		func(c *Config) { c.ClientsPerTask = 2 },
		func(c *Config) { c.Source = SourceCSV },
	} {
		cfg := Defaults()
		expect.That(t, cfg.streamable(), "the default set is not streamed")
		change(&cfg)
		expect.That(t, !cfg.streamable(), "%+v is streamed", cfg)
	}
}
