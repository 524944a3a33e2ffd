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

var columns = &results.Declared{Field: "noise", Amount: "seconds", Title: "noise",
	Columns: []results.Column[results.Round]{
		{Name: "noise_s", Unit: "s", Label: "noise of devices", Head: "noise",
			Doc: "seconds in which devices are loud"},
	}}

func init() {
	of := func(s rooms.Settings) *Config { return config.Part[Config](s.Keys) }
	rooms.Register(rooms.Room{
		Name: "noise", Place: 1000, Columns: columns,
		Keys: []rooms.Keys{
			{Table: "noise", After: "energy", Doc: "noise of devices", New: func() any { return new(Config) }},
		},
		Check: func(c *config.Checker, s rooms.Settings) {
			share := of(s).Share
			c.Require(share >= 0 && share <= 1, "noise.share", share, "must be in [0, 1]")
			c.Require(share == 0 || s.Federation.ServerGFLOPS == 0, "noise.share", share,
				"must be 0 with federation.server_gflops: the server is as loud")
		},
		Traits: []rooms.Trait{{
			Key: "noise.share", Used: func(s rooms.Settings) (any, bool) { return of(s).Share, of(s).Share > 0 },
			Off: "0", AnyCost: true, AnyProgram: true, Shares: true, AllRounds: true,
		}},
		Missing: func(s rooms.Settings, _ string) string {
			if of(s).Share > 0 {
				return ""
			}
			return "set noise.share"
		},
		Feature: func(s rooms.Settings, _ rooms.Once) (clients.Feature, error) {
			if of(s).Share == 0 {
				return nil, nil
			}
			return of(s), nil
		},
	})
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
