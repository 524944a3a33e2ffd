// Package network models the links between a server and its devices: the duration and
// loss of each message, and the power of the device's radio.
//
// A Profile describes a kind of link. Links holds the rates of all devices. A Radio has
// the states that cost energy. Jitter and losses are drawn from (seed, device, round,
// attempt), so all algorithms face the same ones. Rates are in 10^6 bit/s, latencies in
// milliseconds, sizes in bytes, and power in watts.
//
// The package converts values to bytes and bytes to seconds. It must not know the
// meaning of the values, rounds, or the other activities of a device. It schedules no events; its caller does.
package network
