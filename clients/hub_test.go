package clients

import (
	"fmt"
	"slices"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/roster"
)

// members are clients behind hubs, without devices: they respond when the test says so.
type members struct {
	away    []int         // clients that are not available
	started []int32       // in order
	missed  []engine.Time // when the responses of clients were due that the message did not reach, in order
}

func (m *members) Available(client int) bool { return !slices.Contains(m.away, client) }
func (m *members) WhyUnavailable(int) Reason { return BecameUnavailable }
func (m *members) Work(client int) (devices.Work, float64) {
	return devices.Work{}, header + float64(100*(client+1))
}
func (m *members) miss(_ int, due engine.Time) { m.missed = append(m.missed, due) }
func (m *members) attemptTime(client int, _ engine.Time) engine.Time {
	return engine.Time(client+1) * second
}
func (m *members) Send(client int) engine.Time {
	m.started = append(m.started, int32(client))
	return 0
}

const header = 64

// behind returns the hubs of four clients, two each, alone: with links of 10^6 bit/s and a
// round trip of 10 ms. heard has what their listener hears.
type behind struct {
	*hubs
	members
	heard []string
	clock *engine.Engine
}

func newBehind(change func(*Setup), l Listener) *behind {
	b := &behind{}
	s := setup(4, func(s *Setup) {
		if s.Network.HubSize = 2; change != nil {
			change(s)
		}
	})
	if l.Repeat == nil {
		l.Repeat = func(g, n int) bool { b.hear("hub %d lost try %d", g, n-1); return true }
	}
	if l.Responded == nil {
		l.Responded = func(client int) { b.hear("%d responded", client) }
	}
	l.Unreached = func(client int, why Reason) { b.hear("%d unreached: %v", client, why) }
	l.ensureDefaults()
	h, _ := newHardware(&s, nil)
	b.clock = engine.New(6, engine.Options{})
	sizes := &messageSizes{same: -1, roster: roster.New(4, false)}
	b.hubs = &hubs{
		between: h.behind, clients: &b.members, clock: b.clock, listener: &l, record: &recorder{}, traffic: &Traffic{},
		downlink: sizes, model: s.Model, header: header,
		each: make([]hub, 2), place: make([]place, 4), most: make([]float64, 4),
	}
	if b.model == nil {
		b.model = func(int) int { return 0 }
	}
	return b
}

func (b *behind) hear(format string, args ...any) {
	b.heard = append(b.heard, fmt.Sprintf("%.4f ", b.clock.Now().Seconds())+fmt.Sprintf(format, args...))
}

// open opens a group whose messages are of the header and so many bytes, and sends it.
func (b *behind) open(bytes float64, clients ...int32) (end engine.Time) {
	b.downlink.setAll(header + bytes)
	b.OpenGroup(0, clients, true)
	return b.sendGroup()
}

// run handles events of hubs until an instant.
func (b *behind) run(seconds float64) {
	b.clock.RunUntil(engine.FromSeconds(seconds), func(e engine.Event) { b.happen(e.Kind, int(e.Device)-4) })
}

func (b *behind) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(b.heard, want) {
		t.Errorf("heard %q, want %q", b.heard, want)
	}
}

// A hub passes a message on when it has come, waits for all responses, and sends them in one
// message: 5 ms of latency, and 8 us for each byte.
func TestHubGathersResponses(t *testing.T) {
	b := newBehind(nil, Listener{})
	b.away = []int{1}
	// Hub 0: 5 ms + 8 * 1064 us down; the longest of two attempts is 2 s; both responses are of
	// the one model, so that the longer one counts: 64 + 200 bytes.
	want := 0.005 + 8e-6*1064 + 2 + 0.005 + 8e-6*264
	if end := b.open(1000, 0, 1); end != engine.FromSeconds(want) {
		t.Errorf("the last response is expected at %v, want %g s", end, want)
	}
	if !b.Awaits(0) || b.Hub(0).Activity != Downlink {
		t.Errorf("%+v", b.Hub(0))
	}
	b.run(1)
	if !slices.Equal(b.started, []int32{0}) || b.Awaits(0) || *b.traffic != (Traffic{BytesDown: 1064}) {
		t.Fatalf("started %v, %+v", b.started, *b.traffic)
	}
	if !b.StopWaiting(1) || b.StopWaiting(1) {
		t.Error("the hub waits for a client that is not available once")
	}
	b.receive(0)
	if !b.Held(0) || b.Hub(0).Activity != Uplink {
		t.Errorf("%+v", b.Hub(0))
	}
	b.run(2)
	b.want(t, "0.0135 1 unreached: unavailable", fmt.Sprintf("%.4f 0 responded", 1+0.005+8e-6*164))
	if *b.traffic != (Traffic{BytesDown: 1064, BytesUp: 164}) {
		t.Errorf("%+v", *b.traffic)
	}
}

