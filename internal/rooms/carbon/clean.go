package carbon

import (
	"math"
	"slices"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/internal/tools/elementary"
)

// CleanOptions are the options of the selector "clean".
type CleanOptions struct {
	// clients are drawn in proportion to intensity^-power
	Power float64 `toml:"power"`
	// clients whose grid has a larger intensity are not asked, except one of the cleanest where all
	// have
	GPerKWhMax float64 `toml:"g_per_kwh_max" absent:"0: no limit"`
}

// Validate reports all problems of the options.
func (o *CleanOptions) Validate(c *config.Checker) {
	c.Require(o.Power > 0 && o.Power <= 20, "power", o.Power, "must be in (0, 20]: 0 would be the selection uniform")
	c.Require(o.GPerKWhMax >= 0 && !math.IsInf(o.GPerKWhMax, 0), "g_per_kwh_max", o.GPerKWhMax,
		"must be a number that is not negative")
}

// clean selects clients whose grids have a low carbon intensity when the round opens, and fewer in
// hours in which grids have a high one.
type clean struct {
	CleanOptions
	grid  *Grid
	below []int32
}

// Clean is the name of the selector; wantGrid is the remedy where its grids are missing.
const (
	Clean    = "clean"
	wantGrid = "must be another without energy.grid: it chooses by the intensity of the grids of clients"
)

func init() {
	federation.RegisterSelector(federation.SelectorFactory{
		Name:    Clean,
		Summary: "clients on grids with a low carbon intensity now; fewer in dirty hours",
		Options: func() config.Options { return &CleanOptions{Power: 1} },
		Fewer:   true,
		New: func(s federation.SelectorSetup, o config.Options) (federation.Selector, error) {
			at := slices.IndexFunc(s.Features, func(f clients.Feature) bool { _, is := f.(Feature); return is })
			if at < 0 {
				return nil, config.Problem{Key: "federation.selection", Value: Clean, Want: wantGrid}
			}
			return &clean{CleanOptions: *o.(*CleanOptions), grid: s.Features[at].(Feature).Grid}, nil
		},
	})
}

// leastIntensity stands for lower intensities, in g CO2e per kWh: 0 has no power.
const leastIntensity = 1e-3

func (c *clean) Select(s *federation.Selection) []int32 {
	intensity := func(client int32) float64 { return c.grid.At(int(client), s.Now()) }
	lowest := math.Inf(1)
	for i := range s.Len() {
		lowest = min(lowest, intensity(s.At(i)))
	}
	limit, size := math.Inf(1), s.Size
	if c.GPerKWhMax > 0 {
		limit = c.GPerKWhMax
	}
	if lowest > limit {
		limit, size = lowest, 1
	}
	c.below = c.below[:0]
	for i := range s.Len() {
		if client := s.At(i); intensity(client) <= limit {
			c.below = append(c.below, client)
		}
	}
	lowest = max(lowest, leastIntensity)
	return s.Weighted(min(size, len(c.below)), c.below, func(client int32) float64 {
		return elementary.Exp(-c.Power * elementary.Log(max(intensity(client), leastIntensity)/lowest))
	})
}
