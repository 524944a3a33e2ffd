package plots

import "math"

// interval is the part of an axis that is shown, in axis space.
type interval struct{ min, max float64 }

func (r interval) length() float64 { return r.max - r.min }

// widened makes an interval of no length one that can be drawn, around it.
func (r interval) widened() interval {
	if r.max > r.min {
		return r
	}
	by := math.Max(math.Abs(r.min)*0.1, 0.5)
	return interval{r.min - by, r.max + by}
}

// cover extends r to hold v.
func (r *interval) cover(v float64) {
	r.min, r.max = math.Min(r.min, v), math.Max(r.max, v)
}

// nothing covers no value.
func nothing() interval { return interval{math.Inf(1), math.Inf(-1)} }

// each calls f for each curve of the panel.
func (p *panel) each(f func(curve)) {
	for _, seeds := range p.curves {
		for _, c := range seeds {
			f(c)
		}
	}
}

// yLimits returns what the vertical axis shows; ok is false when no run has a
// value to draw.
func (m *model) yLimits() (limits interval, ok bool) {
	data := nothing()
	for i := range m.panels {
		m.panels[i].each(func(c curve) {
			for _, y := range c.y {
				if !math.IsInf(y, -1) {
					data.cover(y)
				}
			}
		})
	}
	if data.max < data.min {
		return interval{}, false
	}
	if m.yScale == logarithmic {
		floor := data.max - 8
		if m.y.floor > 0 {
			floor = math.Log10(m.y.floor)
		}
		if floor < data.max {
			data.min = math.Max(data.min, floor)
		}
	} else if data.min > 0 && data.min < data.max/2 {
		data.min = 0
	}
	data = data.widened()
	margin := 0.04 * data.length()
	limits = interval{data.min - margin, data.max + margin}
	if m.yScale == linear && data.min == 0 {
		limits.min = 0
	}
	if v := m.fig.YMin; v > 0 || v < 0 && m.yScale == linear {
		limits.min = m.yScale.place(v)
	}
	if v := m.fig.YMax; v > 0 || v < 0 && m.yScale == linear {
		limits.max = m.yScale.place(v)
	}
	if limits.max <= limits.min { // a limit that excludes all data: show the limit
		if m.fig.YMax != 0 {
			limits.min = limits.max - data.length()
		} else {
			limits.max = limits.min + data.length()
		}
	}
	return limits, true
}

// xLimits returns what the horizontal axis of a panel shows, given the
// vertical one; see the package comment. ok is false for a panel without data.
func (m *model) xLimits(p *panel, y interval) (limits interval, ok bool) {
	data := nothing()
	p.each(func(c curve) {
		data.cover(c.x[0])
		data.cover(c.x[len(c.x)-1])
	})
	if data.max < data.min {
		return interval{}, false
	}
	if m.xScale == linear {
		data.min = math.Min(data.min, 0)
		if data.max <= 0 {
			data.max = 1 // nothing but the start
		}
	}
	if m.fig.XMax > 0 {
		limits = interval{data.min, m.xScale.place(m.fig.XMax)}
		if limits.max <= limits.min {
			limits.min = limits.max - 1
		}
		return limits, true
	}
	if m.xScale == linear && m.shows == ofMean {
		data.max = math.Min(data.max, p.end(y))
	}
	data = data.widened()
	data.max += 0.02 * data.length()
	if m.xScale == logarithmic {
		data.min -= 0.02 * data.length()
	}
	return data, true
}

// end returns where a linear horizontal axis may end; see the package comment.
func (p *panel) end(y interval) float64 {
	bottom := math.Inf(1)
	p.each(func(c curve) {
		for _, v := range c.y {
			bottom = math.Min(bottom, v)
		}
	})
	bottom = math.Max(bottom, y.min)
	near, done := 0.1*y.length(), 0.02*y.length()
	reach := nothing()
	for _, seeds := range p.curves {
		lowest, slowest := math.Inf(-1), 0.0 // over the seeds: the highest low point, and the time there
		for _, c := range seeds {
			low, at := c.lowest(y.min, done)
			lowest, slowest = math.Max(lowest, low), math.Max(slowest, at)
		}
		if lowest <= bottom+near && slowest > 0 { // one that is there from the start has no pace
			reach.cover(slowest)
		}
	}
	if reach.max < reach.min {
		return math.Inf(1)
	}
	end := 1.08 * reach.max
	end = math.Max(end, 3*reach.min)
	return math.Min(end, 10*reach.min)
}

// lowest returns the lowest value above floor and the first place where the
// curve is within tolerance of it.
func (c *curve) lowest(floor, tolerance float64) (low, at float64) {
	low = math.Inf(1)
	for _, y := range c.y {
		low = math.Min(low, y)
	}
	low = math.Max(low, floor)
	for i, y := range c.y {
		if y <= low+tolerance {
			return low, c.x[i]
		}
	}
	return low, c.x[len(c.x)-1]
}
