package carbon

import (
	"math"
	"testing"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	links "fedsim/network"
	"fedsim/results"
)

// gridOf returns the grids of a file with these rows.
func gridOf(t *testing.T, rows string, change func(*Config)) *Grid {
	t.Helper()
	cfg := Default()
	cfg.Grid = []string{filetest.New(t, "grid.csv", "device,time_s,kind,value\n"+rows)}
	if change != nil {
		change(&cfg)
	}
	g := expect.Value(cfg.Load())(t)
	return g
}

func init() { results.Declare(Columns) }

// setup returns clients on mains whose processors do 1000 FLOP/s at 2 W, and idle at 0.5 W; links carry 10^6 bit/s
// each way with a round trip of 10 ms. change may be nil.
func setup(n int, change func(*clients.Setup)) clients.Setup {
	s := clients.Setup{System: clients.System{
		Clients: n, Devices: devices.Defaults(), Network: links.Defaults(), Faults: devices.DefaultFaults(), Seed: 3,
	}}
	d, l := &s.Devices, &s.Network
	d.ClockGHz, d.FlopsPerCycle, d.IdleW, d.ComputeW, d.BatteryWh = 1e-6, 1, 0.5, 2, devices.Mains
	l.DownlinkMbps, l.UplinkMbps, l.RTTms = 1, 1, 10
	if change != nil {
		change(&s)
	}
	return s
}

// start begins a run, and returns its clients and its meter.
func start(t *testing.T, s clients.Setup, g *Grid) (*clients.Clients, *meter) {
	t.Helper()
	s.Features = []clients.Feature{Feature{Grid: g}}
	c := expect.Value(clients.New(s, clients.Listener{}))(t)
	c.Begin()
	return c, c.Observers()[0].(*meter)
}

// hourly changes from 100 to 400 g/kWh after 3600 s; after 7200 s it repeats.
const hourly = "a,0,grid_g_per_kwh,100\na,3600,grid_g_per_kwh,400\na,7200,end,\n"

// By hand: a client computes for 2 s at 2 W, 1 s on each side of the change at 3600 s, and idles at
// 0.5 W otherwise. It receives 125,000 bytes in 1 s, half of it on each side of the end of the trace at
// 7200 s, from which it repeats. The server draws 10 W times 1.5 at a place of its own.
func TestGramsOverAChangeOfHour(t *testing.T) {
	s := setup(1, func(s *clients.Setup) { s.Network.RTTms, s.Network.HeaderBytes = 0, 0 })
	grid := gridOf(t, hourly+"b,0,grid_g_per_kwh,1000\nb,60,end,\n", func(c *Config) {
		c.Places, c.ServerPlace, c.ServerW, c.PUE, c.NetworkKWhPerGB = []string{"a"}, "b", 10, 1.5, 2
	})
	c, m := start(t, s, grid)
	c.RunUntil(engine.FromSeconds(3599))
	c.Start(0, clients.Attempt{Work: devices.Work{FLOPs: 2000}})
	c.RunUntil(engine.FromSeconds(7199.5))
	c.Start(0, clients.Attempt{Number: 1, BytesDown: 125e3})
	c.RunUntil(engine.FromSeconds(7300))
	c.Batteries().AccountAll(c.Now())
	m.Computed(0, engine.FromSeconds(300))
	const kWh = 3.6e6
	radio := c.Power(0, clients.Downlink) // with idle power
	r := results.NewRound()
	m.EndRound(c.Now(), &r)
	for _, x := range []struct {
		part      string
		got, want float64
	}{
		{"waiting", r.Value("co2_wait_g"), 0.5 * (3599*100 + 3598.5*400 + 99.5*100) / kWh},
		{"computing", r.Value("co2_compute_g"), 2 * (1*100 + 1*400) / kWh},
		{"sending", r.Value("co2_send_g"), radio * (0.5*400 + 0.5*100) / kWh},
		{"network", r.Value("co2_network_g"), 125e3 / 1e9 * 2 * (0.5*400 + 0.5*100)},
		{"server computing", r.Value("co2_server_compute_g"), 10 * 1.5 * 300 * 1000 / kWh},
		{"server waiting", r.Value("co2_server_wait_g"), 10 * 1.5 * 7000 * 1000 / kWh},
	} {
		expect.That(t, math.Abs(x.got-x.want) <= 1e-12*x.want, "%s: %v g, want %v", x.part, x.got, x.want)
	}
}

// On a grid of 3.6e6 g/kWh a joule is a gram, so that the grams of devices are their joules, whatever
// they do.
func TestGramsAreJoules(t *testing.T) {
	for name, change := range map[string]func(*clients.Setup){
		"mains":        nil,
		"radio states": func(s *clients.Setup) { s.Network.Profile, s.Network.Radio = "lte", links.RadioStates },
		"batteries":    func(s *clients.Setup) { s.Devices.BatteryWh, s.Devices.ChargeW = 0.002, 3 },
		"shared links": func(s *clients.Setup) { s.Network.ServerUpMbps = 1 },
		"both together": func(s *clients.Setup) {
			s.Network.Profile, s.Network.Radio, s.Network.ServerUpMbps = "3g", links.RadioStates, 1
		},
	} {
		s := setup(3, change)
		grid := gridOf(t, "a,0,grid_g_per_kwh,3.6e6\na,3600,end,\n", nil)
		c, m := start(t, s, grid)
		for number := range 4 {
			for k := range 3 {
				if c.Available(k) {
					c.Start(k,
						clients.Attempt{Number: number, BytesDown: 1e5, Work: devices.Work{FLOPs: 3000}, BytesUp: 2e5})
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
		r, joules := results.NewRound(), c.Batteries().Total().DrainedJ
		m.EndRound(c.Now(), &r)
		if !(math.Abs(r.Value("co2_g")-joules) <= 1e-9*joules) || r.Value("co2_send_g") <= 0 ||
			r.Value("co2_compute_g") <= 0 {
			t.Errorf("%s: %v g, of which %v g computing and %v g sending, are of %v J", name, r.Value("co2_g"),
				r.Value("co2_compute_g"), r.Value("co2_send_g"), joules)
		}
	}
}
