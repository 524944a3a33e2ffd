package plots

import (
	"fmt"
	"math"

	"fedsim/results"
)

// Chart is a figure of given lines instead of runs.
type Chart struct {
	File           string // name of the files, without extension
	Title          string
	XLabel, YLabel string
	LogX           bool     // logarithmic horizontal axis
	LinearY        bool     // linear vertical axis, not logarithmic
	Steps          bool     // a value holds until the next one; otherwise lines are straight between points
	Lines          []string // names, for the legend
	// note on the bands for the legend, such as "band: lowest to highest of 3 seeds"; empty: no note
	Bands  string
	Panels []ChartPanel
}

// ChartPanel is one panel of a chart.
type ChartPanel struct {
	Title string
	Lines []ChartLine // one per line of the chart; lines without points are not drawn
}

// ChartLine is a line through the points (X, Y) with X increasing, and a band from Low to
// High around Y; nil: no band.
type ChartLine struct {
	X, Y, Low, High []float64
}

// DrawChart lays out a chart. It fails if a panel has another number of lines than the
// chart, if the slices of a line differ in length, or if a value is not finite.
func DrawChart(c Chart) (*Picture, error) {
	m := &figureContent{
		fig: results.Figure{File: c.File, Title: c.Title}, yScale: logarithmic, shows: ofThree, steps: c.Steps,
		bands: c.Bands, x: Quantity{Label: c.XLabel}, y: Quantity{Label: c.YLabel},
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
			return nil,
				fmt.Errorf("chart %q: panel %d has %d lines: must have %d", c.File, i+1, len(p.Lines), len(c.Lines))
		}
		out := panel{title: p.Title, curves: make([][]curve, len(p.Lines))}
		for s, line := range p.Lines {
			ys := [][]float64{line.Y}
			if c.LogX {
				for i, x := range line.X {
					if !(x > 0) {
						return nil,
							fmt.Errorf("chart %q: line %q has x = %[4]v at point %[3]d: "+
								"must be positive on a logarithmic axis", c.File, c.Lines[s], i, x)
					}
				}
			}
			if line.Low != nil || line.High != nil {
				ys = [][]float64{line.Low, line.Y, line.High}
			}
			for _, y := range ys {
				if len(y) != len(line.X) {
					return nil,
						fmt.Errorf("chart %q: line %q has %d values: must have one for each of %d points", c.File,
							c.Lines[s], len(y), len(line.X))
				}
				for i, v := range y {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						return nil,
							fmt.Errorf("chart %q: line %q is %v at point %d: must be finite", c.File, c.Lines[s], v, i)
					}
				}
				if len(y) > 0 {
					out.curves[s] = append(out.curves[s],
						curve{x: placedOn(line.X, m.xScale), y: placedOn(y, m.yScale)})
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

func placedOn(values []float64, on scale) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = on.place(v)
	}
	return out
}

// SaveChart draws a chart, writes File with each of Extensions to the existing directory dir
// and returns the names of the files.
func SaveChart(dir string, c Chart) ([]string, error) {
	f, err := DrawChart(c)
	if err != nil {
		return nil, err
	}
	return f.Save(dir, c.File)
}
