package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
	kinds := kindsOfModels()
	for _, kind := range kinds[:len(kinds)-1] {
		name, into := kind.chosen(s)
		given := kind.given(tree)
		*into = kind.decode(name, given, &problems)
		switch {
		case given == nil || *into != nil:
		case kind.optional && name == "":
			problems.Add(given.Key, fmt.Sprintf("%s has no effect without %s.%s", kind.path(), kind.table, kind.key))
		case !kind.linked(name): // the check of the table reports it
		case !kind.optional:
			for _, key := range given.Keys() {
				problems.AddKey(given.Child(key).Key, kind.path()+"."+key,
					fmt.Sprintf(" has no effect: %s %q has no options", kind.what, name))
			}
		}
	}
	problems.Merge(s.resolveProtocol(s.protocols(), tree))
	return problems
}

// resolveProtocol decodes the options of the protocol in force. Their table has those of all protocols that the
// methods have.
func (s *Settings) resolveProtocol(all []string, tree *config.Node) config.Errors {
	var problems config.Errors
	kinds := kindsOfModels()
	kind, name := kinds[len(kinds)-1], s.Federation.InForce()
	s.Federation.SetOptions(kind.decode(name, kind.own(name, all, kind.given(tree), &problems), &problems))
	return problems
}

// protocolOptions returns the table [federation.protocol_options] with every default written out: the options of
// all protocols that the methods have.
func (s *Settings) protocolOptions(tree *config.Node) any {
	kinds := kindsOfModels()
	kind, all := kinds[len(kinds)-1], s.protocols()
	var some []any
	merged := map[string]any{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(all, s.Federation.InForce())))) {
		var reported config.Errors // before
		options := kind.decode(name, kind.own(name, all, kind.given(tree), &reported), &reported)
		if options == nil {
			continue
		}
		text, err := config.Encode(options)
		if err != nil {
			panic("scenario: " + err.Error())
		}
		table, _ := config.Parse("", text)
		some = append(some, options)
		maps.Copy(merged, table.Value().(map[string]any))
	}
	switch len(some) {
	case 0:
		return nil
	case 1:
		return some[0]
	default:
		return merged
	}
}

// own returns the given options without those that other protocols alone take, which are in force or have their
// default. It reports the others.
func (k *pluginKind) own(name string, all []string, given *config.Node, problems *config.Errors) *config.Node {
	if given == nil || !given.IsTable() {
		return given
	}
	own := given.Clone()
	known := true
	for _, p := range all {
		known = known && k.linked(p) // the check of the table reports others
	}
	for _, key := range given.Keys() {
		var users []string
		used, standard := false, false
		for _, m := range k.models {
			o := m.options()
			i := slices.IndexFunc(config.Fields(o), func(f config.Field) bool { return f.Key == key })
			if i < 0 {
				continue
			}
			users = append(users, m.name)
			used = used || slices.Contains(all, m.name)
			alone, before := config.NewTable(given.Place), config.Fields(o)[i].Default
			_ = alone.Set(config.Path{key}, given.Child(key))
			standard = len(config.Decode(alone, k.path(), o)) == 0 && config.Fields(o)[i].Default == before
		}
		switch at := given.Child(key); {
		case slices.Contains(users, name):
		case used || standard || !known:
			own.Delete(key)
		case len(users) > 0:
			own.Delete(key)
			problems.AddProblem(at.Place, config.Problem{Key: k.path() + "." + key, Value: at.Value(),
				Want: "must be left out: no method has protocol " + either(users)})
		case !slices.ContainsFunc(all, k.has):
			problems.AddKey(at.Key, k.path()+"."+key,
				fmt.Sprintf(" has no effect: protocol %q has no options", name))
		}
	}
	return own
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

// decode returns the options of the model of a name, decoded from those given, which may be nil;
// nil if it has none.
func (k *pluginKind) decode(name string, given *config.Node, problems *config.Errors) any {
	for _, m := range k.models {
		if m.name != name {
			continue
		}
		options := m.options()
		if given != nil {
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

// either joins names: "a", "a or b", "a, b or c".
func either(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
