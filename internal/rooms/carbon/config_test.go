package carbon

import (
	"math"
	"testing"

	"fedsim/clients"
	"fedsim/results"
)

// The entry "generated" is an example: 240 g/kWh in the mean, and 0.3 more or less over the day
// with the peak at 19 h.
func TestGeneratedGridNeedsNoFile(t *testing.T) {
	c := Config{Grid: []string{Generated}, Places: []string{"generated-1200", "generated-240"}}
	g, err := c.Load()
	if err != nil {
		t.Fatal(err)
	}
	if want := 240 * (1 + 0.3*math.Cos(2*math.Pi*(0.5-19)/24)); math.Abs(g.At(3, 0)-want) > 1e-9 {
		t.Errorf("device 3 has %g g/kWh at midnight, want %g", g.At(3, 0), want)
	}
}

// Devices are in the places in turn, and each draws from the grid of its own place.
func TestDevicesHaveTheirPlaces(t *testing.T) {
	c := Config{Grid: []string{Generated}, Places: []string{"generated-1200", "generated-240", "generated-1200"}}
	g, err := c.Load()
	if err != nil {
		t.Fatal(err)
	}
	m := &meter{Feature: Feature{Grid: g}}
	for device, mean := range []float64{1200, 240, 1200, 1200, 240, 1200, 1200} {
		want := mean * (1 + 0.3*math.Cos(2*math.Pi*(0.5-19)/24))
		m.Drew(device, clients.Idle, 0, 0, joulesPerKWh)
		r := results.NewRound()
		if m.EndRound(0, &r); math.Abs(r.Value("co2_wait_g")-want) > 1e-9 || math.Abs(g.At(device, 0)-want) > 1e-9 {
			t.Errorf("device %d draws %g and has %g g/kWh, want %g", device, r.Value("co2_wait_g"), g.At(device, 0), want)
		}
	}
}
