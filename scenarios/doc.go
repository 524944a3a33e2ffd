// Package scenarios is the schema of a scenario file: the tables of all
// packages composed into Settings, experiments with their overrides, sweeps,
// axes and tuning grids, the expansion into concrete runs, and the scenarios
// that are shipped within the program.
//
// It owns what spans tables. What a single table means, its defaults and its
// checks, belong to that table's package. It must not know how runs are made,
// written or drawn.
package scenarios
