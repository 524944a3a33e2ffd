package federation

import (
	"fmt"
	"slices"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/internal/tools/parallel"
)

// Setup describes a server and the system that it runs on. Every table must have passed its
// Validate.
type Setup struct {
	clients.System

	Config  Config
	Journal Journal        // nil: none
	Pool    *parallel.Pool // the workers of selections and preparations; nil: one
}

// Check reports settings that exclude each other, or do not go with the number of clients. The
// keys are those of a scenario.
func (s *Setup) Check(c *config.Checker) {
	cfg, traits := &s.Config, s.Config.Traits()
	if traits.Continuous {
		c.Require(cfg.Cost != Authors, "federation.cost", cfg.Cost,
			"must be \"physical\" or \"relative\": the authors' drivers have rounds")
	}
	if s.Network.HubSize > 0 {
		c.Require(!traits.Continuous, "federation.protocol", cfg.Protocol,
			"must be another with network.hubs.size: a hub gathers the answers of a round")
		c.Require(!traits.Late, "federation.late", cfg.Late,
			"must be \"drop\" with network.hubs.size: a hub gathers the answers of one round")
		c.Require(cfg.AnswerTimeoutS == 0, "federation.protocol_options.answer_timeout_s", cfg.AnswerTimeoutS,
			"must be left out with network.hubs.size: hubs wait for the responses of their clients")
	}
	c.Require(!traits.Asks || s.Network.HubSize == 0, "network.hubs.size", s.Network.HubSize,
		fmt.Sprintf("must be 0 under protocol %q, which asks clients within a round", cfg.Protocol))
	_, options, _ := cfg.selector()
	if _, asked := cfg.Sizes(s.Clients); candidates(options) > 0 {
		n := candidates(options)
		c.Require(n >= asked && n <= s.Clients, "federation.selection_options.candidates", n,
			fmt.Sprintf("must be from %d, the clients that a round asks, to %d, all clients", asked, s.Clients))
	}
}

// CheckLosses reports a selector that needs losses which the clients of a driver do not report.
func (s *Setup) CheckLosses(c *config.Checker, work *Workload) {
	factory, _, ok := s.Config.selector()
	if !ok {
		return
	}
	selection := s.Config.Selection
	reported := !factory.Losses || work.NoLosses == ""
	c.Require(reported, "federation.selection", selection, work.NoLosses)
	if reported {
		why := work.NoRowLosses
		if why == "" && factory.RowLosses {
			why = work.NoSquaredLosses
		}
		c.Require(why == "" || !factory.RowLosses && !factory.SampledLosses, "federation.selection", selection, why)
	}
}

// CheckEndless reports clients that never respond, for which the protocol would wait without
// end.
func (s *Setup) CheckEndless(c *config.Checker) {
	s.Config.ValidateFaults(c, &s.Faults, &s.Network)
	if never := s.Faults.Never; s.Config.Traits().WaitsForAll && len(never) > 0 {
		c.Require(false, "faults.never", slices.Min(never), "must be empty"+endless(s.Config.Protocol))
	}
}

// CheckSizes reports settings that exceed the number of clients.
func (s *Setup) CheckSizes() error {
	n := s.Clients
	if n > clients.MaxClients-s.Network.Hubs(max(0, n)) {
		return config.Problem{Key: "data.synthetic.clients", Value: n,
			Want: fmt.Sprintf("must be at most %d in all: the engine numbers devices and hubs in 30 bits",
				clients.MaxClients)}
	}
	if s.Config.Clients.Count > n {
		return config.Problem{Key: "federation.clients_per_round", Value: s.Config.Clients.Count,
			Want: fmt.Sprintf("must be at most %d, the number of devices", n)}
	}
	if s.Config.MinAvailable > n {
		return config.Problem{Key: "federation.min_available", Value: s.Config.MinAvailable,
			Want: fmt.Sprintf("must be at most %d, the number of devices", n)}
	}
	return nil
}
