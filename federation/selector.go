package federation

import (
	"fmt"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/tools/registry"
)

// Selector chooses the clients that the server asks in a round. The server calls it
// once a round, before it asks clients, if the scenario asks fewer clients than there are.
type Selector interface {
	// Select returns s.Size different clients out of those available, in any order; fewer,
	// but at least one, if the factory declares Fewer.
	// The server reads the slice before the next call. What Select returns depends on
	// s and on earlier calls alone: not on the machine's clock or a global generator.
	Select(s *Selection) []int32
}

// SelectorFactory describes a selector and builds it for runs.
type SelectorFactory struct {
	Name      string                // as federation.selection names it: lower case, words joined by hyphens
	Summary   string                // one line for listings
	Reference string                // the source of the rule; empty: none
	Options   func() config.Options // a new struct holding the defaults of federation.selection_options; nil: none
	// History is true when the selector calls Selection.History. The server records
	// nothing otherwise.
	History bool
	// Losses is true when the selector calls Selection.Losses or reads History.Loss. It
	// is then refused in a run without learning.
	Losses bool
	// SampledLosses is true when the selector calls Selection.SampledLosses, and RowLosses when it
	// reads History.RMS. It is then refused in a run without learning, and with a learner, which
	// reports mean losses alone. An external model has the second if its program says so.
	SampledLosses, RowLosses bool
	// Estimates is true when the selector calls Selection.Estimates.
	Estimates bool
	// Batteries is true when the selector calls Selection.Battery or Selection.Charging. When a
	// round opens, the server then requests a report of every available client. Request and
	// report have ReportBytes each, which count with their energy; the round's messages leave
	// when the last report has arrived.
	Batteries   bool
	ReportBytes float64
	// Fewer is true when Select may return fewer than s.Size clients.
	Fewer bool
	// Unlisted is true when the selector needs no list of the clients that are available: it draws
	// numbers below Selection.Clients, and calls Selection.Askable for each. Selection.Size is then
	// as many as the server asks, and Select may return none.
	Unlisted bool
	// Declare adapts the fields above to the options; nil: they do not depend on them.
	Declare func(config.Options, *SelectorFactory)
	// New builds the selector for one run. The options are what Options returned,
	// decoded and valid; nil without Options.
	New func(SelectorSetup, config.Options) (Selector, error)
}

// SelectorSetup is the input for building a selector.
type SelectorSetup struct {
	Clients    int // clients of the run, numbered from 0
	Size       int // clients that the server asks in a round
	Candidates int // that its options say, if they have CandidateOptions
	// Deadline is the length of a round that federation.deadline_s sets; 0: none.
	Deadline engine.Time
	Features []clients.Feature // of the system
}

// CandidateOptions are an option of selectors that first draw candidates, to be embedded.
type CandidateOptions struct {
	// number of candidates drawn; at least clients_per_round; required
	Candidates int `toml:"candidates" absent:"0: an error"`
}

// Validate reports everything wrong with the option.
func (o *CandidateOptions) Validate(c *config.Checker) {
	c.Require(o.Candidates >= 1, "candidates", o.Candidates,
		"must be positive: the selection draws so many clients first")
}

func (o *CandidateOptions) drawn() int { return o.Candidates }

// candidates returns how many candidates the options of a selector ask for; 0: it has none.
func candidates(o config.Options) int {
	if with, ok := o.(interface{ drawn() int }); ok {
		return with.drawn()
	}
	return 0
}

var selectors = registry.New[SelectorFactory]("federation", "selector")

// RegisterSelector registers a selector under its name. Init functions call it. It panics
// when the factory is incomplete or the name is taken.
func RegisterSelector(f SelectorFactory) {
	selectors.Add(f.Name, f, f.New != nil, "a name and a constructor")
}

// LookupSelector returns the selector registered under a name.
func LookupSelector(name string) (SelectorFactory, bool) { return selectors.Lookup(name) }

// SelectorNames returns the names of the registered selectors in alphabetical order.
func SelectorNames() []string { return selectors.Names() }

// newSelector builds the selector of a run that asks size of its clients in a round;
// nil when it asks all of them.
func (s *Setup) newSelector(size int) (Selector, error) {
	if size == s.Clients {
		return nil, nil
	}
	factory, options, ok := s.Config.selector()
	if !ok {
		return nil, fmt.Errorf("selector %q is not registered", s.Config.Selection)
	}
	selector, err := factory.New(SelectorSetup{
		Clients: s.Clients, Size: size, Candidates: candidates(options),
		Deadline: engine.FromSeconds(s.Config.DeadlineS), Features: s.Features,
	}, options)
	if err != nil {
		return nil, fmt.Errorf("starting selector %s: %w", factory.Name, err)
	}
	return selector, nil
}

// selector returns the selector in force, with its declarations under its options.
func (cfg *Config) selector() (factory SelectorFactory, options config.Options, ok bool) {
	if factory, ok = LookupSelector(cfg.Selection); !ok || factory.Options == nil {
		return factory, nil, ok
	}
	if options, _ = cfg.SelectionOptions.(config.Options); options == nil {
		options = factory.Options()
	}
	if factory.Declare != nil {
		factory.Declare(options, &factory)
	}
	return factory, options, true
}

// validateSelection reports the problems of the keys of the selector.
func (cfg *Config) validateSelection(c *config.Checker) {
	c.OneOf("selection", cfg.Selection, SelectorNames()...)
	if o, decoded := cfg.SelectionOptions.(config.Options); decoded {
		o.Validate(c.In("selection_options"))
	}
}
