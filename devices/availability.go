package devices

import (
	"math"

	"fedsim/engine"
)

// Availability says when devices are available.
type Availability interface {
	// Available reports whether a device is available at an instant, and until when that
	// holds: the next instant at which it may change, or engine.Never. For each device
	// it is called for instants in ascending order.
	Available(device int, at engine.Time) (present bool, until engine.Time)
}

// outage makes some devices unavailable for a while and otherwise follows next.
type outage struct {
	from, to engine.Time
	affected int // the outage affects devices 0..affected-1
	next     Availability
}

// WithOutage adds the outage of a valid table of faults to the availability of n
// devices. If next is nil, devices are available at all other times. Without an outage
// it returns next.
func (f *Faults) WithOutage(next Availability, n int) Availability {
	if f.OutageShare == 0 {
		return next
	}
	return &outage{
		from: engine.FromSeconds(f.OutageFromS), to: engine.FromSeconds(f.OutageToS),
		affected: int(math.Ceil(f.OutageShare * float64(n))), next: next,
	}
}

// Available implements Availability.
func (o *outage) Available(device int, at engine.Time) (present bool, until engine.Time) {
	present, until = true, engine.Never
	if o.next != nil {
		present, until = o.next.Available(device, at)
	}
	switch {
	case device >= o.affected || at >= o.to:
		return present, until
	case at < o.from:
		return present, min(until, o.from)
	default:
		return false, o.to
	}
}
