package flows

import (
	"math"

	"fedsim/engine"
)

const (
	// segmentBytes is the payload of a TCP segment on Ethernet: 1500 bytes minus the
	// headers of IPv4 and TCP (RFC 6928, section 2, calls it typical).
	segmentBytes = 1460
	// initialWindow is in segments (RFC 6928, section 2).
	initialWindow = 10
)

// SlowStart returns the delay that TCP's slow start adds to a transfer over an idle
// path: the time in which the sender waits for acknowledgements. The rate is in 10^6
// bit/s, the round-trip time in milliseconds.
//
// A new connection sends 10 segments of 1460 bytes, then two per acknowledged segment
// (RFC 6928, section 2; RFC 5681, section 3.1, if every segment is acknowledged and none
// is lost). So the window doubles every round trip until it fills the path. Let s denote the
// time of a segment at the full rate. A window of w segments takes w s, and its first
// acknowledgement arrives after s + RTT. The sender waits RTT - (w - 1) s if that is
// positive and segments remain:
//
//	sum over the windows w = 10, 20, 40, ... except the last of max(0, RTT - (w - 1) s)
//
// Add it to the latency as the delay of Begin. The rate is the device's own. A flow that
// gets less at first would fill its share with a smaller window, so on a contended link
// the result is an upper bound. It excludes the handshake, which takes another round
// trip. With rate 0 the delay is 0.
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
