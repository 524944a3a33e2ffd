package learning

import (
	"fmt"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/internal/rooms/fit"
	"fedsim/mtl"
)

// check finds settings that the method, the problem or the faults cannot live with, of a server
// that asks so many clients in a round.
func (f *Federation) check(c *config.Checker, asked int) {
	about, s := &f.method.About, &f.setup
	name, cfg, traits := about.Name, &s.Config, s.Config.Traits()
	fit.Method(c.In("federation"), cfg, about, "")
	fit.Coding(c, cfg, s.Coding, s.Privacy != nil && s.Privacy.Noisy(), s.Network.HubSize, f.learns(), about)
	fit.Asked(c, asked, s.Clients, about)
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
	fit.Hubs(c, s.Network.HubSize, about)
	work := f.work.plan()
	s.CheckLosses(c, &work)
	f.checkLateWeights(c)
	s.CheckEndless(c)
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
	fit.Problem(c, loss, model, about)
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
		fit.Tasks(c, &p.Config, p.Tasks() < p.Clients(), about)
		c.Require(!about.Needs.Smooth || p.Smooth(), "problem.loss", p.Config.Loss,
			fmt.Sprintf("must be one of %s: %s needs a smooth loss", strings.Join(mtl.SmoothLosses(), ", "),
				about.Name))
	} else if !f.learns() {
		c.Require(s.Config.ServerGFLOPS == 0 || about.Work.Server != nil && s.Coding == nil && s.Privacy == nil,
			"federation.server_gflops", s.Config.ServerGFLOPS, fmt.Sprintf("must be 0 in a run without learning: the "+
				"work of the server of %s, or that on coded or protected messages, is not known", about.Name))
	}
}
