// Package config decodes TOML strictly into structs that hold their documented defaults.
// Errors have file, line and column, and suggest the right name for a misspelled one.
// The package also lists all keys for the documentation.
//
// A configuration struct has fields tagged `toml:"key" doc:"meaning of the key"`, a
// constructor that returns it with every default filled in, and a method
// Validate(*Checker) that reports everything wrong at once. A tag `unit:"s"` names
// the unit if the key does not. A tag `was:"key"` holds the former name of a renamed
// key: its use is an error that names the new key. A tag `deprecated:"use y"` says what
// replaces a key that still works; [Deprecated] notes its use.
//
// It must not know which tables exist. Package scenarios composes them.
package config
