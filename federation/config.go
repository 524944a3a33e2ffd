package federation

import (
	"cmp"
	"fmt"
	"math"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// What becomes of an answer that is late.
const (
	Drop = "drop" // the device stops working on it
	// Keep takes it in the round in which it comes.
	Keep = "keep"
	// KeepDamped takes it with a factor that falls with its staleness.
	KeepDamped = "keep-damped"
	// KeepREFL takes it with a factor by its staleness, and by how much it differs from updates in time.
	KeepREFL = "keep-refl"
)

// What becomes of an update with NaN or an infinity.
const (
	// StopRun ends the run.
	StopRun = "stop"
	// TakeUpdate lets the server take it like any other.
	TakeUpdate = "take"
)

// The cost models: how work and bytes become time.
const (
	// Physical takes rates from the device and link profiles.
	Physical = "physical"
	// Relative sets one round's communication to a multiple of the time of one
	// pass over the smallest task (paper, section 5.3: one, two or three orders
	// of magnitude for WiFi, LTE, 3G).
	Relative = "relative"
	// Authors counts in the units of the authors' released drivers.
	Authors = "authors"
)

// Config is the table [federation] of a scenario.
type Config struct {
	// when a round ends: "wait-for-all", "deadline", "charged", "first" (at the first responses of an
	// over-selected cohort) or "hedged" (as "first", with a backup for each client that takes long). Under
	// "asynchronous" the server takes each response on arrival, and a round in the results has as many
	// responses as clients_per_round; so has one of "compass", which groups responses (docs/methods.md).
	// Or a protocol of your own (docs/extend.md)
	Protocol string `toml:"protocol" absent:"\"\": the one that each method is made for (fedsim methods)"`
	// length of the clock cycle in seconds; required by protocol "deadline". Protocols "first" and
	// "hedged": maximum length of a round. A run fails at its start if no response can be that
	// fast: download, the least work and upload of the fastest device
	DeadlineS float64 `toml:"deadline_s" absent:"0: no limit"`
	// "eager" (every client has state from the start) or "lazy" (a client has state from when it is
	// first asked on, so that there may be a billion of them; bench/README.md). Lazy needs
	// run.mode = "timing", a cohort, and a selection by rejection; it has the rounds of eager, and
	// no number of available clients
	Population string `toml:"population"`
	// conversion of work and bytes into time: "physical" (in seconds), "relative" (the paper's
	// section 5.3) or "authors" (their released drivers). The last two have relative units, not
	// seconds
	Cost string `toml:"cost"`
	// size of the cohort of a round, drawn by selection: a number, or a share of the clients such as
	// "10 %", rounded up. Protocols "first" and "hedged": responses that end a round; protocol
	// "asynchronous": clients at work at a time
	Clients config.Amount `toml:"clients_per_round" absent:"0: all"`
	// how the cohort is drawn from the available clients: "uniform", or another that fedsim
	// methods lists (docs/methods.md#selection), or a selector of your own (docs/extend.md). Protocol
	// "asynchronous": "uniform", or one by rejection. No effect when clients_per_round asks
	// all clients
	Selection string `toml:"selection"`
	// fewest responses that a round needs; with fewer the server discards all
	MinReports int `toml:"min_reports"`
	// an update with NaN or an infinity that the server is to take: "stop" (the run stalls, and
	// names the client, the round and the array) or "take" (like any other). Candidates of a tuning
	// always continue, and lose
	NonFinite string `toml:"nonfinite"`
	// a round begins when so many clients are available, those at work for an earlier round
	// included; under "asynchronous", the first. The run stalls if that can never be, or is not
	// seen in ten times the length of its trace files
	MinAvailable int `toml:"min_available" absent:"0: one client is enough"`
	// responses that are late: "drop" (the client stops its work) or "keep" (it continues, is not
	// selected meanwhile, and the round in which it responds takes the response; the dual may then
	// decrease, weak duality holds). "keep-damped" takes one that is s rounds late with the factor
	// 1/(s + 1), and "keep-refl" with 0.65/(s + 1) + 0.35 (1 - exp(-D/max D)), where D is the squared
	// distance of the update from the mean of those in time (REFL, EuroSys 2023). The others do not
	// make up for it
	Late string `toml:"late"`
	// share p of the cohort that does partial work in a round (the stragglers of FedProx): all but
	// round((1 - p) x cohort) clients, drawn for every round, do U{1..E-1} of the E epochs of their
	// method in the time of all E. The option "epochs" must be a whole number of at least 2
	PartialShare float64 `toml:"partial_share"`
	// partial work: "keep" (the server takes it) or "drop" (the server discards it as late)
	Partial  string  `toml:"partial"`
	DetectS  float64 `toml:"-"` // seconds until the driver of a session learns that an attempt has failed
	Overhead int     `toml:"-"` // bytes that the driver of a session adds to each message
	// speed of the server in 1e9 FLOP/s
	ServerGFLOPS float64 `toml:"server_gflops" absent:"0: unlimited, server work takes no time"`

	// the options of the protocol, and of those that methods have by themselves. An option of several
	// protocols is given once
	//
	// ProtocolOptions is a pointer to the options struct of the protocol; nil without. See SetOptions.
	ProtocolOptions any `toml:"protocol_options"`
	Shared          `toml:"-"`
	// the options of the selector: docs/methods.md#selection has those of fedsim's own
	//
	// SelectionOptions is a pointer to the options struct of the selector; nil without.
	SelectionOptions any `toml:"selection_options"`
}

// Shared is what a protocol tells the server by its options: see ProtocolFactory.Apply.
type Shared struct {
	Quantile            float64 // of response times, which the length of a round becomes; 0: none
	Fit                 bool    // the work of a client is limited to what fits into deadline_s
	Margin              float64 // of the uplink, as a share, when work is fitted
	StepsLow, StepsHigh float64 // limits of drawn work: a share of StepsHigh, and passes over the smallest task
	Over                float64 // clients that a round asks, as a multiple of the responses that it needs
	Retries             int     // how often a round asks a client again
	AnswerTimeoutS      float64 // after which a try is given up; 0: failures are known when the response was due
}

// SetOptions sets the options of the protocol in force, a pointer to its options struct or nil, and
// what they tell the server.
func (cfg *Config) SetOptions(o any) {
	cfg.ProtocolOptions, cfg.Shared = o, Defaults().Shared
	if f, _ := LookupProtocol(cfg.InForce()); f.Apply != nil && o != nil {
		f.Apply(o.(config.Options), &cfg.Shared)
	}
}

// The values of federation.population.
const (
	Eager = "eager"
	Lazy  = "lazy"
)

// Lazy reports whether clients have state from when they are asked on.
func (cfg *Config) Lazy() bool { return cfg.Population == Lazy }

// answerTimeout returns when a try is given up, from its message on; 0: never.
func (cfg *Config) answerTimeout() engine.Time { return engine.FromSeconds(cfg.AnswerTimeoutS) }

// Relative reports whether times are relative units, not seconds.
func (cfg *Config) Relative() bool { return cfg.Cost == Relative || cfg.Cost == Authors }

// Defaults returns the table's defaults.
func Defaults() Config {
	return Config{
		Population: Eager, Cost: Physical, Selection: "uniform", NonFinite: StopRun, Late: Drop,
		Partial: Keep, DetectS: 60, Shared: Shared{Fit: true, StepsLow: 0.1, StepsHigh: 1, Over: 1},
	}
}

// Sizes returns how many answers of a number of devices a round is for, and how
// many devices are asked for them.
func (cfg *Config) Sizes(devices int) (answers, asked int) {
	answers = cfg.clients(devices)
	asked = min(devices, int(math.Ceil(cfg.Over*float64(answers))))
	return min(answers, int(math.Ceil(float64(asked)/cfg.Over))), asked
}

// clients returns how many devices take part in a round.
func (cfg *Config) clients(devices int) int {
	if cfg.Clients.Count > 0 {
		return cfg.Clients.Count
	}
	return max(1, int(math.Ceil(cmp.Or(cfg.Clients.Share, 1)*float64(devices))))
}

// AsksAll reports whether rounds ask all clients.
func (cfg *Config) AsksAll() bool {
	return cfg.Clients == config.Amount{} || cfg.Clients.Share == 1
}

// KeepsLate reports whether responses that are late are taken.
func (cfg *Config) KeepsLate() bool { return cfg.Late != Drop }

// Validate reports everything wrong with the table.
func (cfg *Config) Validate(c *config.Checker) {
	c.OneOfOrEmpty("protocol", cfg.Protocol, ProtocolNames()...)
	c.OneOf("population", cfg.Population, Eager, Lazy)
	c.OneOf("cost", cfg.Cost, Physical, Relative, Authors)
	c.Require(cfg.DeadlineS >= 0 && cfg.DeadlineS <= 1e9, "deadline_s", cfg.DeadlineS, "must be in [0, 1e9] seconds")
	if factory, _ := LookupProtocol(cfg.InForce()); factory.Validate != nil {
		factory.Validate(cfg, c)
	}
	cfg.validatePolicies(c)
	c.Require(cfg.ServerGFLOPS >= 0 && cfg.ServerGFLOPS <= 1e12, "server_gflops", cfg.ServerGFLOPS,
		"must be in [0, 1e12]")
}

func (cfg *Config) validatePolicies(c *config.Checker) {
	cfg.validateSelection(c)
	if o, decoded := cfg.ProtocolOptions.(config.Options); decoded {
		o.Validate(c.In("protocol_options"))
	}
	if cfg.Traits().Asks {
		must := func(ok bool, key string, value any, want string) {
			c.Require(ok, key, value,
				fmt.Sprintf("must be %s under protocol %q, which asks clients within a round", want, cfg.Protocol))
		}
		must(cfg.Cost != Authors, "cost", cfg.Cost, `"physical" or "relative"`)
		must(!cfg.Lazy(), "population", cfg.Population, `"eager"`)
		must(cfg.PartialShare == 0, "partial_share", cfg.PartialShare, "0")
	}
	c.Require(cfg.MinReports >= 0, "min_reports", cfg.MinReports, "must not be negative")
	c.Require(cfg.MinAvailable >= 0, "min_available", cfg.MinAvailable, "must not be negative")
	c.OneOf("nonfinite", cfg.NonFinite, StopRun, TakeUpdate)
	c.OneOf("late", cfg.Late, Drop, Keep, KeepDamped, KeepREFL)
	c.Require(cfg.PartialShare >= 0 && cfg.PartialShare <= 1, "partial_share", cfg.PartialShare, "must be in [0, 1]")
	c.OneOf("partial", cfg.Partial, Drop, Keep)
}

// endless is the end of errors about devices that never respond.
func endless(protocol string) string {
	return fmt.Sprintf(" under protocol %q, which would wait forever", protocol)
}

// ValidateFaults reports certain faults and losses, for which wait-for-all would wait
// without end. The places are those of a scenario's tables.
func (cfg *Config) ValidateFaults(c *config.Checker, faults *devices.Faults, links *network.Config) {
	if !cfg.Traits().WaitsForAll {
		return
	}
	certain := func(key string, p float64) { c.Require(p != 1, key, p, "must be below 1"+endless(cfg.Protocol)) }
	faults.DropProbability.Each("faults.drop_probability", certain)
	certain("network.loss_probability", links.LossProbability)
}
