// Package devices is what the machines of a federation are: how fast each
// computes, what power it draws, when its battery is empty and when it is back,
// and in which rounds it drops.
//
// A Profile says what a device is and never changes; Fleet holds every device's
// speed and powers, Batteries the state of their energy, Drops the fault model.
// All of it is a function of the configuration and the seed: a drop is drawn
// from (seed, device, round), so that every algorithm faces the same ones.
//
// The package owns FLOPs to seconds and watts to joules. It must not know what
// the FLOPs compute, what a round is made of or how bytes travel; it schedules
// no events, federation does.
package devices
