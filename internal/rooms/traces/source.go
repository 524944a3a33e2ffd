package traces

import (
	"fmt"

	"fedsim/engine"
	"fedsim/network"
)

// Source returns the behavior of devices over time. Devices count from 0. Times must not
// be negative, and kinds must be among Kinds. [View] and [Availability] are sources, and
// [Combined] joins several.
type Source interface {
	// Kinds returns the kinds that the source has.
	Kinds() Kinds
	// Lookup returns the value at an instant, 1 or 0 for a binary kind, and the next instant at
	// which it differs, or engine.Never. It does not depend on earlier calls and does
	// not allocate.
	Lookup(k Kind, device int, at engine.Time) (value float64, until engine.Time)
}

// Combined joins several sources, each for its own kinds. The zero value has no kinds.
type Combined struct {
	of     [kinds]Source
	fading *Fading // nil: no fading
}

var (
	_ Source = (*Combined)(nil)
	_ Source = (*View)(nil)
	_ Source = (*Availability)(nil)
)

// Combine joins sources. It fails if two have the same kind.
func Combine(sources ...Source) (*Combined, error) {
	j := &Combined{}
	for _, s := range sources {
		for _, k := range AllKinds() {
			if !s.Kinds().Has(k) {
				continue
			}
			if j.of[k] != nil {
				return nil, fmt.Errorf("%v has two sources: must have one", k)
			}
			j.of[k] = s
		}
	}
	return j, nil
}

// Kinds returns the kinds of all sources.
func (c *Combined) Kinds() Kinds {
	var s Kinds
	for k, source := range c.of {
		if source != nil {
			s = s.with(Kind(k))
		}
	}
	return s
}

// Span returns the end of the longest trace from a file; 0: there is none.
func (c *Combined) Span() (longest engine.Time) {
	for _, source := range c.of {
		if v, ok := source.(*View); ok {
			longest = max(longest, v.Span())
		}
	}
	return longest
}

// Lookup calls the source of the kind.
func (c *Combined) Lookup(k Kind, device int, at engine.Time) (value float64, until engine.Time) {
	if c.of[k] == nil {
		panic(missingKind(k, c.Kinds()))
	}
	return c.of[k].Lookup(k, device, at)
}

// Available implements devices.Availability. [Available] must be among the kinds.
func (c *Combined) Available(device int, at engine.Time) (present bool, until engine.Time) {
	value, until := c.Lookup(Available, device, at)
	return value == 1, until
}

// PluggedIn implements devices.ChargingSchedule. [Charging] must be among the kinds.
func (c *Combined) PluggedIn(device int, at engine.Time) (plugged bool, change engine.Time) {
	value, change := c.Lookup(Charging, device, at)
	return value == 1, change
}

// Downlink implements network.Bandwidth: the rate of a device's link from the server at
// an instant, in 10^6 bit/s, and until when it holds. It is the usual rate if no trace
// has one, multiplied by the fading level.
func (c *Combined) Downlink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	return c.rate(DownMbps, device, usual, at)
}

// Uplink is Downlink for the link to the server.
func (c *Combined) Uplink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	return c.rate(UpMbps, device, usual, at)
}

func (c *Combined) rate(k Kind, device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	mbps, until = usual, engine.Never
	if c.of[k] != nil {
		mbps, until = c.Lookup(k, device, at)
	}
	if c.fading != nil {
		level, next := c.fading.Level(device, at)
		mbps, until = mbps*level, min(until, next)
	}
	return mbps, until
}

// HasRates reports whether Downlink or Uplink may differ from the usual rate.
func (c *Combined) HasRates() bool {
	return c.fading != nil || c.of[DownMbps] != nil || c.of[UpMbps] != nil
}

// HasChannel reports whether Channel may differ from the usual values.
func (c *Combined) HasChannel() bool { return c.of[RTTms] != nil || c.of[Loss] != nil }

// Channel implements network.Channel: the values of traces, or the usual ones.
func (c *Combined) Channel(device int, _ network.Direction, rttMs, loss float64, at engine.Time) (rtt, lost float64) {
	if c.of[RTTms] != nil {
		rttMs, _ = c.Lookup(RTTms, device, at)
	}
	if c.of[Loss] != nil {
		loss, _ = c.Lookup(Loss, device, at)
	}
	return rttMs, loss
}

// Speed implements devices.Speed. [Speed] must be among the kinds.
func (c *Combined) Speed(device int, at engine.Time) (factor float64, until engine.Time) {
	return c.Lookup(Speed, device, at)
}

// missingKind returns the message of a panic about a kind that a source does not have.
func missingKind(k Kind, have Kinds) string {
	return fmt.Sprintf("traces: no %v among the kinds %v", k, have)
}
