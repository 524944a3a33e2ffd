// Package session lets another program, here called the driver, be the server of a simulated
// federated system: it sends messages to clients, waits in virtual time, and closes rounds. The
// server of package federation has the protocols and selectors for it, as policies.
//
//   - A message has an id and a place. Messages to a client take turns (queue.go, send.go).
//   - Clients call back while time passes. The session answers for messages of Send, and notifies
//     the driver of all (driver.go, wait.go).
//   - Expiry, and the moment at which the driver learns of a failure, are timers beside the
//     clock, so that the events are those of clients alone (timers.go).
//   - Round hands messages to the server, whose protocol plays a round with them. Close counts,
//     evaluates nothing, and forgets messages that have ended (round.go).
//
// The package must not know what messages contain, the lines by which a program speaks to it, or
// where results go.
package session
