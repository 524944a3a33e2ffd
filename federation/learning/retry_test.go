package learning

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/internal/tools/racetest"
)

// Under wait-for-all a device that failed is asked again for the same work: the model
// is that of a run without faults, bit for bit. Faults cost time and energy alone.
func TestWaitForAllAsksAgain(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	const rounds = 60
	for _, way := range ways {
		if way.only != "" || way.name == "none" || way.name == "never" || way.name == "never in the upload" {
			continue
		}
		for _, method := range []string{"cocoa", "mocha", "mb-sdca", "mb-sgd"} {
			t.Run(way.name+"/"+method, func(t *testing.T) {
				var f *Federation
				seen := map[sighting]int{}
				harsh := func(s *Setup) {
					way.change(s)
					if o, ok := s.Options.(*algorithms.CoCoAOptions); ok {
						o.MaxEpochs = 2 // no longer than a charged battery lasts
					}
				}
				slow := func(s *Setup) { // the same world, nothing failing
					harsh(s)
					s.Faults = devices.DefaultFaults()
					s.Network.LossProbability = 0
					if s.Devices.BatteryWh != devices.Mains {
						s.Devices.BatteryWh = devices.Mains
						s.Devices.ClockGHz *= 4
					}
					s.Devices.InitialCharge, s.Devices.InitialChargeSpread = 1, 0
				}
				calm := start(t, world(t, method, federation.WaitForAll, slow))
				s := world(t, method, federation.WaitForAll, func(s *Setup) {
					harsh(s)
					if s.Devices.BatteryWh != devices.Mains {
						// Rounds of all rows are long: enough must be left for the upload.
						s.Devices.BatteryWh *= 3
						s.Devices.ClockGHz *= 4
					}
					s.Hooks = look(&f, seen)
				})
				f = start(t, s)
				f.clients.Begin()
				calm.clients.Begin()
				type sum struct{ time, flops, down, up, energy float64 }
				var ours, theirs sum
				for h := range rounds {
					r, c := f.runRound(), calm.runRound()
					if f.server.Stalled() != "" {
						t.Fatalf("round %d: stalled: %s", h, f.server.Stalled())
					}
					if err := same(f.method.Model(), calm.method.Model()); err != nil {
						t.Fatalf("round %d: with faults and without: %v", h, err)
					}
					if n := f.setup.Clients; r.Participants != n || c.Participants != n || r.Late != 0 || c.Late != 0 ||
						c.Dropped != 0 {
						t.Fatalf("round %d: %d and %d took part, %d and %d were late, %d dropped without faults", h,
							r.Participants, c.Participants, r.Late, c.Late, c.Dropped)
					}
					if r.Gap = evaluated(t, f, r).Gap; r.Gap < -1e-9*math.Abs(evaluated(t, f, r).Primal) {
						t.Errorf("round %d: duality gap %g", h, r.Gap)
					}
					for _, k := range []struct {
						what              string
						faults, faultless float64
					}{
						{"FLOPs", r.FLOPs, c.FLOPs}, {"bytes down", r.BytesDown, c.BytesDown},
						{"bytes up", r.BytesUp, c.BytesUp},
					} {
						// A share of a phase is a rounded number.
						if k.faults < k.faultless*(1-1e-12) {
							t.Errorf("round %d: %s %g with faults, %g without", h, k.what, k.faults, k.faultless)
						}
					}
					seen[struckAtStart] += r.Dropped
					ours = sum{r.TimeS, ours.flops + r.FLOPs, ours.down + r.BytesDown, ours.up + r.BytesUp,
						ours.energy + r.EnergyJ}
					theirs = sum{c.TimeS, theirs.flops + c.FLOPs, theirs.down + c.BytesDown, theirs.up + c.BytesUp,
						theirs.energy + c.EnergyJ}
				}
				for _, m := range way.must {
					if seen[m] == 0 {
						t.Errorf("%q has not occurred; seen: %v", m, seen)
					}
				}
				if ours.time <= theirs.time || ours.energy <= theirs.energy {
					t.Errorf("faults took %g s and %g J, none %g s and %g J", ours.time, ours.energy, theirs.time,
						theirs.energy)
				}
				// A drop before the work costs the devices nothing but the wait.
				if wasted := way.name != "start"; wasted != (ours.flops > theirs.flops*(1+1e-9) ||
					ours.down > theirs.down*(1+1e-9)) {
					t.Errorf("%g FLOPs and %g bytes down with faults, %g and %g without", ours.flops, ours.down,
						theirs.flops, theirs.down)
				}
			})
		}
	}
}
