package learning

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/algorithms/methods"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/racetest"
)

// Answers come at the multiples of each device's own time, and with a server that
// takes no time each is taken when it comes.
func TestResponsesAreAppliedOnArrival(t *testing.T) {
	f := start(t, world(t, "fedbuff", federation.Asynchronous, func(s *Setup) {
		o := s.Options.(*methods.FedBuffOptions)
		o.Epochs, o.Buffer = 2, 1
	}))
	f.clients.Begin()
	var got, want []float64
	for f.server.Rounds() < 10 {
		r := f.runRound()
		if r.Participants+r.Late != len(sizes) {
			t.Errorf("round %d is of %d answers, %d refused, want %d", r.Round, r.Participants, r.Late, len(sizes))
		}
		got = append(got, r.TimeS)
	}
	for k := range sizes {
		d := f.clients.State(k)
		once := (d.Downlink + d.Compute + d.Uplink).Seconds()
		for at := once; at < got[9]+1; at += once {
			want = append(want, at)
		}
	}
	slices.Sort(want)
	for h, at := range got {
		if expected := want[(h+1)*len(sizes)-1]; math.Abs(at-expected) > 1e-6 {
			t.Errorf("round %d ends at %.6f s, want %.6f", h+1, at, expected)
		}
	}
}

// No more devices work at a time than the server asks for, as many do, and all get
// their turn.
func TestConcurrency(t *testing.T) {
	for i, k := range []int{1, 3, len(sizes), 3, 3} {
		most, method := 0, "async-mocha"
		if i == 4 {
			method = "ringmaster"
		}
		var f *Federation
		f = start(t, world(t, method, federation.Asynchronous, func(s *Setup) {
			busyNetwork(s)
			if stopsOld(s, 1, true); i == 4 {
				s.Faults.DropProbability, s.Faults.DropPhase = 0.3, devices.AtStart // without their work
			}
			s.Config.Clients, s.Schedule.Rounds = k, 60
			s.Config.ServerGFLOPS = 1e-6
			if i == 3 {
				s.Config.Selection = "uniform-rejection"
			}
			s.Hooks = &engine.Hooks{Fired: func(engine.Event) {
				working := 0
				for d := range f.setup.Clients {
					if f.server.Attempt(int(d)).Expected {
						working++
					}
				}
				most = max(most, working)
			}}
		}))
		finish(t, f)
		if most != k {
			t.Errorf("%d devices at most work at a time, want %d", most, k)
		}
		for d := range f.setup.Clients {
			if f.clients.Number(d) < 0 {
				t.Errorf("%d at a time: device %d was never asked", k, d)
			}
		}
	}
}

// Whatever comes, goes and drops: the dual of async-mocha does not get worse, weak
// duality holds, and workers and queues do not matter.
func TestAsynchronousChurn(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	problem := randomProblem(t, features, sizes...)
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64Range(0, 1<<32).Draw(rt, "seed")
		method := rapid.SampledFrom([]string{"async-mocha", "fedbuff", "fedasync", "ringmaster", "rennala", "rescaled", "ringleader", "fedcompass"}).Draw(rt, "method")
		protocol := federation.Asynchronous
		if method == "fedcompass" {
			protocol = rapid.SampledFrom([]string{protocol, federation.Compass}).Draw(rt, "protocol")
		}
		onReturn := rapid.SampledFrom([]string{devices.Discard, devices.Resume}).Draw(rt, "on_return")
		strike := rapid.SampledFrom([]string{devices.AtStart, devices.AtCompute, devices.AtUpload, devices.AtRandom}).Draw(rt, "strike")
		share := rapid.Float64Range(0.4, 1).Draw(rt, "presence")
		fraction := rapid.SampledFrom([]float64{1, 0.4}).Draw(rt, "fraction")
		shared := rapid.Bool().Draw(rt, "shared")
		battery := rapid.Bool().Draw(rt, "battery")
		server := rapid.SampledFrom([]float64{0, 1e-6}).Draw(rt, "server")
		stop := rapid.IntRange(0, 3).Draw(rt, "stop")
		var first *Outcome
		for i, queue := range append(engine.Queues(), engine.Queues()[0]) {
			out := run(t, world(t, method, protocol, func(s *Setup) {
				busyNetwork(s)
				s.Problem, s.Seed, s.Queue, s.Pool = problem, seed, queue, parallel.NewPool(1+i%2)
				s.Faults.OnReturn, s.Faults.DropPhase = onReturn, strike
				s.Availability = coins{seed, share}
				s.Hooks = bounded()
				s.Config.Fraction, s.Config.ServerGFLOPS = fraction, server
				if stop > 0 {
					stopsOld(s, stop, true)
				}
				if shared {
					s.Network.ServerDownMbps, s.Network.ServerUpMbps = 1, 0.5
				}
				if battery {
					joules(s, 20)
					s.Devices.ChargeW = 20
				}
			}))
			if first == nil {
				first = out
			}
			if err := same(first.Rounds, out.Rounds); err != nil || first.EventHash != out.EventHash {
				rt.Fatalf("queue %s, %d workers: %v", queue, 1+i%2, err)
			}
		}
		if first.Status != "done" {
			rt.Fatalf("%s: %s", first.Status, first.Reason)
		}
		for h, r := range first.Rounds[1:] {
			before := first.Rounds[h]
			if !(r.TimeS >= before.TimeS) {
				rt.Fatalf("round %d: %+v after %+v", h+1, r, before)
			}
			if method == "async-mocha" && (r.Gap < -1e-9*math.Abs(r.Primal) || r.Dual > before.Dual+1e-12*math.Abs(before.Dual)) {
				rt.Fatalf("round %d: %+v after %+v", h+1, r, before)
			}
		}
	})
}

// A run in which nobody ever answers ends.
func TestAsynchronousWithoutResponsesEnds(t *testing.T) {
	for what, change := range map[string]func(*Setup){
		"all drop": func(s *Setup) { s.Faults.DropProbability = 1 },
		"all away": func(s *Setup) { s.Availability = nobody{} },
	} {
		if out := run(t, world(t, "async-mocha", federation.Asynchronous, change)); out.Status != "stalled" {
			t.Errorf("%s: %s", what, out.Status)
		}
	}
}

type nobody struct{}

func (nobody) Available(int, engine.Time) (bool, engine.Time) { return false, engine.Never }
