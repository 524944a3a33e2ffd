// Package compare compares finished run directories. It puts the same runs of several
// directories side by side, with the ratio of their virtual times to each target, a
// confidence interval of the ratio over the seeds, and the settings that differ.
//
// # Cases
//
// Runs belong to the same [Case] if they have the same experiment, method label and
// point on the sweeps and axes. The baseline of a case is the first directory that has
// it. Runs that only one directory has are listed.
//
// # The ratio and its interval
//
// The ratio is that of the mean times to the target. With the same seed, all methods
// face the same stragglers, so times of the same seed form a pair. The ratio uses the
// seeds that both sides have. If they have no seed in common, it uses all seeds of both
// sides, unpaired. The ratio is defined only if every one of these seeds reached the
// target.
//
// The interval is the bootstrap percentile interval (Efron, Annals of Statistics 7,
// 1979) with the levels of Hesterberg's expanded percentile interval ("What Teachers
// Should Know About the Bootstrap", The American Statistician 69, 2015,
// arXiv:1411.5279). The expanded levels correct for small samples: resamples spread as
// if divided by n instead of n-1, and a Student quantile replaces the normal one. The
// interval uses 15,000 resamples of the seeds, or of the pairs. All ratios with the same
// number of seeds use the same resamples. The interval cannot exceed the ratios of
// single pairs: n pairs cover at most 1 - 2^(1-n), so a level of 95 % needs six.
//
// The package must not know how runs are simulated, the meaning of settings, or how
// figures are drawn.
package compare
