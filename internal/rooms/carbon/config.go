// Package carbon turns energy into grams of CO2 equivalent by the carbon intensity of the grid of a
// place at an instant (docs/time.md#energy-and-carbon). A [Grid] has the intensities of the places of devices and
// server; a [Feature] of a system counts the grams of runs. The selector "clean" chooses by intensity.
//
// Energy is in joules, power in watts, intensity in g CO2e per kWh. The package must not know when
// events happen, nor of messages beyond their bytes.
package carbon

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/internal/rooms/traces"
)

// Generated is the entry of Config.Grid for generated intensities in the place of a file.
const Generated = "generated"

// Config is the table [energy] of a scenario. Without Grid nothing counts grams.
type Config struct {
	// files with traces of grid_g_per_kwh by place (docs/time.md#energy-and-carbon), which repeat after their end;
	// "generated" is an example. Empty: no grams of CO2
	Grid []string `toml:"grid"`
	// places of the files: device k is in place k mod n of them
	Places []string `toml:"places" absent:"[]: all places, in the order of the files"`
	// place of the server, with server_w
	ServerPlace string `toml:"server_place" absent:"\"\": none"`
	// energy of the network between server and devices for 10^9 bytes on the wire, in kWh, at the
	// place of the device
	NetworkKWhPerGB float64 `toml:"network_kwh_per_gb" absent:"0: none"`
	// power of the server throughout, in watts
	ServerW float64 `toml:"server_w" absent:"0: none"`
	// power usage effectiveness of the server's data center, by which server_w is multiplied
	PUE float64 `toml:"pue"`
}

// Default returns the table without grids.
func Default() Config { return Config{PUE: 1} }

// On reports whether grams are counted.
func (c *Config) On() bool { return len(c.Grid) > 0 }

// Validate reports all errors in the table except those in the files.
func (c *Config) Validate(check *config.Checker) {
	number := func(key string, v float64) {
		check.Require(v >= 0 && !math.IsInf(v, 0), key, v, "must be a number that is not negative")
	}
	check.Require(!slices.Contains(c.Grid, ""), "grid", c.Grid, "must name files")
	number("network_kwh_per_gb", c.NetworkKWhPerGB)
	number("server_w", c.ServerW)
	check.Require(c.PUE >= 1 && !math.IsInf(c.PUE, 0), "pue", c.PUE,
		"must be at least 1: the data center takes what the server does and more")
	if !c.On() {
		const idle = "has no effect without energy.grid: name files of grid_g_per_kwh, or remove the key"
		check.Require(len(c.Places) == 0, "places", c.Places, idle)
		check.Require(c.ServerPlace == "", "server_place", c.ServerPlace, idle)
		check.Require(c.NetworkKWhPerGB == 0, "network_kwh_per_gb", c.NetworkKWhPerGB, idle)
		check.Require(c.ServerW == 0, "server_w", c.ServerW, idle)
		check.Require(c.PUE == 1, "pue", c.PUE, idle)
		return
	}
	check.Require(c.ServerW == 0 || c.ServerPlace != "", "server_w", c.ServerW,
		"needs energy.server_place: the server's energy has the intensity of a place")
	check.Require(c.ServerW > 0 || c.ServerPlace == "", "server_place", c.ServerPlace,
		"has no effect without energy.server_w: set it, or remove the key")
	check.Require(c.PUE <= 1 || c.ServerW > 0, "pue", c.PUE,
		"has no effect without energy.server_w: set it, or remove the key")
}

// Load reads the files. Runs share the grid, which does not change.
func (c *Config) Load() (*Grid, error) {
	set, err := traces.Collect(c.traces())
	if err != nil {
		return nil, err
	}
	if !set.Kinds().Has(traces.GridGPerKWh) {
		return nil,
			fmt.Errorf("%s: has %v: files of energy.grid must have %v", c.Grid[0], set.Kinds(), traces.GridGPerKWh)
	}
	g := &Grid{Config: *c, view: traces.NewView(set, traces.InOrder, 0, true)}
	names := make([]string, set.Len())
	for i := range names {
		names[i] = set.Name(i)
	}
	find := func(key, place string) int {
		i := slices.Index(names, place)
		if i < 0 && err == nil {
			err = fmt.Errorf("energy.%s = %q: must be a place of %s", key, place, strings.Join(c.Grid, ", "))
			if near := config.Nearest(place, names); near != "" {
				err = fmt.Errorf("%w (did you mean %q?)", err, near)
			}
		}
		return i
	}
	for i := range names {
		g.places = append(g.places, i)
	}
	if len(c.Places) > 0 {
		g.places = g.places[:0]
		for _, place := range c.Places {
			g.places = append(g.places, find("places", place))
		}
	}
	if c.ServerPlace != "" {
		g.server = find("server_place", c.ServerPlace)
	}
	return g, err
}

// traces returns the traces of all files.
func (c *Config) traces() traces.Sequence {
	return func(yield func(*traces.Trace, error) bool) {
		for _, file := range c.Grid {
			places := generated()
			if file != Generated {
				places = traces.Open(file)
			}
			for r, err := range places {
				if !yield(r, err) {
					return
				}
			}
		}
	}
}
