package learning

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/racetest"
	"fedsim/mtl"
)

// timed makes a setup learn nothing.
func timed(t testing.TB, s Setup) Setup {
	t.Helper()
	rows := make([]int32, s.Problem.Clients())
	for k := range rows {
		rows[k] = int32(s.Problem.Train.Clients[k].X.Rows)
	}
	s.Clients, s.Rows, s.Shape = len(rows), rows, s.Problem.Shape
	return timedOn(s)
}

func timedOn(s Setup) Setup {
	s.Problem, s.Coupling = nil, nil
	s.Factory = s.Factory.Timed()
	return s
}

// What happens when does not depend on whether the devices learn: a timed run
// has the events of one that learns, for the methods whose steps all cost the
// same.
func TestTimedRunsHaveTheEventsOfLearning(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	even := func(d *algorithms.Description) bool { // a step of coordinate ascent in epochs may cost less
		return d.Work.Steps != nil && d.HubRounds == 0 && !(d.Needs.Dual && d.Work.Epochs > 0)
	}
	for _, method := range allMethods(even) {
		factory, _ := algorithms.Lookup(method)
		about := factory.Describe(factory.Options(), mtl.Shape{})
		for _, protocol := range []string{federation.WaitForAll, protocols.Deadline, protocols.Charged,
			protocols.Asynchronous} {
			for _, cost := range []string{federation.Physical, federation.Relative, federation.Authors} {
				if cost == federation.Authors && (protocol == protocols.Deadline || about.Work.AuthorUnits == 0) ||
					protocol == protocols.Asynchronous && about.Asynchronous == algorithms.No {
					continue
				}
				s := world(t, method, protocol, func(s *Setup) {
					s.Config.Cost = cost
					s.Faults.DropProbability.All, s.Faults.DropPhase = 0.2, devices.AtRandom
					s.Network.Jitter, s.Network.LossProbability = 0.3, 0.05
					s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 0.4
					joules(s, 400)
					s.Devices.ChargeW = 10
					if cost == federation.Physical {
						overheads(s)
					}
					if about.Work.Server != nil {
						s.Config.ServerGFLOPS = 1e-6
					}
					s.Schedule.Rounds = 10
					s.AnyDeadline = true // a relative round of these takes 12.8 s
				})
				learnt, events := run(t, s), run(t, timed(t, s))
				if learnt.EventHash != events.EventHash || learnt.Events != events.Events ||
					learnt.Steps != events.Steps {
					t.Errorf("%s, %s, %s: events %x after %d steps, learning %x after %d", method, protocol, cost,
						events.EventHash, events.Steps, learnt.EventHash, learnt.Steps)
				}
				for h := range learnt.Rounds {
					want, got := learnt.Rounds[h], events.Rounds[h]
					if !math.IsNaN(got.Primal) || !math.IsNaN(got.Suboptimality) {
						t.Errorf("%s, round %d: a timed run has the objective %g", method, h, got.Primal)
					}
					want, got = unevaluated(want), unevaluated(got)
					// the consensus distance
					want.Metrics = nil
					// a timed run refuses no gradient
					if protocol == protocols.Asynchronous && (method == "ringmaster" || method == "rennala") {
						want.Participants, want.Late = want.Participants+want.Late, 0
						want.Staleness, got.Staleness = 0, 0
					}
					if fmt.Sprint(want) != fmt.Sprint(got) {
						t.Errorf("%s, %s, round %d: %v, learning %v", method, protocol, h, got, want)
					}
				}
			}
		}
	}
}

func TestCoCoACannotBeTimed(t *testing.T) {
	_, err := New(timed(t, world(t, "cocoa", federation.WaitForAll, nil)))
	var problem config.Problem
	if !errors.As(err, &problem) || problem.Key != "run.mode" {
		t.Errorf("a timed cocoa: %v", err)
	}
}

// crowd is a federation of n devices that learn nothing, on mains but for change,
// which may be nil.
func crowd(t testing.TB, n int, change func(*Setup)) *Federation {
	rows := make([]int32, n)
	for k := range rows {
		rows[k] = 20
	}
	s := world(t, "mocha", protocols.Deadline, func(s *Setup) {
		s.Devices = devices.Defaults()
		s.Config.DeadlineS = 1
		s.Network.Jitter = 0.3
		s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 0.5
		s.Devices.BatteryWh = batteryNone
		s.Faults.DropProbability.All = 0.05
		s.Options = &algorithms.MOCHAOptions{Epochs: 1}
		s.Pool = parallel.NewPool(0)
		if change != nil {
			change(s)
		}
	})
	s.Clients, s.Rows, s.Shape = n, rows, mtl.Shape{Features: 30, Outputs: 1}
	f := start(t, timedOn(s))
	f.clients.Begin()
	return f
}

// BenchmarkTimedRound is a round of events alone: about three for each device.
func BenchmarkTimedRound(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := crowd(b, n, nil)
			f.runRound()
			before := f.clients.Clock().Fired()
			b.ResetTimer()
			for range b.N {
				f.runRound()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(f.clients.Clock().Fired()-before), "ns/event")
			b.ReportMetric(float64(f.clients.Clock().Fired()-before)/float64(b.N)/float64(n), "events/device")
		})
	}
}
