package federation_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/parallel"
	"fedsim/network"
	"fedsim/results"
)

// book is a journal that adds its entries up.
type book struct {
	t      *rapid.T
	tiered bool // an attempt behind a hub may follow another one whose response the hub has
	at     engine.Time
	open   bool
	rounds []results.Round // as the entries have it
	now    results.Round
	busy   map[int32]bool
	flat   map[int32]bool
	until  map[int32]engine.Time
	spent  map[int32]float64
	level  map[int32]float64
}

func newBook(t *rapid.T) *book {
	return &book{t: t, busy: map[int32]bool{}, flat: map[int32]bool{}, until: map[int32]engine.Time{},
		spent: map[int32]float64{}, level: map[int32]float64{}}
}

func (b *book) must(ok bool, e Entry, why string) {
	if !ok {
		b.t.Fatalf("%+v: %s", e, why)
	}
}

func (b *book) Note(e Entry) {
	b.must(e.To >= b.at && e.From <= e.To, e, "time goes back")
	b.at = e.To
	switch e.Kind {
	case federation.RoundStarted:
		b.open = true
	case federation.AttemptStarted:
		b.must(!b.busy[e.Device], e, "it is busy already")
		b.must(!b.flat[e.Device], e, "its battery is empty")
		b.busy[e.Device] = true
	case federation.ActivitySpan:
		b.must(e.From == b.until[e.Device], e, "there is a gap before it")
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
			b.must(e.Amount == 0, e, "work")
			return
		}
		b.must(b.busy[e.Device], e, "it is not busy")
	case federation.ResponseArrived, federation.AttemptFailed, federation.ResponseHeld:
		b.must(e.Kind != federation.AttemptFailed || e.Why != 0, e, "it fails for no reason")
		// A hub reports responses of its earlier rounds, too, and may fail to.
		b.must(b.busy[e.Device] || b.tiered && e.Kind != federation.ResponseHeld, e, "it is not busy")
		b.busy[e.Device] = false
	case federation.BatteryLevel:
		b.must(e.Amount >= 0 && e.Amount <= 1, e, "no share")
		b.level[e.Device] = e.Amount
	case federation.UpdateTaken:
		b.now.Participants++
	case federation.ClientDropped:
		b.now.Dropped++
	case federation.ResponseLate:
		b.now.Late++
	case federation.EnergyUsed:
		b.now.EnergyJ += e.Amount
		b.spent[e.Device] += e.Amount
	case federation.RoundEnded:
		b.must(b.open, e, "it has ended before")
		b.open = false
		b.now.TimeS = e.To.Seconds()
		b.rounds = append(b.rounds, b.now)
		b.now = results.Round{}
	}
}

// constant is a bandwidth that does not change, or does at every instant of a grid to the same.
type constant struct{ factor float64 }

func (c constant) Downlink(_ int, usual float64, at engine.Time) (float64, engine.Time) {
	const toss = engine.Time(1e8)
	return usual * c.factor, (at/toss + 1) * toss
}

func (c constant) Uplink(device int, usual float64, at engine.Time) (float64, engine.Time) {
	return c.Downlink(device, usual, at)
}

// polls lets messages, launches and responses wait for polls, and adds launches and headers.
func polls(s *Setup) {
	n := &s.Network
	n.ClientPollS, n.LaunchPollS, n.ServerPollS = 0.13, 0.03, 0.07
	n.LaunchS, n.ColdStartS, n.WireFactor, n.BurstBytes = 0.02, 0.1, 1.05, 40
}

// class returns a class that is what world's tables say.
func class(name string, share float64) fleets.Class {
	return fleets.Class{
		Name: name, Share: share, ClockGHz: 1e-6, FlopsPerCycle: 1, IdleW: idleW, ComputeW: computeW,
		BatteryWh: devices.Mains,
		Link:      "lte", DownlinkMbps: 1, UplinkMbps: 1, RTTms: 10,
	}
}

// joules gives devices batteries of that energy, full.
func joules(s *Setup, capacity float64) { s.Devices.BatteryWh = capacity / 3600 }

// bounded stops a run that does not end: those of the tests have some thousands of events, with traces some hundred
// thousand.
func bounded(fired func(engine.Event)) *engine.Hooks {
	events := 0
	return &engine.Hooks{Fired: func(e engine.Event) {
		if events++; events > 2_000_000 {
			panic(fmt.Sprintf("no end of events: %+v", e))
		}
		if fired != nil {
			fired(e)
		}
	}}
}

// anything is a world in which anything may happen. Each run makes it again.
type anything struct {
	make             func() Setup
	passes, averages int
	battery, hubs    bool
	reports          bool // clients report to the selector, of which the journal knows nothing
}

