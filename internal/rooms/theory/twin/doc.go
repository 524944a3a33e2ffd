// Package twin has closed forms of what a simulation measures: throughput, staleness, the length of rounds,
// participants, energy and depletion. docs/theory.md lists them, with their conditions and the derivation of the
// first.
//
// All are pure functions of mean response times, of the laws of times, and of the settings of a server. They read
// nothing of a run, so that a comparison with one is a test of it.
//
// The package must not know scenarios, methods, runs and how a simulation works.
package twin
