package federation

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/registry"
)

// Selector chooses the clients that the server asks in a round. The server calls it
// once a round, before it asks clients, if the scenario asks fewer clients than there are.
type Selector interface {
	// Select returns s.Size different clients out of those available, in any order.
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
	// Candidates is true when the selector uses federation.candidates. The key must then
	// be set, and must not be set with other selectors.
	Candidates bool
	// History is true when the selector calls Selection.History. The server records
	// nothing otherwise.
	History bool
	// Losses is true when the selector calls Selection.Losses or reads History.Loss. It
	// is then refused in a run without learning.
	Losses bool
	// New builds the selector for one run. The options are what Options returned,
	// decoded and valid; nil without Options.
	New func(SelectorSetup, config.Options) (Selector, error)
}

// SelectorSetup is the input for building a selector.
type SelectorSetup struct {
	Clients    int // clients of the run, numbered from 0
	Size       int // clients that the server asks in a round
	Candidates int // federation.candidates
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
	if size == s.Size.Devices {
		return nil, nil
	}
	factory, ok := LookupSelector(s.Config.Selection)
	if !ok {
		return nil, fmt.Errorf("selector %q is not registered", s.Config.Selection)
	}
	options, _ := s.Config.SelectionOptions.(config.Options)
	if options == nil && factory.Options != nil {
		options = factory.Options()
	}
	selector, err := factory.New(SelectorSetup{Clients: s.Size.Devices, Size: size, Candidates: s.Config.Candidates}, options)
	if err != nil {
		return nil, fmt.Errorf("starting selector %s: %w", factory.Name, err)
	}
	return selector, nil
}

// checkSelection reports settings that the selector cannot work with in this run.
func (f *Federation) checkSelection(c *config.Checker) {
	cfg := &f.setup.Config
	factory, ok := LookupSelector(cfg.Selection)
	if !ok {
		return
	}
	if asked, n := f.selection.asked, f.setup.Size.Devices; factory.Candidates {
		c.Require(cfg.Candidates >= asked && cfg.Candidates <= n, "federation.candidates", cfg.Candidates,
			fmt.Sprintf("must be from %d, the clients that a round asks, to %d, all clients", asked, n))
	}
	_, reports := algorithms.As[algorithms.LossReporter](f.method)
	want := "must be another in a run without learning, which has no losses"
	if f.setup.Factory.OwnMetrics {
		want = fmt.Sprintf("must be another: %s cannot report the losses of clients", f.methodName())
	}
	c.Require(!factory.Losses || reports || f.setup.Problem != nil && !f.setup.Factory.OwnMetrics, "federation.selection", cfg.Selection, want)
}

// validateSelection reports the problems of the keys of the selector.
func (f *Config) validateSelection(c *config.Checker) {
	c.OneOf("selection", f.Selection, SelectorNames()...)
	c.Require(f.Candidates >= 0, "candidates", f.Candidates, "must not be negative")
	if factory, ok := LookupSelector(f.Selection); ok && f.Candidates >= 0 {
		c.Require(f.Candidates > 0 || !factory.Candidates, "candidates", f.Candidates, fmt.Sprintf("must be positive: selection %q draws so many clients first", f.Selection))
		c.Require(f.Candidates == 0 || factory.Candidates, "candidates", f.Candidates, fmt.Sprintf("must be left out: selection %q draws no candidates", f.Selection))
	}
	if o, decoded := f.SelectionOptions.(config.Options); decoded {
		o.Validate(c.In("selection_options"))
	}
}

// expectedResponse returns how long client t usually takes from the server's message
// to its response, with one pass over its rows.
func (f *Federation) expectedResponse(t int) engine.Time {
	down, up := f.usualBytes(t)
	return f.clients.ExpectedResponse(t, down, float64(f.setup.Size.Rows[t])*f.method.StepFLOPs(), up)
}
