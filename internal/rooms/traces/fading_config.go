package traces

import (
	"fmt"

	"fedsim/config"
)

// FadingConfig describes link rates that change at random: a Markov chain in continuous
// time over levels. A level is the factor of both rates of a device. The chain stays at
// level i for an exponential time of mean MeanS[i], then moves to one of the neighboring
// levels in the list with equal probability. The share of time at level i is
//
//	n_i MeanS[i] / sum_j n_j MeanS[j],
//
// where n_i is the number of neighbors of level i. The initial level has this
// distribution.
type FadingConfig struct {
	// factors of both rates of a link, such as [1, 0.3, 0.05]; a link moves between neighboring
	// levels of the list; empty: no fading
	Levels []float64 `toml:"levels"`
	// mean time in seconds at each level
	MeanS []float64 `toml:"mean_s"`
}

// mostLevels is the number of values of a byte.
const mostLevels = 256

// generated reports whether rates change.
func (c *FadingConfig) generated() bool { return len(c.Levels) > 0 }

// Validate reports all errors.
func (c *FadingConfig) Validate(check *config.Checker) {
	check.Require(len(c.Levels) <= mostLevels, "levels", len(c.Levels),
		fmt.Sprintf("must be at most %d levels", mostLevels))
	for i, level := range c.Levels {
		check.Require(level >= 1e-6 && level <= 1e6, fmt.Sprintf("levels[%d]", i), level,
			"must be in [1e-06, 1e+06]: use traces.availability for unavailable devices")
	}
	check.Require(len(c.MeanS) == len(c.Levels), "mean_s", c.MeanS,
		fmt.Sprintf("must have one mean time for each of the %d levels", len(c.Levels)))
	for i, s := range c.MeanS {
		check.Require(s >= leastMean && s <= mostMean, fmt.Sprintf("mean_s[%d]", i), s, wantMean)
	}
}

// ways returns n_i, the number of neighbors of level i.
func (c *FadingConfig) ways(i int) int {
	n := 0
	if i > 0 {
		n++
	}
	if i < len(c.Levels)-1 {
		n++
	}
	return n
}

// mean returns the mean length of an interval in seconds, over all levels.
func (c *FadingConfig) mean() float64 {
	sum, ways := 0.0, 0
	for i, s := range c.MeanS {
		sum += float64(float64(c.ways(i)) * s)
		ways += c.ways(i)
	}
	return sum / float64(max(1, ways))
}

// shares returns the share of time at each level.
func (c *FadingConfig) shares() []float64 {
	if len(c.Levels) == 1 {
		return []float64{1}
	}
	shares, sum := make([]float64, len(c.Levels)), 0.0
	for i, s := range c.MeanS {
		shares[i] = float64(float64(c.ways(i)) * s)
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}
