package plots

import (
	"fmt"
	"math"
)

// interval is a range on an axis, in axis space.
type interval struct{ min, max float64 }

func (in interval) length() float64 { return in.max - in.min }

// widened returns an interval with room for ticks around one that is empty but for rounding.
func (in interval) widened() interval {
	if in.length() > leastWidth*max(math.Abs(in.min), math.Abs(in.max)) {
		return in
	}
	by := math.Max(math.Abs(in.min)*0.1, 0.5)
	return interval{in.min - by, in.max + by}
}

// cover extends r to include v.
func (in *interval) cover(v float64) {
	in.min, in.max = math.Min(in.min, v), math.Max(in.max, v)
}

// join extends r to include another interval, which may be empty.
func (in *interval) join(other interval) {
	in.min, in.max = math.Min(in.min, other.min), math.Max(in.max, other.max)
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
func (f *figureContent) yRange() interval {
	data := emptyInterval()
	for i := range f.panels {
		f.panels[i].each(func(c curve) {
			for _, y := range c.y {
				if !math.IsInf(y, -1) {
					data.cover(y)
				}
			}
		})
		for _, y := range f.panels[i].limits {
			if !math.IsNaN(y) && !math.IsInf(y, -1) {
				data.cover(y)
			}
		}
	}
	return data
}

// yLimits returns the limits of the vertical axis; ok is false without data.
func (f *figureContent) yLimits() (limits interval, ok bool) {
	if f.size > 0 {
		return f.limits, true
	}
	data := f.yRange()
	if data.max < data.min {
		return interval{}, false
	}
	if f.yScale == logarithmic {
		floor := data.max - 8
		if f.y.Floor > 0 {
			floor = math.Log10(f.y.Floor)
		}
		if floor < data.max {
			data.min = math.Max(data.min, floor)
		}
	} else if data.min > 0 && (data.min < data.max/2 || f.y.Count) {
		data.min = 0
	}
	data = data.widened()
	margin := 0.04 * data.length()
	limits = interval{data.min - margin, data.max + margin}
	if f.yScale == linear && data.min == 0 {
		limits.min = 0
	}
	if v := f.fig.YMin; v > 0 || v < 0 && f.yScale == linear {
		limits.min = f.yScale.place(v)
	}
	if v := f.fig.YMax; v > 0 || v < 0 && f.yScale == linear {
		limits.max = f.yScale.place(v)
	}
	if limits.max <= limits.min { // the given limit excludes all data
		if f.fig.YMax != 0 {
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
func (f *figureContent) xLimits(p *panel) (limits interval, ok bool) {
	data := p.xRange()
	if data.max < data.min {
		return interval{}, false
	}
	if f.fig.Panel == "method" {
		for i := range f.panels {
			data.join(f.panels[i].xRange())
		}
	}
	if f.size > 0 {
		return f.distributionLimits(), true
	}
	if f.xScale == linear {
		data.min = math.Min(data.min, 0)
		if data.max <= 0 {
			data.max = 1 // only the start
		}
	}
	if f.fig.XMax > 0 {
		limits = interval{data.min, f.xScale.place(f.fig.XMax)}
		if limits.max <= limits.min {
			limits.min = limits.max - 1
		}
		return limits, true
	}
	data = data.widened()
	data.max += 0.02 * data.length()
	if f.xScale == logarithmic {
		data.min -= 0.02 * data.length()
	}
	return data, true
}

// cutX describes the data of a panel to the right of the limits; it may be empty.
func (f *figureContent) cutX(p *panel, limits interval, u unit) string {
	all := p.xRange()
	if all.max <= limits.max {
		return ""
	}
	return fmt.Sprintf("cut at %s of %s", u.amount(f.xScale.value(limits.max)), u.amount(f.xScale.value(all.max)))
}

// cutY describes the data above and below the limits; it may be empty. On a logarithmic
// axis, it ignores values up to zero, which have a note of their own.
func (f *figureContent) cutY(limits interval) (text string) {
	all := f.yRange()
	plain := unit{Size: 1}
	if all.max > limits.max {
		text += fmt.Sprintf("\ncut at %s, highest %s", plain.amount(f.yScale.value(limits.max)),
			plain.amount(f.yScale.value(all.max)))
	}
	if all.min < limits.min {
		text += fmt.Sprintf("\ncut at %s, lowest %s", plain.amount(f.yScale.value(limits.min)),
			plain.amount(f.yScale.value(all.min)))
	}
	return text
}
