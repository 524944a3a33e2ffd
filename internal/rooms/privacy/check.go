package privacy

import (
	"fmt"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/internal/rooms"
	"fedsim/mtl"
)

// Check reports updates whose norm cannot be bounded.
func (cfg *Config) Check(c *config.Checker, buffers bool) {
	if cfg.Differential() {
		c.Require(!buffers, "privacy.mechanism", cfg.Mechanism,
			"must be \"none\" for a model with values that mini-batches set, such as running means: "+
				"they are no part of a gradient, whose norm could be bounded")
	}
}

// checkRun reports what the method or the server of a run cannot live with.
func checkRun(c *config.Checker, s rooms.Settings, run rooms.Run) {
	cfg := of(s)
	if cfg.On() && cfg.checkMethod(c, run.Method) {
		cfg.checkServer(c, s.Federation, run)
	}
	c.Require(!cfg.Secure() || !run.Coded, "privacy.secure_aggregation", cfg.SecureAggregation,
		"must be \"none\" with compression: masked values add up only when all have one code")
}

// checkMethod reports a method whose updates cannot be protected, and whether they can in sums of any weights.
func (cfg *Config) checkMethod(c *config.Checker, method *algorithms.Description) bool {
	key, value := "privacy.mechanism", cfg.Mechanism
	if !cfg.Differential() {
		key, value = "privacy.secure_aggregation", cfg.SecureAggregation
	}
	if !method.Messages.Private {
		var able []string
		for _, name := range algorithms.Names() {
			if f, _ := algorithms.Lookup(name); f.Describe(f.Options(), mtl.Shape{}).Messages.Private {
				able = append(able, name)
			}
		}
		c.Require(false, key, value,
			fmt.Sprintf(
				"must be \"none\", or the method one of %s: the server of %s needs more than the sum of updates",
				strings.Join(able, ", "), method.Name))
		return false
	}
	c.Require(!method.Messages.Unequal, key, value,
		fmt.Sprintf("must be \"none\" unless %s has options.weights = \"equal\": every update counts the same",
			method.Name))
	return true
}

// checkServer reports a server whose rounds have no sum that can be protected.
func (cfg *Config) checkServer(c *config.Checker, f *federation.Config, run rooms.Run) {
	traits := f.Traits()
	const so = " with [privacy]: "
	c.Require(!traits.Continuous, "federation.protocol", f.Protocol,
		"must be another"+so+"a private sum is one of a round")
	c.Require(!traits.Asks, "federation.protocol", f.Protocol, "must be another"+so+"the cohort of a round is fixed")
	c.Require(!traits.Weighs, "federation.protocol", f.Protocol, "must be another"+so+"every update counts the same")
	c.Require(!traits.Late, "federation.late", f.Late, "must be \"drop\""+so+"a late update is of another cohort")
	if cfg.Secure() {
		c.Require(f.PartialShare == 0 || f.Partial != federation.Drop, "federation.partial", f.Partial,
			"must be \"keep\" with privacy.secure_aggregation: the server cannot leave an update out of the sum")
		c.Require(run.HubSize == 0, "network.hubs.size", run.HubSize,
			"must be 0 with privacy.secure_aggregation: hubs that gather masked values are not modeled")
		c.Require(f.Cost == federation.Physical, "federation.cost", f.Cost,
			"must be \"physical\" with privacy.secure_aggregation: under others the lengths of transfers do not "+
				"depend on bytes")
	}
	asksAll := f.AsksAll()
	c.Require(!cfg.Differential() || cfg.Accounting == None || asksAll || f.Selection == "uniform",
		"federation.selection", f.Selection,
		fmt.Sprintf(
			"must be \"uniform\" with mechanism_options.accounting = %q; with %q, epsilon assumes nothing of it",
			cfg.Accounting, None))
}
