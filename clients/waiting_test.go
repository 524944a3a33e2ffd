package clients

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

const ms = second / 1000

// polls gives clients, their launchers and the server polls of fixed phase, in seconds, and
// links without latency.
func polls(client, launch, server float64) func(*Setup) {
	return func(s *Setup) {
		n := &s.Network
		n.RTTms, n.ClientPollS, n.LaunchPollS, n.ServerPollS, n.PollPhase = 0, client, launch, server,
			network.FixedPhase
	}
}

// heard is a listener that notes what happens, with the time in ms.
func heard(c **Clients, into *[]string) Listener {
	note := func(format string, arguments ...any) {
		*into = append(*into, fmt.Sprintf("%d: ", (*c).Now()/ms)+fmt.Sprintf(format, arguments...))
	}
	return Listener{
		Responded: func(client int) { note("%d responds", client) },
		Failed:    func(client int, why Reason) { note("%d fails: %v", client, why) },
		Depleted:  func(client int) { note("%d is depleted", client) },
	}
}

// round prepares and sends the attempts of a round: messages of so many bytes, and work.
func round(c *Clients, number int, bytes float64, flops ...float64) (due engine.Time) {
	var all []int32
	c.SetBytesDown(bytes)
	for client, flops := range flops {
		c.PrepareDownlink(client, number, 0)
		c.SetWork(client, devices.Work{FLOPs: flops}, bytes)
		c.PrepareUplink(client)
		all = append(all, int32(client))
	}
	return c.SendGroup(all)
}

// spansOf returns the spans of a client in ms, without those of no length.
func spansOf(p page, client int) (all []string) {
	for _, e := range p {
		if e.Kind == Span && int(e.Client) == client && e.To > e.From {
			all = append(all, fmt.Sprintf("%v %d-%d", e.Activity, e.From/ms, e.To/ms))
		}
	}
	return all
}

