package clients

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/devices"
	"fedsim/engine"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/network"
)

// The time of an attempt is that of its downlink, its work and its uplink.
func TestResponseTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := Attempt{
			BytesDown: float64(rapid.IntRange(0, 1e6).Draw(rt, "down")),
			Work:      devices.Work{FLOPs: float64(rapid.IntRange(0, 1e6).Draw(rt, "FLOPs"))},
			BytesUp:   float64(rapid.IntRange(0, 1e6).Draw(rt, "up")),
		}
		arrived := engine.Never
		var c *Clients
		c = start(t, setup(1, nil), Listener{Responded: func(int) { arrived = c.Now() }})
		due := c.Start(0, a)
		c.Run()
		want := 2*0.005 + 8*(a.BytesDown+a.BytesUp)/1e6 + a.FLOPs/1000
		if arrived != due || math.Abs(arrived.Seconds()-want) > 3e-9*(1+want) {
			rt.Errorf("%+v: %v, expected %v, want %g s", a, arrived, due, want)
		}
		if got := c.Take(); got != (Traffic{a.FLOPs, a.BytesDown, a.BytesUp}) {
			rt.Errorf("%+v: counted %+v", a, got)
		}
	})
}

// onOff is available before an instant and from another one on.
type onOff struct{ from, to engine.Time }

func (o onOff) Available(_ int, at engine.Time) (bool, engine.Time) {
	switch {
	case at < o.from:
		return true, o.from
	case at < o.to:
		return false, o.to
	default:
		return true, engine.Never
	}
}

// A listener hears of failures and changes of availability in order, each with the new
// state of the client.
func TestListener(t *testing.T) {
	for _, onReturn := range []string{devices.Resume, devices.Discard} {
		var heard []string
		var c *Clients
		hear := func(what string) func(int) {
			return func(k int) {
				heard = append(heard,
					fmt.Sprintf("%.3f %s %t %s", c.Now().Seconds(), what, c.Available(k), c.State(k).Activity))
			}
		}
		c = start(t, setup(1, func(s *Setup) {
			s.Availability, s.Faults.OnReturn = onOff{engine.FromSeconds(0.5), engine.FromSeconds(2)}, onReturn
		}), Listener{
			Responded: hear("responded"), Available: hear("available"), Unavailable: hear("unavailable"),
			Failed: func(k int, why Reason) { hear("failed: " + why.String())(k) },
		})
		c.Start(0, Attempt{BytesDown: 1000, Work: devices.Work{FLOPs: 1000}, BytesUp: 1000})
		c.Run()
		want := []string{"0.500 unavailable false unavailable", "2.000 available true compute",
			"2.526 responded true idle"}
		if onReturn == devices.Discard {
			failed := fmt.Sprintf("0.500 failed: %v false unavailable", BecameUnavailable)
			want = []string{"0.500 unavailable false unavailable", failed, "2.000 available true idle"}
		}
		if !slices.Equal(heard, want) {
			t.Errorf("%s: %q, want %q", onReturn, heard, want)
		}
	}
}

// Timers are heard of in the order of their instants, and a stopped one is not.
func TestTimers(t *testing.T) {
	var heard []int
	c := start(t, setup(3, func(s *Setup) {
		s.Faults.Never, s.Faults.DropPhase, s.Due = []int{0, 1}, devices.AtStart, true
	}), Listener{})
	c.listener.Failed = func(k int, _ Reason) { c.SetTimer(k, c.Due(k)) }
	c.listener.Timer = func(k int) { heard = append(heard, k) }
	c.Start(0, Attempt{Work: devices.Work{FLOPs: 2000}})
	c.Start(1, Attempt{Work: devices.Work{FLOPs: 1000}})
	c.SetServerTimer(engine.FromSeconds(1.5))
	if !c.Failed(0) || !c.Failed(1) {
		t.Fatal("the clients have not failed")
	}
	c.RunUntil(engine.FromSeconds(1.6))
	if !c.StopTimer(0) || c.StopTimer(0) {
		t.Error("a timer is stopped once")
	}
	c.Run()
	if want := []int{1, engine.Server}; !slices.Equal(heard, want) {
		t.Errorf("timers of %v, want %v", heard, want)
	}
}

