package protocols

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/expect"
	"fedsim/network"
)

// inOrder selects the clients of the lowest numbers.
type inOrder struct{}

func (inOrder) Select(s *federation.Selection) []int32 { return slices.Clone(s.Available()[:s.Size]) }

// drawn selects clients with the same probability.
type drawn struct{}

func (drawn) Select(s *federation.Selection) []int32 { return s.Uniform(s.Size, nil) }

// replacing is a protocol that cancels client 0 after 4 s and asks client 1 in its place.
type replacing struct{ first }

func (*replacing) Open(r *federation.OpenRound) { r.WakeAt(r.Began().Add(engine.FromSeconds(4))) }

func (*replacing) Wake(r *federation.OpenRound) {
	if r.Ask(0) || !r.Cancel(0) || r.Cancel(0) || r.Expects(0) || r.Ask(0) || !r.Ask(1) ||
		!slices.Equal(r.Asked(), []int32{0, 1}) {
		panic("a client is canceled once, and asked once")
	}
}

// persistent is a protocol that asks another client for each whose response is overdue.
type persistent struct{ first }

func (*persistent) Failed(r *federation.OpenRound, client int) {
	if r.Expects(client) || r.Cancel(client) {
		panic("a client that has failed is expected")
	}
	for _, client := range r.More(1) {
		r.Ask(int(client))
	}
}

// idling is a persistent protocol that gives client 0 no work.
type idling struct{ persistent }

func (*idling) Steps(_ *federation.OpenRound, client int) float64 { return 1000 * float64(client) }

// resigning is a protocol that cancels client 0 after 4 s, and then has no client.
type resigning struct{ replacing }

func (*resigning) Wake(r *federation.OpenRound) { r.Cancel(0) }

func init() {
	for name, x := range map[string]federation.Selector{"in-order": inOrder{}, "drawn": drawn{}} {
		federation.RegisterSelector(federation.SelectorFactory{Name: name, Summary: "a test",
			New: func(federation.SelectorSetup, config.Options) (federation.Selector, error) { return x, nil }})
	}
	for name, p := range map[string]federation.Protocol{"replacing": &replacing{}, "persistent": &persistent{},
		"idling": &idling{}, "resigning": &resigning{}} {
		_, limits := p.(federation.Limiter)
		federation.RegisterProtocol(federation.ProtocolFactory{Name: name, Summary: "a test",
			Keys: []string{"selection"},
			Traits: func(*federation.Config) federation.Traits {
				return federation.Traits{Asks: true, LimitsWork: limits}
			},
			New: func(*federation.Config, config.Options) (federation.Protocol, error) { return p, nil }})
	}
}

// lossUntil5s is a channel that loses all messages that are sent before 5 s.
type lossUntil5s struct{}

func (lossUntil5s) Channel(_ int, _ network.Direction, rttMs, _ float64, at engine.Time) (float64, float64) {
	if at < engine.FromSeconds(5) {
		return rttMs, 1
	}
	return rttMs, 0
}

const idleW = 0.5

// hedging returns a server of clients whose responses take so many seconds of computing, and nothing else. count
// of them must respond, of the first that are asked.
func hedging(t *testing.T, protocol string, seconds []int32, count int, set func(*federation.Setup, *hedgedOptions)) (
	*servertest.Server, *events) {
	t.Helper()
	seen := &events{}
	o := &hedgedOptions{firstOptions: firstOptions{Over: 1}, Quantile: hedgeQuantile, Backups: 100}
	return servertest.Start(t, servertest.World(protocol, func(s *federation.Setup) {
		d, l := &s.Devices, &s.Network
		s.Clients, s.Rows, s.Journal = len(seconds), seconds, seen
		s.Config.Selection, s.Config.Clients.Count = "in-order", count
		d.ClockGHz, d.IdleW, d.ComputeW = servertest.StepFLOPs*1e-9, idleW, idleW+2
		l.DownlinkMbps, l.UplinkMbps, l.RTTms = 1e9, 1e9, 0
		if set != nil {
			set(s, o)
		}
		if protocol == Hedged {
			s.Config.SetOptions(o)
		}
	}), 1), seen
}

