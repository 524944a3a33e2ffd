package plots

import (
	"fmt"
	"math"
)

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

// upwards returns the places on the vertical axis that the panels have points at.
func (m *model) upwards() interval {
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
	return data
}

// yLimits returns what the vertical axis shows; ok is false when no run has a
// value to draw.
func (m *model) yLimits() (limits interval, ok bool) {
	data := m.upwards()
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
	if limits.max <= limits.min { // a limit that excludes all data: show the limit
		if m.fig.YMax != 0 {
			limits.min = limits.max - data.length()
		} else {
			limits.max = limits.min + data.length()
		}
	}
	return limits, true
}

// across returns the places on the horizontal axis that a panel has points at.
func (p *panel) across() interval {
	data := nothing()
	p.each(func(c curve) {
		data.cover(c.x[0])
		data.cover(c.x[len(c.x)-1])
	})
	return data
}

// xLimits returns what the horizontal axis of a panel shows: all, unless the
// figure has a limit. ok is false for a panel without data.
func (m *model) xLimits(p *panel) (limits interval, ok bool) {
	data := p.across()
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
	data = data.widened()
	data.max += 0.02 * data.length()
	if m.xScale == logarithmic {
		data.min -= 0.02 * data.length()
	}
	return data, true
}

// cutX says how much of a panel lies to the right of the limits; empty when nothing does.
func (m *model) cutX(p *panel, limits interval, u unit) string {
	all := p.across()
	if all.max <= limits.max {
		return ""
	}
	return fmt.Sprintf("cut at %s of %s", u.amount(m.xScale.value(limits.max)), u.amount(m.xScale.value(all.max)))
}

// cutY says what lies above and below the limits; empty when nothing does. Values of
// zero and below on a logarithmic axis are seen to leave the panel.
func (m *model) cutY(limits interval) (text string) {
	all := m.upwards()
	plain := unit{size: 1}
	if all.max > limits.max {
		text += fmt.Sprintf("\ncut at %s, highest %s", plain.amount(m.yScale.value(limits.max)), plain.amount(m.yScale.value(all.max)))
	}
	if all.min < limits.min {
		text += fmt.Sprintf("\ncut at %s, lowest %s", plain.amount(m.yScale.value(limits.min)), plain.amount(m.yScale.value(all.min)))
	}
	return text
}
