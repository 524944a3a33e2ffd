package federation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/network"
)

// What becomes of an answer that is late.
const (
	Drop = "drop" // the device stops working on it
	Keep = "keep" // it is taken in the round in which it comes
)

// What becomes of an update with NaN or an infinity.
const (
	// StopRun ends the run.
	StopRun = "stop"
	// TakeUpdate lets the server take it like any other.
	TakeUpdate = "take"
)

// The rules of federation.late_weights.
const (
	LateEqual   = "equal"   // late updates count like others
	LateInverse = "inverse" // by their staleness
	LateREFL    = "refl"    // by their staleness, and by how much they differ from updates in time
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
	Protocol     string  `toml:"protocol" doc:"when a round ends: \"wait-for-all\", \"deadline\", \"charged\" or \"first\" (at the first responses of an over-selected cohort). Under \"asynchronous\" the server takes each response on arrival, and a round in the results has as many responses as clients_per_round; so has one of \"compass\", which groups responses (docs/methods.md). Or a protocol of your own (docs/plugins.md). Empty: each method has the one that it is made for, \"wait-for-all\" unless fedsim algorithms says another"`
	DeadlineS    float64 `toml:"deadline_s" doc:"length of the clock cycle in seconds; required by protocol \"deadline\". Protocol \"first\": maximum length of a round, 0: no limit. A run fails at its start if no response can be that fast: download, the least work and upload of the fastest device"`
	Quantile     float64 `toml:"deadline_quantile" doc:"protocol \"deadline\": the clock cycle becomes this quantile of the response times of the last rounds, without clients that fail; if a late response is the quantile, the cycle grows by half. 0: the cycle is always deadline_s"`
	Window       int     `toml:"deadline_window" doc:"number of rounds that deadline_quantile covers"`
	Fit          bool    `toml:"fit_work" doc:"protocol \"deadline\": a controller limits the steps of each client to those that fit into the clock cycle; false: clients do all the work of their method, and stragglers are late"`
	Margin       float64 `toml:"margin" doc:"relative safety margin on the upload time when a controller fits work into the clock cycle"`
	StepsLow     float64 `toml:"steps_low" doc:"protocol \"charged\": fewest steps of a client in a round, as a share of those of steps_high"`
	StepsHigh    float64 `toml:"steps_high" doc:"protocol \"charged\": most steps of a client in a round, as a multiple of the rows of the smallest task; the round charges this many to every client"`
	Population   string  `toml:"population" doc:"\"eager\" (every client has state from the start) or \"lazy\" (a client has state from when it is first asked on, so that there may be a billion of them; docs/performance.md). Lazy needs run.mode = \"timing\", a cohort, and a selection by rejection; it has the rounds of eager, and no number of available clients"`
	Cost         string  `toml:"cost" doc:"conversion of work and bytes into time: \"physical\" (in seconds), \"relative\" (the paper's section 5.3) or \"authors\" (their released drivers). The last two have relative units, not seconds"`
	Clients      int     `toml:"clients_per_round" doc:"size of the cohort of a round, drawn by selection; protocol \"first\": responses that end a round; protocol \"asynchronous\": clients at work at a time; 0: all clients, or as fraction sets"`
	Fraction     float64 `toml:"fraction" doc:"share of the clients in the cohort of a round, in (0, 1], rounded up; instead of clients_per_round"`
	Selection    string  `toml:"selection" doc:"how the cohort is drawn from the available clients: \"uniform\", or another that fedsim algorithms lists (docs/selection.md), or a selector of your own (docs/plugins.md). Protocol \"asynchronous\": \"uniform\", or one by rejection. No effect when clients_per_round and fraction ask all clients"`
	Candidates   int     `toml:"candidates" doc:"selections \"power-of-choice\", \"cpow-d\", \"rpow-d\" and \"fedcs\": number of candidates drawn; at least clients_per_round"`
	Over         float64 `toml:"over_selection" doc:"protocol \"first\": size of the cohort as a multiple of the responses that end a round, at least 1; rounded up. With too few clients all are selected, and fewer responses end the round"`
	Retries      int     `toml:"retries" doc:"protocols \"deadline\" and \"first\": how often in a round the server asks a client again after a failed attempt, at the time its response was due"`
	MinReports   int     `toml:"min_reports" doc:"fewest responses that a round needs; with fewer the server discards all"`
	NonFinite    string  `toml:"nonfinite" doc:"an update with NaN or an infinity that the server is to take: \"stop\" (the run stalls, and names the client, the round and the array) or \"take\" (like any other). Candidates of a tuning always continue, and lose"`
	MinAvailable int     `toml:"min_available" doc:"a round begins when so many clients are available, those at work for an earlier round included; under \"asynchronous\", the first. The run stalls if that can never be, or is not seen in ten times the length of its trace files. 0: one client is enough"`
	Late         string  `toml:"late" doc:"responses that are late: \"drop\" (the client stops its work) or \"keep\" (it continues, is not selected meanwhile, and the round in which it responds takes the response; the dual may then decrease, weak duality holds)"`
	PartialShare float64 `toml:"partial_share" doc:"share p of the cohort that does partial work in a round (the stragglers of FedProx): all but round((1 - p) x cohort) clients, drawn for every round, do U{1..E-1} of the E epochs of their method in the time of all E. The option \"epochs\" must be a whole number of at least 2"`
	Partial      string  `toml:"partial" doc:"partial work: \"keep\" (the server takes it) or \"drop\" (the server discards it as late)"`
	LateWeights  string  `toml:"late_weights" doc:"late = \"keep\": factor of a response that is s rounds late: \"equal\" (1), \"inverse\" (1/(s + 1)) or \"refl\" ((1 - beta)/(s + 1) + beta (1 - exp(-D/max D)), where D is the squared distance of the update from the mean of those in time; REFL, EuroSys 2023). The others do not make up for it"`
	LateBeta     float64 `toml:"late_beta" doc:"beta of late_weights = \"refl\""`
	DetectS      float64 `toml:"detect_s" doc:"\"fedsim engine\": seconds until a driver learns that an attempt has failed, but in rounds that a protocol plays"`
	Overhead     int     `toml:"overhead_bytes" doc:"\"fedsim engine\": bytes that the driver adds to each message, in both directions, for what its records do not count"`
	ServerGFLOPS float64 `toml:"server_gflops" doc:"speed of the server in 1e9 FLOP/s; 0: server work takes no time"`

	// ProtocolOptions is a pointer to the options struct of the protocol; nil without.
	ProtocolOptions any `toml:"protocol_options" doc:"the options of the protocol, of \"compass\" or of one of your own"`
	// SelectionOptions is a pointer to the options struct of the selector; nil without.
	SelectionOptions any `toml:"selection_options" doc:"the options of the selector: docs/selection.md has those of fedsim's own"`
}