// A message carries each model once, in the largest size that one of its clients has.
func TestPayloadOfSharedModels(t *testing.T) {
	b := newBehind(func(s *Setup) {
		s.Network.HubSize, s.Model = 4, func(client int) int { return client / 2 }
	}, Listener{})
	b.open(1000, 0, 1, 2, 3)
	b.run(1)
	if b.traffic.BytesDown != header+2*1000 {
		t.Errorf("%g bytes down", b.traffic.BytesDown)
	}
	for _, k := range b.started {
		b.receive(int(k))
	}
	b.run(2)
	if b.traffic.BytesUp != header+200+400 {
		t.Errorf("%g bytes up", b.traffic.BytesUp)
	}
	b.CloseGroup()
	for k, bytes := range []float64{20, 10, 30, 40} {
		b.downlink.set(k, header+bytes)
	}
	b.OpenGroup(1, []int32{0, 1, 2, 3}, true)
	if got := b.each[0].bytes; got != header+20+40 {
		t.Errorf("%g bytes to clients with their own sizes", got)
	}
}

// A lost message is sent again half a round trip after its end, or given up.
func TestHubRepeatsLostMessages(t *testing.T) {
	lost := func(s *Setup) { s.Network.LossProbability = 1 }
	b := newBehind(lost, Listener{})
	b.open(436, 2) // 5 ms + 4 ms, then 5 ms for the acknowledgement
	b.run(0.03)
	b.want(t, "0.0090 hub 1 lost try 0", "0.0230 hub 1 lost try 1")
	if b.traffic.BytesDown != 1000 {
		t.Errorf("%g bytes down in two tries", b.traffic.BytesDown)
	}
	b = newBehind(lost, Listener{Repeat: func(int, int) bool { return false }})
	b.open(436, 2, 3)
	b.run(1)
	b.want(t, "0.0090 2 unreached: message lost", "0.0090 3 unreached: message lost")
	if b.Hub(1).Activity != Idle || b.Awaits(2) {
		t.Errorf("%+v", b.Hub(1))
	}
}

// A hub begins again when the listener lets it, and waits for all that it asks: it reports for
// a client that it did not ask in its last round too.
func TestHubBeginsAgain(t *testing.T) {
	rounds := 0
	var b *behind
	b = newBehind(func(s *Setup) { s.Network.HubSize = 4 }, Listener{Gathered: func(hub int) bool {
		if rounds++; rounds == 1 {
			b.RepeatHub(hub, []int32{1, 2})
			return true
		}
		b.Represent(0)
		return false
	}})
	b.open(0, 0, 1)
	b.run(0.1)
	b.receive(0)
	b.receive(1)
	if b.Held(0) || !slices.Equal(b.started, []int32{0, 1, 1, 2}) {
		t.Errorf("started %v", b.started)
	}
	b.receive(1)
	if b.Hub(0).Activity != Idle {
		t.Error("a hub reports without the last response")
	}
	b.receive(2)
	b.run(1)
	at := fmt.Sprintf("%.4f ", 0.1+0.005+8e-6*364)
	b.want(t, at+"0 responded", at+"1 responded", at+"2 responded")
}

// A closed group counts the bytes that have arrived: of 1000 bytes in 8 ms behind 5 ms of
// latency, 500 are there after 9 ms. Nothing is heard of it any more.
func TestCloseGroup(t *testing.T) {
	b := newBehind(nil, Listener{})
	b.open(936, 0, 1, 2)
	b.Withdraw(2) // its hub has nobody else
	b.run(0.009)
	b.CloseGroup()
	b.run(10)
	if b.traffic.BytesDown != 500+500 || len(b.heard)+len(b.started) > 0 || b.each[0] != (hub{}) {
		t.Errorf("%+v, heard %q, started %v", *b.traffic, b.heard, b.started)
	}
	var none *hubs
	none.OpenGroup(0, []int32{0}, true)
	none.Withdraw(0)
	none.CloseGroup()
	if none.Awaits(0) || none.Held(0) || none.StopWaiting(0) {
		t.Error("a system without hubs has one")
	}
}
