// Package learning lets a method of package algorithms learn on the server of package
// federation. It is a driver of the server: methods know nothing of virtual time, and the server
// knows nothing of models.
//
//   - [Federation.Run] goes through the rounds and outer iterations of a [Schedule] (run.go), updates
//     the coupling between iterations, and stops at a target.
//   - A round opens the method (federation.go); the server asks clients, whose work the method
//     does (driver.go), and the responses that the server takes are committed.
//   - The server plans by the description of the
//     method (workload.go), and by the additions of privacy to messages (private.go).
//   - After a round the model is evaluated, which takes no virtual time (evaluate.go).
//
// A run without learning drives a method that computes nothing (algorithms.Factory.Timed) on the
// same path.
//
// A checkpoint holds a log of the answers of the method and of the measures of its model, and the
// state of the method. A resumed run repeats its events with the logged answers: package replay
// decorates the method, and the server does not notice.
//
// The package must not know the mathematics of an algorithm, when a client is asked again, how a
// scenario was written, or where results go.
package learning
