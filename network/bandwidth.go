package network

import "fedsim/engine"

// Bandwidth says what the links of devices carry as time passes. The answer depends
// on the device and the instant alone, not on what was asked before. Instants are
// asked about in order for each device and each way.
type Bandwidth interface {
	// Downlink and Uplink return the rate of a device's link at an instant, in
	// 10^6 bit/s, given the usual one, and the first instant after it from which
	// that may be otherwise; engine.Never: it stays so.
	Downlink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time)
	Uplink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time)
}
