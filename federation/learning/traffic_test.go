package learning

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/racetest"
)

// apart compares rounds of two runs: figures that depend on time to so many
// seconds, others to one part in 1e9.
func apart(t testing.TB, what string, a, b *Outcome, scale, tolerance float64) {
	t.Helper()
	if len(a.Rounds) != len(b.Rounds) {
		t.Fatalf("%s: %d rounds against %d", what, len(a.Rounds), len(b.Rounds))
	}
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*max(1, math.Abs(x)) }
	for h := range a.Rounds {
		x, y := a.Rounds[h], b.Rounds[h]
		if math.Abs(x.TimeS*scale-y.TimeS) > tolerance*float64(h+1) {
			t.Fatalf("%s: round %d ends at %.9f s, %.9f expected", what, h, y.TimeS, x.TimeS*scale)
		}
		if x.Participants != y.Participants || x.Dropped != y.Dropped || x.Late != y.Late || !near(x.Primal, y.Primal) ||
			math.Abs(x.BytesDown-y.BytesDown) > 1e-3 || math.Abs(x.BytesUp-y.BytesUp) > 1e-3 {
			t.Fatalf("%s: round %d: %+v against %+v", what, h, x, y)
		}
	}
}

// Links that nobody fills are no links: the same transfers to the nanosecond, with
// jitter, losses and drops.
func TestWideLinksEqualNone(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged, federation.First} {
		apart(t, protocol, run(t, world(t, "mocha", protocol, func(s *Setup) { busyNetwork(s); s.Faults.DropPhase = devices.AtCompute })),
			run(t, world(t, "mocha", protocol, func(s *Setup) {
				busyNetwork(s)
				s.Faults.DropPhase = devices.AtCompute
				s.Network.ServerDownMbps, s.Network.ServerUpMbps = 1e6, 1e6
				s.Network.Cells, s.Network.CellDownMbps, s.Network.CellUpMbps = 3, 1e6, 1e6
			})), 1, 50e-9)
	}
}

// Everyone downloads at once on a link that carries less than they do together:
// half the round trip, and then all their bytes at the link's rate.
func TestDownloadsShareTheServersLink(t *testing.T) {
	const mbps = 2
	arrived := 0
	var f *Federation
	f = start(t, world(t, "mocha", federation.Charged, func(s *Setup) {
		s.Network.ServerDownMbps = mbps
		s.Hooks = &engine.Hooks{Fired: func(e engine.Event) {
			if e.Kind == clients.EventDownlinkFlow {
				want := 0.005 + float64(len(sizes))*8*message/(mbps*1e6)
				if got := e.At.Seconds(); f.clients.State(0).Activity == clients.Downlink && got > 0.0051 && math.Abs(got-want) > 2e-9 {
					t.Errorf("downloads end at %.9f s, want %.9f", got, want)
				} else if got > 0.0051 {
					arrived++
				}
			}
		}}
	}))
	f.clients.Begin()
	f.runRound()
	if arrived != 1 {
		t.Errorf("downloads end at %d instants, want one", arrived)
	}
}

// steady is a bandwidth that does not change, or does at every instant of a grid to
// the same.
type steady struct{ factor float64 }

func (b steady) Downlink(_ int, usual float64, at engine.Time) (float64, engine.Time) {
	return usual * b.factor, (at/toss + 1) * toss
}

func (b steady) Uplink(device int, usual float64, at engine.Time) (float64, engine.Time) {
	return b.Downlink(device, usual, at)
}

// A trace of a constant equals the constant; half of every rate doubles every
// duration.
func TestRatesScaleTime(t *testing.T) {
	base := func(s *Setup) {
		busyNetwork(s)
		s.Network.ServerUpMbps, s.Network.Cells, s.Network.CellDownMbps = 3, 2, 1.5
	}
	for _, protocol := range []string{federation.WaitForAll, federation.Charged, federation.First} {
		once := run(t, world(t, "mocha", protocol, base))
		traced := run(t, world(t, "mocha", protocol, func(s *Setup) { base(s); s.Bandwidth = steady{1} }))
		apart(t, protocol+", a constant trace", once, traced, 1, 100e-9)
		twice := run(t, world(t, "mocha", protocol, func(s *Setup) {
			base(s)
			s.Network.RTTms *= 2
			s.Network.DownlinkMbps /= 2
			s.Network.UplinkMbps /= 2
			s.Network.ServerUpMbps /= 2
			s.Network.CellDownMbps /= 2
			s.Devices.ClockGHz /= 2
		}))
		apart(t, protocol+", half of every rate", once, twice, 2, 200e-9)
	}
}

// Whatever shares links, comes and goes: all bytes of answers that were taken were
// sent, and one worker makes the same bits as two, on every queue.
func TestChurnOnSharedLinks(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	problem := randomProblem(t, features, sizes...)
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64Range(0, 1<<32).Draw(rt, "seed")
		protocol := rapid.SampledFrom([]string{federation.WaitForAll, federation.Deadline, federation.First}).Draw(rt, "protocol")
		share := rapid.Float64Range(0.5, 1).Draw(rt, "presence")
		traced := rapid.Bool().Draw(rt, "traced")
		late := rapid.SampledFrom([]string{federation.Drop, federation.Keep}).Draw(rt, "late")
		cells := rapid.IntRange(0, 3).Draw(rt, "cells")
		var first *Outcome
		for i, queue := range append(engine.Queues(), engine.Queues()[0]) {
			out := run(t, world(t, "mocha", protocol, func(s *Setup) {
				busyNetwork(s)
				s.Problem, s.Seed, s.Queue, s.Pool = problem, seed, queue, parallel.NewPool(1+i%2)
				s.Availability, s.Faults.OnReturn = coins{seed, share}, devices.Resume
				s.Hooks = bounded()
				s.Network.ServerDownMbps, s.Network.ServerUpMbps = 1, 0.5
				s.Network.TCPSlowStart = true
				if cells > 0 {
					s.Network.Cells, s.Network.CellUpMbps = cells, 0.3
				}
				if traced {
					s.Bandwidth = steady{0.7}
				}
				switch protocol {
				case federation.First:
					s.Config.Over, s.Config.Fraction, s.Config.Late = 1.5, 0.6, late
				case federation.Deadline:
					s.Config.DeadlineS, s.Config.Late, s.Config.Retries = 0.8, late, 1
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
		up, answers := 0.0, 0
		for _, r := range first.Rounds {
			up += r.BytesUp
			answers += r.Participants
		}
		if up < float64(answers*message)-1e-3 {
			rt.Fatalf("%g bytes up for %d answers of %d", up, answers, message)
		}
	})
}