// events are what clients do, in order.
type events []string

func (ev *events) Note(e federation.Entry) {
	switch e.Kind {
	case federation.AttemptStarted, federation.ResponseArrived, federation.AttemptFailed, federation.UpdateTaken:
		*ev = append(*ev, fmt.Sprintf("%d %d %v", e.Kind, e.Device, e.To))
	}
}

// TestHedgedRounds plays the cases of rounds in which the times of all responses are given. The numbers are those of
// an event loop on fractions, not of this program.
func TestHedgedRounds(t *testing.T) {
	after := func(seconds, over float64, backups int) func(*federation.Setup, *hedgedOptions) {
		return func(_ *federation.Setup, o *hedgedOptions) { o.HedgeS, o.Over, o.Backups = seconds, over, backups }
	}
	// bounded loses messages that are sent before 5 s.
	bounded := func(timeout float64, retries int) func(*federation.Setup, *hedgedOptions) {
		return func(s *federation.Setup, o *hedgedOptions) {
			s.Channel, o.AnswerTimeoutS, o.Retries, o.Backups = lossUntil5s{}, timeout, retries, 0
		}
	}
	slow := func(s *federation.Setup, o *hedgedOptions) { o.AnswerTimeoutS, o.Retries, o.Backups = 4, 1, 0 }
	four := []int32{2, 3, 9, 20, 1, 8}
	for _, c := range []struct {
		name, protocol   string
		seconds          []int32
		count            int
		set              func(*federation.Setup, *hedgedOptions)
		ends             float64
		taken            []int32
		joules           float64
		more, stopped, l int
		dropped          int
	}{
		{"S44", Hedged, []int32{10, 3}, 1, after(4, 1, 100), 7, []int32{1}, 20, 1, 1, 0, 0},
		{"S46", Hedged, []int32{4, 3}, 1, after(4, 1, 100), 4, []int32{0}, 8, 0, 0, 0, 0},
		{"S47", "replacing", []int32{5, 3}, 1, nil, 7, []int32{1}, 14, 1, 1, 0, 0},
		{"no client is left", "resigning", []int32{5, 3}, 1, nil, 4, []int32{}, 8, 0, 1, 0, 0},
		{"S52", Hedged, four, 3, after(5, 1.33, 100), 6, nil, 2 * (2 + 3 + 6 + 6 + 1 + 1), 2, 3, 2, 0},
		{"S53", Hedged, four, 3, after(5, 1.33, 0), 9, []int32{0, 1, 2}, 2 * (2 + 3 + 9 + 9), 0, 1, 1, 0},
		{"the first wins", Hedged, []int32{5, 3}, 1, after(4, 1, 100), 5, []int32{0}, 12, 1, 1, 0, 0},
		{"nobody is left", Hedged, []int32{5, 3}, 2, after(1, 1, 100), 5, []int32{0, 1}, 16, 0, 0, 0, 0},
		{"S55", Hedged, []int32{2}, 1, bounded(4, 2), 10, []int32{0}, 4, 0, 0, 0, 1},
		{"S56", Hedged, []int32{2}, 1, bounded(4, 1), 8, []int32{}, 0, 0, 0, 0, 1},
		{"a slow try is given up, twice", Hedged, []int32{10}, 1, slow, 8, []int32{}, 16, 0, 0, 0, 1},
		{"a response at the timeout is in time", Hedged, []int32{4}, 1, slow, 4, []int32{0}, 8, 0, 0, 0, 0},
	} {
		s, _ := hedging(t, c.protocol, c.seconds, c.count, c.set)
		r := s.Play(1).Rounds[0]
		expect.That(t, math.Abs(r.TimeS-c.ends) <= 1e-9, "%s: the round ends at %.9f s, want %g", c.name, r.TimeS,
			c.ends)
		joules := r.EnergyJ - float64(len(c.seconds))*idleW*r.TimeS
		expect.That(t, servertest.Near(joules, c.joules, 1e-9), "%s: %g J beyond idling, want %g", c.name, joules,
			c.joules)
		taken := c.taken
		if taken == nil { // one of the backups, which are drawn
			taken = []int32{0, 1, 4}
		}
		expect.That(t, slices.Equal(s.Taken, taken), "%s: the server takes %v, want %v", c.name, s.Taken, taken)
		expect.That(t, r.Value("asked_more") == float64(c.more) && r.Value("canceled") == float64(c.stopped) &&
			r.Late == c.l && r.Dropped == c.dropped, "%s: asked %g more, stopped %g, %d late, %d dropped; want %d, "+
			"%d, %d, %d", c.name, r.Value("asked_more"), r.Value("canceled"), r.Late, r.Dropped, c.more, c.stopped, c.l,
			c.dropped)
	}
}

