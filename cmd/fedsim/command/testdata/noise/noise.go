// Package noise is a room of a test: devices are loud while they compute.
package noise

import (
	"fedsim/clients"
	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/rooms"
	"fedsim/results"
)

// Config is the table [noise].
type Config struct {
	Share float64 `toml:"share" doc:"share of the time of computing in which a device is loud"`
}

var columns = &results.Declared{Field: "noise", Amount: "seconds", Title: "noise", Columns: []results.Column[results.Round]{
	{Name: "noise_s", Unit: "s", Label: "noise of devices", Head: "noise", Doc: "seconds in which devices are loud"},
}}

func (c *Config) SetDefaults() {}

func (*Config) Declared() *results.Declared { return columns }

func (c *Config) Missing(string) string {
	if c.Share > 0 {
		return ""
	}
	return "set noise.share"
}

func (c *Config) Check(check *config.Checker, s rooms.Settings) {
	check.Require(c.Share >= 0 && c.Share <= 1, "noise.share", c.Share, "must be in [0, 1]")
	check.Require(c.Share == 0 || s.Federation.ServerGFLOPS == 0, "noise.share", c.Share, "must be 0 with federation.server_gflops: the server is as loud")
}

func (c *Config) Traits(rooms.Settings) []rooms.Trait {
	if c.Share == 0 {
		return nil
	}
	return []rooms.Trait{{Key: "noise.share", Value: c.Share, Off: "0", AnyCost: true, Shares: true, AllRounds: true}}
}

func (c *Config) Feature(rooms.Settings, rooms.Once) (clients.Feature, error) {
	if c.Share == 0 {
		return nil, nil
	}
	return c, nil
}

func (c *Config) Observe(int) clients.Observer { return &ear{share: c.Share} }

type ear struct{ share, heard float64 }

func (e *ear) Drew(_ int, a clients.Activity, from, to engine.Time, _ float64) {
	if a == clients.Compute {
		e.heard += e.share * (to - from).Seconds()
	}
}

func (*ear) Moved(int, engine.Time, engine.Time, float64) {}

func (*ear) Computed(engine.Time, engine.Time) {}

func (e *ear) EndRound(_ engine.Time, r *results.Round) {
	columns.Set(r, e.heard)
	e.heard = 0
}

func (*ear) Spent() bool { return false }
