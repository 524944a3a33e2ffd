package session

import (
	"reflect"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/federation/protocols"
	"fedsim/internal/rooms/carbon"
	"fedsim/internal/tools/filetest"
	"fedsim/results"
)

// A session that plays the rounds of a selector has the events of a run, also when no client is
// available as a round opens, for which selectors by rejection do not wait. Those that need losses are refused.
func TestSessionsSelect(t *testing.T) {
	for i := range 2 * len(federation.SelectorNames()) {
		name := federation.SelectorNames()[i/2]
		factory, _ := federation.LookupSelector(name)
		s := world(t, "fedavg", protocols.Deadline, func(s *learning.Setup) {
			s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 0.5
			s.Devices.InitialCharge, s.Devices.InitialChargeSpread = 0.7, 0.3
			s.Network.RTTms, s.Network.RateSpread, s.Network.Jitter, s.Network.LossProbability = 100, 0.5, 0.5, 0.1
			s.Faults.DropProbability.All, s.Faults.DropPhase = 0.2, devices.AtRandom
			s.Devices.BatteryWh, s.Devices.ChargeW, s.Devices.ReturnLevel = 2.0/3600, 1, 0.5
			if s.Schedule.Rounds = 30; i%2 > 0 && !factory.Unlisted {
				s.Availability = nights{}
			}
			set(s.Options, "Batch", 1) // a driver knows the FLOPs of a step alone
			s.Config.Selection, s.Config.Clients.Count = name, 3
			if name == carbon.Clean {
				cfg := carbon.Default()
				cfg.Grid =
					[]string{
						filetest.New(t, "grid.csv", "device,time_s,kind,value\na,0,grid_g_per_kwh,9\na,60,end,\n"+
							"b,0,grid_g_per_kwh,20\nb,1,grid_g_per_kwh,5\nb,3,end,\n"),
					}
				grid, err := cfg.Load()
				if err != nil {
					t.Fatal(err)
				}
				s.Features = append(s.Features, carbon.Feature{Grid: grid})
			}
			if factory.Options != nil {
				o := factory.Options()
				set(o, "Candidates", 5)
				set(o, "RoundS", 1.0)
				set(o, "Adaptive", false)
				set(o, "PeriodS", 3.0)
				set(o, "Slots", 4)
				s.Config.SelectionOptions = o
				if factory.Declare != nil {
					factory.Declare(o, &factory)
				}
			}
		})
		if factory.Losses || factory.RowLosses || factory.SampledLosses {
			if _, err := New(driven(s)); err == nil {
				t.Errorf("%s needs losses, and a session accepts it", name)
			}
			continue
		}
		want := recordRun(t, s)
		var got []results.Round
		play(t, sessionOf(t, s, nil), want, func(r results.Round, _ []Notice) { got = append(got, r) })
		if err := same(got, want.Rounds[1:]); err != nil {
			t.Errorf("%s in a session: %v", name, err)
		}
	}
}

// nights let all devices be away for 2 of each 4 seconds.
type nights struct{}

func (nights) Available(_ int, now engine.Time) (bool, engine.Time) {
	const night = engine.Time(2e9)
	return now/night%2 == 0, (now/night + 1) * night
}

// set sets a field of options that have it.
func set(options any, key string, value any) {
	if f := reflect.ValueOf(options).Elem().FieldByName(key); f.IsValid() {
		f.Set(reflect.ValueOf(value))
	}
}
