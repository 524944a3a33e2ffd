package traces

import (
	"fmt"

	"fedsim/config"
)

// FadingConfig describes links whose rates change by chance: a Markov chain in
// continuous time over levels, by which both usual rates of a device (or those that
// a trace tells) are multiplied. It stays at level i for an exponential time of mean
// MeanS[i] and then goes to one of the levels beside it in the list, either as
// likely: signal strength comes and goes by degrees. Of the time it spends the share
//
//	n_i MeanS[i] / sum_j n_j MeanS[j],
//
// at level i, n_i the number of levels beside it, and it begins at level i with that
// probability.
type FadingConfig struct {
	Levels []float64 `toml:"levels" doc:"what both rates of a link are multiplied by in each of its states, such as [1, 0.3, 0.05]; from each it goes to one beside it in the list; empty: rates do not change by chance"`
	MeanS  []float64 `toml:"mean_s" doc:"mean time in seconds for which a link stays in each state"`
}

// mostLevels is how many levels a byte tells apart.
const mostLevels = 256

// generated reports whether rates change.
func (c *FadingConfig) generated() bool { return len(c.Levels) > 0 }

// Validate reports everything that is wrong.
func (c *FadingConfig) Validate(check *config.Checker) {
	check.Require(len(c.Levels) <= mostLevels, "levels", len(c.Levels), fmt.Sprintf("must be at most %d levels", mostLevels))
	for i, level := range c.Levels {
		check.Require(level >= 1e-6 && level <= 1e6, fmt.Sprintf("levels[%d]", i), level, "must be in [1e-06, 1e+06]: devices that cannot be reached are a matter of traces.availability")
	}
	check.Require(len(c.MeanS) == len(c.Levels), "mean_s", c.MeanS, fmt.Sprintf("must have one mean time for each of the %d levels", len(c.Levels)))
	for i, s := range c.MeanS {
		check.Require(s >= leastMean && s <= mostMean, fmt.Sprintf("mean_s[%d]", i), s, wantMean)
	}
}

// ways returns n_i, how many levels are beside level i.
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
