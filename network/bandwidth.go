package network

import "fedsim/engine"

// Bandwidth returns the rates of device links over time. A result depends only on the
// device and the instant, not on earlier calls, which may be for later instants.
type Bandwidth interface {
	// Downlink and Uplink return the rate of a device's link at an instant, in 10^6
	// bit/s, and until when it holds: the next instant at which it may change, or
	// engine.Never. usual is the rate without a model.
	Downlink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time)
	Uplink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time)
}
