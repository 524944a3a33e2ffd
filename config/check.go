package config

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"fedsim/internal/quote"
)

// Problem is one thing wrong with a configuration: the dotted key, the value
// found there and what would be right.
type Problem struct {
	Key   string
	Value any
	Want  string
}

// Error says key, value and remedy: `faults.drop_probability = 1.4: must be in [0, 1]`.
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

// Checker collects everything that is wrong with a configuration. Packages
// check their own struct through it; the caller says under which key the
// struct lies.
type Checker struct {
	prefix  string
	found   *[]Problem
	choices map[string][]string // the names asked for so far, by key
}

// NewChecker returns a checker at the root of a configuration.
func NewChecker() *Checker { return &Checker{found: new([]Problem), choices: map[string][]string{}} }

// In returns a checker for the table at key below c, reporting into the same list.
func (c *Checker) In(key string) *Checker {
	return &Checker{prefix: c.path(key), found: c.found, choices: c.choices}
}

// Require reports a problem unless ok: want says what would be right
// ("must be in [0, 1]").
func (c *Checker) Require(ok bool, key string, value any, want string) {
	if !ok {
		*c.found = append(*c.found, Problem{Key: c.path(key), Value: value, Want: want})
	}
}

// OneOf requires value to be one of the names, and suggests the nearest.
func (c *Checker) OneOf(key, value string, names ...string) {
	c.choices[c.path(key)] = names
	for _, n := range names {
		if n == value {
			return
		}
	}
	want := "must be one of " + strings.Join(names, ", ")
	if near := Nearest(value, names); near != "" {
		want += fmt.Sprintf(" (did you mean %q?)", near)
	}
	c.Require(false, key, value, want)
}

// OneOfOrEmpty requires value to be empty or one of the names.
func (c *Checker) OneOfOrEmpty(key, value string, names ...string) {
	if value != "" {
		c.OneOf(key, value, names...)
	}
	c.choices[c.path(key)] = append([]string{""}, names...)
}

// Choices returns the names that were required of keys, by key: what a check has
// asked OneOf and OneOfOrEmpty for, whatever the values were.
func (c *Checker) Choices() map[string][]string { return maps.Clone(c.choices) }

// Problems returns what was reported, in order.
func (c *Checker) Problems() []Problem { return *c.found }

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
