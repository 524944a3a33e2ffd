package network

import "fedsim/engine"

// Channel returns the round trip time of links and the probability that a transfer is lost over time. A link model may
// implement it. A result depends only on the arguments. The values at the begin of a transfer hold until its end.
type Channel interface {
	// Channel returns both for a transfer that begins at an instant, the time in milliseconds. rttMs and loss are
	// those without a model.
	Channel(device int, d Direction, rttMs, loss float64, at engine.Time) (rtt, lost float64)
}

// channel is the round trip time of a device's link, in milliseconds, and its losses, as the last transfer began with
// them.
type channel struct{ rttMs, loss float64 }

// FollowChannels lets the links of n devices have channels that change: Set chooses those of the next transfer.
func (l *Links) FollowChannels(n int) {
	l.channels, l.steady = make([]channel, n), false
	for device := range n {
		l.ResetChannel(device)
	}
}

// ResetChannel lets the next transfer of a device have the usual round trip time and losses.
func (l *Links) ResetChannel(device int) {
	if l.channels != nil {
		l.channels[device] = channel{l.kind(device).profile.RTTms, l.loss}
	}
}

// SetChannel lets the next transfer of a device have the values of a model at its begin.
func (l *Links) SetChannel(of Channel, device int, d Direction, at engine.Time) {
	rtt, loss := of.Channel(device, d, l.kind(device).profile.RTTms, l.loss, at)
	l.channels[device] = channel{rtt, loss}
}

// Latency returns the latency of the present transfer of a device in seconds, without jitter.
func (l *Links) Latency(device int) float64 {
	if l.channels != nil {
		return l.channels[device].rttMs / 1e3 / 2 * float64(1+l.roundTrips)
	}
	return l.kind(device).latency
}

// RTTms returns the round trip time of the present transfer of a device in milliseconds, without jitter.
func (l *Links) RTTms(device int) float64 {
	if l.channels != nil {
		return l.channels[device].rttMs
	}
	return l.kind(device).profile.RTTms
}

// Present is Expected of a transfer with the present latency.
func (l *Links) Present(d Direction, device int, bytes float64) engine.Time {
	return engine.FromSeconds(l.present(d, device, bytes))
}

func (l *Links) present(d Direction, device int, bytes float64) float64 {
	return l.Latency(device) + float64(l.Timed(device, bytes)*8/(l.Mbps(d, device)*1e6))
}
