// Package fit checks whether the settings of a federation and of its problem fit a method. The places of errors are
// those of a scenario's tables.
package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/mtl"
)

// Method reports what in the table [federation] a method cannot live with. What depends on
// the data as well, learning.New reports. own is the key of the method's own protocol; empty: there is none.
func Method(c *config.Checker, f *federation.Config, method *algorithms.Description, own string) {
	needs, traits := &method.Needs, f.Traits()
	others := fmt.Sprintf("or %q", protocols.Charged) // that limit work
	if method.Asynchronous != algorithms.No {
		others = fmt.Sprintf("%q or %q", protocols.Charged, protocols.Compass)
	}
	c.Require(!needs.AllClients || traits.WaitsForAll, "protocol", f.Protocol,
		fmt.Sprintf("must be %q: %s needs a response of every device", federation.WaitForAll, method.Name))
	c.Require(!needs.Budget || traits.LimitsWork, "protocol", f.Protocol,
		fmt.Sprintf("must be %q with fit_work, %s: %s has no setting for the amount of local work", protocols.Deadline,
			others, method.Name))
	c.Require(!traits.Groups || needs.Budget, "protocol", f.Protocol,
		fmt.Sprintf("must be another, or %s have options.epochs = %q: the protocol assigns the local steps",
			method.Name, "fill"))
	c.Require(!traits.Continuous || method.Asynchronous != algorithms.No, "protocol", f.Protocol,
		inRounds(method.Name, own))
	c.Require(!needs.Continuous || traits.Continuous, "protocol", f.Protocol,
		fmt.Sprintf("must be %q, or %s have options.stop = false: a round has one message to a client",
			protocols.Asynchronous, method.Name))
	c.Require(f.Cost != federation.Authors || method.Work.AuthorUnits > 0, "cost", f.Cost,
		fmt.Sprintf("must be %q or %q: the authors' drivers have no cost for %s", federation.Physical,
			federation.Relative, method.Name))
	c.Require(f.Cost != federation.Authors || traits.End != federation.EndsAtDeadline, "cost", f.Cost,
		fmt.Sprintf("must be %q or %q under protocol %q: the authors' drivers have no clock cycle", federation.Physical,
			federation.Relative, f.Protocol))
	f.ValidatePartial(c)
	validateEpochs(c, f, method)
}

// inRounds returns the remedy for a method that works in rounds under a protocol without.
func inRounds(name, own string) string {
	text := fmt.Sprintf("must be another: %s works in rounds", name)
	if own == "" {
		return text
	}
	var others []string
	for _, other := range algorithms.Names() {
		if f, _ := algorithms.Lookup(other); f.Describe(f.Options(), mtl.Shape{}).Asynchronous == algorithms.Yes {
			others = append(others, other)
		}
	}
	return fmt.Sprintf("%s; leave it out, and methods without rounds (%s) have their own, or set %s = %q", text,
		strings.Join(others, ", "), own, federation.WaitForAll)
}

// Problem reports the loss and the model that a method with the given options cannot
// learn. What depends on the data as well, learning.New reports.
func Problem(c *config.Checker, loss, model string, method *algorithms.Description) {
	dual := method.Needs.Dual
	c.Require(model == mtl.ModelLinear || !dual, "problem.model", model,
		fmt.Sprintf("must be %q, or the method a primal one such as mb-sgd or fedavg: %s is a dual method",
			mtl.ModelLinear, method.Name))
	c.Require(model == mtl.ModelLinear || !method.Needs.Linear, "problem.model", model,
		fmt.Sprintf("must be %q with %s: a central solver has no other", mtl.ModelLinear, method.Name))
	c.Require(method.Learns.Models == nil || slices.Contains(method.Learns.Models, model), "problem.model", model,
		fmt.Sprintf("must be \"%s\" for %s %s", strings.Join(method.Learns.Models, "\" or \""), method.Name,
			method.Learns.Because))
	c.Require(method.Learns.Losses == nil || loss == "" || slices.Contains(method.Learns.Losses, loss), "problem.loss",
		loss, fmt.Sprintf("must be one of %s for %s: others are the logarithm of no likelihood",
			strings.Join(method.Learns.Losses, ", "), method.Name))
	of, _ := mtl.LookupLoss(loss)
	c.Require(of.NewOfScores == nil || !dual, "problem.loss", loss, fmt.Sprintf(
		"must be one of %s, which learn several classes one-vs-rest; or the method must be primal, "+
			"such as mb-sgd or fedavg: %s is a dual method", strings.Join(mtl.ScoreLosses(), ", "), method.Name))
}

