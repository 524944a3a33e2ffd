package fleets

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/heterogeneity"
)

// Text describes n devices of a valid fleet: a table of the classes, and histograms. n must be at
// least 1.
func (f *Fleet) Text(n int, seed uint64) string {
	var b strings.Builder
	b.WriteString(columns.Sections{{Title: f.Description}, {Table: f.table(n, seed)}}.Text(columns.Width))
	fmt.Fprintf(&b, "\nrank correlation in a class: %g of rate and speed, %g of rows and speed\n", f.LinkSpeed,
		f.DataSpeed)
	m := f.Measure(n, seed)
	fmt.Fprintf(&b, "\nheterogeneity of %s (docs/time.md#levels)\n", columns.Count(m.Devices, "device"))
	b.WriteString(columns.Entries([]string{"DevMC-R", "DevMC-T", "P90/P10"}, []string{
		fmt.Sprintf("%.3f; 1: every trip of FLHetBench's model within its deadline", m.DevMCR),
		fmt.Sprintf("%.4g; 1: trips take no time", m.DevMCT),
		fmt.Sprintf("%.3g of times to compute, %.3g of trips, %.3g of both (1 TFLOP, the model)", m.Compute, m.Transfer,
			m.Response),
	}, columns.Width))
	for _, h := range f.Histograms(n, seed) {
		h.write(&b)
	}
	return b.String()
}

// Measures are measures of the heterogeneity of devices. DevMCR and DevMCT are those of
// [heterogeneity.Setting]; the others are the 90th over the 10th percentile of times: of computing
// 10^12 FLOPs, of receiving and sending FLHetBench's model, and of both together.
type Measures struct {
	Devices                     int // that are measured: the first ones
	DevMCR, DevMCT              float64
	Compute, Transfer, Response float64
}

// Measure measures the first devices of n, at most heterogeneity.Measured.
func (f *Fleet) Measure(n int, seed uint64) Measures {
	machines, links := f.Assemble(n, nil, seed)
	n = min(n, heterogeneity.Measured)
	compute, trips, both := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		k := machines.Class[i]
		speed, rate := 1.0, 1.0
		if machines.Speed != nil {
			speed = machines.Speed[i]
		}
		if links.Rate != nil {
			rate = links.Rate[i]
		}
		l := &links.Profiles[k]
		compute[i] = 1e12 / (machines.Profiles[k].Rate() * speed)
		trips[i] = float64(heterogeneity.ModelBytes * 8 / 1e6 / rate * (1/l.DownlinkMbps + 1/l.UplinkMbps))
		both[i] = compute[i] + trips[i]
	}
	s := heterogeneity.For(n)
	m := Measures{Devices: n, Compute: heterogeneity.P90P10(compute), Transfer: heterogeneity.P90P10(trips),
		Response: heterogeneity.P90P10(both)}
	m.DevMCR, m.DevMCT = s.DevMC(trips)
	return m
}

// table has a row for each class.
func (f *Fleet) table(n int, seed uint64) columns.Table {
	counts := make([]int, len(f.Classes))
	for _, k := range f.order(n, seed) {
		counts[k]++
	}
	table := columns.Table{Label: "class", Groups: []columns.Group{
		{Heads: []string{"share", "devices"}},
		{Title: "device", Heads: []string{"GFLOP/s", "spread", "idle W", "compute W", "battery"}},
		{Title: "link", Heads: []string{"down Mbit/s", "up Mbit/s", "spread", "RTT ms"}},
	}}
	for i := range f.Classes {
		k := &f.Classes[i]
		m, l := k.machine(), k.link()
		battery := "mains"
		if m.BatteryWh > 0 {
			battery = fmt.Sprintf("%g Wh", m.BatteryWh)
		}
		short := func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
		exact := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
		table.Add(k.Name, short(100*k.Share)+" %", strconv.Itoa(counts[i]),
			short(m.Rate()/1e9), exact(k.SpeedSpread), exact(m.IdleW), exact(m.ComputeW), battery,
			short(l.DownlinkMbps), short(l.UplinkMbps), exact(k.RateSpread), exact(l.RTTms))
	}
	return table
}

func (h *Histogram) write(b *strings.Builder) {
	const widest = 48
	most := slices.Max(h.Shares)
	fmt.Fprintf(b, "\n%s\n", h.Quantity)
	for i, share := range h.Shares {
		bar := strings.Repeat("#", int(math.Ceil(widest*share/most)))
		line := fmt.Sprintf("  %8.4g to %-8.4g %5.1f %%  %s", h.Edges[i], h.Edges[i+1], 100*share, bar)
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
}
