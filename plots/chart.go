package plots

import (
	"fmt"
	"math"

	"fedsim/results"
)

// Chart is a figure of given lines, rather than of runs.
type Chart struct {
	File           string // name of the files, without extension
	Title          string
	XLabel, YLabel string
	LogX           bool     // the horizontal axis is logarithmic
	LinearY        bool     // the vertical axis is not
	Steps          bool     // lines stay at a value until the next, instead of being straight between them
	Lines          []string // their names, for the legend
	Panels         []ChartPanel
}

// ChartPanel is one picture of a chart beside others.
type ChartPanel struct {
	Title string
	Lines []ChartLine // as many as the chart has; those without points are left out
}

// ChartLine is a line at the places X, in increasing order, and the band between
// Low and High, which are nil for none and hold Y between them otherwise.
type ChartLine struct {
	X, Y, Low, High []float64
}

// DrawChart lays out a chart. It is an error when a panel lacks lines, or a line
// has values or a band of another length than its places, or not numbers.
func DrawChart(c Chart) (*Picture, error) {
	m := &model{
		fig: results.Figure{File: c.File, Title: c.Title}, yScale: logarithmic, shows: ofThree, steps: c.Steps,
		x: quantity{label: c.XLabel}, y: quantity{label: c.YLabel},
	}
	if c.LogX {
		m.xScale = logarithmic
	}
	if c.LinearY {
		m.yScale = linear
	}
	for _, name := range c.Lines {
		m.series = append(m.series, Line{Label: name})
	}
	for i, p := range c.Panels {
		if len(p.Lines) != len(c.Lines) {
			return nil, fmt.Errorf("chart %q: panel %d has %d lines: must have %d", c.File, i+1, len(p.Lines), len(c.Lines))
		}
		out := panel{title: p.Title, curves: make([][]curve, len(p.Lines))}
		for s, line := range p.Lines {
			ys := [][]float64{line.Y}
			if c.LogX {
				for i, x := range line.X {
					if !(x > 0) {
						return nil, fmt.Errorf("chart %q: line %q has place %d at %v: must be positive on a logarithmic axis", c.File, c.Lines[s], i, x)
					}
				}
			}
			if line.Low != nil || line.High != nil {
				ys = [][]float64{line.Low, line.Y, line.High}
			}
			for _, y := range ys {
				if len(y) != len(line.X) {
					return nil, fmt.Errorf("chart %q: line %q has %d values: must have one for each of %d places", c.File, c.Lines[s], len(y), len(line.X))
				}
				for i, v := range y {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						return nil, fmt.Errorf("chart %q: line %q is %v at place %d: must be a number", c.File, c.Lines[s], v, i)
					}
				}
				if len(y) > 0 {
					out.curves[s] = append(out.curves[s], curve{x: placedOn(line.X, m.xScale), y: placedOn(y, m.yScale)})
				}
			}
		}
		m.panels = append(m.panels, out)
	}
	if len(m.panels) == 0 {
		return nil, fmt.Errorf("chart %q: has no panel", c.File)
	}
	return m.layOut(), nil
}

// placedOn puts values on an axis.
func placedOn(values []float64, on scale) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = on.place(v)
	}
	return out
}

// SaveChart draws a chart and writes File.png and File.svg into dir, which must
// exist. It returns the names of the files.
func SaveChart(dir string, c Chart) ([]string, error) {
	f, err := DrawChart(c)
	if err != nil {
		return nil, err
	}
	return f.save(dir, c.File)
}
