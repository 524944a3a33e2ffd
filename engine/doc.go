// Package engine is a virtual clock and the queue of what is to happen.
//
// A client schedules events for a device at an instant, cancels or moves them by
// the handle it got, and is called back with each event when its time has come.
// Events fire in a total order that the client fixes entirely by what it
// schedules: (time, kind, device, that device's own counter). Neither the order
// in which different devices were scheduled nor the queue in use has any say, so
// that a simulation's events, and the digest of them, are the same on every run.
//
// The engine has one goroutine, that of its caller, and reads no real clock.
//
// It owns virtual time, events and their order. It must not know what an event
// means: nothing of devices' speeds, links, rounds or learning.
package engine
