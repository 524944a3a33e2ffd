package compress

import (
	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/internal/rooms"
)

func init() {
	of := func(s rooms.Settings) *Config { return config.Part[Config](s.Keys) }
	used := func(codec func(*Config) string) func(rooms.Settings) (any, bool) {
		return func(s rooms.Settings) (any, bool) { name := codec(of(s)); return name, name != None }
	}
	options := func(side string, others ...string) (keys []string) {
		for _, key := range append(others, "levels", "coding", "k", "indices") {
			keys = append(keys, "compression."+side+"_options."+key)
		}
		return keys
	}
	rooms.Register(rooms.Room{
		Name: "compress", Place: 2,
		Keys: []rooms.Keys{{Table: "compression", After: "federation", New: func() any { c := Defaults(); return &c },
			Doc: "codecs of messages between server and clients, for methods that compress. " +
				"The receiver uses the decoded values"}},
		Check: func(c *config.Checker, s rooms.Settings) { of(s).Validate(c.In("compression")) },
		Traits: []rooms.Trait{{
			Key: "compression.up", With: options("up", "feedback"), Used: used(func(c *Config) string { return c.Up }),
			Off: `"none"`, AnyClients: true, AnyCost: true, AllRounds: true,
			Instead: "compresses them and sends their bytes",
		}, {
			Key: "compression.down", With: options("down"), Used: used(func(c *Config) string { return c.Down }),
			Off: `"none"`, AnyCost: true, AllRounds: true, Instead: "compresses them and sends their bytes",
		}},
		Coding: func(s rooms.Settings) *algorithms.Coding { return of(s).Codes() },
		Names:  Names()[1:],
		Lines: []string{"16 bits for each value", "quantized at random, unbiased", "the largest values",
			"random values", "signs, and one scale", "a count sketch", "values that are not zero, without loss"},
		Named: "a codec of messages (compression.up, compression.down; docs/methods.md#compression)",
	})
}
