package fleets

import (
	"math"

	"fedsim/devices"
	"fedsim/internal/tools/elementary"
	"fedsim/network"
)

// Histogram is the distribution of a quantity over the devices of a fleet.
type Histogram struct {
	Quantity string    // with its unit
	Edges    []float64 // of the bins, ascending; bin i is [Edges[i], Edges[i+1])
	Shares   []float64 // by bin: share of all devices
}

// measured is a quantity of all devices.
type measured struct {
	quantity string // with its unit
	of       func(device int) float64
}

// measure returns the speed and rates of n devices of a valid fleet, and their classes.
func (f *Fleet) measure(n int, seed uint64) ([]measured, []uint8) {
	machines, mix := f.Assemble(n, nil, seed)
	fleet := devices.NewMixedProcessors(devices.Defaults(), machines, seed)
	links := network.NewMixedLinks(network.Defaults(), mix, seed)
	return []measured{
		{"speed, GFLOP/s", func(device int) float64 { return fleet.Rate(device) / 1e9 }},
		{"downlink, Mbit/s", func(device int) float64 { return links.Mbps(network.Down, device) }},
		{"uplink, Mbit/s", func(device int) float64 { return links.Mbps(network.Up, device) }},
	}, machines.Class
}

// Histograms returns the histograms of the speed and both rates of n devices of a valid
// fleet. n must be at least 1.
func (f *Fleet) Histograms(n int, seed uint64) (all []Histogram) {
	quantities, _ := f.measure(n, seed)
	for _, q := range quantities {
		h := Histogram{Quantity: q.quantity}
		low, high := math.Inf(1), 0.0
		for device := range n {
			low, high = min(low, q.of(device)), max(high, q.of(device))
		}
		first := bin(low)
		bins := bin(high) - first + 1
		for i := range bins + 1 {
			h.Edges = append(h.Edges, edge(first+i))
		}
		counts := make([]int, bins)
		for device := range n {
			counts[bin(q.of(device))-first]++
		}
		for _, c := range counts {
			h.Shares = append(h.Shares, float64(c)/float64(n))
		}
		all = append(all, h)
	}
	return all
}

// mantissas are the edges of the bins in a decade: round numbers at similar distances on
// a logarithmic scale.
var mantissas = [...]float64{1, 1.5, 2, 3, 5, 7}

// edge returns the i-th edge, the 0th being 1.
func edge(i int) float64 {
	decade := int(math.Floor(float64(i) / float64(len(mantissas))))
	m := mantissas[i-decade*len(mantissas)]
	if decade < 0 {
		return m / math.Pow10(-decade) // rounded like a number that is read
	}
	return m * math.Pow10(decade)
}

// bin returns the bin of a positive number: edge(bin) <= x < edge(bin+1).
func bin(x float64) int {
	i := int(math.Floor(elementary.Log(x)/math.Ln10)) * len(mantissas)
	for x < edge(i) {
		i--
	}
	for x >= edge(i+1) {
		i++
	}
	return i
}
