package federation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/devices"
	"fedsim/network"
)

// What becomes of an answer that is late.
const (
	Drop = "drop" // the device stops working on it
	Keep = "keep" // it is taken in the round in which it comes
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
	Protocol     string  `toml:"protocol" doc:"when a round ends: \"wait-for-all\", \"deadline\", \"charged\", \"first\" (with the first answers of more devices than needed); or \"asynchronous\": there are no rounds, every answer is taken when it comes, and what is called a round in results ends with as many answers as devices are asked at a time"`
	DeadlineS    float64 `toml:"deadline_s" doc:"length of the clock cycle in seconds; required by protocol \"deadline\"; protocol \"first\": most that a round takes, 0: no limit. A run is refused at its start when it is shorter than any response can be: download, the least work, and upload of the fastest device"`
	Quantile     float64 `toml:"deadline_quantile" doc:"protocol \"deadline\": the clock cycle becomes this quantile of how long the answers of the last rounds took, those that did not come counting as longer than any; when it is one of those the cycle grows by half; 0: it stays deadline_s"`
	Window       int     `toml:"deadline_window" doc:"how many rounds deadline_quantile looks back"`
	Fit          bool    `toml:"fit_work" doc:"protocol \"deadline\": each device's controller lets it do only as many steps as fit into the clock cycle; false: devices do all of their method's work, and slow ones are late"`
	Margin       float64 `toml:"margin" doc:"share by which a device's controller lengthens its estimate of the upload when it fits its work into the clock cycle"`
	StepsLow     float64 `toml:"steps_low" doc:"protocol \"charged\": fewest steps of a device in a round, as a multiple of the rows of the smallest task"`
	StepsHigh    float64 `toml:"steps_high" doc:"protocol \"charged\": most steps of a device in a round, as a multiple of the rows of the smallest task; every device is charged this many"`
	Cost         string  `toml:"cost" doc:"how work and bytes become time: \"physical\", in seconds; or \"relative\" (the paper's section 5.3) or \"authors\" (their released drivers), in relative units that are no seconds"`
	Clients      int     `toml:"clients_per_round" doc:"devices that the server asks in a round, drawn anew for each as selection says; protocol \"first\": answers that end a round; protocol \"asynchronous\": devices at work at a time; 0: all, or what fraction says"`
	Fraction     float64 `toml:"fraction" doc:"share of the devices that the server asks in a round, in (0, 1], rounded up, drawn likewise; in place of clients_per_round"`
	Selection    string  `toml:"selection" doc:"how the devices of a round are drawn from those that can be reached: \"uniform\", \"data\" (in proportion to their rows), \"speed\" (in inverse proportion to how long an answer takes them) or \"power-of-choice\" (those that the model fits worst among candidates); or a selector of your own (docs/plugins.md)"`
	Candidates   int     `toml:"candidates" doc:"selection \"power-of-choice\": how many devices are drawn to choose from; at least clients_per_round"`
	Over         float64 `toml:"over_selection" doc:"protocol \"first\": how many times as many devices are asked as answers are needed, at least 1; rounded up. Where there are not so many, all are asked, and the fewer answers are needed"`
	Retries      int     `toml:"retries" doc:"protocols \"deadline\" and \"first\": how often in a round a device is asked again when the answer of an attempt that was lost was due"`
	MinReports   int     `toml:"min_reports" doc:"fewest answers that a round needs: with fewer the server forgets those that it has"`
	Late         string  `toml:"late" doc:"answers that have not come when a round ends: \"drop\" (the device stops working) or \"keep\" (it goes on, is not asked meanwhile, and its answer is taken in the round in which it comes; the dual may then fall, weak duality holds)"`
	ServerGFLOPS float64 `toml:"server_gflops" doc:"speed of the server in 1e9 FLOP/s; 0: server work takes no time"`

	// ProtocolOptions is a pointer to the options struct of the protocol; nil without.
	ProtocolOptions any `toml:"protocol_options" doc:"the options of a protocol of your own"`
	// SelectionOptions is a pointer to the options struct of the selector; nil without.
	SelectionOptions any `toml:"selection_options" doc:"the options of a selector of your own"`
}

