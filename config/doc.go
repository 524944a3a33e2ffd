// Package config decodes TOML strictly into structs that hold their documented defaults.
// Errors have file, line and column, and suggest the right name for a misspelled one.
// The package also lists all keys for the documentation.
//
// A configuration struct has fields tagged `toml:"key"`, a constructor that returns it with
// every default filled in, and a method Validate(*Checker) that reports everything wrong at
// once. The documentation of a key is the first paragraph of its field's comment, which "make
// generate" writes to keydocs.txt; in another module, it is a tag `doc:"meaning of the key"`.
// A tag `unit:"s"` names the unit if the key does not. A tag
// `absent:"-1: the profile's"` names the value that stands in Go for an absent key, and what absence means: nobody
// writes that value, and Encode leaves the key out. `word:"0: all"` likewise names the number that stands in Go for a
// word, which files have in its place. A tag `deprecated:"use y"` says what
// replaces a key that still works; [Deprecated] notes its use.
//
// It must not know which tables exist. Package scenarios composes them.
package config
