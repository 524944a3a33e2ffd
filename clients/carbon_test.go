package clients

import (
	"math"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/rooms/carbon"
	"fedsim/internal/tools/filetest"
	"fedsim/network"
)

// gridOf returns the grids of a file with these rows.
func gridOf(t *testing.T, rows string, change func(*carbon.Config)) *carbon.Grid {
	t.Helper()
	cfg := carbon.Default()
	cfg.Grid = []string{filetest.New(t, "grid.csv", "device,time_s,kind,value\n"+rows)}
	if change != nil {
		change(&cfg)
	}
	g, err := cfg.Load()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// hourly changes from 100 to 400 g/kWh after 3600 s; after 7200 s it repeats.
const hourly = "a,0,grid_g_per_kwh,100\na,3600,grid_g_per_kwh,400\na,7200,end,\n"

// By hand: a client computes for 2 s at 2 W, 1 s on each side of the change at 3600 s, and idles at
// 0.5 W otherwise. It receives 125,000 bytes in 1 s, half of it on each side of the end of the trace at
// 7200 s, from which it repeats. The server draws 10 W times 1.5 at a place of its own.
func TestGramsOverAChangeOfHour(t *testing.T) {
	s := setup(1, func(s *Setup) { s.Network.RTTms, s.Network.HeaderBytes = 0, 0 })
	s.Grid = gridOf(t, hourly+"b,0,grid_g_per_kwh,1000\nb,60,end,\n", func(c *carbon.Config) {
		c.Places, c.ServerPlace, c.ServerW, c.PUE, c.NetworkKWhPerGB = []string{"a"}, "b", 10, 1.5, 2
	})
	c := start(t, s, Listener{})
	c.RunUntil(engine.FromSeconds(3599))
	c.Start(0, Attempt{Work: devices.Work{FLOPs: 2000}})
	c.RunUntil(engine.FromSeconds(7199.5))
	c.Start(0, Attempt{Number: 1, BytesDown: 125e3})
	c.RunUntil(engine.FromSeconds(7300))
	c.Batteries().AccountAll(c.Now())
	c.Carbon().Serve(engine.FromSeconds(300), carbon.ServerCompute)
	const kWh = 3.6e6
	radio := c.Power(0, Downlink) // with idle power
	want := carbon.Grams{
		carbon.DeviceWait:    0.5 * (3599*100 + 3598.5*400 + 99.5*100) / kWh,
		carbon.DeviceCompute: 2 * (1*100 + 1*400) / kWh,
		carbon.DeviceSend:    radio * (0.5*400 + 0.5*100) / kWh,
		carbon.Network:       125e3 / 1e9 * 2 * (0.5*400 + 0.5*100),
		carbon.ServerCompute: 10 * 1.5 * 300 * 1000 / kWh,
		carbon.ServerWait:    10 * 1.5 * 7000 * 1000 / kWh,
	}
	for part, got := range c.Carbon().Take(c.Now()) {
		if !(math.Abs(got-want[part]) <= 1e-12*want[part]) {
			t.Errorf("part %d has %v g, want %v", part, got, want[part])
		}
	}
}

// On a grid of 3.6e6 g/kWh a joule is a gram, so that the grams of devices are their joules, whatever
// they do.
func TestGramsAreJoules(t *testing.T) {
	for name, change := range map[string]func(*Setup){
		"mains":        nil,
		"radio states": func(s *Setup) { s.Network.Profile, s.Network.Radio = "lte", network.RadioStates },
		"batteries":    func(s *Setup) { s.Devices.BatteryWh, s.Devices.ChargeW = 0.002, 3 },
		"shared links": func(s *Setup) { s.Network.ServerUpMbps = 1 },
		"both together": func(s *Setup) {
			s.Network.Profile, s.Network.Radio, s.Network.ServerUpMbps = "3g", network.RadioStates, 1
		},
	} {
		s := setup(3, change)
		s.Grid = gridOf(t, "a,0,grid_g_per_kwh,3.6e6\na,3600,end,\n", nil)
		c := start(t, s, Listener{})
		for number := range 4 {
			for k := range 3 {
				if c.Available(k) {
					c.Start(k, Attempt{Number: number, BytesDown: 1e5, Work: devices.Work{FLOPs: 3000}, BytesUp: 2e5})
				}
			}
			c.Flush()
			c.RunUntil(c.Now().Add(engine.FromSeconds(40)))
			for k := range 3 {
				c.Batteries().Level(k, c.Now()) // looks ahead on a copy
			}
			if c.Available(0) {
				c.Exchange(0, 1e4, 1e4)
			}
		}
		c.Batteries().AccountAll(c.Now())
		g, joules := c.Carbon().Take(c.Now()), c.Batteries().Total().DrainedJ
		if got := g.Total(); !(math.Abs(got-joules) <= 1e-9*joules) || g[carbon.DeviceSend] <= 0 || g[carbon.DeviceCompute] <= 0 {
			t.Errorf("%s: %v g are of %v J", name, g, joules)
		}
	}
}
