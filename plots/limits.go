package plots

import (
	"fmt"
	"math"
)

// interval is a range on an axis, in axis space.
type interval struct{ min, max float64 }

func (r interval) length() float64 { return r.max - r.min }

// widened returns an interval with room for ticks around one that is empty but for rounding.
func (r interval) widened() interval {
	if r.length() > leastWidth*max(math.Abs(r.min), math.Abs(r.max)) {
		return r
	}
	by := math.Max(math.Abs(r.min)*0.1, 0.5)
	return interval{r.min - by, r.max + by}
}

// cover extends r to include v.
func (r *interval) cover(v float64) {
	r.min, r.max = math.Min(r.min, v), math.Max(r.max, v)
}

// join extends r to include another interval, which may be empty.
func (r *interval) join(other interval) {
	r.min, r.max = math.Min(r.min, other.min), math.Max(r.max, other.max)
}

// emptyInterval is an interval without values.
func emptyInterval() interval { return interval{math.Inf(1), math.Inf(-1)} }

// each calls f for each curve of the panel.
func (p *panel) each(f func(curve)) {
	for _, seeds := range p.curves {
		for _, c := range seeds {
			f(c)
		}
	}
}

// yRange returns the vertical range of the points of all panels.
func (m *figureContent) yRange() interval {
	data := emptyInterval()
	for i := range m.panels {
		m.panels[i].each(func(c curve) {
			for _, y := range c.y {
				if !math.IsInf(y, -1) {
					data.cover(y)
				}
			}
		})
		for _, y := range m.panels[i].limits {
			if !math.IsNaN(y) && !math.IsInf(y, -1) {
				data.cover(y)
			}
		}
	}
	return data
}

// yLimits returns the limits of the vertical axis; ok is false without data.
func (m *figureContent) yLimits() (limits interval, ok bool) {
	if m.size > 0 {
		return m.limits, true
	}
	data := m.yRange()
	if data.max < data.min {
		return interval{}, false
	}
	if m.yScale == logarithmic {
		floor := data.max - 8
		if m.y.Floor > 0 {
			floor = math.Log10(m.y.Floor)
		}
		if floor < data.max {
			data.min = math.Max(data.min, floor)
		}
	} else if data.min > 0 && (data.min < data.max/2 || m.y.count) {
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
	if limits.max <= limits.min { // the given limit excludes all data
		if m.fig.YMax != 0 {
			limits.min = limits.max - data.length()
		} else {
			limits.max = limits.min + data.length()
		}
	}
	return limits, true
}

// xRange returns the horizontal range of the points of a panel.
func (p *panel) xRange() interval {
	data := emptyInterval()
	p.each(func(c curve) {
		data.cover(c.x[0])
		data.cover(c.x[len(c.x)-1])
	})
	return data
}

// xLimits returns the limits of the horizontal axis of a panel: all data, up to the limit
// of the figure. Panels of one method each are compared with one another and share them. ok
// is false for a panel without data.
func (m *figureContent) xLimits(p *panel) (limits interval, ok bool) {
	data := p.xRange()
	if data.max < data.min {
		return interval{}, false
	}
	if m.fig.Panel == "method" {
		for i := range m.panels {
			data.join(m.panels[i].xRange())
		}
	}
	if m.size > 0 {
		return m.distributionLimits(), true
	}
	if m.xScale == linear {
		data.min = math.Min(data.min, 0)
		if data.max <= 0 {
			data.max = 1 // only the start
		}
	}
	if m.fig.XMax > 0 {
		limits = interval{data.min, m.xScale.place(m.fig.XMax)}
		if limits.max <= limits.min {
			limits.min = limits.max - 1
		}
		return limits, true
	}
	data = data.widened()
	data.max += 0.02 * data.length()
	if m.xScale == logarithmic {
		data.min -= 0.02 * data.length()
	}
	return data, true
}

// cutX describes the data of a panel to the right of the limits; it may be empty.
func (m *figureContent) cutX(p *panel, limits interval, u unit) string {
	all := p.xRange()
	if all.max <= limits.max {
		return ""
	}
	return fmt.Sprintf("cut at %s of %s", u.amount(m.xScale.value(limits.max)), u.amount(m.xScale.value(all.max)))
}

// cutY describes the data above and below the limits; it may be empty. On a logarithmic
// axis, it ignores values up to zero, which have a note of their own.
func (m *figureContent) cutY(limits interval) (text string) {
	all := m.yRange()
	plain := unit{Size: 1}
	if all.max > limits.max {
		text += fmt.Sprintf("\ncut at %s, highest %s", plain.amount(m.yScale.value(limits.max)), plain.amount(m.yScale.value(all.max)))
	}
	if all.min < limits.min {
		text += fmt.Sprintf("\ncut at %s, lowest %s", plain.amount(m.yScale.value(limits.min)), plain.amount(m.yScale.value(all.min)))
	}
	return text
}
