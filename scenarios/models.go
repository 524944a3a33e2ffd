package scenarios

import (
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/network"
)

// model describes a registered model of devices or links, a selector or a protocol.
type model struct {
	name, summary string
	options       func() config.Options
}

// kindOfModel is a sort of plugin that a key of a table names: a model of devices or
// links, a selector or a protocol.
type kindOfModel struct {
	table, key, options string // key names one, options holds its options; both in the table
	what                string
	optional            bool // the key may be empty: none
	models              []model
}

// path returns where the options are.
func (k *kindOfModel) path() string { return k.table + "." + k.options }

// kindsOfModels lists the models, selectors and protocols that are linked in. Those without
// options are left out.
func kindsOfModels() []kindOfModel {
	machines := kindOfModel{table: "devices", key: "model", options: "options", what: "device model", optional: true}
	for _, name := range devices.ModelNames() {
		f, _ := devices.LookupModel(name)
		machines.models = append(machines.models, model{name, f.Summary, f.Options})
	}
	links := kindOfModel{table: "network", key: "model", options: "options", what: "link model", optional: true}
	for _, name := range network.ModelNames() {
		f, _ := network.LookupModel(name)
		links.models = append(links.models, model{name, f.Summary, f.Options})
	}
	selectors := kindOfModel{table: "federation", key: "selection", options: "selection_options", what: "selection"}
	for _, name := range federation.SelectorNames() {
		if f, _ := federation.LookupSelector(name); f.Options != nil {
			selectors.models = append(selectors.models, model{name, f.Summary, f.Options})
		}
	}
	protocols := kindOfModel{table: "federation", key: "protocol", options: "protocol_options", what: "protocol"}
	for _, name := range federation.ProtocolNames() {
		if f, _ := federation.LookupProtocol(name); f.Options != nil {
			protocols.models = append(protocols.models, model{name, f.Summary, f.Options})
		}
	}
	return []kindOfModel{machines, links, selectors, protocols}
}

// chosen returns the model of a kind and where in the settings its options are.
func (s *Settings) chosen(kind *kindOfModel) (name string, options *any) {
	switch kind.options {
	case "options":
		if kind.table == "devices" {
			return s.Devices.Model, &s.Devices.Options
		}
		return s.Network.Model, &s.Network.Options
	case "protocol_options":
		return s.Federation.Protocol, &s.Federation.ProtocolOptions
	default:
		return s.Federation.Selection, &s.Federation.SelectionOptions
	}
}

// resolveModels decodes the options of models, selectors and protocols strictly over the
// defaults of each. The checks of the tables report names that are not registered.
func (s *Settings) resolveModels(tree *config.Node) config.Errors {
	var problems config.Errors
	for _, kind := range kindsOfModels() {
		name, into := s.chosen(&kind)
		*into = kind.decode(name, tree, &problems)
		given := kind.given(tree)
		switch {
		case given == nil || *into != nil:
		case kind.optional && name == "":
			problems.Add(given.Key, fmt.Sprintf("%s has no effect without %s.%s", kind.path(), kind.table, kind.key))
		case !kind.linked(name): // the check of the table reports it
		case !kind.optional && !(kind.key == "protocol" && slices.ContainsFunc(s.protocols(), func(p string) bool { return kind.has(p) || !kind.linked(p) })):
			problems.Add(given.Key, fmt.Sprintf("%s has no effect: %s %q has no options", kind.path(), kind.what, name))
		}
	}
	return problems
}

// resolveProtocol sets the protocol of a method and decodes its options.
func (s *Settings) resolveProtocol(protocol string, tree *config.Node) config.Errors {
	var problems config.Errors
	s.Federation.Protocol = protocol
	for _, kind := range kindsOfModels() {
		if kind.key == "protocol" {
			s.Federation.ProtocolOptions = kind.decode(protocol, tree, &problems)
		}
	}
	return problems
}

// linked reports whether a selector or protocol is in this program; true for models.
func (k *kindOfModel) linked(name string) bool {
	ok := true
	switch k.key {
	case "protocol":
		_, ok = federation.LookupProtocol(name)
	case "selection":
		_, ok = federation.LookupSelector(name)
	}
	return ok
}

// given returns the options in the tree of settings, or nil.
func (k *kindOfModel) given(tree *config.Node) *config.Node {
	if table := tree.Child(k.table); table != nil {
		return table.Child(k.options)
	}
	return nil
}

// has reports whether the model of a name has options.
func (k *kindOfModel) has(name string) bool {
	return slices.ContainsFunc(k.models, func(m model) bool { return m.name == name })
}

// decode returns the options of the model of a name, decoded from the tree of settings;
// nil if it has none.
func (k *kindOfModel) decode(name string, tree *config.Node, problems *config.Errors) any {
	for _, m := range k.models {
		if m.name != name {
			continue
		}
		options := m.options()
		if given := k.given(tree); given != nil {
			problems.Merge(config.Decode(given, k.path(), options))
		}
		return options
	}
	return nil
}

// names reports whether a model is in use: in the base settings or at a point of an
// experiment.
func (s *Scenario) names(kind *kindOfModel, model string) bool {
	if name, _ := s.Settings.chosen(kind); name == model {
		return true
	}
	for i := range s.Experiments {
		for k := range s.Experiments[i].Jobs {
			if name, _ := s.Experiments[i].Jobs[k].Candidates[0].Settings.chosen(kind); name == model {
				return true
			}
		}
	}
	return false
}
