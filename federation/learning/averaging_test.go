package learning

import (
	"reflect"
	"testing"

	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/internal/tools/rng"
)

// setOption sets an option of a method by the name of its field; false: it has none.
func setOption(o algorithms.Options, field string, value any) bool {
	f := reflect.ValueOf(o).Elem().FieldByName(field)
	if f.IsValid() {
		f.Set(reflect.ValueOf(value))
	}
	return f.IsValid()
}

// On equal devices without faults, every method with local steps is its loop over all devices,
// bit for bit, with step sizes that follow the rounds; and over the devices that do part of their
// epochs, with their numbers of steps.
func TestLocalMethodsAreTheirLoops(t *testing.T) {
	for _, name := range withoutHubs() {
		factory, _ := algorithms.Lookup(name)
		if o := factory.Options(); !setOption(o, "ScheduleRounds", 1) {
			continue
		}
		for _, share := range []float64{0, 0.6} {
			if share > 0 && !setOption(factory.Options(), "Epochs", 3.) {
				continue // one gradient has no part
			}
			s := world(t, name, federation.WaitForAll, func(s *Setup) {
				for field, value := range map[string]any{"Schedule": "inverse-sqrt", "ScheduleRounds": 2, "Batch": 4,
					"Epochs": 3., "Momentum": 0.3} {
					setOption(s.Options, field, value)
				}
				s.Config.PartialShare, s.Config.Partial = share, federation.Keep
			})
			f := start(t, s)
			twin, err := s.Factory.New(algorithms.Setup{Problem: s.Problem, Coupling: s.Coupling, Workers: 1,
				Seed: s.Seed}, s.Options)
			if err != nil {
				t.Fatal(err)
			}
			f.clients.Begin()
			uneven := false
			for h := range 6 {
				if f.runRound(); f.server.Stalled() != "" {
					t.Fatal(f.server.Stalled())
				}
				twin.Begin()
				for k := range f.setup.Clients {
					limit := f.work.within(k, algorithms.NoLimit)
					uneven = uneven || limit < algorithms.NoLimit
					twin.Solve(
						algorithms.Request{Device: k, Round: h, Steps: limit, Stream: rng.New(s.Seed, rng.Solve, k, h)})
				}
				for k := range f.setup.Clients {
					twin.Commit(k, 1)
				}
				twin.End()
				if err := same(f.method.Model(), twin.Model()); err != nil {
					t.Fatalf("%s, share %g, round %d: %v", name, share, h, err)
				}
			}
			if uneven != (share > 0) {
				t.Errorf("%s, share %g: uneven steps are %t", name, share, uneven)
			}
		}
	}
}
