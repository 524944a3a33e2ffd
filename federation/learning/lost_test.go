package learning

import (
	"fmt"
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
)

// sighting is an event in a phase of a device.
type sighting string

const (
	struckAtStart    sighting = "dropped before the round's work"
	struckDownload   sighting = "dropped in the download"
	struckCompute    sighting = "dropped in the computation"
	struckUpload     sighting = "dropped in the upload"
	downloadLost     sighting = "download lost"
	uploadLost       sighting = "upload lost"
	diedDownloading  sighting = "battery empty in the download"
	diedComputing    sighting = "battery empty in the computation"
	diedUploading    sighting = "battery empty in the upload"
	cameBack         sighting = "came back"
	missedTheEnd     sighting = "late"
	askedOnceMore    sighting = "asked again"
	neverAnswers     sighting = "never answers"
	hubsMessageLost  sighting = "a hub's message lost"
	answeredAnything sighting = "answered"
)

// look counts sightings.
func look(f **Federation, seen map[sighting]int) *engine.Hooks {
	hooks := witness(f, func(e engine.Event, d clients.State) {
		switch {
		case e.Kind == clients.EventDrop && d.Activity == clients.Downlink:
			seen[struckDownload]++
		case e.Kind == clients.EventDrop && d.Activity == clients.Compute:
			seen[struckCompute]++
		case e.Kind == clients.EventDrop && d.Activity == clients.Uplink:
			seen[struckUpload]++
		case e.Kind == clients.EventDownlinkDone && d.DownlinkLost:
			seen[downloadLost]++
		case e.Kind == clients.EventUplinkDone && d.UplinkLost:
			seen[uploadLost]++
		case e.Kind == clients.EventUplinkDone:
			seen[answeredAnything]++
		case e.Kind == clients.EventTimer:
			seen[askedOnceMore]++
		case e.Kind == clients.EventRecharged:
			seen[cameBack]++
		case e.Kind == clients.EventBatteryCheck:
			if at, ok := (*f).clients.Batteries().EmptyAt(int(e.Device)); !ok || at > e.At {
				return // only a look
			}
			switch d.Activity {
			case clients.Downlink:
				seen[diedDownloading]++
			case clients.Compute:
				seen[diedComputing]++
			case clients.Uplink:
				seen[diedUploading]++
			}
		}
	})
	fired := hooks.Fired
	hooks.Fired = func(e engine.Event) {
		if g := int(e.Device) - (*f).setup.Clients; g >= 0 && e.Kind != clients.EventTimer && (*f).clients.Hub(g).Lost {
			seen[hubsMessageLost]++
		}
		fired(e)
	}
	return hooks
}

// way is a way to lose an update.
type way struct {
	name   string
	change func(*Setup)
	must   []sighting // sightings that must have occurred
	only   string     // the protocol in which it exists; empty: in all that tolerate it
}

var ways = []way{
	{name: "none", change: func(*Setup) {}, must: []sighting{answeredAnything}},
	{name: "never", change: func(s *Setup) { s.Faults.Never = []int{0, 3} }, must: []sighting{neverAnswers}},
	{name: "never in the upload", change: func(s *Setup) {
		s.Faults.Never, s.Faults.DropPhase = []int{5}, devices.AtUpload
	}, must: []sighting{neverAnswers, struckUpload}},
	{name: "start", change: func(s *Setup) { s.Faults.DropProbability.All = 0.4 }, must: []sighting{struckAtStart}},
	{name: "compute", change: func(s *Setup) {
		s.Faults.DropProbability.All, s.Faults.DropPhase = 0.4, devices.AtCompute
	}, must: []sighting{struckCompute}},
	{name: "upload", change: func(s *Setup) {
		s.Faults.DropProbability.All, s.Faults.DropPhase = 0.4, devices.AtUpload
	}, must: []sighting{struckUpload}},
	{name: "uniform", change: func(s *Setup) {
		s.Faults.DropProbability.All, s.Faults.DropPhase = 0.5, devices.AtRandom
		s.Network.RTTms = 400 // so that it strikes in the transfers too
	}, must: []sighting{struckDownload, struckCompute, struckUpload}},
	{name: "lost transfers", change: func(s *Setup) { s.Network.LossProbability = 0.3 },
		must: []sighting{downloadLost, uploadLost}},
	{name: "late", only: protocols.Deadline, change: func(s *Setup) { s.Network.Jitter = 1; s.Network.RTTms = 100 },
		must: []sighting{missedTheEnd}},
	{name: "battery", change: func(s *Setup) {
		// Some rounds' worth of energy, charged in a few rounds' time; transfers
		// are long enough to die in.
		s.Devices.BatteryWh, s.Devices.ChargeW, s.Devices.ReturnLevel = 5.2/3600, 2, 0.5
		s.Devices.InitialCharge, s.Devices.InitialChargeSpread = 0.7, 0.3
		s.Network.RTTms = 350
	}, must: []sighting{diedDownloading, diedComputing, diedUploading, cameBack}},
	{name: "everything", change: func(s *Setup) {
		s.Devices.BatteryWh, s.Devices.ChargeW, s.Devices.ReturnLevel = 2.0/3600, 1, 0.5
		s.Devices.InitialCharge, s.Devices.InitialChargeSpread = 0.7, 0.3
		s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 0.5
		s.Network.RTTms, s.Network.RateSpread, s.Network.Jitter, s.Network.LossProbability = 100, 0.5, 0.5, 0.1
		s.Faults.DropProbability.All, s.Faults.DropPhase = 0.2, devices.AtRandom
		s.Config.ServerGFLOPS = 1e-6 // so that devices die while the server works
	}, must: []sighting{downloadLost, uploadLost, diedComputing, struckCompute, cameBack}},
	{name: "polls", change: func(s *Setup) {
		polls(s)
		s.Devices.BatteryWh, s.Devices.ChargeW, s.Devices.ReturnLevel = 2.0/3600, 1, 0.5
		s.Devices.InitialCharge, s.Devices.InitialChargeSpread = 0.7, 0.3
		s.Network.Jitter, s.Network.LossProbability = 0.5, 0.1
		s.Faults.DropProbability.All, s.Faults.DropPhase = 0.2, devices.AtRandom
	}, must: []sighting{downloadLost, uploadLost, struckCompute, cameBack}},
	{name: "behind hubs", change: func(s *Setup) {
		s.Network.HubSize = 3
		s.Network.RTTms, s.Network.RateSpread, s.Network.Jitter, s.Network.LossProbability = 40, 0.5, 0.5, 0.2
		s.Devices.BatteryWh, s.Devices.ChargeW, s.Devices.ReturnLevel = 2.0/3600, 1, 0.5
		s.Devices.InitialCharge, s.Devices.InitialChargeSpread = 0.7, 0.3
		s.Faults.DropProbability.All, s.Faults.DropPhase = 0.2, devices.AtCompute
	}, must: []sighting{hubsMessageLost, struckCompute, cameBack}},
}

