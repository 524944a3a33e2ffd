// Package network is the links between a federation's server and its devices:
// how long a message takes each way, whether it gets lost, and what power the
// device's radio draws meanwhile.
//
// A Profile says what a link is and never changes; Links holds every device's
// rates. Jitter and losses are drawn from (seed, device, round, attempt), so that
// every algorithm faces the same ones.
//
// The package owns values to bytes and bytes to seconds. It must not know what
// the values mean, what a round is, or what a device does besides sending and
// receiving; it schedules no events, federation does.
package network
