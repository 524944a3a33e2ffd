package devices

import "fedsim/engine"

// Speed says how fast the processors of devices are as time passes.
type Speed interface {
	// Speed returns what a device's usual speed is multiplied by at an instant, and
	// the first instant after it from which that may be otherwise; engine.Never: it
	// stays so. A factor of 0 stands still. The answer depends on the device and the
	// instant alone: instants ahead are asked about, and then earlier ones again.
	Speed(device int, at engine.Time) (factor float64, until engine.Time)
}
