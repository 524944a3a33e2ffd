// Package scenario has the schema of scenario files: Settings composes the tables of all
// packages, and experiments have overrides, sweeps, axes and tuning grids. The package
// expands experiments into runs.
//
// It owns the rules between tables. The package of a table owns its meaning, its defaults
// and its checks. Scenarios must not know how runs are made, written or drawn.
package scenario
