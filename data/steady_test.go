//go:build !race

package data

import "testing"

// The race detector empties pools at random, so this is not tested under it.

// A step on a device without resident rows allocates nothing once there is memory for
// the largest.
func TestOpeningAllocatesNothing(t *testing.T) {
	cfg := Defaults()
	cfg.Resident = false
	split := prepared(t, cfg)
	all := func() {
		for k := range split.Train.Clients {
			split.Train.Open(k).Close()
		}
	}
	all()
	if n := testing.AllocsPerRun(10, all); n > 2 { // the garbage collector may empty the pool
		t.Errorf("%g allocations", n)
	}
}
