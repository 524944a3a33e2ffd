// Package plots draws the figures of an experiment from its results, as PNG
// and SVG: panels side by side with one vertical axis, one line per method or
// per value of a swept key, a legend in a tile of its own below them.
//
// # What a line is
//
// The runs of a line under different seeds have rounds at different times.
// They are interpolated linearly, as the axes show them (between logarithms on
// a logarithmic axis), at common places. The line is their mean, on a
// logarithmic axis the geometric one; the band reaches from the lowest to the
// highest. A run that has come to its end keeps its last value until the
// slowest of its line is there too; an interrupted run cuts its line. Rounds
// that were not evaluated are skipped. On a logarithmic axis, values of zero
// and below leave the panel through its floor.
//
// A quantity that every device has is drawn as a distribution: the line is the
// median over devices and seeds, the inner band reaches from quartile to quartile,
// the outer one from 5 to 95 %. In a Chart, lines and bands are given.
//
// # What the axes show
//
// All panels share the vertical axis. Without limits in the figure it holds
// all values, on a logarithmic axis not below 1e-6 for a sub-optimality and
// not more than eight decades for anything else.
//
// Each panel has a horizontal axis of its own, in a unit that suits. Methods
// differ in pace by orders of magnitude, so without x_max a linear axis ends
// shortly behind the place where the last of those lines that get to the
// bottom of the panel does so, but not before three times, nor behind ten
// times the place where the first of them does. A logarithmic axis shows all.
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