// The values of federation.population.
const (
	Eager = "eager"
	Lazy  = "lazy"
)

// Lazy reports whether clients have state from when they are asked on.
func (f *Config) Lazy() bool { return f.Population == Lazy }

// Relative reports whether times are relative units, not seconds.
func (f *Config) Relative() bool { return f.Cost == Relative || f.Cost == Authors }

// Defaults returns the table's defaults.
func Defaults() Config {
	return Config{
		Population: Eager, StepsLow: 0.1, StepsHigh: 1, Cost: Physical, Fraction: 1,
		Window: 5, Fit: true, Selection: "uniform", Over: 1, NonFinite: StopRun, Late: Drop, LateWeights: LateEqual, LateBeta: 0.35, Partial: Keep, DetectS: 60,
	}
}

// Sizes returns how many answers of a number of devices a round is for, and how
// many devices are asked for them.
func (f *Config) Sizes(devices int) (answers, asked int) {
	answers = f.clients(devices)
	if !f.uses("over_selection") {
		return answers, answers
	}
	asked = min(devices, int(math.Ceil(f.Over*float64(answers))))
	return min(answers, int(math.Ceil(float64(asked)/f.Over))), asked
}

// clients returns how many devices take part in a round.
func (f *Config) clients(devices int) int {
	if f.Clients > 0 {
		return f.Clients
	}
	return max(1, int(math.Ceil(f.Fraction*float64(devices))))
}

// Validate reports everything wrong with the table.
func (f *Config) Validate(c *config.Checker) {
	c.OneOfOrEmpty("protocol", f.Protocol, ProtocolNames()...)
	c.OneOf("population", f.Population, Eager, Lazy)
	c.OneOf("cost", f.Cost, Physical, Relative, Authors)
	c.Require(f.DeadlineS >= 0 && f.DeadlineS <= 1e9, "deadline_s", f.DeadlineS, "must be in [0, 1e9] seconds")
	if factory, _ := LookupProtocol(f.InForce()); factory.Validate != nil {
		factory.Validate(f, c)
	}
	c.Require(f.Margin >= 0 && f.Margin <= 10, "margin", f.Margin, "must be in [0, 10]")
	c.Require(f.StepsLow > 0 && f.StepsLow <= 1, "steps_low", f.StepsLow, "must be in (0, 1]: a share of the steps of steps_high")
	c.Require(f.StepsHigh > 0 && f.StepsHigh <= 1e6, "steps_high", f.StepsHigh, "must be in (0, 1e6]")
	c.Require(f.Clients >= 0, "clients_per_round", f.Clients, "must not be negative")
	c.Require(f.Fraction > 0 && f.Fraction <= 1, "fraction", f.Fraction, "must be in (0, 1]")
	c.Require(f.Clients == 0 || f.Fraction == 1, "fraction", f.Fraction, "must be 1 beside clients_per_round, which says the same")
	f.validatePolicies(c)
	c.Require(f.DetectS >= 0 && f.DetectS <= 1e9, "detect_s", f.DetectS, "must be in [0, 1e9] seconds")
	c.Require(f.Overhead >= 0 && f.Overhead <= 1e9, "overhead_bytes", f.Overhead, "must be in [0, 1e9]")
	c.Require(f.ServerGFLOPS >= 0 && f.ServerGFLOPS <= 1e12, "server_gflops", f.ServerGFLOPS, "must be in [0, 1e12]")
}

