// Package clients simulates the clients of a federated system in virtual time. Each
// client is a device with a processor, a battery, a link, and an availability trace.
//
// # Attempts
//
// A server starts an attempt with [Clients.Start]: the client downloads a message of so
// many bytes, computes so many FLOPs, and uploads a response of so many bytes. The
// [Listener] hears that it responded or failed, and why. [Clients.Cancel] ends an
// attempt early. A client is at one attempt at a time. Until the downlink is over, the
// work may still change: see [Listener.Downloaded].
//
// An attempt fails when the client drops out, a message is lost, the client becomes
// unavailable, its battery is depleted, or it has no time to compute. A client whose
// attempt has failed keeps that state until [Clients.Release] or the next attempt, since
// a server learns of a failure only when the response is overdue. [Clients.Due] and
// [Clients.SetTimer] are for that.
//
// # Groups
//
// [Clients.SendGroup] starts many attempts at once. Where hubs stand between the server
// and its clients, they serve groups: [Clients.OpenGroup] before the attempts are
// prepared, SendGroup, and [Clients.CloseGroup] when the server waits no longer.
//
// # Time
//
// [Clients.Run], [Clients.RunUntil] and [Clients.Step] advance the clock. The order
// of events depends on nothing but the setup and the calls.
//
// # Parts
//
// [System] describes the simulated system, and [Setup] adds the server's settings. A
// [Clients] is made of parts, each with its own state, file and tests:
//
//   - population: the state of each client, reached through one accessor; message sizes
//   - hardware: processors, links and the cost model: what work and messages usually take
//   - processors: how long a client computes, at a speed that changes
//   - radios: the power of a radio, and how long it takes to wake
//   - energy: what clients draw from their batteries, and when these are checked
//   - sharedLinks: transfers that share links, or whose rates change
//   - presence: the clients that are available by a trace
//   - preparation: what attempts meet, and how long they will take
//   - prospects: what clients can never do
//   - meter: what clients have computed and moved
//   - waiting, inbox: polls of clients and launchers; responses that lie at the server until it polls
//   - hubs: groups of attempts behind hubs
//   - recorder: entries of the journal
//   - timeouts, limits: connections and tries that are given up
//   - prefetch: the state of clients whose events come next
//   - clock: virtual time, the kinds of events and the timers
//
// Clients itself has the attempts: it moves each client from phase to phase, and reacts to
// the parts. Parts do not call it, but for hubs, which start attempts.
//
// # Limits
//
// The package must not know rounds, protocols, selection or learning. It imports
// neither algorithms nor mtl, data or results. Package federation drives it by rounds,
// and other programs may drive it alone.
package clients
