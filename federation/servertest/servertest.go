// Package servertest plays rounds of a server whose driver learns nothing, for tests of protocols,
// selectors and the server. It must not know methods and scenarios.
package servertest

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/rng"
	"fedsim/network"
	"fedsim/results"
)

// The figures of the world of the tests. A device does 1000 FLOP/s, so that one step of 32
// FLOPs takes 32 ms; a message of 112 bytes takes 5 ms + 0.896 ms each way.
const (
	StepFLOPs = 32
	Rate      = 1000.0
	Message   = 112
	TransferS = 0.005 + 8*Message/1e6
	Seed      = 3
	IdleW     = 0.5
	ComputeW  = 2.0
)

// ServerFLOPs are the FLOPs of the server for a response, or for a round.
const ServerFLOPs = 20

// Rows are those of the clients of World.
var Rows = []int{12, 31, 8, 20, 9, 40, 15}

// Responses returns the response times of the clients of World in a round without failures.
func Responses(passes int) []float64 {
	times := make([]float64, len(Rows))
	for k, n := range Rows {
		times[k] = 2*TransferS + float64(passes*n)*StepFLOPs/Rate
	}
	return times
}

// Server is a server with a driver whose clients make some passes over their rows.
type Server struct {
	*federation.Server
	Taken   []int32 // clients whose responses the open round has taken
	Askable int     // clients that could be asked when it began
	setup   federation.Setup
	passes  int
}

// Work makes the passes.
func (s *Server) Work(due []federation.Due, into []federation.Done) bool {
	for i, of := range due {
		steps := min(s.passes*s.setup.RowsOf(int(of.Client)), int(of.Steps))
		into[i] = federation.Done{Work: devices.Work{FLOPs: float64(steps * StepFLOPs)}, Count: steps, BytesUp: Message}
	}
	return true
}

// Commit notes whose response is taken.
func (s *Server) Commit(client int, _ float64) { s.Taken = append(s.Taken, int32(client)) }

// The rest of the drivers takes everything and keeps nothing.

func (*Server) Discard(int)       {}
func (*Server) Send(int) float64  { return Message }
func (*Server) Obsolete() []int32 { return nil }
func (*Server) Step() float64     { return ServerFLOPs }
func (*Server) Gather(int)        {}
func (*Server) Withdraw(int)      {}

// Receive takes responses.
func (s *Server) Receive(client int) (taken bool, flops float64) {
	s.Commit(client, 1)
	return true, ServerFLOPs
}

// Losses writes different losses, which fall from round to round.
func (s *Server) Losses(clients []int32, into []float64) {
	for i, client := range clients {
		into[i] = 1 / float64(1+int(client)+s.Rounds())
	}
}

// RowLosses writes the same twice.
func (s *Server) RowLosses(clients []int32, into, rms []float64) {
	s.Losses(clients, into)
	s.Losses(clients, rms)
}

// SampledLosses writes the number of a row that is drawn.
func (s *Server) SampledLosses(clients []int32, _ int, stream func(int32) federation.Stream, into []float64) {
	for i, client := range clients {
		draw := stream(client)
		into[i] = float64(draw.IntN(s.setup.RowsOf(int(client))))
	}
}

// World returns the setup of a server of seven clients under a protocol, without failures.
// change may be nil.
func World(protocol string, change func(*federation.Setup)) federation.Setup {
	s := federation.Setup{
		System: clients.System{Devices: devices.Defaults(), Network: network.Defaults(),
			Faults: devices.DefaultFaults(), Seed: Seed, Clients: len(Rows)},
		Config: federation.Defaults(), Pool: parallel.NewPool(2),
	}
	for _, n := range Rows {
		s.Rows = append(s.Rows, int32(n))
	}
	s.Config.Protocol = protocol
	d := &s.Devices
	d.ClockGHz, d.FlopsPerCycle, d.BatteryWh, d.IdleW, d.ComputeW = 1e-6, 1, devices.Mains, IdleW, ComputeW
	s.Network.DownlinkMbps, s.Network.UplinkMbps, s.Network.RTTms = 1, 1, 10
	d.Charging = devices.WhenDepleted
	if change != nil {
		change(&s)
	}
	if d.ChargeW == 0 && d.Charging == devices.WhenDepleted {
		d.Charging = devices.Never // no charger unless a test gives one
	}
	return s
}

// Start starts a server whose clients make so many passes.
func Start(t testing.TB, s federation.Setup, passes int) *Server { return StartTiered(t, s, passes, 0) }

// StartTiered is Start with so many averages of a hub before it reports.
func StartTiered(t testing.TB, s federation.Setup, passes, hubRounds int) *Server {
	t.Helper()
	d := &Server{passes: passes, setup: s}
	f, err := federation.New(s, federation.Workload{
		Name: "servertest", StepFLOPs: StepFLOPs, PassFLOPs: StepFLOPs * float64(s.MinRows()), HubRounds: hubRounds,
		Bytes: func(int) (down, up float64) { return Message, Message }, CountUpdates: true, Epochs: passes,
	}, d)
	if err != nil {
		t.Fatal(err)
	}
	d.Server = f
	return d
}

