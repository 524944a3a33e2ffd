package session

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/algorithms"
	_ "fedsim/algorithms/methods"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/federation/protocols"
	_ "fedsim/federation/selectors"
	"fedsim/internal/tools/parallel"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/mtl"
	"fedsim/network"
)

// The figures of the world of the tests: see those of package learning.
const (
	features  = 6
	stepFLOPs = 4*features + 8
	message   = 64 + 8*features
	latencyS  = 0.005
	testSeed  = 3
)

var sizes = []int{12, 31, 8, 20, 9, 40, 15}

// system returns a system with the default tables and without clients.
func system(seed uint64) clients.System {
	return clients.System{
		Devices: devices.Defaults(), Network: network.Defaults(), Faults: devices.DefaultFaults(), Seed: seed,
	}
}

// world returns the setup of a method in timing mode under a protocol without failures.
func world(t testing.TB, method, protocol string, change func(*learning.Setup)) learning.Setup {
	t.Helper()
	factory, ok := algorithms.Lookup(method)
	if !ok {
		t.Fatalf("%q is not registered", method)
	}
	s := learning.Setup{
		Setup:    federation.Setup{System: system(testSeed), Config: federation.Defaults(), Pool: parallel.NewPool(2)},
		Schedule: learning.Schedule{Outer: 1, Rounds: 10, EvalEvery: 1, Optimum: math.NaN()},
		Factory:  factory.Timed(), Options: factory.Options(), Shape: mtl.Shape{Features: features, Outputs: 1},
	}
	s.Clients = len(sizes)
	for _, n := range sizes {
		s.Rows = append(s.Rows, int32(n))
	}
	if s.Config.Protocol = protocol; protocol == protocols.Deadline {
		s.Config.DeadlineS = 0.5
	}
	d, n := &s.Devices, &s.Network
	d.ClockGHz, d.FlopsPerCycle, d.IdleW, d.ComputeW, d.BatteryWh, d.Charging = 1e-6, 1, 0.5, 2, devices.Mains,
		devices.WhenDepleted
	n.DownlinkMbps, n.UplinkMbps, n.RTTms = 1, 1, 10
	change(&s)
	if d.ChargeW == 0 && d.Charging == devices.WhenDepleted {
		d.Charging = devices.Never // no charger unless a test gives one
	}
	return s
}

// driven returns the setup of a session in the world of a run.
func driven(s learning.Setup) Setup {
	return Setup{
		Setup: s.Setup, PassFLOPs: float64(s.MinRows()) * s.Shape.StepFLOPs(), Values: s.Shape.Values(),
		StepFLOPs: s.Factory.Describe(s.Options, s.Shape).Work.StepFLOPs,
	}
}

// run runs the whole plan.
func run(t testing.TB, s learning.Setup) *learning.Outcome {
	t.Helper()
	f, err := learning.New(s)
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func joules(s *learning.Setup, capacity float64) {
	s.Devices.BatteryWh = capacity / 3600
}

// same compares values bit by bit, so that NaN equals NaN and 0 is not -0.
func same[T any](a, b T) error {
	exactly := cmp.Comparer(func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
	if diff := cmp.Diff(a, b, exactly); diff != "" {
		return errors.New(diff)
	}
	return nil
}