// anyWorld draws a world.
func anyWorld(rt *rapid.T, protocol string) anything {
	flag := func(name string) bool { return rapid.Bool().Draw(rt, name) }
	seed := rapid.Uint64Range(0, 1<<32).Draw(rt, "seed")
	continuous, waits := protocol == Asynchronous || protocol == Compass, protocol == WaitForAll
	phase := rapid.SampledFrom([]string{devices.AtStart, devices.AtCompute, devices.AtUpload,
		devices.AtRandom}).Draw(rt, "phase")
	drops, share := rapid.Float64Range(0, 0.5).Draw(rt, "drops"), rapid.Float64Range(0.4, 1).Draw(rt, "presence")
	resume := flag("resume") || waits // which may wait long for a stretch that is long enough; so may long attempts
	late := rapid.SampledFrom([]string{Drop, Keep}).Draw(rt, "late")
	retries, least := rapid.IntRange(0, 2).Draw(rt, "retries"), rapid.IntRange(0, 4).Draw(rt, "min_reports")
	fraction, quantile := rapid.SampledFrom([]float64{0, 0.6}).Draw(rt, "fraction"), rapid.SampledFrom([]float64{0,
		0.7}).Draw(rt, "quantile")
	hubs, shared, cells, traced := 0, flag("shared"), rapid.IntRange(0, 3).Draw(rt, "cells"), flag("traced")
	if !continuous {
		hubs = max(0, rapid.IntRange(-3, len(sizes)).Draw(rt, "hub_size"))
	}
	battery, daily, low, states := flag("battery") && !waits, flag("daily"), flag("low"), flag("states")
	polling, slow, mixed, server := flag("polls"), flag("overheads"), flag("fleet"), flag("server")
	selection := rapid.SampledFrom(append([]string{""}, SelectorNames()...)).Draw(rt, "selection")
	partial := rapid.SampledFrom([]string{"", Keep, Drop}).Draw(rt, "partial")
	a := anything{passes: 1 + int(seed%2), averages: rapid.IntRange(0, 2).Draw(rt, "averages"), battery: battery,
		hubs: hubs > 0}
	factory, _ := LookupSelector(selection)
	if factory.Unlisted {
		share = 1 // it gives up when it finds nobody
	}
	if continuous && !factory.Unlisted {
		selection = ""
	} else {
		a.reports = factory.Estimates || factory.Batteries
	}
	a.make = func() Setup {
		return world(protocol, func(s *Setup) {
			s.Seed, s.Config.Clients.Share = seed, fraction
			n, d, c := &s.Network, &s.Devices, &s.Config
			n.Jitter, n.LossProbability, n.RateSpread = 0.5, 0.1, 0.4
			d.Spread, d.SpreadWidth = devices.LogNormal, 0.5
			s.Faults.DropProbability.All, s.Faults.DropPhase = drops, phase
			if s.Availability = (coins{Seed: seed, Share: share}); resume || slow || states || polling || shared {
				s.Faults.OnReturn = devices.Resume
			}
			switch {
			case hubs > 0:
				n.HubSize, late = hubs, Drop
			case mixed:
				wired := class("wired", 0.5)
				wired.Link = "ethernet"
				s.Fleet = &fleets.Fleet{Classes: []fleets.Class{wired, class("other", 0.5)}}
			case shared:
				n.ServerDownMbps, n.ServerUpMbps, n.TCPSlowStart = 1, 0.5, true
				if n.Cells = cells; cells > 0 {
					n.CellUpMbps = 0.3
				}
				if traced {
					s.Bandwidth = constant{0.7}
				}
			}
			if states {
				n.Radio = network.RadioStates
			}
			if battery && !mixed {
				joules(s, 20)
				if d.ChargeW = 20; daily {
					d.Charging, d.ChargeHours, d.ChargeHourSpread = devices.Daily, 12, 12
				} else {
					d.ChargeDelayS, d.InitialCharge, d.InitialChargeSpread = 0.3, 0.6, 0.4
				}
				if low && daily {
					d.LowBattery, d.LowBatteryAction = 0.3, devices.Slow
				}
			}
			if polling && hubs == 0 {
				polls(s)
			}
			if slow {
				d.TaskS, d.StepS, d.TrafficSPerGB, d.Jitter = 0.1, 0.02, 1e3, 0.3
			}
			if server {
				c.ServerGFLOPS = 1e-6
			}
			switch protocol {
			case First:
				c.Over, c.Late, c.Retries, c.MinReports = 1.3, late, retries, least
			case Deadline:
				c.DeadlineS, c.Fit, c.Late, c.Quantile, c.Retries, c.MinReports = 0.8, seed%2 == 0, late, quantile,
					retries, least
			case Compass:
				by, _ := federation.LookupProtocol(protocol)
				options := by.Options()
				servertest.Set(options, "MinSteps", 1, "MaxSteps", 4, "LatestFactor", 1.2)
				c.ProtocolOptions = options
			}
			if selection != "" {
				c.Clients.Share = 0
				servertest.SelectBy(&s.Config, selection, 3, 5)
			}
			if partial != "" && !continuous && a.passes > 1 {
				c.PartialShare, c.Partial = 0.5, partial
			}
		})
	}
	return a
}