// Next runs a round as the drivers do, with or without rounds of the server. ok is false if the run has ended within
// it.
func (s *Server) Next() (r results.Round, ok bool) {
	s.Taken = nil
	round := s.Start()
	if s.Askable = round.Await(); s.Aborted() {
		return r, false
	}
	var ended federation.Ended
	if s.setup.Config.Traits().Continuous {
		ended = round.PlayOn()
	} else {
		s.Clients().SetBytesDown(Message)
		asked := s.Select()
		s.Partial().Draw(asked, s.passes)
		_, wanted := s.setup.Config.Sizes(s.setup.Clients)
		played, ok := round.Play(federation.Cohort{Clients: asked, Wanted: wanted}, nil)
		if !ok {
			return r, false
		}
		ended = played.Close()
		s.Compute(ServerFLOPs)
	}
	if s.Aborted() {
		return r, false
	}
	return ended.Account(), true
}

// Outcome is what a run leaves.
type Outcome struct {
	Rounds  []results.Round
	Hash    uint64
	Events  int64
	Stalled string
}

// Play runs so many rounds, unless the run ends before.
func (s *Server) Play(rounds int) (o Outcome) {
	s.Begin()
	for range rounds {
		r, ok := s.Next()
		if !ok {
			break
		}
		o.Rounds = append(o.Rounds, r)
	}
	s.Clients().CutSpans()
	clock := s.Clients().Clock()
	o.Hash, o.Events, o.Stalled = clock.Digest(), clock.Fired(), s.Stalled()
	return o
}

// Near reports whether two numbers differ by at most a share of the second, or of 1 if that is more.
func Near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))
}

// PaperOort stands for "oort" with the convention of the paper.
const PaperOort = "oort of the paper"

// SelectBy sets a selector with options for the world of the tests.
func SelectBy(c *federation.Config, name string, clients, candidates int) {
	name, paper := strings.CutSuffix(name, " of the paper")
	c.Selection, c.Clients.Count, c.SelectionOptions = name, clients, nil
	factory, _ := federation.LookupSelector(name)
	if factory.Options == nil {
		return
	}
	o := factory.Options()
	c.SelectionOptions = o
	if n := reflect.ValueOf(o).Elem().FieldByName("Candidates"); n.IsValid() {
		n.SetInt(int64(candidates))
	}
	switch name {
	case "fedcs":
		Set(o, "RoundS", 1.0, "ReportBytes", 100.0)
	case "oort":
		if Set(o, "PacerWindow", 2, "Participations", 12); paper {
			Set(o, "Convention", "paper", "PacerStepS", 0.4)
		}
	case "tifl":
		Set(o, "Tiers", 3, "Every", 2, "Credits", 8)
	case "refl":
		Set(o, "PeriodS", 3.0, "Slots", 4, "Holdoff", 1)
	}
}

// Set sets fields of a plugin's options, whose type is its own, by name.
func Set(options any, fields ...any) {
	of := reflect.ValueOf(options).Elem()
	for i := 0; i < len(fields); i += 2 {
		of.FieldByName(fields[i].(string)).Set(reflect.ValueOf(fields[i+1]))
	}
}

// Coins make every device available in a share of the tenths of seconds.
type Coins struct {
	Seed  uint64
	Share float64
}

// Available tosses the coin.
func (c Coins) Available(device int, at engine.Time) (bool, engine.Time) {
	const toss = engine.Time(1e8)
	s := rng.New(c.Seed, rng.Solve, device, int(at/toss))
	return s.Float64() < c.Share, (at/toss + 1) * toss
}

// Only are the clients that are available.
type Only []int

// Available never changes.
func (o Only) Available(device int, _ engine.Time) (bool, engine.Time) {
	return slices.Contains(o, device), engine.Never
}

// Window is an availability trace: device 0 is unavailable once, the others never.
type Window struct{ From, To engine.Time }

// Available is false for device 0 in the window.
func (w Window) Available(device int, at engine.Time) (bool, engine.Time) {
	switch {
	case device > 0 || at >= w.To:
		return true, engine.Never
	case at < w.From:
		return true, w.From
	default:
		return false, w.To
	}
}

// Turns is a speed that alternates between fast and slow.
type Turns struct {
	Each       engine.Time
	Fast, Slow float64
}

// Speed is the fast one first.
func (tu Turns) Speed(_ int, at engine.Time) (float64, engine.Time) {
	k := at / tu.Each
	if k%2 == 0 {
		return tu.Fast, (k + 1) * tu.Each
	}
	return tu.Slow, (k + 1) * tu.Each
}
