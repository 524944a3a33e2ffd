// Package learning lets a method of package algorithms learn on the server of package
// federation. It is a driver of the server: methods know nothing of virtual time, and the server
// knows nothing of models.
//
//   - [Federation.Run] goes through the rounds and outer iterations of a [Schedule] (run.go), updates
//     the coupling between iterations, and stops at a target.
//   - A round opens the method (federation.go); the server asks clients, whose work the method
//     does (driver.go), and what the server takes is committed.
//   - What the server plans with before the work is done comes from the description of the
//     method (workload.go), with what privacy adds to messages (private.go).
//   - After a round the model is evaluated, which takes no virtual time (evaluate.go).
//
// A run without learning drives a method that computes nothing (algorithms.Factory.Timed) on the
// same path.
//
// A checkpoint holds a log of what the method answered and what is known of its model, and the
// state of the method. A resumed run repeats its events with the logged answers: package replay
// decorates the method, and the server does not notice.
//
// The package must not know the mathematics of an algorithm, when a client is asked again, how a
// scenario was written, or where results go.
package learning
