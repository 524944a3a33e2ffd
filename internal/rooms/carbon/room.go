package carbon

import (
	"fmt"
	"strings"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/internal/rooms"
)

// Budget is the key of the table [run].
type Budget struct {
	// grams of CO2e, of all that the run counts (docs/time.md#energy-and-carbon), after which no further round
	// begins; needs energy.grid
	MaxCO2G float64 `toml:"max_co2_g" absent:"0: unlimited"`
}

func init() {
	rooms.Register(rooms.Room{
		Name: "carbon", Place: 1,
		Keys: []rooms.Keys{
			{Table: "energy", After: "traces", New: func() any { c := Default(); return &c },
				Doc: "grams of CO2 equivalent of devices, network and server (docs/time.md#energy-and-carbon)"},
			{In: "run", After: "max_time_s", New: func() any { return new(Budget) }},
		},
		Check: check, Columns: Columns, Missing: missing, Feature: feature,
		Traits: []rooms.Trait{{
			Key: "energy.grid",
			With: []string{"energy.places", "energy.server_place", "energy.network_kwh_per_gb", "energy.server_w",
				"energy.pue"},
			Used: func(s rooms.Settings) (any, bool) { c := of(s); return c.Grid, c.On() },
			// counting changes no event
			Off: "empty", Why: "under which there is no energy", AnyProgram: true, Shares: true, AllRounds: true,
		}, {
			Key:  "run.max_co2_g",
			Used: func(s rooms.Settings) (any, bool) { most := budget(s); return most, most > 0 },
			Off:  "0", AnyClients: true, AnyCost: true, AnyProgram: true, Shares: true,
		}},
	})
}

func of(s rooms.Settings) *Config     { return config.Part[Config](s.Keys) }
func budget(s rooms.Settings) float64 { return config.Part[Budget](s.Keys).MaxCO2G }

// missing says what to set for a column.
func missing(s rooms.Settings, column string) string {
	if of(s).counts(column) {
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

// check reports all errors, and what needs grids, without them.
func check(check *config.Checker, s rooms.Settings) {
	c, most := of(s), budget(s)
	c.Validate(check.In("energy"))
	check.Require(most >= 0 && most <= 1e15, "run.max_co2_g", most, "must be in [0, 1e15] grams")
	check.Require(most == 0 || c.On(), "run.max_co2_g", most, "must be 0 without energy.grid: no grams are counted")
	check.Require(s.Federation.Selection != Clean || c.On(), "federation.selection", s.Federation.Selection, wantGrid)
}

// feature reads the files once for all runs.
func feature(s rooms.Settings, once rooms.Once) (clients.Feature, error) {
	c := of(s)
	if !c.On() {
		return nil, nil
	}
	grid, err := once(fmt.Sprintf("%#v", *c), func() (any, error) { return c.Load() })
	if err != nil {
		return nil, err
	}
	return Feature{Grid: grid.(*Grid), MaxG: budget(s)}, nil
}
