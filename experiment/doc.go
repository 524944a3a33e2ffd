// Package experiment runs a scenario: it expands the grid of settings, methods
// and seeds, prepares data, problems and reference optima once for all runs
// that share them, tunes methods, runs everything in parallel and hands the
// finished runs on in the order of the scenario.
//
// It must not know how a scenario is written, how results are stored or drawn,
// nor what a run does inside.
package experiment
