package carbon

import (
	"math"

	"fedsim/clients"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/rooms/traces"
	"fedsim/results"
)

// Grid has the carbon intensity of the places of devices and server over time.
type Grid struct {
	Config
	view   *traces.View
	places []int // of devices: device k is in places[k mod n]
	server int   // place of the server
}

func (g *Grid) place(device int) int { return g.places[device%len(g.places)] }

// At returns the intensity of the grid of a device at an instant, in g CO2e per kWh.
func (g *Grid) At(device int, now engine.Time) float64 {
	intensity, _ := g.view.Lookup(traces.GridGPerKWh, g.place(device), now)
	return intensity
}

const joulesPerKWh = 3.6e6

// grams returns the grams of energy in joules that is drawn at a place evenly from one instant to
// another: the integral of power times intensity. At one instant it is their product.
func (g *Grid) grams(place int, from, to engine.Time, joules float64) float64 {
	intensity, until := g.view.Lookup(traces.GridGPerKWh, place, from)
	if until >= to {
		return float64(intensity * (joules / joulesPerKWh))
	}
	sum := 0.0
	for at := from; at < to; {
		intensity, until = g.view.Lookup(traces.GridGPerKWh, place, at)
		until = min(until, to)
		sum += float64(intensity * (until - at).Seconds())
		at = until
	}
	return float64(sum / (to - from).Seconds() * (joules / joulesPerKWh))
}

// Feature counts the grams of runs.
type Feature struct {
	*Grid
	MaxG float64 // grams after which no round begins; 0: no limit
}

// Observe returns a meter of devices.
func (f Feature) Observe(int) clients.Observer { return &meter{Feature: f} }

// part is a part of the grams of a run.
type part int

// The parts. The work of a device is divided by what it does: it waits while it neither computes
// nor moves bytes. The server waits while it does not compute.
const (
	deviceWait part = iota
	deviceCompute
	deviceSend // sends or receives, with the energy of its radio
	network
	serverWait
	serverCompute
	parts
)

// meter counts the grams of a run.
type meter struct {
	Feature
	now    [parts]float64 // since the end of the last round
	spent  float64        // in all rounds but round 0
	served engine.Time
}

var _ federation.Observer = (*meter)(nil)

func (m *meter) Drew(device int, a clients.Activity, from, to engine.Time, joules float64) {
	m.now[partOf(a)] += m.grams(m.place(device), from, to, joules)
}

// partOf returns the part to which an activity of a device counts.
func partOf(a clients.Activity) part {
	switch a {
	case clients.Compute:
		return deviceCompute
	case clients.Downlink, clients.Uplink:
		return deviceSend
	default:
		return deviceWait
	}
}

// Moved counts the energy of the network at the place of the device.
func (m *meter) Moved(device int, from, to engine.Time, bytes float64) {
	joules := bytes / 1e9 * float64(m.NetworkKWhPerGB*joulesPerKWh)
	m.now[network] += m.grams(m.place(device), from, to, joules)
}

func (m *meter) Computed(from, to engine.Time) {
	m.serve(from, serverWait)
	m.serve(to, serverCompute)
}

// serve counts the energy of the server since the last call.
func (m *meter) serve(now engine.Time, p part) {
	joules := m.ServerW * m.PUE * (now - m.served).Seconds()
	m.now[p] += m.grams(m.server, m.served, now, joules)
	m.served = now
}

func (m *meter) EndRound(now engine.Time, r *results.Round) {
	m.serve(now, serverWait)
	g := m.now
	m.now = [parts]float64{}
	if m.NetworkKWhPerGB == 0 {
		g[network] = math.NaN()
	}
	if m.ServerW == 0 {
		g[serverWait], g[serverCompute] = math.NaN(), math.NaN()
	}
	total := 0.0
	for _, x := range g {
		if !math.IsNaN(x) {
			total += x
		}
	}
	Columns.Set(r, total, g[deviceCompute], g[deviceSend], g[deviceWait], g[network], g[serverCompute], g[serverWait])
	if r.Round > 0 {
		m.spent += total
	}
}

func (m *meter) Spent() bool { return m.MaxG > 0 && m.spent >= m.MaxG }
