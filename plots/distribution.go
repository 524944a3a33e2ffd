package plots

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedsim/results"
)

// distribute sets the content of a figure of kind "distribution". Lines are the empirical
// distribution functions, over the clients of all seeds, of a metric by client.
func (f *figureContent) distribute(a *Arrangement, runs []results.Run) error {
	metric, _ := results.MetricOf(runs, f.fig.Y)
	f.x, f.size = quantityByClient(&metric, runs)
	f.y = Quantity{Label: "clients at or below", Units: []unit{{"%", 1}}}
	f.xScale, f.yScale, f.limits = scales[f.fig.XScale], linear, interval{0, 104}
	f.fig.XMax *= f.size
	values, worst := map[Place][]float64{}, map[Place][]float64{}
	var count clientCount
	for i := range runs {
		var own []float64
		for _, row := range runs[i].ByClientOf(f.fig.Y) {
			own = append(own, f.size*row.Value)
		}
		own = count.known(own)
		if len(own) == 0 {
			continue
		}
		at := a.Runs[i]
		values[at] = append(values[at], own...)
		worst[at] = append(worst[at], results.WorstTenth(own, metric.Higher))
		count.seeds = max(count.seeds, len(worst[at]))
	}
	for at, all := range values { // each has a place of its own
		x, share := results.EmpiricalDistribution(all)
		if f.xScale == logarithmic && x[0] <= 0 {
			return errorf(&f.fig, "x_scale = \"log\": %s of a client is %g: must be positive: choose linear", f.fig.Y,
				x[0]/f.size)
		}
		for k := range share {
			share[k] *= 100
		}
		p := &f.panels[at.Panel]
		p.curves[at.Line] = []curve{{x: placedOn(x, f.xScale), y: share}}
		mean := 0.0
		for _, v := range worst[at] {
			mean += v / float64(len(worst[at]))
		}
		p.worst[at.Line] = f.xScale.place(mean)
	}
	f.bands = count.note(runs[0].Vary)
	return nil
}

// quantityByClient returns the horizontal axis of a metric by client and the size of its
// values on it: 100 for shares, which are in per cent.
func quantityByClient(metric *results.Metric, runs []results.Run) (q Quantity, size float64) {
	real := false
	for i := range runs {
		real = real || runs[i].Real
	}
	what, _ := metric.Parts(real)
	q, size = Quantity{Name: metric.Name, Label: what + " of a client"}, 1
	switch {
	case metric.Share && !real:
		q.Units, size = []unit{{"%", 1}}, 100
	case metric.Unit != "":
		q.Units = []unit{{metric.Unit, 1}}
	}
	if metric.Higher {
		q.Label += ", higher is better"
	}
	return q, size
}

// clientCount counts the clients and seeds behind a figure.
type clientCount struct{ least, most, seeds, unknown, values int }

// known returns the known values of a run and counts its clients.
func (c *clientCount) known(values []float64) []float64 {
	var known []float64
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			c.unknown++
			continue
		}
		known = append(known, v)
	}
	if n := len(values); n > 0 {
		if c.most == 0 || n < c.least {
			c.least = n
		}
		c.most = max(c.most, n)
	}
	c.values += len(values)
	return known
}

// note describes the lines and marks.
func (c *clientCount) note(vary results.Vary) string {
	if c.most == 0 {
		return ""
	}
	clients := fmt.Sprint(c.most, " clients")
	if c.least < c.most {
		clients = fmt.Sprintf("%d to %d clients", c.least, c.most)
	}
	text := "line: " + clients
	if c.seeds > 1 {
		text += " of " + vary.Repetitions(c.seeds)
	}
	text += "; mark: mean of the worst 10 %"
	if c.unknown > 0 {
		text += fmt.Sprintf("; %d of %d values are not known", c.unknown, c.values)
	}
	return strings.ReplaceAll(text, "1 clients", "1 client")
}

// distributionLimits returns the limits of the horizontal axes, the same for all panels.
func (f *figureContent) distributionLimits() interval {
	data := emptyInterval()
	for i := range f.panels {
		data.join(f.panels[i].xRange())
	}
	if data.max < data.min {
		return interval{}
	}
	if f.xScale == linear && data.min > 0 && data.min < data.max/2 {
		data.min = 0
	}
	cut := f.fig.XMax > 0
	if cut {
		if data.max = f.xScale.place(f.fig.XMax); data.max <= data.min {
			return interval{data.max - 1, data.max}
		}
	}
	zero := f.xScale == linear && data.min == 0
	data = data.widened()
	margin := 0.03 * data.length()
	if !zero {
		data.min -= margin
	}
	if !cut {
		data.max += margin
	}
	return data
}

// across makes the line of a distribution span the limits: no client is below the first
// value, all are at or below the last.
func (b *band) across(limits interval) {
	n := len(b.x)
	if n == 0 {
		return
	}
	if b.x[0] > limits.min {
		b.x, b.mean = append([]float64{limits.min}, b.x...), append([]float64{0}, b.mean...)
	}
	if last := b.x[len(b.x)-1]; last < limits.max {
		b.x, b.mean = append(b.x, limits.max), append(b.mean, b.mean[len(b.mean)-1])
	}
	b.low, b.high = b.mean, b.mean
}

// value returns the height of the line at x.
func (b *band) value(x float64) float64 {
	at := 0.0
	for i := range b.x {
		if b.x[i] <= x {
			at = b.mean[i]
		}
	}
	return at
}

// worst draws the mean of the worst clients of series i: a mark on its line, and a thin
// line down to the axis.
func (d *drawing) worst(c *draw.Canvas, toX, toY func(float64) vg.Length, i int) {
	value := d.marks[i]
	x := toX(value)
	if len(d.bands[i].x) == 0 || math.IsNaN(value) || !c.ContainsX(x) {
		return
	}
	s := d.styles[i]
	p := vg.Point{X: x, Y: toY(d.bands[i].value(value))}
	c.StrokeLine2(draw.LineStyle{Color: s.line.Color, Width: 0.5, Dashes: []vg.Length{1, 1.5}}, x, c.Min.Y, x, p.Y)
	m := s.mark
	if m == nil {
		m = disc
	}
	m.draw(c, p, s.line.Color)
}
