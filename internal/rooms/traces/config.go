package traces

import (
	"fmt"

	"fedsim/config"
)

// Config is the table [traces] of a scenario: trace files, generated availability, or
// both for different kinds.
type Config struct {
	// trace files, each with different kinds (docs/time.md#traces); "shipped:NAME" is one of fedsim; empty: none
	Files []string `toml:"files"`
	// trace of each device: of n traces in a file, "in-order" (device k has trace k mod n) or
	// "random" (drawn from the seed of the run, and the same number for files with equally many
	// traces)
	Assignment string `toml:"assignment"`
	// whether a trace repeats after its end; false: its last values hold
	Wrap bool `toml:"wrap"`
	// generated availability, instead of a trace file
	Availability AvailabilityConfig `toml:"availability"`
	// random changes of link rates: a Markov chain
	Fading FadingConfig `toml:"fading"`
}

// Default returns the table without traces. Traces from files repeat.
func Default() Config {
	return Config{Assignment: InOrder, Wrap: true, Availability: DefaultAvailability()}
}

// Validate reports all errors in the table except those in the files.
func (c *Config) Validate(check *config.Checker) {
	for _, file := range c.Files {
		check.Require(file != "", "files", c.Files, "must name files")
	}
	check.OneOf("assignment", c.Assignment, InOrder, Drawn)
	c.Availability.Validate(check.In("availability"))
	c.Fading.Validate(check.In("fading"))
}

// Load reads the files. Call it once per scenario: all runs share the sets, which do not
// change.
func (c *Config) Load() ([]*Set, error) {
	var sets []*Set
	var have Kinds
	for _, file := range c.Files {
		s, err := loadFile(file)
		if err != nil {
			return nil, err
		}
		if s.kinds.Has(GridGPerKWh) {
			return nil,
				fmt.Errorf("%s: has %v, of places and not of devices: name the file in energy.grid", file, GridGPerKWh)
		}
		if s.kinds.Has(Share) {
			return nil, fmt.Errorf("%s: has %v, of shared links and not of devices: name the file in "+
				"network.shared.capacity", file, Share)
		}
		for _, k := range AllKinds() {
			again := have.Has(k) || k == Available && c.Availability.Generated()
			if s.kinds.Has(k) && again {
				return nil,
					fmt.Errorf("%s: %v has another source (a file or traces.availability): must have one", file, k)
			}
		}
		have |= s.kinds
		sets = append(sets, s)
	}
	return sets, nil
}

// Source returns the source of a run for a number of devices and a seed. The table must
// be valid; sets are from [Config.Load]. Each run needs its own source.
func (c *Config) Source(sets []*Set, seed uint64, devices int) *Combined {
	var generated *Availability
	if c.Availability.Generated() {
		generated = NewAvailability(c.Availability, seed, devices)
	}
	j := c.combine(sets, generated, seed)
	if c.Fading.generated() {
		j.fading = newFading(c.Fading, seed, devices)
	}
	return j
}

// LazySource is Source of a lazy population: it stores nothing of devices. There must be no fading.
func (c *Config) LazySource(sets []*Set, seed uint64, _ int) *Combined {
	var generated *Availability
	if c.Availability.Generated() {
		generated = LazyAvailability(c.Availability, seed)
	}
	return c.combine(sets, generated, seed)
}

// combine joins views of sets and generated availability, if there is any.
func (c *Config) combine(sets []*Set, generated *Availability, seed uint64) *Combined {
	var all []Source
	for _, s := range sets {
		all = append(all, NewView(s, c.Assignment, seed, c.Wrap))
	}
	if generated != nil {
		all = append(all, generated)
	}
	j, err := Combine(all...)
	if err != nil {
		panic(err) // the sets are not those of Load
	}
	return j
}
