package carbon

import (
	"math"
	"testing"

	"fedsim/clients"
	"fedsim/engine"
	"fedsim/internal/rooms/traces"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// The entry "generated" is an example: 240 g/kWh in the mean, and 0.3 more or less over the day
// with the peak at 19 h.
func TestGeneratedGridNeedsNoFile(t *testing.T) {
	c := Config{Grid: []string{Generated}, Places: []string{"generated-1200", "generated-240"}}
	g := expect.Value(c.Load())(t)
	want := 240 * (1 + 0.3*math.Cos(2*math.Pi*(0.5-19)/24))
	expect.That(t, math.Abs(g.At(3, 0)-want) <= 1e-9, "device 3 has %g g/kWh at midnight, want %g", g.At(3, 0), want)
}

// Devices are in the places in turn, and each draws from the grid of its own place.
func TestDevicesHaveTheirPlaces(t *testing.T) {
	c := Config{Grid: []string{Generated}, Places: []string{"generated-1200", "generated-240", "generated-1200"}}
	g := expect.Value(c.Load())(t)
	m := &meter{Feature: Feature{Grid: g}}
	for device, mean := range []float64{1200, 240, 1200, 1200, 240, 1200, 1200} {
		want := mean * (1 + 0.3*math.Cos(2*math.Pi*(0.5-19)/24))
		m.Drew(device, clients.Idle, 0, 0, joulesPerKWh)
		r := results.NewRound()
		if m.EndRound(0, &r); math.Abs(r.Value("co2_wait_g")-want) > 1e-9 || math.Abs(g.At(device, 0)-want) > 1e-9 {
			t.Errorf("device %d draws %g and has %g g/kWh, want %g", device, r.Value("co2_wait_g"), g.At(device, 0),
				want)
		}
	}
}

// Generated places have the formula of generated, by hand: half an hour before and after
// the peak, in the cleanest hours and at noon.
func TestGeneratedGrid(t *testing.T) {
	set := expect.Value(traces.Collect(generated()))(t)
	view := traces.NewView(set, traces.InOrder, 0, true)
	for h, want := range map[float64]float64{18: 1.2974334584, 19.9: 1.2974334584, 6: 0.7025665416, 7: 0.7025665416,
		12: 0.9608421423, 18 + 24: 1.2974334584} {
		for place, mean := range []float64{20, 240, 1200} {
			if got, _ := view.Lookup(traces.GridGPerKWh, place,
				engine.FromSeconds(h*3600)); math.Abs(got/(mean*want)-1) > 1e-9 {
				t.Errorf("%s at %v h: %v, want %v", set.Name(place), h, got, mean*want)
			}
		}
	}
	expect.That(t, set.Name(0) == "generated-20", "%v", set.Name(0))
}
