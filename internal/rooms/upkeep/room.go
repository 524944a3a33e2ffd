package upkeep

import (
	"fedsim/config"
	"fedsim/internal/rooms"
)

// Keys are those of the table [run].
type Keys struct {
	// metrics server_bytes, the memory of the server for models and their coupling, and server_peak_bytes, the most of
	// it so far (docs/methods.md#memory)
	ServerMemory bool `toml:"server_memory"`
}

func init() {
	rooms.Register(rooms.Room{
		Name: "upkeep", Place: 6,
		Keys: []rooms.Keys{{In: "run", After: "client_metrics", New: func() any { return new(Keys) }}},
		CheckRun: func(c *config.Checker, s rooms.Settings, run rooms.Run) {
			c.Require(!Measured(s) || run.Learns, "run.server_memory", true,
				"must be false in timing mode, which has no metrics of models")
		},
		Traits: []rooms.Trait{{
			Key:  "run.server_memory",
			Used: func(s rooms.Settings) (any, bool) { on := Measured(s); return on, on },
			Off:  "false", Metric: serverBytes, AnyCost: true, Instead: "has a server of its own", Shares: true,
			AllRounds: true,
		}},
	})
}

// Measured reports whether runs have the metrics of the server's memory.
func Measured(s rooms.Settings) bool { return config.Part[Keys](s.Keys).ServerMemory }
