// Package engine is a discrete-event simulation core: a virtual clock and a queue of
// events.
//
// A client schedules events for a device at an instant, and cancels or moves them by
// handle. When the clock reaches an event, the engine calls the client's handler. Events
// fire in a total order: by time, kind, device, and the device's own counter. The order
// depends only on the events scheduled for each device. It does not depend on the
// queue, or on the order in which different devices are scheduled. So a simulation fires
// the same events, with the same digest, on every run.
//
// Time is in nanoseconds. The engine runs in its caller's goroutine and never reads the
// real clock.
//
// The package owns virtual time, events and their order. It must not know the meaning of
// an event: nothing of device speeds, links, rounds or learning.
package engine
