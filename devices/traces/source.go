package traces

import (
	"fmt"

	"fedsim/engine"
)

// Source tells what the devices of a simulation do. Devices count from 0; times
// must not be negative, and kinds must be among Kinds. [View] and [Availability] are
// sources, and a [Combined] is several as one.
type Source interface {
	// Kinds returns what the source tells.
	Kinds() Kinds
	// Lookup returns the value at t, 1 or 0 for a switch, and the first instant
	// after t at which it is another one, engine.Never when it stays. The answer
	// does not depend on what was asked before. It allocates nothing.
	Lookup(k Kind, device int, t engine.Time) (value float64, until engine.Time)
}

// Combined is several sources as one: each kind comes from the one that has it.
// The zero value tells nothing.
type Combined struct {
	of     [kinds]Source
	fading *Fading // nil: rates are the usual ones, or those of a source
}

var (
	_ Source = (*Combined)(nil)
	_ Source = (*View)(nil)
	_ Source = (*Availability)(nil)
)

// Combine returns the sources as one. It fails when two have the same kind.
func Combine(sources ...Source) (*Combined, error) {
	j := &Combined{}
	for _, s := range sources {
		for _, k := range AllKinds() {
			if !s.Kinds().Has(k) {
				continue
			}
			if j.of[k] != nil {
				return nil, fmt.Errorf("%v comes from two traces: must come from one", k)
			}
			j.of[k] = s
		}
	}
	return j, nil
}

// Kinds returns the kinds of all sources.
func (j *Combined) Kinds() Kinds {
	var s Kinds
	for k, source := range j.of {
		if source != nil {
			s = s.with(Kind(k))
		}
	}
	return s
}

// Lookup asks the source of the kind.
func (j *Combined) Lookup(k Kind, device int, t engine.Time) (value float64, until engine.Time) {
	if j.of[k] == nil {
		panic(untold(k, j.Kinds()))
	}
	return j.of[k].Lookup(k, device, t)
}

// Available returns whether a device is available at an instant, and when that
// changes, as federation asks; [Available] must be among the kinds.
func (j *Combined) Available(device int, at engine.Time) (present bool, until engine.Time) {
	value, until := j.Lookup(Available, device, at)
	return value == 1, until
}

// PluggedIn returns whether the charger of a device is plugged in at an instant,
// and when that changes, as devices ask; [Charging] must be among the kinds.
func (j *Combined) PluggedIn(device int, at engine.Time) (plugged bool, change engine.Time) {
	value, change := j.Lookup(Charging, device, at)
	return value == 1, change
}

// Downlink returns the rate of a device's link from the server at an instant, in
// 10^6 bit/s, and until when it holds: the usual one when no trace tells, times the
// level that the link has faded to.
func (j *Combined) Downlink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	return j.rate(DownMbps, device, usual, at)
}

// Uplink is Downlink for the link to the server.
func (j *Combined) Uplink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	return j.rate(UpMbps, device, usual, at)
}

func (j *Combined) rate(k Kind, device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	mbps, until = usual, engine.Never
	if j.of[k] != nil {
		mbps, until = j.Lookup(k, device, at)
	}
	if j.fading != nil {
		level, next := j.fading.Level(device, at)
		mbps, until = mbps*level, min(until, next)
	}
	return mbps, until
}

// HasRates reports whether Downlink or Uplink may differ from the usual rate.
func (j *Combined) HasRates() bool {
	return j.fading != nil || j.of[DownMbps] != nil || j.of[UpMbps] != nil
}

// Speed returns what the rate of a device's processor is multiplied by at an
// instant, and until when; [Speed] must be among the kinds.
func (j *Combined) Speed(device int, at engine.Time) (factor float64, until engine.Time) {
	return j.Lookup(Speed, device, at)
}

func (j *Combined) period(k Kind, device int) engine.Time { return period(j.of[k], k, device) }

func untold(k Kind, have Kinds) string {
	return fmt.Sprintf("traces: %v of traces that have %v", k, have)
}

// period returns the span after which a device's trace repeats, Never when that
// is unknown.
func period(s Source, k Kind, device int) engine.Time {
	if p, ok := s.(interface {
		period(Kind, int) engine.Time
	}); ok {
		return p.period(k, device)
	}
	return engine.Never
}
