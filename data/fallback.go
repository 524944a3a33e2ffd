package data

import (
	"errors"
	"fmt"
	"io/fs"

	"fedsim/config"
)

// OrFallback returns the configuration of the rows: its own, or that of the generated set of
// data.fallback if the file of data.path does not exist. inPlaceOf then names the missing
// file; otherwise it is empty.
func (c Config) OrFallback() (of Config, inPlaceOf string) {
	if c.Fallback == "" {
		return c, ""
	}
	if _, err := Locate(c.Path); !errors.Is(err, fs.ErrNotExist) {
		return c, ""
	}
	return c.Generated(), fmt.Sprintf("in place of %s %s, which was not found", c.Source, c.Path)
}

// Generated returns the configuration of the generated set of data.fallback: the keys of a
// file have their defaults, all others are the same.
func (c Config) Generated() Config {
	standard := Defaults()
	c.Source, c.Preset = SourceSynthetic, c.Fallback
	c.Fallback, c.Path, c.TestRows = "", "", standard.TestRows
	c.PositiveClass, c.ClientColumn, c.LabelColumn = "", standard.ClientColumn, standard.LabelColumn
	c.Columns, c.DropColumns, c.Missing = "", "", standard.Missing
	c.Arrays = standard.Arrays
	return c
}

// rename adds the name of the missing set to that of the generated one.
func (s *Set) rename(inPlaceOf string) {
	if inPlaceOf != "" {
		s.Name += ", " + inPlaceOf
	}
}

// validateFallback checks data.fallback, and the configuration of its generated set.
func (c *Config) validateFallback(check *config.Checker, source *source, made bool) {
	if c.Fallback == "" {
		return
	}
	if source.file == "" {
		check.Require(false, "fallback", c.Fallback,
			fmt.Sprintf("has no effect when source is %q: it is for a file that may be missing", c.Source))
		return
	}
	check.OneOf("fallback", c.Fallback, presets.Names()...)
	check.Require(c.Preset == "", "preset", c.Preset, "must be empty besides fallback, which names the generated set")
	if presetOf(c.Fallback) != nil && len(check.Problems()) == 0 {
		c.Generated().validate(check, made)
	}
}
