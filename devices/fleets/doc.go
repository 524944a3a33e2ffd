// Package fleets is what the devices of a federation are when they are not all
// alike: classes with shares, each with a device, a link and spreads, and how link,
// speed and data go together.
//
// A Fleet is read from a file (docs/fleets.md) or built in. Assemble says for each
// device of a run its class, and by which factors its speed and its rates differ
// from those of the class.
//
// The package owns who is of which class and how fast. It must not know what a
// class computes, sends or draws: devices and network do, to which it hands their
// mixes.
package fleets
