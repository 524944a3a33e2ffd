// Package plots draws figures of results as PNG and SVG: panels with a common vertical
// axis, a line per method or per value of a swept key, and a legend below the panels.
//
// # Lines and bands
//
// Lines are steps: a value holds from the end of the round in which it was measured until
// the next measurement. Markers are at measured points. Counts of devices hold from the
// start to the end of their round.
//
// The line of several seeds is the mean of their steps, on a logarithmic axis the
// geometric mean. The band reaches from the lowest to the highest seed and contains the curve of
// each. The legend gives the number of seeds and whether they vary the system, the split of the
// data or both. Rounds without evaluation are skipped. Errors start with the first model, after
// round 0. On a logarithmic axis, lines leave the panel at the bottom for values up to zero, and
// the legend names these lines.
//
// Where a run ends, its line has a mark: a filled dot if it reached run.stop_at, an open circle if
// it ended for another reason, a cross if it stalled. A run that reached its target keeps its last
// value; the line of several runs ends with the first of the others, since nobody knows how
// that one would have gone on. An interrupted run ends its line without a mark.
//
// Curves that jump between the same values many times would hide others: each is drawn as its
// best value so far, line and band alike, and the legend says so. Bands are transparent and lie
// below all lines.
//
// For a quantity with a value per device, the line is the median over devices and seeds,
// and two bands show the quartiles and 5 to 95 %. In a [Chart], the caller sets lines and
// bands; in a [Scatter], points.
//
// # Axes
//
// All panels share the vertical axis and the unit of the horizontal axis, except in a
// [Scatter]. Without limits in the figure, axes show all values, except that a logarithmic
// vertical axis ends at 1e-6 for a sub-optimality and shows at most eight decades of other
// quantities. An axis that omits values has a note: "cut at 3.7 s of 7.95 s". Each axis has at
// least three labels.
//
// Times are in seconds, or in relative units under the cost models of the paper and of
// its authors. The logarithmic axes of a figure all use powers of ten, or none does.
//
// # Colors
//
// Methods have the colors of Okabe and Ito (Color Universal Design, 2008), which are
// distinguishable with color blindness. Each method also has its own dashes and marker,
// for grayscale. Numbers, such as drop probabilities, have a color ramp from dark to light
// and markers. There are at most eight colors; more lines differ in their dashes. The emphasized value is a green
// dotted line, as in the third figure of Smith et al. (NIPS 2017).
//
// The same results give the same bytes. The package imports only package results and must
// not know how results are made or stored.
package plots
