package fleets

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// WriteText describes n devices of a valid fleet under a seed, n at least 1: a table
// of the classes, and histograms.
func (f *Fleet) WriteText(w io.Writer, n int, seed uint64) error {
	var b bytes.Buffer
	if f.Description != "" {
		fmt.Fprintf(&b, "%s\n\n", f.Description)
	}
	f.writeClasses(&b, n, seed)
	fmt.Fprintf(&b, "\nrank correlation within a class: %g of rate and speed, %g of training rows and speed\n", f.LinkSpeed, f.DataSpeed)
	for _, h := range f.Histograms(n, seed) {
		h.write(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (f *Fleet) writeClasses(b *bytes.Buffer, n int, seed uint64) {
	counts := make([]int, len(f.Classes))
	for _, k := range f.order(n, seed) {
		counts[k]++
	}
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "class\tshare\tdevices\tGFLOP/s\tspread\tdown Mbit/s\tup Mbit/s\tspread\tRTT ms\tidle W\tcompute W\tbattery\n")
	for i := range f.Classes {
		k := &f.Classes[i]
		m, l := k.machine(), k.link()
		battery := "mains"
		if m.BatteryWh > 0 {
			battery = fmt.Sprintf("%g Wh", m.BatteryWh)
		}
		fmt.Fprintf(table, "%s\t%.4g %%\t%d\t%.4g\t%g\t%.4g\t%.4g\t%g\t%g\t%g\t%g\t%s\n", k.Name, 100*k.Share, counts[i],
			m.Rate()/1e9, k.SpeedSpread, l.DownlinkMbps, l.UplinkMbps, k.RateSpread, l.RTTms, m.IdleW, m.ComputeW, battery)
	}
	if err := table.Flush(); err != nil {
		panic(err) // a buffer takes everything
	}
}

// write draws the bars of the devices of all classes.
func (h *Histogram) write(b *bytes.Buffer) {
	const widest = 50
	all, most := h.All(), 0.0
	for _, share := range all {
		most = max(most, share)
	}
	fmt.Fprintf(b, "\n%s\n", h.Quantity)
	for i, share := range all {
		bar := strings.Repeat("#", int(math.Ceil(widest*share/most)))
		line := fmt.Sprintf("  %8.4g to %-8.4g %5.1f %%  %s", h.Edges[i], h.Edges[i+1], 100*share, bar)
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
}
