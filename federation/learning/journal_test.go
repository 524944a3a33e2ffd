package learning

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/results"
)

// book is a journal that adds its entries up.
type book struct {
	t      *rapid.T
	at     engine.Time
	open   bool
	rounds []results.Round // as the entries have it
	now    results.Round
	busy   map[int32]bool
	flat   map[int32]bool
	until  map[int32]engine.Time
}

func (b *book) Note(e federation.Entry) {
	if e.To < b.at || e.From > e.To {
		b.t.Fatalf("%+v after %v", e, b.at)
	}
	b.at = e.To
	switch e.Kind {
	case federation.RoundStarted:
		b.open = true
	case federation.AttemptStarted:
		if b.busy[e.Device] {
			b.t.Fatalf("%+v: it is busy already", e)
		}
		if b.flat[e.Device] {
			b.t.Fatalf("%+v: its battery is empty", e)
		}
		b.busy[e.Device] = true
	case federation.ActivitySpan:
		if e.From != b.until[e.Device] {
			b.t.Fatalf("%+v: the last span ends at %v", e, b.until[e.Device])
		}
		b.until[e.Device] = e.To
		b.flat[e.Device] = e.Activity == clients.Depleted && e.Cut
		switch e.Activity {
		case clients.Downlink:
			b.now.BytesDown += e.Amount
		case clients.Compute:
			b.now.FLOPs += e.Amount
		case clients.Uplink:
			b.now.BytesUp += e.Amount
		default:
			if e.Amount != 0 {
				b.t.Fatalf("%+v: work", e)
			}
			return
		}
		if !b.busy[e.Device] {
			b.t.Fatalf("%+v: it is not busy", e)
		}
	case federation.ResponseArrived, federation.AttemptFailed:
		if e.Kind == federation.AttemptFailed && e.Why == 0 {
			b.t.Fatalf("%+v: lost for no reason", e)
		}
		if !b.busy[e.Device] {
			b.t.Fatalf("%+v: it is not busy", e)
		}
		b.busy[e.Device] = false
	case federation.BatteryLevel:
		if !(e.Amount >= 0 && e.Amount <= 1) {
			b.t.Fatalf("%+v: no share", e)
		}
	case federation.UpdateTaken:
		b.now.Participants++
	case federation.ClientDropped:
		b.now.Dropped++
	case federation.ResponseLate:
		b.now.Late++
	case federation.EnergyUsed:
		b.now.EnergyJ += e.Amount
	case federation.RoundEnded:
		if !b.open {
			b.t.Fatal("closed twice")
		}
		b.open = false
		b.now.TimeS = e.To.Seconds()
		b.rounds = append(b.rounds, b.now)
		b.now = results.Round{}
	}
}

