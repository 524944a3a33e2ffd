// Package experiment runs a scenario: it expands the grid of settings, methods and
// seeds, prepares data, problems and reference optima once for all runs that share them,
// tunes methods, runs everything in parallel and returns the finished runs.
//
// It must not know how a scenario is written, how results are stored or drawn, or how a
// run works inside.
package experiment
