package flows

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
)

// sendSegments simulates a transfer segment by segment. A segment is sent when the link
// is free and the window allows. It is acknowledged a round trip after its last bit was
// sent, and the acknowledgement opens the window by one more segment. It returns when
// the last bit was sent, in seconds.
func sendSegments(bytes, mbps, rtt float64) float64 {
	var acks []float64 // in order
	now, inFlight, window := 0.0, 0, 10
	for bytes > 0 {
		for inFlight == window || len(acks) > 0 && acks[0] <= now {
			now = max(now, acks[0])
			acks = acks[1:]
			inFlight--
			window++
		}
		size := min(bytes, 1460)
		now += size * 8 / (mbps * 1e6)
		bytes -= size
		acks = append(acks, now+rtt)
		inFlight++
	}
	return now
}

func TestSlowStartAgainstTwin(t *testing.T) {
	random := rand.New(rand.NewPCG(17, 18))
	between := func(low, high float64) float64 { return low * math.Pow(high/low, random.Float64()) }
	stalled := 0
	for range 500 {
		bytes, mbps, rttMs := math.Ceil(between(1e4, 3e6)), between(1, 1000), between(1, 500)
		got := SlowStart(bytes, mbps, rttMs).Seconds()
		want := sendSegments(bytes, mbps, rttMs/1e3) - bytes*8/(mbps*1e6)
		// Half a nanosecond of rounding, plus the twin's own: 2e3 additions.
		expect.Must(t, math.Abs(got-want) <= 0.5e-9+1e-11,
			"%g bytes at %g Mbps and %g ms: %.12f s longer, want %.12f", bytes, mbps, rttMs, got, want)
		if want > 1e-6 {
			stalled++
		}
	}
	expect.That(t, stalled >= 250, "%d of 500 transfers waited", stalled)
}

func TestSlowStart(t *testing.T) {
	for _, c := range []struct {
		what                 string
		bytes, mbps, rtt, ms float64
	}{
		{"nothing", 0, 10, 100, 0},
		{"one window", 14600, 10, 100, 0},
		// 100 ms less 9 segments of 11680 bit at 11.68 Mbps.
		{"a byte more", 14601, 11.68, 100, 100 - 9},
		{"30 segments", 30 * 1460, 11.68, 100, 100 - 9},
		{"31 segments", 31 * 1460, 11.68, 100, 200 - 9 - 19},
		// Windows of 10, 20, 40 and 80 segments wait; 160 last longer than the round trip.
		{"the path is full", 1e9, 11.68, 100, 400 - 9 - 19 - 39 - 79},
		{"the first window fills it", 1e9, 11.68, 9, 0},
		{"no round trip", 1e9, 10, 0, 0},
		{"no rate", 1e9, 0, 100, 0},
	} {
		got, want := SlowStart(c.bytes, c.mbps, c.rtt), engine.FromSeconds(c.ms/1e3)
		expect.That(t, got == want, "%s: %v, want %v", c.what, got, want)
	}
}
