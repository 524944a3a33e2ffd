package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"fedsim/internal/tools/quote"
)

// Problem is a problem of a configuration: the dotted key, its value and the values
// that are right.
type Problem struct {
	Key   string
	Value any
	Want  string
}

// Error returns key, value and remedy: `faults.drop_probability = 1.4: must be in [0, 1]`.
func (p Problem) Error() string {
	switch v := reflect.ValueOf(p.Value); v.Kind() {
	case reflect.Invalid:
		return fmt.Sprintf("%s: %s", p.Key, p.Want)
	case reflect.String:
		return fmt.Sprintf("%s = %s: %s", p.Key, quote.Text(v.String()), p.Want)
	case reflect.Slice:
		return fmt.Sprintf("%s = %s: %s", p.Key, quote.Cut(Literal(p.Value)), p.Want)
	default:
		return fmt.Sprintf("%s = %v: %s", p.Key, p.Value, p.Want)
	}
}

// Checker collects the problems of a configuration. A package checks its own struct
// with a checker for the key of the struct.
type Checker struct {
	prefix  string
	found   *[]Problem
	choices map[string][]string // the names that OneOf required, by key
}

// NewChecker returns a checker at the root of a configuration.
func NewChecker() *Checker { return &Checker{found: new([]Problem), choices: map[string][]string{}} }

// In returns a checker for the table at a key below c. Both share one list of problems.
func (c *Checker) In(key string) *Checker {
	return &Checker{prefix: c.path(key), found: c.found, choices: c.choices}
}

// Require reports a problem unless ok. want is the remedy ("must be in [0, 1]").
func (c *Checker) Require(ok bool, key string, value any, want string) {
	if !ok {
		*c.found = append(*c.found, Problem{Key: c.path(key), Value: value, Want: want})
	}
}

// OneOf requires a value to be one of the names. The problem suggests the nearest.
func (c *Checker) OneOf(key, value string, names ...string) {
	c.choices[c.path(key)] = names
	if slices.Contains(names, value) {
		return
	}
	want := "must be one of " + strings.Join(names, ", ")
	if near := Nearest(value, names); near != "" {
		want += fmt.Sprintf(" (did you mean %q?)", near)
	}
	c.Require(false, key, value, want)
}

// OneOfOrEmpty requires a value to be empty or one of the names.
func (c *Checker) OneOfOrEmpty(key, value string, names ...string) {
	if value != "" {
		c.OneOf(key, value, names...)
	}
	c.choices[c.path(key)] = append([]string{""}, names...)
}

// Choices returns the names that OneOf and OneOfOrEmpty required, by key, for right
// and wrong values.
func (c *Checker) Choices() map[string][]string { return maps.Clone(c.choices) }

// Problems returns the problems in the order in which they were reported.
func (c *Checker) Problems() []Problem { return *c.found }

// Err returns the problems found so far as one error; nil: there are none.
func (c *Checker) Err() error {
	var all []error
	for _, p := range *c.found {
		all = append(all, p)
	}
	return errors.Join(all...)
}

func (c *Checker) path(key string) string {
	switch {
	case c.prefix == "":
		return key
	case key == "":
		return c.prefix
	default:
		return c.prefix + "." + key
	}
}