// Clients of a hub respond together, and a hub is idle when its group is closed.
func TestGroupBehindAHub(t *testing.T) {
	var at []engine.Time
	var c *Clients
	c = start(t, setup(4, func(s *Setup) {
		s.Network.HubSize = 2
		s.Network.HubRTTms = 2
	}), Listener{Responded: func(int) { at = append(at, c.Now()) }})
	all := []int32{0, 1, 2, 3}
	c.SetBytesDown(c.MessageBytes(10))
	c.OpenGroup(0, all, false)
	for _, client := range all {
		c.PrepareDownlink(int(client), 0, 0)
		c.SetWork(int(client), devices.Work{FLOPs: float64(1000 * (client + 1))}, c.MessageBytes(10))
		c.PrepareUplink(int(client))
	}
	expected := c.SendGroup(all)
	c.Run()
	if len(at) != 4 || at[0] != at[1] || at[2] != at[3] || at[1] >= at[2] || at[3] != expected {
		t.Errorf("responses at %v, the last expected at %v", at, expected)
	}
	c.CloseGroup()
	for g := range c.hubs.each {
		if c.hubs.each[g] != (hub{}) || c.Hub(g) != (HubState{}) {
			t.Errorf("hub %d is left as %+v", g, c.hubs.each[g])
		}
	}
}

// What happens does not depend on the queue, and setups that exclude each other are
// refused.
func TestSetup(t *testing.T) {
	var digests []uint64
	for _, queue := range engine.Queues() {
		c := start(t, setup(20, func(s *Setup) {
			s.Queue = queue
			s.Faults.DropProbability.All, s.Faults.DropPhase = 0.3, devices.AtRandom
			s.Network.Jitter, s.Network.LossProbability = 0.3, 0.1
		}), Listener{})
		for k := range c.Len() {
			c.Start(k, Attempt{BytesDown: 1000, Work: devices.Work{FLOPs: 100}, BytesUp: 1000})
		}
		c.Run()
		digests = append(digests, c.Clock().Digest())
	}
	for _, d := range digests {
		if d != digests[0] {
			t.Errorf("digests %x differ by queue", digests)
		}
	}
	for _, change := range []func(*Setup){
		func(s *Setup) { s.Clients = MaxClients + 1 },
		func(s *Setup) { s.Network.HubSize = 21 },
		func(s *Setup) { s.Network.HubSize, s.Cost = 2, Relative },
		func(s *Setup) { s.Network.ServerUpMbps, s.Cost = 1, Authors },
		func(s *Setup) { s.Network.HubSize, s.Network.TCPSlowStart = 2, true },
	} {
		if c, err := New(setup(20, change), Listener{}); err == nil {
			t.Errorf("%d clients are accepted", c.Len())
		}
	}
}

// ended is an attempt of 1000 bytes down, 1000 FLOPs and 1000 bytes up that is stopped: the
// downlink takes 5 ms and 8 ms, the work 1 s, the uplink 5 ms and 8 ms.
var ended = []struct {
	phase phase
	share float64 // of the phase
	at    float64 // s
	moved Traffic // bytes are whole, and move behind the latency of 5/13
}{
	{downlink, 0.25, 0.00325, Traffic{}},
	{downlink, 0.75, 0.00975, Traffic{BytesDown: 593}}, // 4.75 ms of 8
	{compute, 0, 0.013, Traffic{BytesDown: 1000}},
	{compute, 0.25, 0.263, Traffic{250, 1000, 0}},
	{uplink, 0.25, 1.01625, Traffic{1000, 1000, 0}},
	{uplink, 0.75, 1.02275, Traffic{1000, 1000, 593}},
}

var whole = Attempt{BytesDown: 1000, Work: devices.Work{FLOPs: 1000}, BytesUp: 1000}

// A client that drops at a share of a phase fails there, has done that share of the phase, and
// may be started again when it is released.
func TestDropInEachPhase(t *testing.T) {
	for _, e := range ended {
		var at []engine.Time
		var c *Clients
		c = start(t, setup(1, nil), Listener{Failed: func(_ int, why Reason) {
			if at = append(at, c.Now()); why != DroppedOut {
				t.Errorf("failed: %v", why)
			}
		}})
		c.SetBytesDown(whole.BytesDown)
		c.PrepareDownlink(0, 0, 0)
		c.at(0).drops, c.at(0).cut = e.phase, e.share
		c.SetWork(0, whole.Work, whole.BytesUp)
		c.PrepareUplink(0)
		c.Send(0)
		c.Run()
		if got := c.Take(); len(at) != 1 || !near(at[0], engine.FromSeconds(e.at), 2) || got != e.moved {
			t.Errorf("%+v: failed at %v, counted %+v", e, at, got)
		}
		if !c.Failed(0) || c.Idle(0) || c.AtWork(0) {
			t.Errorf("%+v: %+v", e, c.State(0))
		}
		if c.Release(0); !c.Idle(0) {
			t.Errorf("%+v: not released", e)
		}
	}
}

