package federation

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/parallel"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/internal/tools/rng"
	"fedsim/network"
	"fedsim/results"
)

// The figures of the world of the tests. A device does 1000 FLOP/s, so that one step of 32
// FLOPs takes 32 ms; a message of 112 bytes takes 5 ms + 0.896 ms each way.
const (
	stepFLOPs = 32
	rate      = 1000.0
	message   = 112
	transferS = 0.005 + 8*message/1e6
	testSeed  = 3
)

var sizes = []int{12, 31, 8, 20, 9, 40, 15}

// toy is a driver whose clients make some passes over their rows, and learn nothing.
type toy struct {
	server  *Server
	passes  int
	taken   []int32 // in the open round
	askable int     // when it began
}

func (d *toy) Solve(listed []int32) bool {
	for _, t := range listed {
		if d.server.Solves(int(t)) {
			steps := d.passes * int(d.server.setup.Rows[t])
			if budget, limited := d.server.Budget(int(t)); limited {
				steps = min(steps, budget)
			}
			d.server.SetWork(int(t), steps, devices.Work{FLOPs: float64(steps * stepFLOPs)}, message)
		}
	}
	return true
}

func (d *toy) Commit(client int, _ float64) { d.taken = append(d.taken, int32(client)) }

func (*toy) Discard(int) {}

// Losses writes different losses, which fall from round to round.
func (d *toy) Losses(clients []int32, into []float64) {
	for i, t := range clients {
		into[i] = 1 / float64(1+int(t)+d.server.round)
	}
}

func (d *toy) RowLosses(clients []int32, into, rms []float64) {
	d.Losses(clients, into)
	d.Losses(clients, rms)
}

// SampledLosses writes the number of a row that is drawn.
func (d *toy) SampledLosses(clients []int32, _ int, stream func(int32) Stream, into []float64) {
	for i, t := range clients {
		s := stream(t)
		into[i] = float64(s.IntN(int(d.server.setup.Rows[t])))
	}
}

// world returns the setup of a server of seven clients under a protocol, without failures.
// change may be nil.
func world(protocol string, change func(*Setup)) Setup {
	s := Setup{
		System: clients.System{Devices: devices.Defaults(), Network: network.Defaults(), Faults: devices.DefaultFaults(), Seed: testSeed, Clients: len(sizes)},
		Config: Defaults(), Pool: parallel.NewPool(2),
	}
	for _, n := range sizes {
		s.Rows = append(s.Rows, int32(n))
	}
	s.Config.Protocol = protocol
	d := &s.Devices
	d.ClockGHz, d.FlopsPerCycle, d.BatteryWh = 1e-6, 1, devices.Mains
	s.Network.DownlinkMbps, s.Network.UplinkMbps, s.Network.RTTms = 1, 1, 10
	if change != nil {
		change(&s)
	}
	return s
}

// start starts the server of a toy that makes so many passes.
func start(t testing.TB, s Setup, passes int) *Server {
	t.Helper()
	d := &toy{passes: passes}
	f, err := New(s, Workload{
		Name: "toy", StepFLOPs: stepFLOPs, PassFLOPs: stepFLOPs * float64(s.MinRows()),
		Bytes: func(int) (down, up float64) { return message, message }, CountUpdates: true, Epochs: passes,
	}, d)
	if err != nil {
		t.Fatal(err)
	}
	d.server = f
	return f
}

// runRound runs a round.
func (f *Server) runRound() results.Round {
	f.driver.(*toy).taken = nil
	round := f.Start()
	f.driver.(*toy).askable = round.Await()
	f.clients.SetBytesDown(message)
	played, _ := round.Play(Cohort{Clients: f.Select(), Wanted: f.selection.asked}, nil)
	if played.server == nil { // the run has ended within the round
		f.count(nil)
		played.server = f
	}
	return played.Close().Account()
}

// taken runs rounds, and returns the clients whose responses each takes.
func (f *Server) taken(rounds int) [][]int32 {
	taken := make([][]int32, rounds)
	f.Begin()
	for h := range taken {
		f.runRound()
		taken[h] = slices.Clone(f.driver.(*toy).taken)
	}
	return taken
}

// selectorOf builds a selector.
func selectorOf(t testing.TB, factory SelectorFactory, s SelectorSetup, o config.Options) Selector {
	t.Helper()
	selector, err := factory.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))
}

// paperOort stands for "oort" with the convention of the paper.
const paperOort = "oort of the paper"

// selectBy sets a selector with options for the world of the tests.
func selectBy(s *Setup, name string, clients, candidates int) {
	name, paper := strings.CutSuffix(name, " of the paper")
	s.Config.Selection, s.Config.Clients = name, clients
	factory, _ := LookupSelector(name)
	if factory.Candidates {
		s.Config.Candidates = candidates
	}
	switch name {
	case "fedcs":
		s.Config.SelectionOptions = &fedcsOptions{RoundS: 1, ReportBytes: 100, Uploads: "parallel"}
	case "oort":
		o := factory.Options().(*oortOptions)
		o.PacerWindow, o.Participations = 2, 12
		if paper {
			o.Convention, o.PacerStepS = oortPaper, 0.4
		}
		s.Config.SelectionOptions = o
	case "tifl":
		s.Config.SelectionOptions = &tiflOptions{Tiers: 3, Adaptive: true, Every: 2, Credits: 8}
	case "refl":
		s.Config.SelectionOptions = &reflOptions{PeriodS: 3, Slots: 4, Smooth: 0.25, Holdoff: 1}
	}
}

// coins make every device available in a share of the tenths of seconds.
type coins struct {
	seed  uint64
	share float64
}

func (c coins) Available(device int, at engine.Time) (bool, engine.Time) {
	const toss = engine.Time(1e8)
	s := rng.New(c.seed, rng.Solve, device, int(at/toss))
	return s.Float64() < c.share, (at/toss + 1) * toss
}
