package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/federation"
	"fedsim/internal/rooms"
	"fedsim/internal/rooms/traces"
	"fedsim/mtl"
	"fedsim/network"
	"fedsim/results"
)

type (
	// TracesConfig is the table [traces].
	TracesConfig = traces.Config
	// AvailabilityConfig generates when devices are available.
	AvailabilityConfig = traces.AvailabilityConfig
	// FadingConfig generates the rates of links over time.
	FadingConfig = traces.FadingConfig
)

// Settings has everything that determines a run except its seed: a table of each package.
type Settings struct {
	// the federated data set
	Data data.Config `toml:"data"`
	// the learning problem
	Problem mtl.Config `toml:"problem"`
	// the devices
	Devices devices.Config `toml:"devices"`
	// the links between server and devices
	Network network.Config `toml:"network"`
	// times that FLOPs and bytes do not explain, as a calibration measures them: of local work, and of the
	// software that carries messages
	Overhead OverheadConfig `toml:"overhead"`
	// devices of several classes. The fleet then sets devices and links; the other keys of
	// [devices] and [network] hold for all classes
	Fleet fleets.Config `toml:"fleet"`
	// which devices drop out, and when
	Faults devices.Faults `toml:"faults"`
	// availability, charging, rates and speed of devices over time, recorded or generated
	Traces TracesConfig  `toml:"traces"`
	Rooms  config.Extras `toml:"-"` // their tables
	// the server: protocol, selection and costs
	Federation federation.Config `toml:"federation"`
	// programs that drive fedsim engine
	Engine EngineConfig `toml:"engine"`
	// length and measurements of a run
	Run RunConfig `toml:"run"`
	// the methods to run, each under a label of letters, digits, -, _ and .
	Methods map[string]Method `toml:"methods"`
}

// defaultSettings returns the settings with every default filled in and no methods.
func defaultSettings() Settings {
	return Settings{
		Data:       data.Defaults(),
		Problem:    defaultProblem(),
		Devices:    devices.Defaults(),
		Network:    network.Defaults(),
		Overhead:   defaultOverhead(),
		Fleet:      fleets.Defaults(),
		Faults:     devices.DefaultFaults(),
		Traces:     traces.Default(),
		Rooms:      rooms.Extras(""),
		Federation: federation.Defaults(),
		Engine:     defaultEngine(),
		Run:        defaultRun(),
	}
}

// Heated reports whether devices warm up as they compute.
func (s *Settings) Heated() bool {
	return s.Devices.KPerW > 0 ||
		s.Fleet.Loaded != nil && slices.ContainsFunc(s.Fleet.Loaded.Heat(s.Devices.HeatConfig),
			func(h devices.HeatConfig) bool { return h.KPerW > 0 })
}

// defaultProblem leaves the loss to the methods and the data; see resolveLoss.
func defaultProblem() mtl.Config {
	problem := mtl.Defaults()
	problem.Loss = ""
	return problem
}

// resolveLoss sets a loss that is left out to the hinge loss if a method minimizes P, since the methods of an
// experiment are compared on one problem. Otherwise, and with real targets, it follows from the data.
func (s *Settings) resolveLoss(methods []string) {
	if s.Problem.Loss != "" || s.Problem.Model != mtl.ModelLinear || s.Data.Target == data.TargetReal {
		return
	}
	for _, label := range methods {
		method := s.Methods[label]
		if _, known := lookup(method.Algorithm); known && method.describe().MinimizesP {
			s.Problem.Loss = mtl.LossHinge
		}
	}
}

// decodeSettings decodes a tree of settings strictly, the options of each method
// and model into the struct that it has for them.
func decodeSettings(tree *config.Node) (Settings, config.Errors) {
	settings := defaultSettings()
	problems := config.Decode(tree, "", &settings)
	settings.Overhead.apply(&settings.Devices, &settings.Network)
	settings.Engine.apply(&settings.Federation)
	problems.Merge(settings.resolve(tree))
	return settings, problems
}

// resolve sets defaults and decodes options of settings from the tree.
func (s *Settings) resolve(tree *config.Node) config.Errors {
	problems := s.resolveMethods(tree)
	problems.Merge(s.resolveModels(tree))
	s.stopAtTarget()
	return problems
}

// resolveMethods sets defaults and decodes options of the methods.
func (s *Settings) resolveMethods(tree *config.Node) config.Errors {
	var problems config.Errors
	for _, label := range s.labels() {
		method := s.Methods[label]
		problems.Merge(method.resolve(label, tree.Child("methods").Child(label), tree))
		s.Methods[label] = method
	}
	c := config.NewChecker()
	for _, label := range s.labels() {
		s.Methods[label].checkProtocol(s.Federation, c.In("methods").In(label))
	}
	problems.AddFound(tree, c)
	return problems
}