func (f *Config) validatePolicies(c *config.Checker) {
	c.Require(f.Quantile >= 0 && f.Quantile <= 1, "deadline_quantile", f.Quantile, "must be in [0, 1]")
	c.Require(f.Window >= 1 && f.Window <= 10_000, "deadline_window", f.Window, "must be in [1, 10000]")
	f.validateSelection(c)
	if o, decoded := f.ProtocolOptions.(config.Options); decoded {
		o.Validate(c.In("protocol_options"))
	}
	c.Require(f.Over >= 1 && f.Over <= 1e6, "over_selection", f.Over, "must be in [1, 1e6]")
	c.Require(f.Retries >= 0 && f.Retries <= 1000, "retries", f.Retries, "must be in [0, 1000]")
	c.Require(f.MinReports >= 0, "min_reports", f.MinReports, "must not be negative")
	c.Require(f.MinAvailable >= 0, "min_available", f.MinAvailable, "must not be negative")
	c.OneOf("nonfinite", f.NonFinite, StopRun, TakeUpdate)
	c.OneOf("late", f.Late, Drop, Keep)
	c.OneOf("late_weights", f.LateWeights, LateEqual, LateInverse, LateREFL)
	c.Require(f.LateWeights == LateEqual || f.Late == Keep, "late_weights", f.LateWeights, "must be left out: late is not \"keep\", so that no response is taken late")
	c.Require(f.LateBeta >= 0 && f.LateBeta <= 1, "late_beta", f.LateBeta, "must be in [0, 1]")
	c.Require(f.PartialShare >= 0 && f.PartialShare <= 1, "partial_share", f.PartialShare, "must be in [0, 1]")
	c.OneOf("partial", f.Partial, Drop, Keep)
}

// endless is the end of errors about devices that never respond.
func endless(protocol string) string {
	return fmt.Sprintf(" under protocol %q, which would wait forever", protocol)
}

// ValidateFaults reports certain faults and losses, for which wait-for-all would wait
// without end. The places are those of a scenario's tables.
func (f *Config) ValidateFaults(c *config.Checker, faults *devices.Faults, links *network.Config) {
	if !f.Traits().WaitsForAll {
		return
	}
	certain := func(key string, p float64) { c.Require(p != 1, key, p, "must be below 1"+endless(f.Protocol)) }
	certain("faults.drop_probability", faults.DropProbability)
	for t, p := range faults.DropProbabilityPerDevice {
		certain(fmt.Sprintf("faults.drop_probability_per_device[%d]", t), p)
	}
	for h, p := range faults.DropProbabilityByRound {
		certain(fmt.Sprintf("faults.drop_probability_by_round[%d]", h), p)
	}
	certain("network.loss_probability", links.LossProbability)
}

// ValidateUse reports the keys that have no use under any of the protocols in
// force.
func (f *Config) ValidateUse(c *config.Checker, inForce []string) {
	use := func(key string, value any, set bool) {
		var protocols []string
		used := false
		for _, name := range ProtocolNames() {
			if factory, _ := LookupProtocol(name); slices.Contains(factory.Keys, key) {
				protocols = append(protocols, name)
				used = used || slices.Contains(inForce, name)
			}
		}
		users := "protocols " + strings.Join(protocols, ", ") + " have"
		if len(protocols) == 1 {
			users = "protocol " + protocols[0] + " has"
		}
		c.Require(!set || used, key, value, "must be left out: only "+users+" a use for it")
	}
	use("deadline_quantile", f.Quantile, f.Quantile != 0)
	use("selection", f.Selection, f.Selection != Defaults().Selection)
	use("over_selection", f.Over, f.Over != 1)
	use("retries", f.Retries, f.Retries != 0)
	use("min_reports", f.MinReports, f.MinReports != 0)
	use("late", f.Late, f.Late != Drop)
}