// Two rounds of two clients, to the nanosecond. A transfer takes 1.2 s. The polls of clients
// are at 0 and 3 s, and from their first replies on at 3 s after these; those of launches at
// whole seconds; those of the server at 0.4 s and each 2 s, and in the second round from 9 s on.
func TestPollsOfTwoRounds(t *testing.T) {
	var c *Clients
	var got []string
	var p page
	s := setup(2, polls(3, 1, 2))
	s.Journal = &p
	c = start(t, s, heard(&c, &got))
	c.RunUntil(400 * ms)
	if due := round(c, 0, 150e3, 100, 900); due != 8400*ms {
		t.Errorf("the last response is expected at %d", due)
	}
	c.RunUntil(6350 * ms)
	if a, b := c.State(0), c.State(1); !a.Unseen || a.Activity != Idle || b.Unseen || b.Activity != Uplink ||
		!c.AtWork(0) || c.Idle(0) || !c.Held(0) || c.Held(1) {
		t.Errorf("%+v and %+v", a, b)
	}
	c.RunUntil(9 * second)
	if due := round(c, 1, 150e3, 100, 900); due != 15*second {
		t.Errorf("the last response is expected at %d", due)
	}
	c.RunUntil(20 * second)
	c.CutSpans()
	if want := []string{"6400: 0 responds", "8400: 1 responds", "13000: 0 responds",
		"15000: 1 responds"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for i, want := range [][]string{
		{"idle 0-400", "waiting 400-3000", "downlink 3000-4200", "waiting 4200-5000", "compute 5000-5100",
			"uplink 5100-6300", "idle 6300-9000", "waiting 9000-9300", "downlink 9300-10500", "waiting 10500-11000",
			"compute 11000-11100", "uplink 11100-12300", "idle 12300-20000"},
		{"idle 0-400", "waiting 400-3000", "downlink 3000-4200", "waiting 4200-5000", "compute 5000-5900",
			"uplink 5900-7100", "idle 7100-9000", "waiting 9000-10100", "downlink 10100-11300", "waiting 11300-12000",
			"compute 12000-12900", "uplink 12900-14100", "idle 14100-20000"},
	} {
		if got := spansOf(p, i); !slices.Equal(got, want) {
			t.Errorf("client %d:\ngot  %v\nwant %v", i, got, want)
		}
	}
}

// A poll of the server delivers all responses that lie there, in order of arrival, and those
// that arrive with it. Messages of a round let it poll at once.
func TestServerSeesResponsesTogether(t *testing.T) {
	var c *Clients
	var got []string
	c = start(t, setup(3, polls(0, 0, 5)), heard(&c, &got))
	round(c, 0, 0, 2000, 1000, 5000)
	c.RunUntil(6 * second)
	c.Start(0, Attempt{Number: 1, Work: devices.Work{FLOPs: 500}})
	c.RunUntil(7 * second)
	c.Poll()
	c.Start(1, Attempt{Number: 1, Work: devices.Work{FLOPs: 4900}})
	c.Run()
	want := []string{"5000: 1 responds", "5000: 0 responds", "5000: 2 responds", "7000: 0 responds",
		"12000: 1 responds"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A response that lies at the server can be canceled, and its client started again: the
// server sees the second one alone, where it arrived.
func TestCancelUnseenResponse(t *testing.T) {
	var c *Clients
	var got []string
	var p page
	s := setup(2, polls(0, 0, 10))
	s.Journal = &p
	c = start(t, s, heard(&c, &got))
	round(c, 0, 0, 1000, 3000)
	c.RunUntil(2 * second)
	if c.Cancel(0); c.AtWork(0) || !c.Idle(0) {
		t.Error("the client is at work")
	}
	c.Start(0, Attempt{Number: 1, Work: devices.Work{FLOPs: 4000}})
	c.Run()
	if want := []string{"10000: 1 responds", "10000: 0 responds"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if !slices.ContainsFunc(p,
		func(e Entry) bool { return e.Kind == Failure && e.Why == Canceled && e.From == 2*second }) {
		t.Error("the journal has no canceled attempt")
	}
}

// The timer of an idle client that is asked again before its time is no poll of the client.
func TestTimerOfAClientThatWaits(t *testing.T) {
	var c *Clients
	var got []string
	s := setup(1, polls(3, 0, 0))
	l := heard(&c, &got)
	l.Timer = func(client int) { got = append(got, fmt.Sprintf("%d: timer of %d", c.Now()/ms, client)) }
	c = start(t, s, l)
	c.RunUntil(400 * ms)
	c.SetTimer(0, second)
	c.Start(0, Attempt{Work: devices.Work{FLOPs: 1000}})
	c.Run()
	if want := []string{"1000: timer of 0", "4000: 0 responds"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A client that becomes unavailable while it waits fails, or waits on for the next poll when it
// returns. Its response needs no client.
func TestAvailabilityWhileWaiting(t *testing.T) {
	for _, c := range []struct {
		onReturn string
		from, to engine.Time
		want     string
	}{
		{devices.Discard, 1 * second, 7 * second, "1000: 0 fails: unavailable"},
		{devices.Resume, 1 * second, 7 * second, "14000: 0 responds"},         // 9 s, 0.1 s, 10 s, 0.1 s, 0.1 s
		{devices.Resume, 3200 * ms, 4500 * ms, "7000: 0 responds"},            // while it waits for its launch at 4 s
		{devices.Discard, 3900 * ms, 4500 * ms, "3900: 0 fails: unavailable"}, // likewise
		{devices.Discard, 4250 * ms, 90 * second, "7000: 0 responds"},         // its response is at the server
	} {
		var all *Clients
		var got []string
		s := setup(1, polls(3, 1, 7))
		s.Faults.OnReturn, s.Availability = c.onReturn, onOff{c.from, c.to}
		all = start(t, s, heard(&all, &got))
		all.RunUntil(1)
		round(all, 0, 12.5e3, 50)
		all.Run()
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s from %d to %d: %v, want %q", c.onReturn, c.from, c.to, got, c.want)
		}
	}
}

// A battery that is depleted while its client waits ends the attempt; one that is depleted
// when the response is at the server does not.
func TestDepletionWhileWaiting(t *testing.T) {
	for _, c := range []struct {
		joules float64
		want   []string
	}{
		// The client draws 0.5 W, and 2 W from 3 s to 4 s.
		{1, []string{"2000: 0 fails: battery depleted", "2000: 0 is depleted"}},
		{4, []string{"5000: 0 is depleted", "7000: 0 responds"}},
	} {
		var all *Clients
		var got []string
		s := setup(1, polls(3, 0, 7))
		s.NoMessages, s.Devices.BatteryWh, s.Devices.ChargeW = false, c.joules/3600, 0
		all = start(t, s, heard(&all, &got))
		all.RunUntil(1)
		round(all, 0, 0, 1000)
		all.Run()
		if !slices.Equal(got, c.want) {
			t.Errorf("%g J: %v, want %v", c.joules, got, c.want)
		}
	}
}

// Waiting costs the idle power, and launches that of computing: over the same time, attempts
// with polls cost as much as without them, and each launch 1.5 W more than an idle client.
func TestEnergyOfWaiting(t *testing.T) {
	spent := func(change func(*Setup)) float64 {
		c := start(t, setup(1, change), Listener{})
		for number := range 3 {
			c.Start(0, Attempt{Number: number, BytesDown: 5e4, Work: devices.Work{FLOPs: 700}, BytesUp: 3e4})
			c.RunUntil(engine.Time(number+1) * 40 * second)
		}
		c.Batteries().AccountAll(c.Now())
		return c.Batteries().Total().DrainedJ
	}
	for name, radio := range map[string]string{"active": network.RadioActive, "states": network.RadioStates} {
		base := func(s *Setup) { s.Network.Radio, s.Network.Profile = radio, "wifi" }
		plain := spent(base)
		with := func(change func(*network.Config)) float64 {
			return spent(func(s *Setup) { base(s); change(&s.Network) })
		}
		waits := with(func(n *network.Config) { n.ClientPollS, n.LaunchPollS, n.ServerPollS = 5.7, 0, 2.2 })
		if math.Abs(waits-plain) > 1e-9 {
			t.Errorf("radio %s: polls cost %g J", name, waits-plain)
		}
		launches := with(func(n *network.Config) { n.LaunchS, n.LaunchGFLOP, n.ColdStartS = 0.5, 2e-6, 4 })
		if want := 1.5 * (3*(0.5+2) + 4); math.Abs(launches-plain-want) > 1e-9 {
			t.Errorf("radio %s: launches cost %g J, want %g", name, launches-plain, want)
		}
	}
}

// The cold start ends with the first computation that is complete, and a launch takes as long
// in each attempt. Neither counts as work.
func TestLaunchAndColdStart(t *testing.T) {
	var c *Clients
	var got []string
	s := setup(2, polls(0, 0, 0))
	n := &s.Network
	n.PollPhase, n.LaunchS, n.LaunchGFLOP, n.ColdStartS = network.RandomPhase, 0.5, 2e-6, 3
	s.Devices.FLOPsScale, s.Devices.ClockGHz = 2, 2e-6 // work is scaled, launches are not
	c = start(t, s, heard(&c, &got))
	c.PrepareDownlink(0, 0, 0)
	if compute := c.UsualCompute(0, devices.Work{FLOPs: 100}); compute != 1600*ms ||
		c.PresentCompute(0, 0, devices.Work{FLOPs: 100}) != 4600*ms {
		t.Errorf("work takes %d, and %d now", compute, c.PresentCompute(0, 0, devices.Work{FLOPs: 100}))
	}
	if flops := c.FLOPsWithin(0, 0, 10); math.Abs(flops-5500) > 1e-9 {
		t.Errorf("%g FLOPs within 10 s", flops)
	}
	round(c, 0, 0, 100, 100)
	if share := c.processors.overheadShare(0); math.Abs(share-4.5/4.6) > 1e-12 {
		t.Errorf("%g of the time is overhead", share)
	}
	c.RunUntil(1 * second)
	c.Cancel(1)
	c.RunUntil(10 * second)
	if traffic := c.Take(); traffic.FLOPs <= 100 || traffic.FLOPs >= 200 {
		t.Errorf("%g FLOPs", traffic.FLOPs)
	}
	round(c, 1, 0, 100, 100)
	c.Run()
	if want := []string{"4600: 0 responds", "11600: 0 responds", "14600: 1 responds"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if traffic := c.Take(); traffic.FLOPs != 200 {
		t.Errorf("%g FLOPs", traffic.FLOPs)
	}
}

// Expected times include the mean waits, half a period each.
func TestExpectedWaits(t *testing.T) {
	s := setup(1, polls(3, 1, 2))
	s.Network.LaunchS = 0.25
	c := start(t, s, Listener{})
	if got := c.ExpectedResponse(0, 125e3, devices.Work{FLOPs: 100}, 125e3); got != 5350*ms {
		t.Errorf("a response takes %d", got)
	}
	if got := c.MeanPollWait(); got != 2500*ms {
		t.Errorf("messages and responses wait %d", got)
	}
	c.PrepareDownlink(0, 0, 0)
	if got := c.FLOPsWithin(0, 0, 1); math.Abs(got-250) > 1e-9 {
		t.Errorf("%g FLOPs within 1 s", got)
	}
	if a, b := c.SeenAfter(2000*ms), c.SeenAfter(2001*ms); a != 2000*ms || b != 4000*ms {
		t.Errorf("the server sees responses after %d and %d", a, b)
	}
}

// Headers count on shared links, and bursts do not: two messages of 1000 bytes, 1250 on the wire
// of which 250 pass at once, share a link of 1 Mbit/s and take 16 ms. Results count 1000 bytes.
func TestWireOnSharedLinks(t *testing.T) {
	var c *Clients
	var got []string
	c = start(t, setup(2, func(s *Setup) {
		n := &s.Network
		n.RTTms, n.ServerDownMbps, n.WireFactor, n.BurstBytes = 0, 1, 1.25, 250
	}), heard(&c, &got))
	round(c, 0, 1000, 0, 0)
	c.Run() // the uplinks are not shared
	if want := []string{"24: 0 responds", "24: 1 responds"}; !slices.Equal(got, want) || c.Now() != 24*ms {
		t.Errorf("%v at %d, want %v", got, c.Now(), want)
	}
	if traffic := c.Take(); traffic.BytesDown != 2000 || traffic.BytesUp != 2000 {
		t.Errorf("%+v", traffic)
	}
	// A message smaller than the burst takes no time there.
	c.SetBytesDown(200)
	c.Start(0, Attempt{Number: 1, BytesDown: 200})
	c.Flush()
	c.Run()
	if len(got) != 3 || c.Now() != 24*ms {
		t.Errorf("%v at %d", got, c.Now())
	}
}

// The energy of the bytes of a radio with states is that of the bytes on the wire.
func TestEnergyOnWire(t *testing.T) {
	spent := func(bytes, factor float64, shared bool) float64 {
		c := start(t, setup(1, func(s *Setup) {
			s.Network.Radio, s.Network.WireFactor = network.RadioStates, factor
			if shared {
				s.Network.ServerDownMbps, s.Network.ServerUpMbps = 10, 10
			}
		}), Listener{})
		c.Start(0, Attempt{BytesDown: bytes, BytesUp: bytes})
		c.Flush()
		c.RunUntil(100 * second)
		c.Batteries().AccountAll(c.Now())
		return c.Batteries().Total().DrainedJ
	}
	for _, shared := range []bool{false, true} {
		if a, b := spent(2e5, 1, shared), spent(1e5, 2, shared); math.Abs(a-b) > 1e-6 {
			t.Errorf("shared %v: %g J, with headers %g", shared, a, b)
		}
	}
}

// Settings that exclude each other are refused with the reason.
func TestWaitingExcludes(t *testing.T) {
	for key, change := range map[string]func(*Setup){
		"network.hubs.size": func(s *Setup) { s.Network.HubSize, s.Network.ServerPollS = 2, 1 },
		"federation.cost":   func(s *Setup) { s.Cost, s.Network.LaunchS = Relative, 1 },
	} {
		s := setup(4, change)
		var problem config.Problem
		if _, err := New(s, Listener{}); !errors.As(err, &problem) || problem.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	// A hub passes on messages that are launched for.
	s := setup(4, func(s *Setup) { s.Network.HubSize, s.Network.LaunchS, s.Network.WireFactor = 2, 1, 1.1 })
	if _, err := New(s, Listener{}); err != nil {
		t.Error(err)
	}
	// A method without messages waits for none.
	var c *Clients
	var got []string
	s = setup(1, polls(3, 1, 2))
	s.NoMessages, s.Network.LaunchS = true, 5
	c = start(t, s, heard(&c, &got))
	c.RunUntil(1 * second)
	c.Start(0, Attempt{Work: devices.Work{FLOPs: 500}})
	c.Run()
	if want := []string{"1500: 0 responds"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A client that is asked again at the instant of its reply polls a period later. A response that
// was canceled is not seen.
func TestPollAfterReply(t *testing.T) {
	var c *Clients
	var got []string
	c = start(t, setup(1, polls(3, 0, 0)), heard(&c, &got))
	round(c, 0, 0, 1000)
	c.RunUntil(1 * second)
	round(c, 1, 0, 1000)
	c.Run()
	if want := []string{"1000: 0 responds", "5000: 0 responds"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	got = nil
	s := setup(1, func(s *Setup) { s.Network.ServerPollS = 5 })
	c = start(t, s, heard(&c, &got))
	round(c, 0, 0, 1000)
	c.RunUntil(2 * second)
	c.Cancel(0)
	if c.Run(); len(got) > 0 {
		t.Errorf("%v", got)
	}
}
