package federation

import (
	"math"

	"fedsim/config"
)

// The server's round protocols.
const (
	// WaitForAll ends a round when every device has answered; a device that
	// drops is asked again, and everyone waits for it.
	WaitForAll = "wait-for-all"
	// Deadline ends every round at the global clock cycle; whoever is late is
	// dropped for the round (paper, section 3.4, "global clock cycle").
	Deadline = "deadline"
	// Charged charges every device the time of the same number of steps and
	// lets it do a random part of them (paper, appendix, "Systems Heterogeneity").
	Charged = "charged"
)

// The cost models: how work and bytes become time.
const (
	// Physical takes rates from the device and link profiles.
	Physical = "physical"
	// Relative sets one round's communication to a multiple of the time of one
	// pass over the smallest task (paper, section 5.3: one, two or three orders
	// of magnitude for WiFi, LTE, 3G).
	Relative = "relative"
	// Authors counts in the units of the authors' released drivers.
	Authors = "authors"
)

// Config is the table [federation] of a scenario.
type Config struct {
	Protocol     string  `toml:"protocol" doc:"when a round ends: \"wait-for-all\", \"deadline\" or \"charged\""`
	DeadlineS    float64 `toml:"deadline_s" doc:"length of the clock cycle in seconds; required by protocol \"deadline\""`
	Margin       float64 `toml:"margin" doc:"share by which a device's controller lengthens its estimate of the upload when it fits its work into the clock cycle"`
	StepsLow     float64 `toml:"steps_low" doc:"protocol \"charged\": fewest steps of a device in a round, as a multiple of the rows of the smallest task"`
	StepsHigh    float64 `toml:"steps_high" doc:"protocol \"charged\": most steps of a device in a round, as a multiple of the rows of the smallest task; every device is charged this many"`
	Cost         string  `toml:"cost" doc:"how work and bytes become time: \"physical\", \"relative\" or \"authors\""`
	Clients      int     `toml:"clients_per_round" doc:"devices that the server asks in a round, drawn anew for each, all with the same probability; 0: all, or what fraction says"`
	Fraction     float64 `toml:"fraction" doc:"share of the devices that the server asks in a round, in (0, 1], rounded up, drawn likewise; in place of clients_per_round"`
	ServerGFLOPS float64 `toml:"server_gflops" doc:"speed of the server in 1e9 FLOP/s; 0: server work takes no time"`
}

// Defaults returns the table's defaults.
func Defaults() Config {
	return Config{Protocol: WaitForAll, StepsLow: 0.1, StepsHigh: 1, Cost: Physical, Fraction: 1}
}

// clients returns how many of a number of devices are asked in a round.
func (f *Config) clients(devices int) int {
	if f.Clients > 0 {
		return f.Clients
	}
	return max(1, int(math.Ceil(f.Fraction*float64(devices))))
}

// Validate reports everything wrong with the table.
func (f *Config) Validate(c *config.Checker) {
	c.OneOf("protocol", f.Protocol, WaitForAll, Deadline, Charged)
	c.OneOf("cost", f.Cost, Physical, Relative, Authors)
	c.Require(f.DeadlineS >= 0 && f.DeadlineS <= 1e9, "deadline_s", f.DeadlineS, "must be in [0, 1e9] seconds")
	c.Require(f.Protocol != Deadline || f.DeadlineS != 0, "deadline_s", f.DeadlineS, "must be positive: protocol \"deadline\" needs the length of its clock cycle")
	c.Require(f.Margin >= 0 && f.Margin <= 10, "margin", f.Margin, "must be in [0, 10]")
	c.Require(f.StepsLow > 0 && f.StepsLow <= f.StepsHigh, "steps_low", f.StepsLow, "must be positive and at most steps_high")
	c.Require(f.StepsHigh > 0 && f.StepsHigh <= 1e6, "steps_high", f.StepsHigh, "must be in (0, 1e6]")
	c.Require(f.Clients >= 0, "clients_per_round", f.Clients, "must not be negative")
	c.Require(f.Fraction > 0 && f.Fraction <= 1, "fraction", f.Fraction, "must be in (0, 1]")
	c.Require(f.Clients == 0 || f.Fraction == 1, "fraction", f.Fraction, "must be 1 beside clients_per_round, which says the same")
	c.Require(f.ServerGFLOPS >= 0 && f.ServerGFLOPS <= 1e12, "server_gflops", f.ServerGFLOPS, "must be in [0, 1e12]")
}
