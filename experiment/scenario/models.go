package scenario

import (
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/network"
)

// plugin describes a registered model of devices or links, a selector or a protocol.
type plugin struct {
	name, summary string
	options       func() config.Options
}

// pluginKind is a sort of plugin that a key of a table names: a model of devices or
// links, a selector or a protocol.
type pluginKind struct {
	table, key string // key names one, key_options holds its options; both in the table
	what       string
	optional   bool // the key may be empty: none
	// chosen returns the model of settings and where its options are.
	chosen func(*Settings) (name string, options *any)
	names  []string // of all models
	models []plugin // those with options
}

// options returns the key of the options, beside that of the name.
func (k *pluginKind) options() string { return k.key + "_options" }

// path returns where the options are.
func (k *pluginKind) path() string { return k.table + "." + k.options() }

// kindsOfModels lists the models, selectors and protocols that are linked in.
func kindsOfModels() []pluginKind {
	return []pluginKind{
		having(pluginKind{table: "devices", key: "model", what: "device model", optional: true,
			names:  devices.ModelNames(),
			chosen: func(s *Settings) (string, *any) { return s.Devices.Model, &s.Devices.Options },
		}, devices.LookupModel, func(f devices.ModelFactory) plugin { return plugin{f.Name, f.Summary, f.Options} }),
		having(pluginKind{table: "network", key: "model", what: "link model", optional: true,
			names:  network.ModelNames(),
			chosen: func(s *Settings) (string, *any) { return s.Network.Model, &s.Network.Options },
		}, network.LookupModel, func(f network.ModelFactory) plugin { return plugin{f.Name, f.Summary, f.Options} }),
		having(pluginKind{table: "federation", key: "selection", what: "selection", names: federation.SelectorNames(),
			chosen: func(s *Settings) (string, *any) { return s.Federation.Selection, &s.Federation.SelectionOptions },
		}, federation.LookupSelector,
			func(f federation.SelectorFactory) plugin { return plugin{f.Name, f.Summary, f.Options} }),
		having(pluginKind{table: "federation", key: "protocol", what: "protocol", names: federation.ProtocolNames(),
			chosen: func(s *Settings) (string, *any) { return s.Federation.InForce(), &s.Federation.ProtocolOptions },
		}, federation.LookupProtocol,
			func(f federation.ProtocolFactory) plugin { return plugin{f.Name, f.Summary, f.Options} }),
	}
}

// having returns the kind with its models that have options.
func having[F any](kind pluginKind, lookup func(name string) (F, bool), describe func(F) plugin) pluginKind {
	for _, name := range kind.names {
		f, _ := lookup(name)
		if m := describe(f); m.options != nil {
			kind.models = append(kind.models, m)
		}
	}
	return kind
}

// resolveModels decodes the options of models, selectors and protocols strictly over the
// defaults of each. The checks of the tables report names that are not registered.
func (s *Settings) resolveModels(tree *config.Node) config.Errors {
	var problems config.Errors
	for _, kind := range kindsOfModels() {
		name, into := kind.chosen(s)
		*into = kind.decode(name, tree, &problems)
		given := kind.given(tree)
		switch {
		case given == nil || *into != nil:
		case kind.optional && name == "":
			problems.Add(given.Key, fmt.Sprintf("%s has no effect without %s.%s", kind.path(), kind.table, kind.key))
		case !kind.linked(name): // the check of the table reports it
		case !kind.optional &&
			!(kind.key == "protocol" &&
				slices.ContainsFunc(s.protocols(), func(p string) bool { return kind.has(p) || !kind.linked(p) })):
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

// linked reports whether a model is in this program.
func (k *pluginKind) linked(name string) bool { return slices.Contains(k.names, name) }

// given returns the options in the tree of settings, or nil.
func (k *pluginKind) given(tree *config.Node) *config.Node {
	if table := tree.Child(k.table); table != nil {
		return table.Child(k.options())
	}
	return nil
}

// has reports whether the model of a name has options.
func (k *pluginKind) has(name string) bool {
	return slices.ContainsFunc(k.models, func(m plugin) bool { return m.name == name })
}

// decode returns the options of the model of a name, decoded from the tree of settings;
// nil if it has none.
func (k *pluginKind) decode(name string, tree *config.Node, problems *config.Errors) any {
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
func (s *Scenario) names(kind *pluginKind, model string) bool {
	names := func(s *Settings) bool {
		name, _ := kind.chosen(s)
		return name == model
	}
	return names(&s.Settings) || s.any(names)
}
