package clients

import (
	"math"

	"fedsim/engine"
)

// piece is the stretch of a transfer during which its link keeps its rate. In a cell of airtime each is a
// separate flow.
type piece struct {
	mbps   float64     // of the link, which jitter has divided; 0: an outage, or no piece has begun
	left   float64     // bytes of the message that were left when it began
	size   float64     // of its flow, in bytes
	before float64     // bytes that moved in earlier pieces, since the transfer began or continued
	alone  float64     // nanoseconds that these would have taken with no other transfer
	first  engine.Time // when the first byte may move
	since  engine.Time // when it began, not before first
	flows  bool        // it has begun
}

// end ends a piece of whose flow so many bytes have moved.
func (p *piece) end(moved float64, air bool, now engine.Time) {
	switch {
	case moved >= p.size*(1-0x1p-50): // rounded off
		moved = p.left
	case air && p.mbps > 0:
		moved *= p.mbps
	}
	if p.mbps > 0 {
		p.alone += moved * 8e3 / p.mbps
	} else {
		p.alone += float64(max(0, now-p.since))
	}
	p.before += moved
	p.left, p.flows = max(0, p.left-moved), false
}

// sharedFor returns how much longer than alone a transfer of a client has taken that ends now, or is
// interrupted.
func (l *sharedLinks) sharedFor(client int) engine.Time {
	if l == nil || l.pieces == nil {
		return 0
	}
	p := &l.pieces[client]
	return max(0, l.clock.Now()-p.first-engine.Time(math.Round(p.alone)))
}

// setRate gives the flow of a client the rate of its link, which jitter has divided. In a cell of airtime
// the flow is of bytes divided by this rate, so that the rest of it begins as a new flow.
func (l *sharedLinks) setRate(client int, w *direction, mbps float64) {
	now := l.clock.Now()
	w.stale = true
	if l.pieces == nil {
		w.share.SetRate(now, client, mbps)
		return
	}
	p := &l.pieces[client]
	switch {
	case p.flows && p.mbps == mbps:
		return
	case !p.flows:
	case l.airtime:
		p.end(w.share.Remove(now, client), true, now)
	default:
		p.end(w.share.Moved(now, client)-p.before, false, now)
	}
	p.mbps, p.size, p.since, p.flows = mbps, p.left, max(now, p.first), true
	if !l.airtime {
		w.share.SetRate(now, client, mbps)
		return
	}
	own := 0.0
	if mbps > 0 {
		own, p.size = 1, p.left/mbps
	}
	w.share.SetRate(now, client, own)
	w.share.Begin(now, client, p.size, p.since-now)
}