// Tasks reports a problem without a reference optimum for a method that needs it, and couplings
// and shared tasks for one whose clients know nothing of each other.
func Tasks(c *config.Checker, problem *mtl.Config, shared bool, method *algorithms.Description) {
	needs := &method.Needs
	c.Require(!needs.Optimum || problem.HasReference(), "problem.optimum.when", problem.OptimumWhen, fmt.Sprintf(
		"must be \"auto\", and problem.model \"linear\": %s is the model that the central solver finds", method.Name))
	if !needs.Alone {
		return
	}
	c.Require(problem.Regularizer == mtl.RegIndependent, "problem.regularizer", problem.Regularizer, fmt.Sprintf(
		"must be %q: clients of %s exchange no messages, and other regularizers couple them; "+
			"or the method must be mocha", mtl.RegIndependent, method.Name))
	c.Require(!shared, "data.pool", shared,
		fmt.Sprintf(
			"must be false, and data.clients_per_task 1: clients of %s exchange no messages, and cannot share a model",
			method.Name))
}

// Hubs reports a method whose hubs average by themselves where there are no hubs, and one whose server
// needs more than the sums of hubs.
func Hubs(c *config.Checker, hubSize int, method *algorithms.Description) {
	c.Require(!method.Messages.Single || hubSize == 0, "network.hubs.size", hubSize,
		fmt.Sprintf("must be 0: the server of %s needs the response of each client, and hubs add them up", method.Name))
	c.Require(method.HubRounds == 0 || hubSize > 0, "network.hubs.size", hubSize,
		fmt.Sprintf("must be positive: hubs of %s average models", method.Name))
}

// Asked reports a method that needs a response of every device in a run that asks only some.
func Asked(c *config.Checker, asked, clients int, method *algorithms.Description) {
	c.Require(!method.Needs.AllClients || asked == clients, "federation.clients_per_round", asked,
		fmt.Sprintf("must be left out: %s needs a response of every device", method.Name))
}

// Coding reports settings that exclude codes of messages: the method with the given options,
// and costs and links that do not know sizes of messages. Noisy is true when noise is
// added to clipped updates.
func Coding(c *config.Checker, f *federation.Config, codes *algorithms.Coding, noisy bool,
	hubSize int, learns bool, method *algorithms.Description) {
	if codes == nil {
		return
	}
	c.Require(f.Cost == "" || f.Cost == federation.Physical, "federation.cost", f.Cost,
		fmt.Sprintf("must be %q with compression: other costs do not depend on the size of a message",
			federation.Physical))
	c.Require(hubSize == 0, "network.hubs.size", hubSize,
		"must be 0 with compression: hubs add up responses, and the sum of compressed ones is not compressed")
	codes.Check(c, method, learns, noisy)
}

// validateEpochs reports methods without epochs that could be fewer, for partial work.
func validateEpochs(c *config.Checker, f *federation.Config, method *algorithms.Description) {
	epochs := method.Work.Epochs
	if f.PartialShare == 0 || epochs >= 2 && epochs == math.Trunc(epochs) {
		return
	}
	want := fmt.Sprintf("must be 0 or the option \"epochs\" of %s a whole number of at least 2, not %g: "+
		"a part of them is at least one", method.Name, epochs)
	if epochs == 0 {
		want = fmt.Sprintf("must be 0 for %s, whose option \"epochs\" is \"fill\" or missing", method.Name)
	}
	c.Require(false, "partial_share", f.PartialShare, want)
}