// The quantile is that of the responses before: none in the first round. A client that did not respond took longer.
func TestHedgedFollowsTheResponses(t *testing.T) {
	s, _ := hedging(t, Hedged, []int32{2, 3, 9, 20, 1, 1}, 3, func(_ *federation.Setup, o *hedgedOptions) {
		o.Over, o.Quantile = 1.33, 0.5
	})
	before := 0.0
	s.Begin()
	for h, want := range []struct{ length, more float64 }{
		{9, 0}, // 2, 3, 9 and one that takes longer: the half is 3
		{4, 2}, // backups at 3 take 1 more, and one of them is late
		{4, 2}, // 1, 2, 2, 3, 3, 9 and four that take longer: the half is 3
	} {
		r, _ := s.Next()
		expect.That(t, math.Abs(r.TimeS-before-want.length) < 1e-9 && r.Value("asked_more") == want.more,
			"round %d lasts %g s and asks %g more, want %g and %g", h+1, r.TimeS-before, r.Value("asked_more"),
			want.length, want.more)
		before = r.TimeS
	}
	r := newResponses(2)
	for _, took := range []engine.Time{3, 1, 2} {
		r.add(took)
	}
	r.late[0] = 9
	expect.That(t, r.quantile(0.95) == engine.Never && r.usual(0.95) == 3, "the longest stands for later ones, got %d",
		r.usual(0.95))
}

// TestHedgedMeans compares means over rounds with closed forms, where responses take an exponential time of mean 1 s
// and clients get backups at its 0.95 quantile, ln 20 s.
func TestHedgedMeans(t *testing.T) {
	for _, c := range []struct {
		name                        string
		count, rounds               int
		backups                     int
		mean, more, deviation, most float64
	}{
		{"S49", 1, 5_000, 100, 0.975, 0.05, 1, 0.22},
		{"S50", 20, 1000, 100, 3.19608674633748, 1, 1.3, 1},
		{"S50, H_20", 20, 1000, 0, 3.59773965714368, 0, 1.3, 0},
	} {
		s, _ := hedging(t, Hedged, slices.Repeat([]int32{1}, 3*c.count), c.count,
			func(s *federation.Setup, o *hedgedOptions) {
				o.HedgeS, o.Backups = elementary.Log(20), c.backups
				s.Devices.Distribution, s.Journal = devices.Exponential, nil
			})
		of, more := s.Play(c.rounds), 0.0
		for i := range of.Rounds {
			more += of.Rounds[i].Value("asked_more")
		}
		n := float64(c.rounds)
		mean, root := of.Rounds[c.rounds-1].TimeS/n, math.Sqrt(n)
		expect.That(t, math.Abs(mean-c.mean) < 4*c.deviation/root, "%s: mean round %.4f s, want %.4f", c.name,
			mean, c.mean)
		expect.That(t, math.Abs(more/n-c.more) <= 4*c.most/root, "%s: %.4f backups a round, want %g", c.name,
			more/n, c.more)
	}
}

