package carbon

import (
	"math"

	"fedsim/engine"
	"fedsim/internal/rooms/traces"
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

// Part is a part of the grams of a run.
type Part int

// The parts. The work of a device is divided by what it does: it waits while it neither computes
// nor moves bytes. The server waits while it does not compute.
const (
	DeviceWait Part = iota
	DeviceCompute
	DeviceSend // sends or receives, with the energy of its radio
	Network
	ServerWait
	ServerCompute
	parts
)

// Grams are grams of CO2e by part; NaN: not counted.
type Grams [parts]float64

// Total returns the sum of the parts that are counted.
func (g *Grams) Total() (sum float64) {
	for _, x := range g {
		if !math.IsNaN(x) {
			sum += x
		}
	}
	return sum
}

// Meter has the grams of a run. Its calls come in the order of virtual time. A nil *Meter counts
// nothing.
type Meter struct {
	grid   *Grid
	does   []uint8 // by device, the Part of what it does
	now    Grams   // since Take
	served engine.Time
}

// NewMeter returns a meter of devices that wait; nil without a grid.
func NewMeter(g *Grid, devices int) *Meter {
	if g == nil {
		return nil
	}
	return &Meter{grid: g, does: make([]uint8, devices)}
}

// Does sets what a device does from now on, and returns what it did before.
func (m *Meter) Does(device int, p Part) (before Part) {
	if m == nil {
		return 0
	}
	before = Part(m.does[device])
	m.does[device] = uint8(p)
	return before
}

// Draw counts energy in joules that a device draws evenly from one instant to another.
func (m *Meter) Draw(device int, from, to engine.Time, joules float64) {
	m.now[m.does[device]] += m.grid.grams(m.grid.place(device), from, to, joules)
}

// Move counts the energy of the network for bytes on the wire of a device.
func (m *Meter) Move(device int, from, to engine.Time, bytes float64) {
	if m == nil {
		return
	}
	joules := bytes / 1e9 * float64(m.grid.NetworkKWhPerGB*joulesPerKWh)
	m.now[Network] += m.grid.grams(m.grid.place(device), min(from, to), to, joules)
}

// Serve counts the energy of the server since the last call: it did a part.
func (m *Meter) Serve(now engine.Time, p Part) {
	if m == nil {
		return
	}
	joules := m.grid.ServerW * m.grid.PUE * (now - m.served).Seconds()
	m.now[p] += m.grid.grams(m.grid.server, m.served, now, joules)
	m.served = now
}

// Take returns the grams since the last Take, when devices have drawn their energy until now.
func (m *Meter) Take(now engine.Time) Grams {
	m.Serve(now, ServerWait)
	g := m.now
	m.now = Grams{}
	if m.grid.NetworkKWhPerGB == 0 {
		g[Network] = math.NaN()
	}
	if m.grid.ServerW == 0 {
		g[ServerWait], g[ServerCompute] = math.NaN(), math.NaN()
	}
	return g
}