// validate checks every table of settings that were decoded from the tree.
func (s *Settings) validate(tree *config.Node) config.Errors {
	c := config.NewChecker()
	if s.Run.Mode == Timing {
		s.Data.ValidateSizes(c.In("data"))
	} else {
		s.Data.Validate(c.In("data"))
	}
	s.Problem.Validate(c.In("problem"))
	s.Devices.Validate(c.In("devices"))
	s.Network.Validate(c.In("network"))
	s.Overhead.Validate(c.In("overhead"))
	s.Fleet.Validate(c.In("fleet"))
	s.Fleet.CheckOthers(c, &s.Devices, &s.Network)
	s.Faults.Validate(c.In("faults"))
	s.Traces.Validate(c.In("traces"))
	s.checkRooms(c)
	s.Federation.Validate(c.In("federation"))
	s.Engine.Validate(c.In("engine"))
	s.Run.Validate(c.In("run"))
	s.checkUse(c.In("federation"))
	s.checkTarget(c)
	c.Require(s.Problem.Model != mtl.ModelExternal || rooms.HavePrograms(), "problem.model", s.Problem.Model,
		"must be another: this program has no part that starts others")
	s.checkExternal(c)
	s.checkLazy(c)
	for _, label := range s.labels() {
		m := s.Methods[label]
		c.Require(s.Run.EvalClients == 0 || !m.describe().Own, "run.eval_clients", s.Run.EvalClients,
			fmt.Sprintf("must be 0: method %s evaluates its own model", label))
	}
	splits := s.Data.Skew > 0 ||
		s.Run.Mode == Learning && s.Data.Source != data.SourceExternal &&
			(s.Data.TestFraction > 0 || s.Data.Validation > 0 || s.Data.ClientsPerTask > 1)
	c.Require(s.Run.Vary != results.VarySplit || splits, "run.vary", s.Run.Vary,
		"must be \"system\" or \"all\": all splits are the same without test rows, validation rows, "+
			"skew and clients_per_task")
	c.Require(s.Data.Resident || !s.Problem.HasReference() && s.Problem.WarmOmega == 0, "data.resident",
		s.Data.Resident,
		"must be true unless problem.optimum.when is \"never\" and problem.regularizer_options.warm_start 0: the "+
			"central solver uses every row "+
			"too often to generate it again")
	s.Run.checkMetrics(s, declares(tree.Child("methods"), s.labels()), c.In("run"))
	s.Run.checkModel(s, c.In("run"))
	for _, label := range s.labels() {
		method := s.Methods[label]
		method.validate(c.In("methods").In(label))
	}
	var problems config.Errors
	problems.AddFound(tree, c)
	return problems
}

// checkPersonal reports keys under which clients share tasks, for a method with a model for
// each client.
func (s *Settings) checkPersonal(c *config.Checker, method *algorithms.Description) {
	otherwise := ": " + method.Name + " evaluates a model of each client, and clients that share a task have none"
	if !method.Learns.OwnTasks {
		otherwise = ", or options.evaluate \"global\"" + otherwise
	}
	c.Require(s.Data.ClientsPerTask <= 1, "clients_per_task", s.Data.ClientsPerTask, "must be 1"+otherwise)
	c.Require(!s.Data.Pool, "pool", s.Data.Pool, "must be false"+otherwise)
}

// protocols returns the round protocols that the methods run under, that of
// [federation] where there are no methods.
func (s *Settings) protocols() []string {
	var all []string
	for _, label := range s.labels() {
		m := s.Methods[label]
		all = append(all, m.protocol(&s.Federation))
	}
	if len(all) == 0 {
		all = []string{s.Federation.InForce()}
	}
	return all
}

// checkTarget reports a loss that does not accept the targets of the data.
func (s *Settings) checkTarget(c *config.Checker) {
	loss := s.Problem.Loss
	if s.Problem.Model == mtl.ModelExternal || s.Data.Target != data.TargetReal ||
		!slices.Contains(mtl.ScoreLosses(), loss) {
		return
	}
	c.Require(slices.Contains(mtl.RegressionLosses(), loss), "data.target", s.Data.Target,
		fmt.Sprintf("needs a problem.loss for real targets (%s): %q takes the labels -1 and +1",
			strings.Join(mtl.RegressionLosses(), ", "), loss))
}

// checkExternal reports methods that need rows, and costs that need their size, of data
// that a learner has.
func (s *Settings) checkExternal(c *config.Checker) {
	if s.Data.Source != data.SourceExternal {
		return
	}
	features, served := s.Data.External.Features > 0, s.Problem.Model == mtl.ModelExternal
	for _, label := range s.labels() {
		m := s.Methods[label]
		own := m.describe().Own
		c.Require(own || served || s.Run.Mode == Timing, "methods."+label+".algorithm", m.Algorithm,
			"must be \"external\", or run.mode \"timing\", or problem.model \"external\": "+
				"with data.source = \"external\" only learners and external models have rows to learn from")
		c.Require(features || own || served, "data.external.features", nil,
			fmt.Sprintf("must be given: the size of the messages of %s depends on it", m.Algorithm))
	}
	c.Require(features || s.Federation.Cost != federation.Relative, "data.external.features", nil,
		"must be given with federation.cost = \"relative\", which is relative to the work on a row")
}

// labels returns the labels of the methods in alphabetical order.
func (s *Settings) labels() []string {
	return slices.Sorted(maps.Keys(s.Methods))
}

// checkUse reports the keys of [federation] that have no use under any of the protocols in force.
func (s *Settings) checkUse(c *config.Checker) {
	cfg, inForce := &s.Federation, s.protocols()
	use := func(key string, value any, set bool) {
		var protocols []string
		used := false
		for _, name := range federation.ProtocolNames() {
			if factory, _ := federation.LookupProtocol(name); slices.Contains(factory.Keys, key) {
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
	use("selection", cfg.Selection, cfg.Selection != federation.Defaults().Selection)
	use("min_reports", cfg.MinReports, cfg.MinReports != 0)
	use("late", cfg.Late, cfg.Late != federation.Drop)
}
