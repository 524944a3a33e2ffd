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
		if part := b.mean[from:to]; i+1 < len(b.x) && turns >= jumpTurns &&
			slices.Max(part)-slices.Min(part) >= jumpRange*height {
			covered += b.x[i+1] - b.x[i]
		}
	})
	return covered > 0 && covered >= jumpShare*(b.x[len(b.x)-1]-b.x[0])
}

// findJumps replaces the curves of lines that jump by their best values so far, seed by seed, if
// the quantity is an objective.
func (f *figureContent) findJumps(runs []results.Run) {
	best := bestOf(f.fig.Y, runs)
	if best == 0 || f.y.Devices {
		return
	}
	all := f.yRange()
	jump := make([]bool, len(f.series)) // a line looks alike in all panels
	for k := range jump {
		jump[k] = slices.ContainsFunc(f.panels, func(p panel) bool {
			b := newBand(p.curves[k], math.Inf(1), all.min, f.shows, f.steps)
			return b.jumps(all.length())
		})
		for i := range f.panels {
			for _, c := range f.panels[i].curves[k] {
				if jump[k] {
					c.bestSoFar(best > 0)
				}
			}
		}
	}
	f.note("curves that jump, drawn as the best value so far of each run", jump)
}

// bestSoFar replaces each value by the best one up to it.
func (c *curve) bestSoFar(higher bool) {
	for i := 1; i < len(c.y); i++ {
		if c.y[i] < c.y[i-1] == higher {
			c.y[i] = c.y[i-1]
		}
	}
}