// The journal's entries add up to the rounds. The spans of a device follow each other
// without gaps, and every attempt ends with a response or a failure. A run with a
// journal has the bits of one without.
func TestTheJournalAddsUp(t *testing.T) {
	problem := randomProblem(t, features, sizes...)
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64Range(0, 1<<32).Draw(rt, "seed")
		protocol := rapid.SampledFrom([]string{federation.WaitForAll, federation.Deadline, federation.Charged, federation.First, federation.Asynchronous}).Draw(rt, "protocol")
		strike := rapid.SampledFrom([]string{devices.AtStart, devices.AtCompute, devices.AtUpload, devices.AtRandom}).Draw(rt, "strike")
		share := rapid.Float64Range(0.6, 1).Draw(rt, "presence")
		late := rapid.SampledFrom([]string{federation.Drop, federation.Keep}).Draw(rt, "late")
		hubs := 0
		if protocol != federation.Asynchronous {
			hubs = rapid.IntRange(0, 3).Draw(rt, "hub_size")
		}
		shared, battery := rapid.Bool().Draw(rt, "shared"), rapid.Bool().Draw(rt, "battery")
		asynchronous := rapid.SampledFrom([]string{"async-mocha", "ringmaster", "rennala"}).Draw(rt, "asynchronous method")
		var outs [2]*Outcome
		b := &book{t: rt, busy: map[int32]bool{}, flat: map[int32]bool{}, until: map[int32]engine.Time{}}
		for i := range outs {
			method := "mocha"
			if protocol == federation.Asynchronous {
				method = asynchronous
			}
			outs[i] = run(t, world(t, method, protocol, func(s *Setup) {
				busyNetwork(s)
				stopsOld(s, 1, true)
				s.Problem, s.Seed = problem, seed
				s.Faults.DropPhase, s.Faults.OnReturn = strike, devices.Resume
				s.Availability = coins{seed, share}
				s.Hooks = bounded()
				if hubs > 0 {
					behind(s, hubs)
				} else if shared {
					s.Network.ServerDownMbps, s.Network.ServerUpMbps = 1, 0.5
				}
				if battery {
					joules(s, 20)
					s.Devices.ChargeW = 20
				}
				switch protocol {
				case federation.First:
					s.Config.Over, s.Config.Fraction, s.Config.Late = 1.5, 0.6, late
				case federation.Deadline:
					s.Config.DeadlineS, s.Config.Late, s.Config.Retries = 0.8, late, 1
				}
				if hubs > 0 {
					s.Config.Late = federation.Drop
				}
				if i == 1 {
					s.Journal = b
				}
			}))
		}
		if err := same(outs[0].Rounds, outs[1].Rounds); err != nil || outs[0].EventHash != outs[1].EventHash {
			rt.Fatalf("a journal changes the run: %v", err)
		}
		if len(b.rounds) != len(outs[1].Rounds)-1 {
			rt.Fatalf("%d rounds in the journal, %d in the run", len(b.rounds), len(outs[1].Rounds)-1)
		}
		for h, want := range outs[1].Rounds[1:] {
			got := b.rounds[h]
			near := func(what string, got, want float64) {
				if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
					rt.Fatalf("round %d: the journal's %s are %g, the run's %g", h+1, what, got, want)
				}
			}
			if hubs == 0 { // otherwise the run's are the hubs'
				near("bytes down", got.BytesDown, want.BytesDown)
				near("bytes up", got.BytesUp, want.BytesUp)
			}
			near("FLOPs", got.FLOPs, want.FLOPs)
			near("joules", got.EnergyJ, want.EnergyJ)
			near("seconds", got.TimeS, want.TimeS)
			if got.Participants != want.Participants || got.Dropped != want.Dropped || got.Late != want.Late {
				rt.Fatalf("round %d: in the journal %d took part, %d dropped and %d were late; in the run %d, %d and %d", h+1,
					got.Participants, got.Dropped, got.Late, want.Participants, want.Dropped, want.Late)
			}
		}
	})
}

// entries is a journal that stores all entries.
type entries []federation.Entry

func (es *entries) Note(e federation.Entry) { *es = append(*es, e) }

// Without a charger the charge that is missing in a battery equals the energy used, and
// a depleted battery has level 0. On mains there is no level.
func TestLevelsFallByWhatIsSpent(t *testing.T) {
	const capacity = 4.0 // joules: some devices run empty
	for _, battery := range []bool{true, false} {
		var seen, again entries
		run(t, world(t, "mocha", federation.Deadline, func(s *Setup) {
			if battery {
				joules(s, capacity)
				s.Devices.ChargeW = 0
			}
			s.Journal = federation.Journals(&seen, &again)
		}))
		if !slices.Equal(seen, again) {
			t.Error("two journals of a run differ")
		}
		level, spent := make([]float64, len(sizes)), make([]float64, len(sizes))
		levels, empty := 0, 0
		for _, e := range seen {
			switch e.Kind {
			case federation.BatteryLevel:
				levels++
				level[e.Device] = e.Amount
				if e.Amount == 0 && spent[e.Device] < capacity {
					empty++
					spent[e.Device] = capacity
				}
			case federation.EnergyUsed:
				spent[e.Device] += e.Amount
			}
			if e.Kind != federation.RoundEnded || !battery {
				continue
			}
			for k := range level {
				if math.Abs(capacity*(1-level[k])-min(spent[k], capacity)) > 1e-9 {
					t.Errorf("round %d: device %d is at %g, and has drawn %g J of %g", e.Round, k, level[k], spent[k], capacity)
				}
			}
		}
		if battery != (levels > 0) || battery != (empty > 0) {
			t.Errorf("battery %t: %d levels, %d times empty", battery, levels, empty)
		}
	}
	if federation.Journals() != nil {
		t.Error("no journals make one")
	}
}
