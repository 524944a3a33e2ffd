package learning

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/rooms/traces"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/racetest"
	"fedsim/mtl"
	"fedsim/network"
	"fedsim/results"
)

// population is a run in timing mode of devices that differ, in an eager or a lazy population.
type population struct {
	n, rounds int
	method    string
	config    federation.Config
	faults    devices.Faults
	links     network.Config
	chances   traces.AvailabilityConfig
	fixed     bool // all devices are alike, so that many events are simultaneous
}

// setup returns the setup of the run.
func (p *population) setup(lazy bool) Setup {
	factory, _ := algorithms.Lookup(p.method)
	s := Setup{
		Setup: federation.Setup{
			System: clients.System{
				Clients: p.n, Rows: []int32{40}, Lazy: lazy, Seed: testSeed,
				Devices: devices.Defaults(), Network: p.links, Faults: p.faults,
			},
			Config: p.config, Pool: parallel.NewPool(2),
		},
		Shape:    mtl.Shape{Features: 5000, Outputs: 1},
		Schedule: Schedule{Outer: 1, Rounds: p.rounds, EvalEvery: 1, Optimum: math.NaN()},
		Factory:  factory.Timed(), Options: factory.Options(), AnyDeadline: true,
	}
	d := &s.Devices
	d.ClockGHz, d.FlopsPerCycle, d.BatteryWh, d.IdleW = 1e-4, 1, devices.Mains, 0.3
	if !p.fixed {
		d.Spread, d.SpreadWidth, s.Network.RateSpread, s.Network.Jitter = devices.LogNormal, 0.5, 0.4, 0.3
	}
	switch {
	case p.chances.MeanUpS == 0:
	case lazy:
		combined, _ := traces.Combine(traces.LazyAvailability(p.chances, testSeed))
		s.Availability = combined
	default:
		combined, _ := traces.Combine(traces.NewAvailability(p.chances, testSeed, p.n))
		s.Availability = combined
	}
	return s
}

// equal compares the runs of both populations in all but the number of available clients, which a
// lazy one does not know. It returns the rounds.
func (p *population) equal(t testing.TB) []results.Round {
	t.Helper()
	eager, lazy := run(t, p.setup(false)), run(t, p.setup(true))
	for h := range eager.Rounds {
		eager.Rounds[h].Available = results.UnknownCount
	}
	if err := same(lazy.Rounds, eager.Rounds); err != nil {
		t.Fatalf("%+v: %s %q, want %s %q: %v", p, lazy.Status, lazy.Reason, eager.Status, eager.Reason, err)
	}
	if lazy.Status != eager.Status || lazy.Reason != eager.Reason || lazy.Steps != eager.Steps ||
		fmt.Sprint(lazy.Warnings) != fmt.Sprint(eager.Warnings) {
		t.Fatalf("%+v: %s %q %d %v, want %s %q %d %v", p, lazy.Status, lazy.Reason, lazy.Steps, lazy.Warnings,
			eager.Status, eager.Reason, eager.Steps, eager.Warnings)
	}
	if p.chances.MeanUpS == 0 && p.faults.OutageShare == 0 && lazy.EventHash != eager.EventHash {
		t.Fatalf("%+v: the events differ", p)
	}
	return lazy.Rounds
}

// A lazy population has the rounds of an eager one, bit for bit: under all protocols, with drops,
// losses, an outage, availability by chance, retries and late responses.
func TestLazyEqualsEager(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	all, dropped, late := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		p := population{
			n: rapid.SampledFrom([]int{40, 2000}).Draw(rt, "n"), rounds: 8, method: "fedavg",
			config: federation.Defaults(), faults: devices.DefaultFaults(), links: network.Defaults(),
			fixed: rapid.Bool().Draw(rt, "fixed"),
		}
		c := &p.config
		c.Protocol = rapid.SampledFrom([]string{federation.WaitForAll, protocols.Deadline, protocols.Charged,
			protocols.First, protocols.Asynchronous}).Draw(rt, "protocol")
		c.Clients.Count = rapid.IntRange(1, 15).Draw(rt, "clients")
		c.Selection = "uniform-rejection"
		switch c.Protocol {
		case protocols.Asynchronous:
			p.method = "fedasync"
		case protocols.Deadline:
			c.DeadlineS, c.Fit, c.Retries = rapid.SampledFrom([]float64{1, 5, 30}).Draw(rt, "deadline"),
				rapid.Bool().Draw(rt, "fit"), rapid.IntRange(0, 2).Draw(rt, "retries")
			c.Quantile = rapid.SampledFrom([]float64{0, 0.7}).Draw(rt, "quantile")
		case protocols.First:
			c.Over, c.Retries = rapid.Float64Range(1, 2).Draw(rt, "over"), rapid.IntRange(0, 2).Draw(rt, "retries")
			c.DeadlineS = rapid.SampledFrom([]float64{0, 20}).Draw(rt, "limit")
		}
		if c.Protocol == protocols.Deadline || c.Protocol == protocols.First {
			c.Late = rapid.SampledFrom([]string{federation.Drop, federation.Keep}).Draw(rt, "late")
			c.MinReports = rapid.SampledFrom([]int{0, 3}).Draw(rt, "reports")
		}
		p.faults.DropProbability.All = rapid.SampledFrom([]float64{0, 0.2}).Draw(rt, "drops")
		p.faults.DropPhase = rapid.SampledFrom([]string{devices.AtStart, devices.AtCompute, devices.AtUpload,
			devices.AtRandom}).Draw(rt, "phase")
		p.faults.OnReturn = rapid.SampledFrom([]string{devices.Discard, devices.Resume}).Draw(rt, "return")
		p.links.LossProbability = rapid.SampledFrom([]float64{0, 0.1}).Draw(rt, "losses")
		if rapid.Bool().Draw(rt, "outage") {
			p.faults.OutageShare, p.faults.OutageFromS, p.faults.OutageToS = 0.4, 7, 31
		}
		if rapid.Bool().Draw(rt, "chances") {
			p.chances = traces.DefaultAvailability()
			p.chances.MeanUpS, p.chances.MeanDownS = rapid.SampledFrom([]float64{4, 60}).Draw(rt, "up"),
				rapid.SampledFrom([]float64{3, 100}).Draw(rt, "down")
			p.chances.Daily = rapid.SampledFrom([]float64{0, 0.5}).Draw(rt, "daily")
		}
		for _, r := range p.equal(t) {
			all, dropped, late = all+r.Participants, dropped+r.Dropped, late+r.Late
		}
	})
	if all == 0 || dropped == 0 || late == 0 {
		t.Errorf("%d updates, %d dropouts and %d late responses: want some of each", all, dropped, late)
	}
}

// A lazy population has state for those that were asked alone, however many there are, and its
// events hold numbers near the largest one.
func TestLazyPopulationOfABillion(t *testing.T) {
	largest := int32(0)
	p := population{
		n: 1_000_000_000, rounds: 3, method: "fedavg",
		config: federation.Defaults(), faults: devices.DefaultFaults(), links: network.Defaults(),
	}
	p.config.Clients.Count, p.config.Selection = 100, "uniform-rejection"
	s := p.setup(true)
	s.Hooks = &engine.Hooks{Fired: func(e engine.Event) { largest = max(largest, e.Device) }}
	f := start(t, s)
	out := finish(t, f)
	if out.Status != results.Done || f.clients.Known() != 300 || largest < 900_000_000 {
		t.Errorf("%s %q: %d clients have state, the largest is %d", out.Status, out.Reason, f.clients.Known(), largest)
	}
}
