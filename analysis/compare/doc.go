// Package compare joins finished run directories: what was run in several of
// them stands side by side, with the ratio of the virtual times to each target
// and an interval of it over the seeds, and with the settings that differ.
//
// # What is compared
//
// Runs are of one [Case] when their experiment, the label of their method and
// their place on the sweeps and axes are the same. The first directory that has
// a case is the one the others are compared with. What one directory alone has
// is listed.
//
// # The ratio and its interval
//
// The ratio is that of the mean times to the target. All methods face the
// same stragglers under a seed, so times of one seed belong together: the seeds
// that both sides have are pairs, and others stay out of the ratio. Without a common
// seed the two sides are compared unpaired. There is a ratio when every one of
// these seeds reached the target.
//
// The interval is the percentile interval of the bootstrap (Efron, Annals of
// Statistics 7, 1979) with the levels of Hesterberg's expanded percentile interval ("What
// Teachers Should Know About the Bootstrap", The American Statistician 69, 2015;
// arXiv:1411.5279): resamples spread as if divided by n and not n-1, and a normal
// quantile stands where Student's belongs, which matters with the few seeds
// that runs have. It draws [Resamples] resamples of the seeds, of pairs as pairs,
// the same ones for every ratio over as many seeds. It never reaches beyond the ratios
// of single seeds: n pairs cover at most a share of 1 - 2^(1-n), so that 95 % need six.
//
// The package must not know how runs are made, what a setting means, nor how
// figures are drawn.
package compare
