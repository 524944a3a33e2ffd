// Package federation is the one room where mathematics and time meet: it drives
// an algorithm through rounds on the event engine. It owns the server's round
// protocols, the cost models, retries, deadlines, drops and the batteries'
// events, and it decides which updates the server has received.
//
// It must not know what an algorithm computes, nor how a scenario was written
// or where results go.
package federation
