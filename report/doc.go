// Package report makes one page of a run directory: what was run, the tables of
// times to target, curves that can be zoomed and read off, heat maps of sweeps, who
// held the rounds up, where the energy went, the resolved scenario and how to
// reproduce all of it.
//
// [Write] makes a file that needs nothing else: uPlot (MIT, github.com/leeoniya/uPlot,
// unchanged in uplot/) draws the curves, and styles and scripts are in it. [Live] makes
// the same page without data, which asks a server for them.
//
// The data are a [Report]: text and tables as JSON, and the columns of all rounds,
// packed (see [Columns]). All that is said in words or computed once is computed here;
// the page's script in page/ combines seeds for the axes that the reader chooses, and
// draws.
//
// It reads run directories. It must not know how runs are made, nor how a page comes
// to its reader.
package report
