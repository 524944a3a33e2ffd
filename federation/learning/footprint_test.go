//go:build !race

package learning

import (
	"runtime"
	"testing"

	"fedsim/devices/fleets"
	"fedsim/internal/tools/racetest"
)

// footprint returns how many bytes a device of a federation takes after some rounds:
// its state, its meters, its speed, its pending events, and the scratch space to sort
// them.
func footprint(t *testing.T, n int, change func(*Setup)) float64 {
	t.Helper()
	before := heap()
	f := crowd(t, n, change)
	for range 3 {
		f.runRound()
	}
	bytes := float64(heap()-before) / float64(n)
	if fired := f.clients.Clock().Fired(); fired < int64(8*n) {
		t.Fatalf("%d events in three rounds of %d devices: about nine for each are to be held", fired, n)
	}
	runtime.KeepAlive(f)
	return bytes
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools release their memory in the second
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// phoneWh is the battery of the default profile.
const phoneWh = 11

// A device of a run without learning takes at most 200 bytes, with a battery and as one
// of a fleet too. A fleet adds the class and the factor of the rates, 9 bytes, a battery
// 17, and the next look at it 12; polls 8, and 4 while a response lies at the server.
func TestADeviceTakesFewBytes(t *testing.T) {
	racetest.Skip(t, "measures memory; TestSameBitsWhateverComputesThem runs rounds in parallel")
	for _, c := range []struct {
		name   string
		change func(*Setup)
		most   float64
	}{
		{"on mains", func(*Setup) {}, 170},
		{"with a battery", func(s *Setup) { s.Devices.BatteryWh = phoneWh }, 200},
		{"that polls", polls, 182},
		{"of a fleet", func(s *Setup) {
			a, b := class("a", 0.5), class("b", 0.5)
			a.SpeedSpread, b.RateSpread = 0.3, 0.45
			s.Fleet = &fleets.Fleet{Classes: []fleets.Class{a, b}}
		}, 182},
	} {
		got := footprint(t, 100_000, c.change)
		t.Logf("%s: %.1f bytes a device", c.name, got)
		if got > c.most {
			t.Errorf("%s: %.1f bytes a device, want at most %g", c.name, got, c.most)
		}
	}
}