// A client that is canceled in a phase is idle at once, and has done as much of the phase.
func TestCancelInEachPhase(t *testing.T) {
	for _, e := range ended {
		heard := 0
		c := start(t, setup(1, nil), Listener{Responded: func(int) { heard++ }, Failed: func(int, Reason) { heard++ }})
		c.Start(0, whole)
		c.RunUntil(engine.FromSeconds(e.at))
		c.Cancel(0)
		got := c.Take()
		if got.FLOPs = math.Round(got.FLOPs*1e3) / 1e3; got != e.moved || !c.Idle(0) {
			t.Errorf("%+v: counted %+v, %+v", e, got, c.State(0))
		}
		if c.Cancel(0); c.Take() != (Traffic{}) || !c.Idle(0) { // the client has no attempt to cancel
			t.Errorf("%+v: canceled twice", e)
		}
		if c.Run(); heard != 0 {
			t.Errorf("%+v: heard of it %d times", e, heard)
		}
	}
}

// A client that holds its message takes up the work that it is given then: a second at hand,
// half a second of work, and an uplink of 5 ms and 16 ms. One without time gives up.
func TestWorkThatComesWithTheMessage(t *testing.T) {
	var c *Clients
	responded := engine.Never
	c = start(t, setup(2, func(s *Setup) { s.Due = true }), Listener{
		Downloaded: func(k int) bool {
			if k == 0 {
				c.Hold(0)
				c.Stop()
			}
			return k == 0
		},
		Responded: func(int) { responded = c.Now() },
		Failed: func(k int, why Reason) {
			if k != 1 || why != NoTime || !c.Idle(1) {
				t.Errorf("client %d failed: %v", k, why)
			}
		},
	})
	c.Start(0, Attempt{BytesDown: 1000})
	c.Run()
	if !c.AtWork(0) || c.at(0).working() {
		t.Errorf("%+v", c.State(0))
	}
	c.SetWork(0, devices.Work{FLOPs: 500}, 2000)
	c.PrepareUplink(0)
	c.Proceed(0)
	want := engine.FromSeconds(0.013 + 0.5 + 0.021)
	if c.Due(0) != want {
		t.Errorf("due at %v, want %v", c.Due(0), want)
	}
	c.Start(1, Attempt{BytesDown: 1000, Work: devices.Work{FLOPs: 1}})
	if c.Run(); responded != want || c.Take() != (Traffic{500, 2000, 2000}) {
		t.Errorf("responded at %v, want %v", responded, want)
	}
}

// Two clients that share a link of 10^6 bit/s: one message of 10^6 bits at 0, and one at 0.5 s
// that is canceled at 1 s. The first has moved 0.75 of its bits then, and ends at 1.25 s. Nobody calls Flush.
func TestAttemptsOnASharedLink(t *testing.T) {
	var at []engine.Time
	var c *Clients
	c = start(t, setup(2, func(s *Setup) { s.Network.RTTms, s.Network.ServerDownMbps = 0, 1 }), Listener{
		Responded: func(int) { at = append(at, c.Now()) },
	})
	c.Start(0, Attempt{BytesDown: 125_000})
	c.RunUntil(second / 2)
	c.Start(1, Attempt{BytesDown: 125_000})
	c.RunUntil(second)
	c.Cancel(1)
	c.Run()
	if len(at) != 1 || !near(at[0], 5*second/4, 2) || !near(c.Take().BytesDown, 125_000+31_250, 1) {
		t.Errorf("responses at %v", at)
	}
}

// An attempt allocates nothing.
func TestAttemptsAllocateNothing(t *testing.T) {
	for name, change := range map[string]func(*Setup){
		"plain":  nil,
		"shared": func(s *Setup) { s.Network.ServerUpMbps = 1 },
		"states": func(s *Setup) { s.Network.Radio, s.Devices.BatteryWh = network.RadioStates, 1000 },
	} {
		responses := 0
		var c *Clients
		c = start(t, setup(2, change), Listener{Responded: func(int) {
			if responses++; responses%2 == 0 {
				c.Stop()
			}
		}})
		once := func() {
			c.Start(0, whole)
			c.Start(1, whole)
			c.Flush()
			c.Run()
		}
		for range 20 {
			once()
		}
		if n := testing.AllocsPerRun(100, once); n > 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}
