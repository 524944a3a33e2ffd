package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/mtl"
)

// Method is a table [methods.<label>] of a scenario: an algorithm with its options.
type Method struct {
	// registered name of the algorithm
	Algorithm string `toml:"algorithm" absent:"\"\": the label"`
	// name shown in figures
	Label string `toml:"label" absent:"\"\": the table's label"`
	// round protocol of this method
	Protocol string `toml:"protocol" absent:"\"\": that of [federation], or else the method's own"`
	// settings of this method's runs, over those of the file, of the experiment and of its axes,
	// such as { "problem.regularizer" = "independent" }; keys are dotted keys in quotes, or nested
	// tables
	//
	// Set are the settings of the method's runs; see methodSet.
	Set methodSet `toml:"set,omitempty"`
	// the options of the algorithm
	//
	// Options is a pointer to the options struct of the algorithm.
	Options any `toml:"options"`

	// of algorithm "external"
	ProgramConfig `toml:"program,omitzero"`
}

// ProgramConfig is the table [methods.<label>.program].
type ProgramConfig struct {
	// the program of the learner and its arguments
	// (docs/protocols.md#learner). Files beside the scenario are found there (not for a command from
	// --set); a program without a folder is also searched in PATH
	Command []string `toml:"command,omitempty"`
	// longest time for an answer of the learner, in seconds of real time
	TimeoutS float64 `toml:"timeout_s" absent:"0: no limit"`
	// number of processes for all runs of the method; a process then serves
	// several runs at once.
	Processes int `toml:"processes" absent:"0: one for each run under way"`
}

// HintTOML returns the option of the algorithm that a name in the method's table is, or is
// nearest to.
func (m *Method) HintTOML(n *config.Node, key, name string) string {
	algorithm := key[strings.LastIndex(key, ".")+1:]
	if given := n.Child("algorithm"); given != nil {
		algorithm, _ = given.Value().(string)
	}
	factory, ok := lookup(algorithm)
	if !ok {
		return ""
	}
	var names []string
	for _, f := range config.Fields(factory.Options()) {
		names = append(names, f.Key)
	}
	options := len(names)
	for _, f := range methodFields() {
		names = append(names, f.Key)
	}
	near := config.Nearest(name, names)
	if i := slices.Index(names, near); near == "" || i >= options {
		return ""
	}
	return "options." + near
}

type methodSet []config.Assignment

// TypeTOML returns the type.
func (m *methodSet) TypeTOML() string { return "table" }

// DecodeTOML takes a table of settings, except those of methods and of all runs alike.
func (m *methodSet) DecodeTOML(n *config.Node, key string) config.Errors {
	var problems config.Errors
	*m = assignmentsOf(n, &problems)
	for _, a := range *m {
		if !ownSetting(a.Path) {
			problems.Add(a.Value.Key, fmt.Sprintf("%s: %s must be the same for all methods", key, a.Path))
		}
	}
	return problems
}

// MarshalTOML returns the table on one line.
func (m methodSet) MarshalTOML() ([]byte, error) { return config.InlineTable(m).MarshalTOML() }

// ownSetting reports whether a key may differ from method to method.
func ownSetting(key config.Path) bool {
	return key[0] != "methods" && !key.Equal(config.Path{"run", "seeds"}) && !key.Equal(config.Path{"run", "vary"}) &&
		!key.Equal(config.Path{"run", "mode"})
}

// resolve sets the default names, and decodes the options strictly over the defaults of
// the algorithm. The node is the table of the method in the tree of settings.
func (m *Method) resolve(label string, node, tree *config.Node) config.Errors {
	var problems config.Errors
	key := "methods." + config.Path{label}.String()
	if !config.IsName(label) {
		problems.Add(node.Key, key+": a method's label "+config.NameRule)
	}
	if m.Algorithm == "" {
		m.Algorithm = label
	}
	if m.Label == "" {
		m.Label = label
	}
	factory, ok := lookup(m.Algorithm)
	if !ok {
		c := config.NewChecker()
		c.In(key).OneOf("algorithm", m.Algorithm, algorithms.Names()...)
		problems.AddFound(tree, c)
		m.Options = nil
		return problems
	}
	options := factory.Options()
	if given := node.Child("options"); given != nil {
		problems.Merge(config.Decode(given, key+".options", options))
	}
	if learner, ok := options.(algorithms.Outside); ok {
		learner.SetProgram(m.Command, m.TimeoutS, m.Processes)
	}
	m.Options = options
	return problems
}

// validate reports everything wrong with the options and keys of the method.
func (m *Method) validate(c *config.Checker) {
	m.options().Validate(c.In("options"))
	if learner, ok := m.options().(algorithms.Outside); ok {
		learner.ValidateProgram(c.In("program"))
		return
	}
	c.Require(m.Command == nil && m.TimeoutS == 0 && m.Processes == 0, "program", nil,
		"must be left out: only algorithm \"external\" has a program to start")
}

// declares reports whether one of some methods may declare metrics. The node is
// the table of methods.
func declares(methods *config.Node, labels []string) bool {
	return slices.ContainsFunc(labels, func(label string) bool {
		name := label
		if given := methods.Child(label).Child("algorithm"); given != nil {
			name, _ = given.Value().(string)
		}
		factory, ok := lookup(name)
		if !ok {
			return false
		}
		o := factory.Options()
		if given := methods.Child(label).Child("options"); given != nil && len(config.Decode(given, "", o)) > 0 {
			return false // the method reports the error
		}
		about := factory.Describe(o, mtl.Shape{})
		return about.Own || len(about.Metrics) > 0
	})
}

// describe returns the description of the method before its runs; nothing of an algorithm that is
// not registered.
func (m *Method) describe() (d algorithms.Description) {
	if factory, ok := lookup(m.Algorithm); ok {
		d = factory.Describe(m.options(), mtl.Shape{})
	}
	return d
}

// protocol returns the round protocol of the method: its own, that of [federation], or that for which the
// method is made.
func (m *Method) protocol(f *federation.Config) string {
	return cmp.Or(m.Protocol, f.Protocol, m.describe().Protocol, federation.WaitForAll)
}

func (m *Method) options() algorithms.Options { return m.Options.(algorithms.Options) }

// checkProtocol reports an unknown protocol of the method. Each run checks its settings
// under its protocol.
func (m Method) checkProtocol(f federation.Config, c *config.Checker) {
	if m.Protocol == "" {
		return
	}
	scratch := config.NewChecker()
	f.Protocol = m.Protocol
	f.Validate(scratch)
	for _, p := range scratch.Problems() {
		if p.Key == "protocol" {
			c.Require(false, p.Key, m.Protocol, p.Want)
		}
	}
}
