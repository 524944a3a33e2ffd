// Package fleets describes heterogeneous populations of devices: classes with shares,
// each with a device, a link and spreads, and the correlations of speed, rate and data.
//
// A Fleet is read from a file (docs/time.md#fleets) or built in. Assemble returns the class
// of each device of a run, and the factors of its speed and its rates.
//
// The package owns the assignment of devices to classes. It must not know how the
// devices of a class compute, send or draw power: devices and network do, which receive
// its mixes.
package fleets
