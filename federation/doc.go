// Package federation is the server of a simulated federated system. It drives a method of
// package algorithms through rounds, on the clients of package clients. Methods know
// nothing of virtual time, and clients know nothing of the mathematics: this package
// connects them.
//
// # A round
//
//   - [Federation.Run] calls runRound for each round of the plan (federation.go, round.go).
//   - openRound selects clients by the [Selector], prepares their attempts, lets the
//     method do their local work on all cores, and sends the group. Local work depends
//     only on the server's message, so it is done before its virtual time.
//   - The clients call back when a response arrives, an attempt fails, a client becomes
//     available, its battery is depleted, or a timer runs out (server.go). A failed client
//     is asked again when its response is overdue, if the protocol waits for all or
//     retries allow it: asksAgain decides, askAgain does it.
//   - The [Protocol] hears of responses and of the last possible one, and ends the round.
//   - close takes the updates that have arrived, in device order, and discards the work of
//     all others on both sides. Under a protocol that takes late responses, clients at
//     work continue.
//   - The server computes for as long as its work takes, and the round is evaluated.
//
// A server without rounds (continuous.go) takes each response when it arrives and asks
// another client. It shares everything else. A run without learning drives a method that
// computes nothing ([algorithms.NewTimingOnly]) on the same path.
//
// # Sessions
//
// Another program may take the place of the plan, of the method, and of the protocol: the
// driver of a [Session] sends messages, waits in virtual time, and closes rounds.
//
//   - A message has an id and a place (session.go). Messages to a client take turns
//     (session_send.go).
//   - Clients call back as above. The session passes on what belongs to messages that a
//     protocol plays with, and gives the rest to the driver (session_wait.go).
//   - Expiry, and the moment at which the driver learns of a failure, are timers beside the
//     clock, so that the events are those of clients alone (session_timers.go).
//   - Round hands messages to openRound and close above. Close counts, evaluates nothing,
//     and forgets messages that have ended (session_round.go).
//
// # Plugins
//
// Protocols and selectors register under a name, one file each: [RegisterProtocol],
// [RegisterSelector]. Both see only the past and the server's expectations, in a [Round]
// and a [Selection].
//
// # Checkpoints
//
// A checkpoint holds a log of what the method answered and what is known of its model, and the
// state of the method. A resumed run repeats its events with the logged answers: package replay
// decorates the method, and the server does not notice.
//
// The package must not know the mathematics of an algorithm, how a scenario was written,
// or where results go.
package federation
