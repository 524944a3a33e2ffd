package traces

import (
	"fmt"

	"fedsim/config"
)

// Config is the table [traces] of a scenario: what the devices are told by
// traces, from files, by chance, or by both for different kinds.
type Config struct {
	Files        []string           `toml:"files" doc:"trace files, each with kinds of its own (docs/traces.md); empty: none"`
	Format       string             `toml:"format" doc:"of the files: \"csv\", \"fedscale\" or \"flash\"; \"auto\": what each looks like"`
	Assignment   string             `toml:"assignment" doc:"which trace of a file with n a device follows: \"in-order\" (device k trace k mod n) or \"random\" (one of them, by the seed of the run; the same one of all files with as many traces)"`
	Wrap         bool               `toml:"wrap" doc:"a trace that has come to its end repeats from its beginning; false: its last values hold on"`
	Availability AvailabilityConfig `toml:"availability" was:"presence" doc:"availability by chance instead of from a file"`
	Fading       FadingConfig       `toml:"fading" doc:"rates of links that change by chance: a Markov chain"`
}

// FormatAuto stands for the format that a file looks like.
const FormatAuto = "auto"

// Default returns the table without traces: nothing is told. Traces that are
// named repeat, as FedScale's and FLASH's do there.
func Default() Config {
	return Config{Format: FormatAuto, Assignment: InOrder, Wrap: true, Availability: DefaultAvailability()}
}

// Validate reports everything that is wrong with the table but for what only
// the files tell.
func (c *Config) Validate(check *config.Checker) {
	for _, file := range c.Files {
		check.Require(file != "", "files", c.Files, "must name files")
	}
	check.OneOf("format", c.Format, append([]string{FormatAuto}, Formats()...)...)
	check.OneOf("assignment", c.Assignment, InOrder, Drawn)
	c.Availability.Validate(check.In("availability"))
	c.Fading.Validate(check.In("fading"))
}

// Load reads the files, as often as a scenario is loaded rather than run: the
// sets do not change and are shared by all runs. Files are opened by the names
// they have in the table.
func (c *Config) Load() ([]*Set, error) {
	var sets []*Set
	var have Kinds
	for _, file := range c.Files {
		s, err := Load(file, c.Format)
		if err != nil {
			return nil, err
		}
		for _, k := range AllKinds() {
			again := have.Has(k) || k == Available && c.Availability.generated()
			if s.kinds.Has(k) && again {
				return nil, fmt.Errorf("%s: %v comes from another file or from traces.availability too: must come from one", file, k)
			}
		}
		have |= s.kinds
		sets = append(sets, s)
	}
	return sets, nil
}

// Source returns what the traces of a valid table tell so many devices under
// the seed of a run; sets are those that [Config.Load] returned. A run needs a
// source of its own.
func (c *Config) Source(sets []*Set, seed uint64, devices int) *Combined {
	var all []Source
	for _, s := range sets {
		all = append(all, NewView(s, c.Assignment, seed, c.Wrap))
	}
	if c.Availability.generated() {
		all = append(all, NewAvailability(c.Availability, seed, devices))
	}
	j, err := Combine(all...)
	if err != nil {
		panic(err) // these are not the sets of Load
	}
	if c.Fading.generated() {
		j.fading = NewFading(c.Fading, seed, devices)
	}
	return j
}
