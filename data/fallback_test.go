package data

import (
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/racetest"
)

// With data.fallback a missing file gives the rows of the preset, under a name that says so.
func TestFallback(t *testing.T) {
	racetest.Skip(t, "compares moments of many rows; shorter tests generate in parallel")
	cfg := Defaults()
	cfg.Source, cfg.Path, cfg.Fallback, cfg.PositiveClass, cfg.Seed = SourceCSV, "no-such.csv", "vehicle-sensor", "1", 4
	cfg.Synthetic.Clients = 3
	want := Defaults()
	want.Preset, want.Seed, want.Synthetic.Clients = "vehicle-sensor", 4, 3
	for _, standardize := range []bool{false, true} { // streamed, and not
		cfg.Standardize, want.Standardize = standardize, standardize
		got := prepared(t, cfg)
		like := prepared(t, want)
		if name := like.Train.Name + ", in place of csv no-such.csv, which was not found"; got.Train.Name != name ||
			got.Test.Name != name || !got.Train.Generated {
			t.Errorf("the sets are named %q and %q, want %q", got.Train.Name, got.Test.Name, name)
		}
		expect.That(t, got.Digest() == like.Digest(), "the rows are not those of the preset")
	}
	rows, _, features, _, err := Sizes(cfg)
	expect.That(t, err == nil && len(rows) == 3 && features == 100, "%v, %d features, %v", rows, features, err)

	cfg.Path, cfg.PositiveClass = filetest.New(t, "my.csv", "client,label,x\na,0,1\na,1,2\n"), ""
	set, err := Load(cfg)
	expect.That(t, err == nil && set.Name == "my" && !set.Generated,
		"%v: with the file, the set is not of the file", err)
	cfg.Path = filetest.New(t, "bad.csv", "{")
	if _, err := Load(cfg); err == nil || !strings.Contains(err.Error(), "bad.csv") {
		t.Errorf("%v, want the error in the file: only a missing file is replaced", err)
	}
}

func TestFallbackProblems(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Fallback = "vehicle-sensors" }, `did you mean "vehicle-sensor"?`},
		{func(c *Config) { c.Source, c.Path = SourceSynthetic, "" }, `fallback = "vehicle-sensor": has no effect`},
		{func(c *Config) { c.Preset = "google-glass" }, "must be empty besides fallback"},
		{func(c *Config) { c.Synthetic.Noise = 2 }, "must be in [0, 0.5)"},
	} {
		cfg := Defaults()
		cfg.Source, cfg.Path, cfg.Fallback = SourceCSV, "no-such.csv", "vehicle-sensor"
		test.change(&cfg)
		check := config.NewChecker()
		cfg.Validate(check)
		if problems := check.Problems(); len(problems) != 1 || !strings.Contains(problems[0].Error(), test.want) {
			t.Errorf("%v, want %q", problems, test.want)
		}
	}
}
