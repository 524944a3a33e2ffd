package devices

import (
	"math"

	"fedsim/engine"
)

// Availability says when devices can be reached.
type Availability interface {
	// Present reports whether a device can be reached at an instant, and the first
	// instant after it from which that may be otherwise; engine.Never: it stays so.
	// For each device it is asked about instants in order.
	Available(device int, at engine.Time) (present bool, until engine.Time)
}

// outage is a presence in which some devices cannot be reached for a while,
// whatever was said of them.
type outage struct {
	from, to engine.Time
	struck   int // devices 0..struck-1
	next     Availability
}

// WithOutage returns the presence of n devices under a valid table of faults: that
// given, nil being one of devices that are always there, but for the devices of the
// region whose network is down. Without an outage it returns what it was given.
func (f *Faults) WithOutage(next Availability, n int) Availability {
	if f.OutageShare == 0 {
		return next
	}
	return &outage{
		from: engine.FromSeconds(f.OutageFromS), to: engine.FromSeconds(f.OutageToS),
		struck: int(math.Ceil(f.OutageShare * float64(n))), next: next,
	}
}

// Available implements Availability.
func (o *outage) Available(device int, at engine.Time) (present bool, until engine.Time) {
	present, until = true, engine.Never
	if o.next != nil {
		present, until = o.next.Available(device, at)
	}
	switch {
	case device >= o.struck || at >= o.to:
		return present, until
	case at < o.from:
		return present, min(until, o.from)
	default:
		return false, o.to
	}
}
