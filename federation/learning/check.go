package learning

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

// check finds settings that the method, the problem or the faults cannot live with, of a server
// that asks so many clients in a round.
func (f *Federation) check(c *config.Checker, asked int) {
	about, s := &f.method.About, &f.setup
	name, cfg, traits := about.Name, &s.Config, s.Config.Traits()
	ValidateMethod(c.In("federation"), cfg, about, "")
	ValidateCoding(c, cfg, s.Coding, s.Privacy != nil && s.Privacy.Noisy(), s.Network.HubSize, f.learns(), about)
	ValidateAsked(c, asked, s.Clients, about)
	f.checkProblem(c)
	if traits.Weighs && f.learns() {
		c.Require(about.Weights == algorithms.Yes, "federation.protocol", cfg.Protocol,
			fmt.Sprintf("must be another: %s cannot give updates weights, which this protocol does", name))
	}
	if s.Privacy != nil {
		s.Privacy.Check(c, s.Shape.Given.Buffers > 0)
	}
	c.Require(!traits.Queues || !f.learns(), "federation.protocol_options.queue", true,
		"must be false in a run that learns: a method keeps one model for each client")
	if traits.Continuous {
		c.Require(s.Schedule.ThetaEvery == 0, "run.theta_every", s.Schedule.ThetaEvery,
			fmt.Sprintf("must be 0 under protocol %q: theta_t^h is defined for rounds", cfg.Protocol))
	}
	s.Check(c)
	ValidateHubs(c, s.Network.HubSize, about)
	work := f.work.plan()
	s.CheckLosses(c, &work)
	f.checkLateWeights(c)
	s.CheckEndless(c)
}

// ValidateAsked reports a method that needs a response of every device in a run that asks only some.
func ValidateAsked(c *config.Checker, asked, clients int, method *algorithms.Description) {
	c.Require(!method.Needs.AllClients || asked == clients, "federation.clients_per_round", asked,
		fmt.Sprintf("must be left out: %s needs a response of every device", method.Name))
}

// checkProblem finds a problem that the method cannot learn.
func (f *Federation) checkProblem(c *config.Checker) {
	about, s := &f.method.About, &f.setup
	loss, model := "", mtl.ModelLinear
	if s.Shape.Hidden != (mtl.Widths{}) {
		model = mtl.ModelMLP
	} else if s.Shape.Given.Values > 0 {
		model = mtl.ModelExternal
	}
	if p := s.Problem; p != nil {
		loss, model = p.Config.Loss, p.Config.Model
	}
	ValidateProblem(c, loss, model, about)
	if s.Problem != nil && model == mtl.ModelExternal {
		s.checkClientMetrics(c)
	}
	if given := &s.Shape.Given; given.Buffers > 0 {
		c.Require(about.Means, "problem.model", model, fmt.Sprintf(
			"must be one whose values all have a gradient, or the method one that averages models as they are "+
				"(fedavg, fedprox, scaffold with options.server_step = 1, ditto, hierfavg, gossip): %s does not, "+
				"and %d values are set by mini-batches", about.Name, given.Buffers))
	}
	if given := &s.Shape.Given; about.Learns.Mixtures && given.Values > 0 {
		c.Require(given.Predictions > 0, "problem.model", model, fmt.Sprintf("must be one whose program answers "+
			"hello with predictions, or the method another: %s needs the losses of single rows and their weights",
			about.Name))
		c.Require(s.Problem == nil || len(s.Problem.Metrics()) == 0, "problem.model", model, fmt.Sprintf("must be "+
			"one whose program declares no metrics, or the method another: they are those of one model, and a client "+
			"of %s has a mixture", about.Name))
	}
	if p := s.Problem; p != nil {
		ValidateTasks(c, &p.Config, p.Tasks() < p.Clients(), about)
		c.Require(!about.Needs.Smooth || p.Smooth(), "problem.loss", p.Config.Loss,
			fmt.Sprintf("must be one of %s: %s needs a smooth loss", strings.Join(mtl.SmoothLosses(), ", "),
				about.Name))
	} else if !f.learns() {
		c.Require(s.Config.ServerGFLOPS == 0 || about.Work.Server != nil && s.Coding == nil && s.Privacy == nil,
			"federation.server_gflops", s.Config.ServerGFLOPS, fmt.Sprintf("must be 0 in a run without learning: the "+
				"work of the server of %s, or that on coded or protected messages, is not known", about.Name))
	}
}

// ValidateMethod reports what in the table [federation] a method cannot live with. What depends on
// the data as well, [New] reports. own is the key of the method's own protocol; empty: there is none.
func ValidateMethod(c *config.Checker, f *federation.Config, method *algorithms.Description, own string) {
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

// ValidateProblem reports the loss and the model that a method with the given options cannot
// learn. What depends on the data as well, [New] reports.
func ValidateProblem(c *config.Checker, loss, model string, method *algorithms.Description) {
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

// ValidateTasks reports a problem without a reference optimum for a method that needs it, and couplings
// and shared tasks for one whose clients know nothing of each other.
func ValidateTasks(c *config.Checker, problem *mtl.Config, shared bool, method *algorithms.Description) {
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

// ValidateHubs reports a method whose hubs average by themselves where there are no hubs, and one whose server
// needs more than the sums of hubs.
func ValidateHubs(c *config.Checker, hubSize int, method *algorithms.Description) {
	c.Require(!method.Messages.Single || hubSize == 0, "network.hubs.size", hubSize,
		fmt.Sprintf("must be 0: the server of %s needs the response of each client, and hubs add them up", method.Name))
	c.Require(method.HubRounds == 0 || hubSize > 0, "network.hubs.size", hubSize,
		fmt.Sprintf("must be positive: hubs of %s average models", method.Name))
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