// Relative reports whether times are relative units, not seconds.
func (f *Config) Relative() bool { return f.Cost == Relative || f.Cost == Authors }

// Defaults returns the table's defaults.
func Defaults() Config {
	return Config{
		Protocol: WaitForAll, StepsLow: 0.1, StepsHigh: 1, Cost: Physical, Fraction: 1,
		Window: 5, Fit: true, Selection: "uniform", Over: 1, Late: Drop,
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
	c.OneOf("protocol", f.Protocol, ProtocolNames()...)
	c.OneOf("cost", f.Cost, Physical, Relative, Authors)
	c.Require(f.DeadlineS >= 0 && f.DeadlineS <= 1e9, "deadline_s", f.DeadlineS, "must be in [0, 1e9] seconds")
	if factory, _ := LookupProtocol(f.Protocol); factory.Validate != nil {
		factory.Validate(f, c)
	}
	c.Require(f.Margin >= 0 && f.Margin <= 10, "margin", f.Margin, "must be in [0, 10]")
	c.Require(f.StepsLow > 0 && f.StepsLow <= f.StepsHigh, "steps_low", f.StepsLow, "must be positive and at most steps_high")
	c.Require(f.StepsHigh > 0 && f.StepsHigh <= 1e6, "steps_high", f.StepsHigh, "must be in (0, 1e6]")
	c.Require(f.Clients >= 0, "clients_per_round", f.Clients, "must not be negative")
	c.Require(f.Fraction > 0 && f.Fraction <= 1, "fraction", f.Fraction, "must be in (0, 1]")
	c.Require(f.Clients == 0 || f.Fraction == 1, "fraction", f.Fraction, "must be 1 beside clients_per_round, which says the same")
	f.validatePolicies(c)
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
	c.OneOf("late", f.Late, Drop, Keep)
}

// ValidateMethod reports what in the table a method with the given options cannot live
// with. What depends on the data as well, [New] reports.
func (f *Config) ValidateMethod(c *config.Checker, method *algorithms.Factory, o algorithms.Options) {
	needs, traits := method.NeedsOf(o), f.Traits()
	c.Require(!needs.AllClients || traits.WaitsForAll, "protocol", f.Protocol,
		fmt.Sprintf("must be %q: %s cannot do without any device's answer", WaitForAll, method.Name))
	c.Require(!needs.Budget || traits.LimitsWork, "protocol", f.Protocol,
		fmt.Sprintf("must be %q with fit_work, or %q: %s was given no amount of local work of its own", Deadline, Charged, method.Name))
	c.Require(!traits.Continuous || method.Asynchronous, "protocol", f.Protocol, fmt.Sprintf("must be another: %s works in rounds", method.Name))
	c.Require(f.Cost != Authors || method.AuthorUnits > 0, "cost", f.Cost,
		fmt.Sprintf("must be %q or %q: the authors' drivers have no cost for %s", Physical, Relative, method.Name))
	c.Require(f.Cost != Authors || traits.End != EndsAtDeadline, "cost", f.Cost,
		fmt.Sprintf("must be %q or %q under protocol %q: the authors' drivers have no clock cycle", Physical, Relative, f.Protocol))
}

// endless is what is wrong with devices that never answer.
func endless(protocol string) string {
	return fmt.Sprintf(" under protocol %q, which would wait for ever", protocol)
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
		c.Require(!set || used, key, value, fmt.Sprintf("must be left out: only protocols %s have a use for it", strings.Join(protocols, ", ")))
	}
	use("deadline_quantile", f.Quantile, f.Quantile != 0)
	use("selection", f.Selection, f.Selection != Defaults().Selection)
	use("over_selection", f.Over, f.Over != 1)
	use("retries", f.Retries, f.Retries != 0)
	use("min_reports", f.MinReports, f.MinReports != 0)
	use("late", f.Late, f.Late != Drop)
}
