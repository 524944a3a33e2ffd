// Package config is what every configuration table of fedsim has in common:
// strict decoding of TOML into structs that carry their documented defaults,
// errors with file, line and column, suggestions for misspelt names, and the
// reference of all keys that the documentation is generated from.
//
// A configuration struct has fields tagged `toml:"key" doc:"what it is"`, a
// constructor that returns it with every default filled in, and a method
// Validate(*Checker) that reports everything wrong at once. A tag `unit:"s"` names
// the unit if the key does not. A tag `was:"key"` holds the former name of a renamed
// key: its use is an error that names the new key.
//
// It must not know which tables exist: scenarios composes them.
package config
