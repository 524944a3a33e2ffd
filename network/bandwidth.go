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

// Capacity returns which share of its capacity, in [0, 1], is left to a shared link over time: 0 stops its
// transfers. Link -1 is the server's, others are cells. A link model may implement it. A result depends
// only on the link and the instant.
type Capacity interface {
	Share(link int, at engine.Time) (share float64, until engine.Time)
}

// rush is the capacity of shared links with a rush hour on each day.
type rush struct {
	from, to engine.Time
	share    float64
}

// NewRush returns the rush hour of a table, in which all shared links have Config.RushShare.
func NewRush(s *SharedConfig) Capacity {
	return rush{engine.FromSeconds(s.RushFromH * 3600), engine.FromSeconds(s.RushToH * 3600), s.RushShare}
}

// Share implements Capacity.
func (r rush) Share(_ int, at engine.Time) (share float64, until engine.Time) {
	const day = engine.Time(24 * 3600 * 1e9)
	midnight := at - at%day
	switch begin, end := midnight+r.from, midnight+r.to; {
	case at >= end:
		return 1, begin.Add(day)
	case at >= begin:
		return r.share, end
	default:
		return 1, begin
	}
}
