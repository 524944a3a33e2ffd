package settle

import (
	"fmt"
	"math"
	"slices"

	"fedsim/config"
	"fedsim/internal/rooms"
	"fedsim/internal/tools/certainty"
	"fedsim/results"
)

// Keys are those of the table [run].
type Keys struct {
	// how run.seeds = "until-certain" compares rows (docs/results.md): { by = "time", "bytes", "joules" or "error",
	// target, the last of run.targets, margin = 0.05, which is 5 %, of errors in their unit and 0.005, confidence =
	// 0.95, max_seeds = 100, rows, some of the methods, or values of the swept key, order = true to rank all rows }.
	// Runs end at the target, whatever run.stop_at is
	Certain Config `toml:"certain" absent:"{}: with these values"`
}

// Config says what is compared, and when it is settled. The zero value stands for the defaults.
type Config struct {
	By         string
	Target     results.Target // unset: the last of run.targets
	Margin     float64
	Confidence float64
	MaxSeeds   int      // that count, without those of tuning
	Rows       []string // empty: all of each block
	Order      bool     // every pair is decided, not only which rows lead
}

// The measures of Config.By.
const (
	byTime   = "time"
	byBytes  = "bytes"
	byJoules = "joules"
	byError  = "error"
)

// Measures are the values of by.
var Measures = []string{byTime, byBytes, byJoules, byError}

// document is the key in a scenario. A nil margin is that of the measure.
type document struct {
	// "time", "bytes", "joules" or "error"
	By string `toml:"by"`
	// whose cost is compared
	Target results.Target `toml:"target"`
	// less is no difference
	Margin *float64 `toml:"margin"`
	// of all claims of a block
	Confidence float64 `toml:"confidence"`
	// that count
	MaxSeeds int `toml:"max_seeds"`
	// methods, or values of the swept key
	Rows []string `toml:"rows"`
	// decide every pair
	Order bool `toml:"order"`
}

var _ config.Custom = (*Config)(nil)

// TypeTOML returns the type.
func (*Config) TypeTOML() string { return "table" }

// DecodeTOML reads the table; an empty one stands for the defaults.
func (c *Config) DecodeTOML(n *config.Node, key string) config.Errors {
	d := document{By: byTime, Confidence: 0.95, MaxSeeds: 100}
	problems := config.Decode(n, key, &d)
	if *c = (Config{}); len(problems) > 0 || len(n.Keys()) == 0 {
		return problems
	}
	*c = Config{d.By, d.Target, 0.05, d.Confidence, d.MaxSeeds, d.Rows, d.Order}
	if d.By == byError {
		c.Margin = 0.005
	}
	if d.Margin != nil {
		c.Margin = *d.Margin
	}
	return nil
}

// isZero reports whether nothing is given.
func (c *Config) isZero() bool { return c.By == "" }

// MarshalTOML returns the table on one line.
func (c Config) MarshalTOML() ([]byte, error) {
	if c.isZero() {
		return []byte("{}"), nil
	}
	text := "{ by = " + config.Literal(c.By)
	if c.Target.IsSet() {
		text += ", target = " + config.Literal(c.Target)
	}
	return fmt.Appendf(nil, "%s, margin = %s, confidence = %s, max_seeds = %d, rows = %s, order = %t }", text,
		config.Literal(c.Margin), config.Literal(c.Confidence), c.MaxSeeds, config.Literal(c.Rows), c.Order), nil
}

// Text returns the table on one line.
func (c *Config) Text() string {
	text, _ := c.MarshalTOML() // it has no error
	return string(text)
}

// Of returns what the settings ask for, with its target; ok reports whether seeds are added until it is certain.
func Of(s rooms.Settings) (c Config, ok bool) {
	c = config.Part[Keys](s.Keys).Certain
	if c.isZero() {
		c = Config{By: byTime, Margin: 0.05, Confidence: 0.95, MaxSeeds: 100}
	}
	if n := len(s.Targets); c.By != byError && !c.Target.IsSet() && n > 0 {
		c.Target = s.Targets[n-1]
	}
	return c, s.UntilCertain
}

// stopAt returns where runs end: at the target, after which their cost is known.
func stopAt(s rooms.Settings) results.Target {
	if c, ok := Of(s); ok && c.By != byError {
		return c.Target
	}
	return results.Target{}
}

// check reports all errors of the key.
func check(check *config.Checker, s rooms.Settings) {
	given := config.Part[Keys](s.Keys).Certain
	c, on := Of(s)
	if !on {
		check.Require(given.isZero(), "run.certain", given.Text(), `must be left out with a list of run.seeds: `+
			`it says when run.seeds = "until-certain" ends`)
		return
	}
	in := check.In("run").In("certain")
	in.OneOf("by", c.By, Measures...)
	most := 1.0
	if c.By == byError {
		most = math.MaxFloat64
		in.Require(!c.Target.IsSet(), "target", c.Target.Value,
			"must be left out with by = \"error\", which compares run.metric at the end of runs")
	} else {
		in.Require(c.Target.IsSet(), "target", c.Target.Value,
			"must be set, or run.targets: costs are those of a target")
		in.Require(c.Target.Metric != results.Suboptimality || s.Optimum, "target", c.Target.Value,
			"must be of another metric: without a reference optimum (problem.optimum) no row can reach it")
	}
	if c.Target.IsSet() {
		c.Target.Check(in, "target")
		c.Target.CheckShare(in, "target")
	}
	in.Require(c.Margin >= 0 && c.Margin <= most, "margin", c.Margin, "must be in [0, 1], as 0.05 for 5 %; "+
		`with by = "error" a number in the unit of the metric that is not negative`)
	in.Require(c.Confidence >= 0.5 && c.Confidence <= 0.9999, "confidence", c.Confidence,
		"must be in [0.5, 0.9999]: 0.95 is 95 %")
	first := certainty.Test{Confidence: 0.95}.Compare(make([][]certainty.Bounds, 2), false).Next
	if c.Confidence >= 0.5 && c.Confidence <= 0.9999 {
		first = certainty.Test{Confidence: c.Confidence}.
			Compare(make([][]certainty.Bounds, max(2, len(c.Rows))), false).Next
	}
	in.Require(c.MaxSeeds >= first && c.MaxSeeds <= MostSeeds, "max_seeds", c.MaxSeeds,
		fmt.Sprintf("must be in [%d, %d]: fewer can never be certain", first, MostSeeds))
	in.Require(len(c.Rows) != 1, "rows", c.Rows, "must name at least two rows, or be empty for all")
	sorted := slices.Sorted(slices.Values(c.Rows))
	in.Require(len(slices.Compact(sorted)) == len(c.Rows), "rows", c.Rows, "must hold every row once")
}

// MostSeeds is the largest number of seeds that count.
const MostSeeds = 2900

func init() {
	rooms.Register(rooms.Room{
		Name: "settle", Place: 4,
		Keys:  []rooms.Keys{{In: "run", After: "seeds", New: func() any { return new(Keys) }}},
		Check: check, StopAt: stopAt,
		Traits: []rooms.Trait{{
			Key: "run.certain",
			Used: func(s rooms.Settings) (any, bool) {
				c := config.Part[Keys](s.Keys).Certain
				return c.Text(), !c.isZero()
			},
			// it changes no run
			Off: "left out", AnyClients: true, AnyCost: true, AnyProgram: true, Shares: true, AllRounds: true,
		}},
	})
}
