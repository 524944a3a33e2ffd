package learning

import (
	"testing"

	"fedsim/devices/fleets"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/mtl"
)

// The short links of the tests: 5 ms and 8 bits in 2 us each way.
const shortMbps, shortRTTms = 0.5, 10.0

// behind puts devices behind hubs of that many.
func behind(s *Setup, size int) {
	s.Network.HubSize, s.Network.HubMbps, s.Network.HubRTTms = size, shortMbps, shortRTTms
}

// shortS returns the time of a message on a short link.
func shortS(bytes float64) float64 { return shortRTTms/2e3 + bytes*8/(shortMbps*1e6) }

// Devices of one task share a message, and their responses add up to one. Under a
// method with one model all devices do.
func TestAHubsMessageCarriesAModelForEachTask(t *testing.T) {
	// sharing gives devices 0..6 the tasks 0, 1, 0, 2, 1, 0, 2.
	shared := sharing(t)
	for _, c := range []struct {
		method       string
		size, models int
		timed        bool
	}{
		{"mocha", 3, 2 + 3 + 1, false}, {"mocha", 4, 3 + 3, false}, {"mocha", 7, 3, false}, {"mocha", 1, 7, false},
		{"fedavg", 3, 3, false}, {"fedprox", 7, 1, false}, {"mb-sgd", 2, 2 + 2 + 2 + 1, false},
		{"mocha", 3, 2 + 3 + 1, true}, // two devices a task: 0 0 1 | 1 2 2 | 3
	} {
		s := world(t, c.method, federation.WaitForAll, func(s *Setup) {
			behind(s, c.size)
			s.Problem = shared
		})
		if c.timed {
			rows := s.Problem.RowCounts()
			s.Clients, s.Rows, s.Shape, s.PerTask = len(rows), rows, mtl.Shape{Features: features, Outputs: 1}, 2
			s = timedOn(s)
			c.models = 2 + 2 + 1
		}
		r := run(t, s).Rounds[1]
		hubs := (len(sizes) + c.size - 1) / c.size
		if want := float64(64*hubs + 8*features*c.models); r.BytesDown != want || r.BytesUp != want {
			t.Errorf("%s behind hubs of %d, timed %v: %g bytes down, %g up, want %g", c.method, c.size, c.timed,
				r.BytesDown, r.BytesUp, want)
		}
	}
}

// Settings that exclude hubs are refused.
func TestHubsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, method, protocol string
		change                 func(*Setup)
		want                   string
	}{
		{"asynchronous", "fedbuff", protocols.Asynchronous, nil,
			`federation.protocol = "asynchronous": must be another with network.hubs.size: a hub gathers the answers ` +
				`of a round`},
		{"remembered changes", "mifa", federation.WaitForAll, nil,
			`network.hubs.size = 2: must be 0: the server of mifa needs the response of each client, ` +
				`and hubs add them up`},
		{"relative costs", "mocha", federation.WaitForAll, func(s *Setup) { s.Config.Cost = federation.Relative },
			`federation.cost = "relative": must be "physical" with network.hubs.size: under others there is one ` +
				`transfer each way`},
		{"shared links", "mocha", federation.WaitForAll, func(s *Setup) { s.Network.ServerUpMbps = 3 },
			`network.hubs.size = 2: must be 0 where transfers share links, start slowly, have rates that change ` +
				`or time out`},
		{"late answers", "mocha", protocols.Deadline, func(s *Setup) { s.Config.Late = federation.Keep },
			`federation.late = "keep": must be "drop" with network.hubs.size: a hub gathers the answers of one round`},
		{"a fleet", "mocha", federation.WaitForAll,
			func(s *Setup) { s.Fleet = &fleets.Fleet{Classes: []fleets.Class{class("lte", 1)}} },
			`network.hubs.size = 2: must be 0 with a fleet, whose classes have links of their own`},
		{"few devices", "mocha", federation.WaitForAll, func(s *Setup) { s.Network.HubSize = 8 },
			`network.hubs.size = 8: must be at most 7, the number of devices`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(world(t, c.method, c.protocol, func(s *Setup) {
				s.Options = s.Factory.Options()
				behind(s, 2)
				if c.change != nil {
					c.change(s)
				}
			}))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
