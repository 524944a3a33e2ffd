package flows

import (
	"slices"

	"fedsim/config"
)

// Config has the capacities of shared links. Its zero value has the defaults: nothing is shared.
type Config struct {
	// capacity of the server's access link to the devices, in 10^6 bit/s; downloads share it
	// max-min fairly
	ServerDownMbps float64 `toml:"server_down_mbps" absent:"0: unlimited"`
	// capacity of the server's access link from the devices, in 10^6 bit/s; uploads share it
	// max-min fairly
	ServerUpMbps float64 `toml:"server_up_mbps" absent:"0: unlimited"`

	// number of cells; a cell is a group of devices behind one link, and device t is in cell t mod
	// cells
	Cells int `toml:"cells" absent:"0: none"`
	// capacity of each cell's link to its devices, in 10^6 bit/s
	CellDownMbps float64 `toml:"cell_down_mbps" absent:"0: unlimited"`
	// capacity of each cell's link from its devices, in 10^6 bit/s
	CellUpMbps float64 `toml:"cell_up_mbps" absent:"0: unlimited"`
	// what the devices of a cell share equally in each direction: "bits" of its capacity, or
	// "airtime": each of n that transfer has 1/n of the rate of its own link
	CellShare string `toml:"cell_share"`
}

// The values of Config.CellShare; empty: Bits.
const (
	Bits    = "bits"
	Airtime = "airtime"
)

const (
	maxMbps  = 1e9     // also the limit of a device's rate
	maxCells = 1 << 24 // the numbers of cells and their clocks are int32
)

// Validate reports all errors in the keys.
func (cfg *Config) Validate(c *config.Checker) {
	capacity := func(key string, mbps float64) {
		c.Require(mbps >= 0 && mbps <= maxMbps, key, mbps, "must be positive and at most 1e+09")
	}
	capacity("server_down_mbps", cfg.ServerDownMbps)
	capacity("server_up_mbps", cfg.ServerUpMbps)
	capacity("cell_down_mbps", cfg.CellDownMbps)
	capacity("cell_up_mbps", cfg.CellUpMbps)
	c.Require(cfg.Cells >= 0 && cfg.Cells <= maxCells, "cells", cfg.Cells, "must be in [0, 16777216]")
	c.OneOfOrEmpty("cell_share", cfg.CellShare, Bits, Airtime)
	if cfg.CellShare == Airtime {
		c.Require(cfg.Cells > 0, "cell_share", cfg.CellShare, "needs cells")
		for i, key := range [...]string{"server_down_mbps", "server_up_mbps", "cell_down_mbps", "cell_up_mbps"} {
			mbps := [...]float64{cfg.ServerDownMbps, cfg.ServerUpMbps, cfg.CellDownMbps, cfg.CellUpMbps}[i]
			c.Require(mbps == 0, key, mbps,
				"must be left out with cell_share = \"airtime\": a cell carries what its devices' own rates say")
		}
		return
	}
	if cfg.Cells == 0 {
		c.Require(cfg.CellDownMbps == 0, "cell_down_mbps", cfg.CellDownMbps, "needs cells to be positive")
		c.Require(cfg.CellUpMbps == 0, "cell_up_mbps", cfg.CellUpMbps, "needs cells to be positive")
	} else {
		c.Require(cfg.CellDownMbps != 0 || cfg.CellUpMbps != 0, "cells", cfg.Cells,
			"needs cell_down_mbps or cell_up_mbps: cells without limit are none")
	}
}

// SharesLinks reports whether transfers share any link.
func (cfg *Config) SharesLinks() bool {
	return cfg.SharesAirtime() || cfg.ServerDownMbps > 0 || cfg.ServerUpMbps > 0 || cfg.CellDownMbps > 0 ||
		cfg.CellUpMbps > 0
}

// SharesAirtime reports whether cells share airtime.
func (cfg *Config) SharesAirtime() bool { return cfg.CellShare == Airtime && cfg.Cells > 0 }

// Trees returns the shared links of downloads and of uploads for devices 0..devices-1.
// The configuration must be valid. A cell of airtime has a capacity of 1: its flows are of bytes
// divided by the rate of their device's link, at an own rate of 1.
func (cfg *Config) Trees(devices int) (down, up Tree) {
	down.ServerMbps, up.ServerMbps = cfg.ServerDownMbps, cfg.ServerUpMbps
	if cfg.Cells == 0 {
		return down, up
	}
	cellOf := make([]int32, devices)
	for device := range cellOf {
		cellOf[device] = int32(device % cfg.Cells)
	}
	cells := func(mbps float64) []float64 { return slices.Repeat([]float64{mbps}, cfg.Cells) }
	if cfg.SharesAirtime() {
		down.CellMbps, down.CellOf, up.CellMbps, up.CellOf = cells(1), cellOf, cells(1), cellOf
		return down, up
	}
	if cfg.CellDownMbps > 0 {
		down.CellMbps, down.CellOf = cells(cfg.CellDownMbps), cellOf
	}
	if cfg.CellUpMbps > 0 {
		up.CellMbps, up.CellOf = cells(cfg.CellUpMbps), cellOf
	}
	return down, up
}
