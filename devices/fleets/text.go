package fleets

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/columns"
)

// Text describes n devices of a valid fleet: a table of the classes, and histograms. n must be at
// least 1.
func (f *Fleet) Text(n int, seed uint64) string {
	var b strings.Builder
	if f.Description != "" {
		fmt.Fprintf(&b, "%s\n\n", columns.Wrap(f.Description, columns.Width, 0))
	}
	f.writeClasses(&b, n, seed)
	fmt.Fprintf(&b, "\nrank correlation in a class: %g of rate and speed, %g of rows and speed\n", f.LinkSpeed, f.DataSpeed)
	for _, h := range f.Histograms(n, seed) {
		h.write(&b)
	}
	return b.String()
}

func (f *Fleet) writeClasses(b *strings.Builder, n int, seed uint64) {
	counts := make([]int, len(f.Classes))
	for _, k := range f.order(n, seed) {
		counts[k]++
	}
	table := columns.Table{Label: "class", Groups: []columns.Group{
		{Heads: []string{"share", "devices"}},
		{Title: "device", Heads: []string{"GFLOP/s", "spread", "idle W", "compute W", "battery"}},
		{Title: "link", Heads: []string{"down Mbit/s", "up Mbit/s", "spread", "RTT ms"}},
	}}
	var rows [][]string
	for i := range f.Classes {
		k := &f.Classes[i]
		m, l := k.machine(), k.link()
		battery := "mains"
		if m.BatteryWh > 0 {
			battery = fmt.Sprintf("%g Wh", m.BatteryWh)
		}
		short := func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
		exact := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
		rows = append(rows, []string{
			k.Name, short(100*k.Share) + " %", strconv.Itoa(counts[i]),
			short(m.Rate() / 1e9), exact(k.SpeedSpread), exact(m.IdleW), exact(m.ComputeW), battery,
			short(l.DownlinkMbps), short(l.UplinkMbps), exact(k.RateSpread), exact(l.RTTms),
		})
	}
	table.Blocks = []columns.Block{{Rows: rows}}
	table.Write(b, columns.Width)
}

// write writes a bar for each bin.
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
