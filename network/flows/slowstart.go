package flows

import (
	"math"

	"fedsim/engine"
)

const (
	// segmentBytes is what a TCP segment carries on Ethernet: 1500 bytes without
	// the headers of IPv4 and TCP (RFC 6928, section 2, has it as the usual one).
	segmentBytes = 1460
	// initialWindow is in segments (RFC 6928, section 2).
	initialWindow = 10
)

// SlowStart returns by how much longer TCP's slow start makes a transfer of that
// many bytes over an idle path with a rate in 10^6 bit/s and a round-trip time in
// milliseconds: the time in which the sender waits for acknowledgements.
//
// A new connection sends 10 segments of 1460 bytes, then two for each that is
// acknowledged (RFC 6928, section 2; RFC 5681, section 3.1, every segment being
// acknowledged and none lost), so that the window doubles from one round trip to
// the next until it fills the path. With s the time that a segment takes at the
// full rate, a window of w segments takes w s and its first acknowledgement comes
// after s + RTT; the sender waits RTT - (w - 1) s unless that is negative or
// nothing is left to send:
//
//	sum over the windows w = 10, 20, 40, ... but the last of max(0, RTT - (w - 1) s)
//
// It is a delay for Begin, on top of the latency. The rate is the device's own: a
// flow that gets less at first would fill its share with a smaller window, so that
// on a contended link this is the most that slow start costs. Before anything is
// sent there is a handshake, which takes a round trip of its own and is not in it.
// Without a rate there is no delay.
func SlowStart(bytes, mbps, rttMs float64) engine.Time {
	rtt := rttMs / 1e3
	segment := segmentBytes * 8 / (mbps * 1e6)
	left := math.Ceil(bytes / segmentBytes) // segments
	waits := 0.0
	for w := float64(initialWindow); left > w; w *= 2 {
		wait := rtt - float64((w-1)*segment)
		if !(wait > 0) {
			break
		}
		waits += wait
		left -= w
	}
	return engine.FromSeconds(waits)
}
