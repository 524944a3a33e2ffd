package clients

import (
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// Usual times in closed form, of 125 bytes down, 250 FLOPs and 250 bytes up: 5 ms and 1 ms,
// 250 ms, 5 ms and 2 ms. Hubs add their own links, and short links take 0.5 ms and a tenth.
func TestUsualTimes(t *testing.T) {
	hubs := func(s *Setup) {
		s.Network.HubSize, s.Network.HubMbps, s.Network.HubRTTms, s.HubRounds = 2, 10, 1, 3
	}
	// 10 passes of a second
	relative := func(s *Setup) { s.Cost, s.PassFLOPs, s.Network.Profile = Relative, 1000, "wifi" }
	for _, c := range []struct {
		name                         string
		change                       func(*Setup)
		down, up, compute, transfers float64 // ms
		response                     float64
	}{
		{"no hubs", nil, 6, 7, 250, 13, 263},
		{"hubs", hubs, 6 + 0.6, 7 + 0.7, 250, 14.3, 3*(0.6+250+0.7) + 13},
		{"relative", relative, 5000, 5000, 250, 10_000, 6 + 250 + 5000},
		{"authors", func(s *Setup) { s.Cost, s.Network.Profile = Authors, "wifi" }, 5, 5, 250, 10, 6 + 250 + 5},
		{"no messages", func(s *Setup) { s.NoMessages = true }, 0, 0, 250, 0, 250},
	} {
		s := setup(4, c.change)
		h, _ := newHardware(&s, nil)
		for what, x := range map[string]struct {
			got  engine.Time
			want float64
		}{
			"downlink": {h.UsualDownlink(1, 125), c.down}, "uplink": {h.UsualUplink(1, 250), c.up},
			"compute":   {h.UsualCompute(1, devices.Work{FLOPs: 250}), c.compute},
			"transfers": {h.UsualTransfers(1, 125, 250), c.transfers},
			"response":  {h.ExpectedResponse(1, 125, devices.Work{FLOPs: 250}, 250), c.response},
		} {
			if !near(x.got, engine.FromSeconds(x.want/1e3), 3) {
				t.Errorf("%s: %s takes %v, want %g ms", c.name, what, x.got, x.want)
			}
		}
	}
}

// Jitter stretches a transfer of a given length as it does the transfer that it stands for.
func TestJitterOfGivenLengths(t *testing.T) {
	s := setup(1, func(s *Setup) {
		s.Cost, s.PassFLOPs, s.Network.Profile, s.Network.Jitter = Relative, 1000, "wifi", 0.5
	})
	h, _ := newHardware(&s, nil)
	for k := range 20 {
		const bytes = 1e6
		stretched := float64(h.links.Send(network.Up, 0, k, 0, bytes).Duration) /
			float64(h.links.Expected(network.Up, 0, bytes))
		if got := h.cost.Send(network.Up, 0, k, 0, 10).Duration; !near(got, engine.FromSeconds(5*stretched), 1000) {
			t.Errorf("%v, stretched by %g", got, stretched)
		}
	}
}

// Bytes of a message that has moved in part: 1000 bytes in 8 ms behind 2 ms of latency.
func TestMovedBetween(t *testing.T) {
	m := message{bytes: 1000, length: second / 100, way: network.Down}
	for _, c := range []struct {
		shared         bool
		from, to, want float64
	}{
		{false, 0, 1, 1000}, {false, 0, 0.2, 0}, {false, 0, 0.65, 562}, {false, 0.65, 1, 438}, {false, 0.1, 0.45, 312},
		{true, 0, 0.2, 200}, {true, 0.2, 1, 800},
	} {
		s := setup(1, func(s *Setup) {
			if s.Network.RTTms = 4; c.shared {
				s.Network.ServerDownMbps = 1
			}
		})
		h, _ := newHardware(&s, nil)
		if got := h.movedBetween(m, c.from, c.to); got != c.want {
			t.Errorf("%+v: %g bytes", c, got)
		}
		if got := h.latency(m); got != 2*second/1000 {
			t.Errorf("latency %v", got)
		}
	}
}
