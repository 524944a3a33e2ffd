// Package devices models the hardware of clients: the speed and power of processors,
// batteries and their charging, availability, and dropouts.
//
// A Profile describes a kind of device. Processors has the speeds and powers of all
// devices, Batteries the state of their energy, and Drops the fault model. Availability,
// Speed and ChargingSchedule vary over time; traces and device models implement them.
// Every result depends only on the configuration and the seed. A drop is drawn from
// (seed, device, round, attempt), so all algorithms face the same ones.
//
// The package converts FLOPs to seconds and watts to joules. It must not know the
// computation behind the FLOPs, rounds, or how bytes travel. It schedules no events; its
// caller does.
package devices
