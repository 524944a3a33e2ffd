package carbon

import (
	"fmt"
	"strings"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/internal/rooms"
	"fedsim/results"
)

// Budget is the key of the table [run].
type Budget struct {
	MaxCO2G float64 `toml:"max_co2_g" doc:"grams of CO2e, of all that the run counts (docs/energy.md), after which no further round begins; needs energy.grid; 0: no limit"`
}

var _ rooms.Room = (*Config)(nil)

// SetDefaults is of rooms.Room, as the methods below.
func (c *Config) SetDefaults() { *c = Default() }

// Declared returns the columns.
func (*Config) Declared() *results.Declared { return Columns }

// Missing says what to set for a column.
func (c *Config) Missing(column string) string {
	if c.counts(column) {
		return ""
	}
	return "set energy.grid, and energy.network_kwh_per_gb or energy.server_w for grams of the network or the server"
}

// counts reports whether a column has values.
func (c *Config) counts(column string) bool {
	switch {
	case strings.HasPrefix(column, "co2_server_"):
		return c.ServerW > 0
	case strings.HasPrefix(column, "co2_network_"):
		return c.NetworkKWhPerGB > 0
	default:
		return c.On()
	}
}

// Check reports all errors, and what needs grids, without them.
func (c *Config) Check(check *config.Checker, s rooms.Settings) {
	c.Validate(check.In("energy"))
	most := rooms.Part[Budget](s.Run).MaxCO2G
	check.Require(most >= 0 && most <= 1e15, "run.max_co2_g", most, "must be in [0, 1e15] grams")
	check.Require(most == 0 || c.On(), "run.max_co2_g", most, "must be 0 without energy.grid: no grams are counted")
	check.Require(s.Federation.Selection != Clean || c.On(), "federation.selection", s.Federation.Selection, wantGrid)
}

// Traits returns those of grids and budget. Counting changes no event; the budget ends runs.
func (c *Config) Traits(s rooms.Settings) (list []rooms.Trait) {
	if c.On() {
		list = append(list, rooms.Trait{Key: "energy.grid", Value: c.Grid, Off: "empty", Why: "there is no energy", Shares: true, AllRounds: true})
	}
	if most := rooms.Part[Budget](s.Run).MaxCO2G; most > 0 {
		list = append(list, rooms.Trait{Key: "run.max_co2_g", Value: most, Off: "0", AnyClients: true, AnyCost: true, Shares: true})
	}
	return list
}

// Feature reads the files once for all runs.
func (c *Config) Feature(s rooms.Settings, once rooms.Once) (clients.Feature, error) {
	if !c.On() {
		return nil, nil
	}
	grid, err := once(fmt.Sprintf("%#v", *c), func() (any, error) { return c.Load() })
	if err != nil {
		return nil, err
	}
	return Feature{Grid: grid.(*Grid), MaxG: rooms.Part[Budget](s.Run).MaxCO2G}, nil
}
