package flows

import (
	"slices"

	"fedsim/config"
)

// Config has the keys of the table [network] about shared links. Its zero value has the
// defaults: nothing is shared, and transfers start at the full rate.
type Config struct {
	ServerDownMbps float64 `toml:"server_down_mbps" doc:"capacity of the server's access link to the devices, in 10^6 bit/s; downloads share it max-min fairly; 0: unlimited"`
	ServerUpMbps   float64 `toml:"server_up_mbps" doc:"capacity of the server's access link from the devices, in 10^6 bit/s; uploads share it max-min fairly; 0: unlimited"`

	Cells        int     `toml:"cells" doc:"number of cells; a cell is a group of devices behind one link, and device t is in cell t mod cells; 0: none"`
	CellDownMbps float64 `toml:"cell_down_mbps" doc:"capacity of each cell's link to its devices, in 10^6 bit/s; 0: unlimited"`
	CellUpMbps   float64 `toml:"cell_up_mbps" doc:"capacity of each cell's link from its devices, in 10^6 bit/s; 0: unlimited"`

	TCPSlowStart bool `toml:"tcp_slow_start" doc:"whether a transfer waits for acknowledgements while the window of a new TCP connection grows (RFC 6928, RFC 5681)"`
}

const (
	maxMbps  = 1e9     // also the limit of a device's rate
	maxCells = 1 << 24 // the numbers of cells and their clocks are int32
)

// Validate reports all errors in the keys.
func (f *Config) Validate(c *config.Checker) {
	capacity := func(key string, mbps float64) {
		c.Require(mbps >= 0 && mbps <= maxMbps, key, mbps, "must be in [0, 1e+09], 0 being without limit")
	}
	capacity("server_down_mbps", f.ServerDownMbps)
	capacity("server_up_mbps", f.ServerUpMbps)
	capacity("cell_down_mbps", f.CellDownMbps)
	capacity("cell_up_mbps", f.CellUpMbps)
	c.Require(f.Cells >= 0 && f.Cells <= maxCells, "cells", f.Cells, "must be in [0, 16777216]")
	if f.Cells == 0 {
		c.Require(f.CellDownMbps == 0, "cell_down_mbps", f.CellDownMbps, "needs cells to be positive")
		c.Require(f.CellUpMbps == 0, "cell_up_mbps", f.CellUpMbps, "needs cells to be positive")
	} else {
		c.Require(f.CellDownMbps != 0 || f.CellUpMbps != 0, "cells", f.Cells, "needs cell_down_mbps or cell_up_mbps: cells without limit are none")
	}
}

// SharesLinks reports whether transfers share any link.
func (f *Config) SharesLinks() bool {
	return f.ServerDownMbps > 0 || f.ServerUpMbps > 0 || f.CellDownMbps > 0 || f.CellUpMbps > 0
}

// Trees returns the shared links of downloads and of uploads for devices 0..devices-1.
// The configuration must be valid.
func (f *Config) Trees(devices int) (down, up Tree) {
	down.ServerMbps, up.ServerMbps = f.ServerDownMbps, f.ServerUpMbps
	if f.Cells == 0 {
		return down, up
	}
	cellOf := make([]int32, devices)
	for t := range cellOf {
		cellOf[t] = int32(t % f.Cells)
	}
	cells := func(mbps float64) []float64 { return slices.Repeat([]float64{mbps}, f.Cells) }
	if f.CellDownMbps > 0 {
		down.CellMbps, down.CellOf = cells(f.CellDownMbps), cellOf
	}
	if f.CellUpMbps > 0 {
		up.CellMbps, up.CellOf = cells(f.CellUpMbps), cellOf
	}
	return down, up
}
