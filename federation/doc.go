// Package federation is the server of a simulated federated system, on the clients of package
// clients: attempts, rounds, protocols, selection, server time and retries. Only the driver of the server knows
// the work: a method that learns (package learning) or another
// program (package session). Both see the same protocols, selectors, faults and journal.
//
// # A round
//
//   - A driver calls the methods of [Server] in the order of its comment (server.go, round.go).
//   - Select chooses clients by the [Selector], and lets the time pass that their reports take.
//   - Open prepares their attempts. The [Protocol] may limit their steps. [Driver.Work] does
//     the local work of all of them, on all cores: it depends only on messages, so it is done
//     before its virtual time. Then the messages leave.
//   - In Play, the clients call back when a response arrives, an attempt fails, a client becomes
//     available, its battery is depleted, or a timer runs out (attempts.go). A failed client is
//     asked again when its response is overdue, if the protocol waits for all or retries allow
//     it. The [Protocol] hears of responses and of the last possible one, and ends the round.
//   - Count decides whether the responses are enough, and Close takes them in device order, by
//     [Driver.Commit]. The work of all others is discarded on both sides. Under a protocol that
//     takes late responses, clients at work continue.
//   - The server computes for as long as its work takes, and Account returns the costs.
//
// A server without rounds (continuous.go) takes each response when it arrives and asks another
// client. Hubs may have rounds, too (tiers.go). Both share everything else.
//
// # Messages beside rounds
//
// A [Messenger] also sends other messages, by [Server.Clients]. Clients call back as above;
// the server passes on calls for these messages (outside.go), and counts in its [Accounts] as the
// driver says.
//
// # Plugins
//
// Protocols and selectors register under a name: [RegisterProtocol], [RegisterSelector]. Those of fedsim
// are packages protocols and selectors, which a program links to have them. Both see only the past and the
// server's expectations, in an [OpenRound] and a [Selection].
//
// The package must not know methods, models, evaluations, any protocol or selector, how a scenario was written,
// or where results go.
package federation