// Backups that come later than every response change nothing: the protocol is First, and wait-for-all where all are
// asked.
func TestLateBackupsChangeNothing(t *testing.T) {
	play := func(protocol string, count int, over float64, change func(*federation.Setup)) (servertest.Outcome,
		events) {
		s, seen := hedging(t, protocol, []int32{2, 3, 9, 20, 1, 8, 4, 4}, count,
			func(s *federation.Setup, o *hedgedOptions) {
				o.HedgeS, o.Over = 1e6, over
				s.Config.Selection, s.Config.Over = "drawn", over
				change(s)
			})
		of := s.Play(12)
		for i := range of.Rounds {
			of.Rounds[i].Values = nil
		}
		return of, *seen
	}
	busy := func(s *federation.Setup) {
		s.Devices.Jitter, s.Faults.DropProbability.All = 0.5, 0.3
		s.Availability = servertest.Coins{Seed: 4, Share: 0.8}
	}
	for _, change := range []func(*federation.Setup){func(*federation.Setup) {}, busy,
		func(s *federation.Setup) { busy(s); s.Config.Late = federation.Keep }} {
		want, asked := play(First, 4, 1.5, change)
		got, askedToo := play(Hedged, 4, 1.5, change)
		d := cmp.Diff(want, got, cmpopts.EquateNaNs()) + cmp.Diff(asked, askedToo)
		expect.That(t, d == "", "hedged differs from first:\n%s", d)
	}
	want, _ := play(federation.WaitForAll, 0, 1, func(*federation.Setup) {})
	got, _ := play(Hedged, 0, 1, func(*federation.Setup) {})
	d := cmp.Diff(want, got, cmpopts.EquateNaNs())
	expect.That(t, d == "", "hedged differs from wait-for-all:\n%s", d)
}

// The clients that a round asks first do not depend on backups, and backups are drawn from all others.
func TestBackupsHaveDrawsOfTheirOwn(t *testing.T) {
	firsts := func(protocol string) (first []string, backups map[string]bool) {
		s, seen := hedging(t, protocol, slices.Repeat([]int32{5}, 9), 2, func(s *federation.Setup, o *hedgedOptions) {
			s.Config.Selection, o.HedgeS = "drawn", 2
		})
		backups = map[string]bool{}
		s.Begin()
		for range 60 {
			*seen = nil
			s.Next()
			first = append(first, (*seen)[0][:3], (*seen)[1][:3])
			for _, e := range (*seen)[2:] {
				if e[0] == (*seen)[0][0] {
					backups[e[:3]] = true
				}
			}
		}
		return first, backups
	}
	want, _ := firsts(First)
	got, backups := firsts(Hedged)
	expect.That(t, slices.Equal(got, want), "hedged asks %v first, first asks %v", got, want)
	expect.That(t, len(backups) == 9, "of 9 clients %d are backups in 60 rounds", len(backups))
}

// A protocol hears of a failure when the response was due, before the server expects no response any more: the
// client that it asks then responds in the round.
func TestFailuresAreNoticed(t *testing.T) {
	for _, c := range []struct {
		protocol      string
		ends          float64
		dropped, late int
	}{
		{"persistent", 5, 1, 0},
		{"idling", 2, 0, 1}, // it is known at once that the client has no time
	} {
		s, _ := hedging(t, c.protocol, []int32{3, 2}, 1, func(s *federation.Setup, _ *hedgedOptions) {
			if c.dropped > 0 {
				s.Faults.Never = []int{0}
			}
		})
		r := s.Play(1).Rounds[0]
		expect.That(t, math.Abs(r.TimeS-c.ends) < 1e-9 && slices.Equal(s.Taken, []int32{1}) && r.Dropped == c.dropped &&
			r.Late == c.late, "%s: the round ends at %g s with %v, %d dropped and %d late; want %g s with [1], %d "+
			"and %d", c.protocol, r.TimeS, s.Taken, r.Dropped, r.Late, c.ends, c.dropped, c.late)
	}
}