// polls lets messages, launches and responses wait for polls, and adds launches and headers.
func polls(s *Setup) {
	n := &s.Network
	n.ClientPollS, n.LaunchPollS, n.ServerPollS = 0.13, 0.03, 0.07
	n.LaunchS, n.ColdStartS, n.WireFactor, n.BurstBytes = 0.02, 0.1, 1.05, 40
}

// "A lost update never happened": after a failure of any kind the run equals one in
// which the device was not asked. A second instance of the method replays the rounds
// with those devices alone that responded, and every bit of both sides is compared.
func TestLostUpdateNeverHappened(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	const rounds = 40
	for _, way := range ways {
		for _, protocol := range []string{protocols.Deadline, protocols.Charged} {
			if way.only != "" && way.only != protocol {
				continue
			}
			for _, method := range []string{"mocha", "mb-sdca", "mb-sgd", "shared tasks"} {
				t.Run(fmt.Sprintf("%s/%s/%s", way.name, protocol, method), func(t *testing.T) {
					var f *Federation
					seen := map[sighting]int{}
					var problem *mtl.Problem
					if method == "shared tasks" {
						method, problem = "mocha", sharing(t)
					}
					s := world(t, method, protocol, func(s *Setup) {
						s.Problem = problem
						way.change(s)
						s.Hooks = look(&f, seen)
					})
					f = start(t, s)
					twin, err := s.Factory.New(algorithms.Setup{Problem: s.Problem, Coupling: s.Coupling, Workers: 1},
						s.Options)
					if err != nil {
						t.Fatal(err)
					}
					f.clients.Begin()
					took := 0
					for h := range rounds {
						r := f.runRound()
						if f.server.Stalled() != "" {
							t.Fatalf("round %d: stalled: %s", h, f.server.Stalled())
						}
						twin.Begin()
						answers := 0
						for k := range f.setup.Clients {
							d := f.server.Attempt(int(k))
							if d.Responded && d.Dropped {
								t.Errorf("round %d: device %d has answered and dropped", h, k)
							}
							if !d.Responded {
								continue
							}
							answers++
							twin.Solve(
								algorithms.Request{Device: k, Steps: int(f.budget(k)),
									Stream: rng.New(s.Seed, rng.Solve, k, h)})
							twin.Commit(k, 1)
						}
						twin.End()
						if err := same(f.method.Model(), twin.Model()); err != nil {
							t.Fatalf("round %d: after %d answers: %v", h, answers, err)
						}
						if r.Participants != answers || r.Participants+r.Dropped+r.Late != f.setup.Clients {
							t.Fatalf("round %d: %d took part, %d dropped, %d late of %d devices, %d of which answered",
								h, r.Participants, r.Dropped, r.Late, f.setup.Clients, answers)
						}
						if protocol == protocols.Charged && r.Late != 0 {
							t.Errorf("round %d: %d devices are late, but protocol %q has no deadline", h, r.Late,
								protocols.Charged)
						}
						r = evaluated(t, f, r)
						if r.Gap < -1e-9*math.Abs(r.Primal) {
							t.Errorf("round %d: duality gap %g at P = %g", h, r.Gap, r.Primal)
						}
						if method == "mb-sgd" != math.IsNaN(r.Gap) {
							t.Errorf("round %d: duality gap %g", h, r.Gap)
						}
						took += answers
						seen[missedTheEnd] += r.Late
						if s.Faults.DropPhase == devices.AtStart && s.Network.LossProbability == 0 &&
							s.Devices.BatteryWh == devices.Mains {
							seen[struckAtStart] += r.Dropped
						}
						for _, k := range s.Faults.Never {
							if f.server.Attempt(int(k)).Dropped {
								seen[neverAnswers]++
							}
						}
					}
					for _, m := range way.must {
						if seen[m] == 0 {
							t.Errorf("%q has not occurred; seen: %v", m, seen)
						}
					}
					if n := rounds * len(s.Faults.Never); seen[neverAnswers] != n {
						t.Errorf("devices that never answer have dropped %d times, want %d", seen[neverAnswers], n)
					}
					if way.name == "none" != (took == rounds*f.setup.Clients) {
						t.Errorf("the server took %d answers of %d", took, rounds*f.setup.Clients)
					}
					if took == 0 {
						t.Error("no answer ever arrived: nothing was compared")
					}
				})
			}
		}
	}
}
