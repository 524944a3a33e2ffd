// Package report builds an HTML page from a run directory: tables of the time to each
// target, interactive curves, heat maps of sweeps, stragglers, energy, the resolved
// scenario and the commands to reproduce the results.
//
// [Write] writes a self-contained file, with styles and scripts. uPlot (MIT,
// github.com/leeoniya/uPlot, unchanged in uplot/) draws the curves. [Live] writes the
// same page without data; it fetches the data from a server. [WriteCalibration] writes the
// page of a calibration, in the same style.
//
// The data are a [Report]: JSON with the texts, the tables and the packed columns of all
// rounds. This package computes all texts and numbers that do not depend on choices of
// the reader. The script in page/ combines the seeds for the selected axes and draws.
//
// The package must not know how runs are simulated or how the page is delivered.
package report