// Whatever comes, goes, drops, shares links or runs empty: one worker and one queue make the same bits as others, with
// a
// journal and without. The clock advances, no device is counted twice, the bytes of responses that the server took were
// sent, every joule that leaves a battery belongs to a round, and the entries of the journal add up to the rounds.
func TestChurn(t *testing.T) {
	seen := results.Round{}
	check := func(rt *rapid.T, protocol string) {
		a := anyWorld(rt, protocol)
		s := a.make()
		traits := s.Config.Traits()
		var f *servertest.Server
		s.Pool, s.Hooks = parallel.NewPool(1), bounded(func(engine.Event) {
			if f != nil && !f.Ended() && !traits.Continuous && !traits.WaitsForAll &&
				f.CurrentRound().Outstanding() < 0 {
				rt.Fatalf("%d responses may still come", f.CurrentRound().Outstanding())
			}
		})
		f = startWith(t, s, a.passes, a.averages)
		want := f.Play(12)
		if want.Stalled != "" {
			rt.Fatal(want.Stalled)
		}
		b := newBook(rt)
		b.tiered = a.hubs && a.averages > 0
		s = a.make()
		s.Queue, s.Journal = rapid.SampledFrom(engine.Queues()).Draw(rt, "queue"), b
		if diff := same(want, startWith(t, s, a.passes, a.averages).Play(12)); diff != "" {
			rt.Fatalf("another queue, two workers and a journal: %s", diff)
		}
		up, taken, energy, before := 0.0, 0, 0.0, 0.0
		for h, r := range want.Rounds {
			if r.TimeS < before || !traits.Continuous && (r.Participants+r.Late > 2*len(sizes) ||
				r.Dropped > len(sizes)) ||
				traits.WaitsForAll && f.CurrentRound().Needed() == len(sizes) && s.Config.PartialShare == 0 &&
					r.Participants != f.CurrentRound().Needed() ||
				!traits.WaitsForAll && r.Participants > 0 && r.Participants < s.Config.MinReports {
				rt.Fatalf("round %d: %+v", h+1, r)
			}
			before, up, taken, energy = r.TimeS, up+r.BytesUp, taken+r.Participants, energy+r.EnergyJ
			seen.Participants, seen.Dropped, seen.Late = seen.Participants+r.Participants, seen.Dropped+r.Dropped,
				seen.Late+r.Late
			got := b.rounds[h]
			if a.hubs || a.reports { // the bytes of the run are the hubs'
				got.BytesDown, got.BytesUp = r.BytesDown, r.BytesUp
			}
			for _, x := range [][2]float64{{got.BytesDown, r.BytesDown}, {got.BytesUp, r.BytesUp}, {got.FLOPs,
				r.FLOPs}, {got.EnergyJ, r.EnergyJ}, {got.TimeS, r.TimeS}} {
				if !near(x[0], x[1], 1e-9) {
					rt.Fatalf("round %d: the journal has %+v, the run %+v", h+1, got, r)
				}
			}
			if got.Participants != r.Participants || got.Dropped != r.Dropped || got.Late != r.Late {
				rt.Fatalf("round %d: the journal has %+v, the run %+v", h+1, got, r)
			}
		}
		if !a.hubs && up < float64(taken*message)-1e-3 {
			rt.Fatalf("%g bytes up for %d responses of %d", up, taken, message)
		}
		if e := f.Clients().Batteries().Total(); !near(energy, e.DrainedJ, 1e-9) || e.LeftJ > 0 &&
			!near(e.InitialJ+e.ChargedJ, e.DrainedJ+e.LeftJ, 1e-9) {
			rt.Fatalf("the rounds take %g J: %+v", energy, e)
		}
		if !a.battery && !traits.Late && !traits.Continuous && s.Availability == nil &&
			f.Clients().Clock().Pending() > 0 {
			rt.Fatalf("%d events are left", f.Clients().Clock().Pending())
		}
		for g := range s.Network.Hubs(len(sizes)) {
			if hub := f.Clients().Hub(g); !traits.Continuous && hub != (clients.HubState{}) {
				rt.Fatalf("hub %d is left as %+v", g, hub)
			}
		}
	}
	for _, protocol := range []string{WaitForAll, Deadline, Charged, First, Asynchronous, Compass} {
		t.Run(protocol, func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { check(rt, protocol) }) })
	}
	if seen.Participants == 0 || seen.Dropped == 0 || seen.Late == 0 {
		t.Errorf("%+v: want some of each", seen)
	}
}
