package clients

import (
	"math"
	"testing"

	"fedsim/engine"
)

const second = engine.Time(1e9)

// near reports whether two times, or two amounts, agree but for rounding.
func near[T ~int64 | ~float64](a, b, within T) bool { return a-b <= within && b-a <= within }

// A drop at a share of an attempt of 2 s, 3 s and 5 s lies in the phase that has the share.
func TestPlaceOfADrop(t *testing.T) {
	for _, c := range []struct {
		share                 float64
		down, compute, upload engine.Time
		phase                 phase
		cut                   float64
	}{
		{0, 2, 3, 5, downlink, 0}, {0.1, 2, 3, 5, downlink, 0.5}, {0.2, 2, 3, 5, compute, 0},
		{0.35, 2, 3, 5, compute, 0.5}, {0.5, 2, 3, 5, uplink, 0}, {0.75, 2, 3, 5, uplink, 0.5}, {1, 2, 3, 5, uplink, 1},
		{0.5, 0, 4, 0, compute, 0.5}, {0.5, 0, 0, 0, uplink, 0},
	} {
		d := client{down: c.down * second, compute: c.compute * second, up: c.upload * second, drops: anywhere,
			cut: c.share}
		if d.placeDrop(); d.drops != c.phase || math.Abs(d.cut-c.cut) > 1e-12 {
			t.Errorf("%+v: phase %d at %g", c, d.drops, d.cut)
		}
	}
}
