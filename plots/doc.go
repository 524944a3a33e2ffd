// Package plots draws the figures of an experiment from its results, as PNG
// and SVG: panels side by side with one vertical axis, one line per method or
// per value of a swept key, a legend in a tile of its own below them.
//
// # What a line is
//
// Lines are steps: a value holds from the end of the round in which it was
// measured until the next one is measured, and markers lie at measured points.
// Numbers of devices are those of a round, from its beginning to its end.
// The line of several seeds is the mean of their steps, on a logarithmic axis
// the geometric one; the band reaches from the lowest to the highest. A run
// that has ended keeps its last value until the slowest of its line has ended
// too; an interrupted run cuts its line. Rounds that were not evaluated are
// skipped, and errors begin with the first model: in round 0, W is zero. On a
// logarithmic axis, values of zero and below leave the panel through its floor.
//
// A quantity that every device has is drawn as a distribution: the line is the
// median over devices and seeds, the inner band reaches from quartile to quartile,
// the outer one from 5 to 95 %. In a Chart, lines and bands are given.
//
// # What the axes show
//
// All panels share the vertical axis, and the unit of the horizontal one.
// Without limits in the figure the axes hold all values, but for a logarithmic
// vertical axis: it does not go below 1e-6 for a sub-optimality and shows at
// most eight decades of anything else. An axis that leaves values out says so
// below its label: "cut at 3.7 s of 7.95 s".
//
// Times are in seconds, or in relative units under the cost models of the paper
// and of its authors. Logarithmic axes have powers of ten, all of them or none.
//
// # How lines are told apart
//
// Methods have the colours of Okabe and Ito (Color Universal Design, 2008),
// which survive colour blindness, and each its own dashes and marker, which
// survive greyscale. Numbers, such as drop probabilities, are shaded from dark
// to light in their order, with a marker each. The emphasised value is a green
// dotted line, as in the third figure of Smith et al. (NIPS 2017).
//
// The same results make the same bytes. The package must not know where
// results come from: it imports results alone.
package plots
