package plots

import (
	"math"
	"slices"

	"fedsim/results"
)

// A line jumps if, over a twentieth of its length, it turns at least four times within a fiftieth
// of the axis, between values that are 1/25 of the vertical range apart: it fills an area
// that hides other lines.
const (
	jumpTurns = 4
	jumpRange = 1. / 25
	jumpShare = 1. / 20
)

// near calls f for each point of the band with the range of points that hold within a hundredth
// of the axis around it.
func (b *band) near(f func(i, from, to int)) {
	n := len(b.x)
	if n == 0 {
		return
	}
	width, from, to := (b.x[n-1]-b.x[0])/100, 0, 0
	for i := range n {
		for from+1 < n && b.x[from+1] <= b.x[i]-width {
			from++ // the value there holds up to the next point
		}
		for to < n && b.x[to] <= b.x[i]+width {
			to++
		}
		f(i, from, to)
	}
}

// jumps reports whether the line jumps in a figure with a vertical range.
func (b *band) jumps(height float64) bool {
	covered := 0.0
	b.near(func(i, from, to int) {
		turns := 0
		for k := from + 1; k+1 < to; k++ {
			if (b.mean[k]-b.mean[k-1])*(b.mean[k+1]-b.mean[k]) < 0 {
				turns++
			}
		}
		if part := b.mean[from:to]; i+1 < len(b.x) && turns >= jumpTurns && slices.Max(part)-slices.Min(part) >= jumpRange*height {
			covered += b.x[i+1] - b.x[i]
		}
	})
	return covered > 0 && covered >= jumpShare*(b.x[len(b.x)-1]-b.x[0])
}

// findJumps marks the lines whose curves jump, if the quantity is an objective. The best
// error so far would be a choice by the rows that the error is measured on.
func (m *figureContent) findJumps(runs []results.Run) {
	metric, known := results.MetricOf(runs, m.fig.Y)
	if !known || m.y.Devices || !metric.Couples {
		return
	}
	m.higher = metric.Higher
	height, found := m.yRange().length(), false
	jumps := make([]bool, len(m.series)) // a line looks alike in all panels
	for i := range m.panels {
		p := &m.panels[i]
		p.jumps = jumps
		for k := range p.curves {
			b := newBand(p.curves[k], math.Inf(1), m.yRange().min, m.shows, m.steps)
			jumps[k] = jumps[k] || b.jumps(height)
			found = found || jumps[k]
		}
	}
	if found {
		m.notes = append(m.notes, "curves that jump: best so far, with a band of their range")
	}
}

// envelope replaces the line by its best value so far, and the band by its range in the
// neighborhood of each point.
func (b *band) envelope(higher bool) {
	n := len(b.x)
	if n == 0 {
		return
	}
	low, high := make([]float64, n), make([]float64, n)
	b.near(func(i, from, to int) {
		low[i], high[i] = slices.Min(b.low[from:to]), slices.Max(b.high[from:to])
	})
	for i := 1; i < n; i++ {
		if b.mean[i] < b.mean[i-1] == higher {
			b.mean[i] = b.mean[i-1]
		}
	}
	b.low, b.high = low, high
}
