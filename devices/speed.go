package devices

import "fedsim/engine"

// Speed says how fast the processors of devices are over time.
type Speed interface {
	// Speed returns the factor of a device's usual speed at an instant, and until when
	// it holds: the next instant at which it may change, or engine.Never. At factor 0
	// the device makes no progress. The result depends only on the device and the
	// instant; calls may go back in time.
	Speed(device int, at engine.Time) (factor float64, until engine.Time)
}
