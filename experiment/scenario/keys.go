package scenario

import (
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/results"
)

// Keys lists the keys that overrides of a scenario reach, in full: those of all
// settings, the options of its methods and models, and what its experiments
// have by name. Without a scenario (nil) there are no experiments,
// every algorithm is a method under its own name, and every model is in use. Defaults
// are the schema's.
func Keys(s *Scenario) []config.Field {
	var keys []config.Field
	add := func(prefix string, fields []config.Field) {
		for _, f := range fields {
			if f.Type == "table" || f.Type == "value" {
				continue // it is its keys that are set
			}
			f.Key = prefix + f.Key
			keys = append(keys, f)
		}
	}
	for _, f := range config.Fields(&document{Settings: defaultSettings()}) {
		table, _, within := strings.Cut(f.Key, ".")
		settings := within && table != "methods" && !strings.HasPrefix(table, "experiment")
		if settings || f.Key == "name" || f.Key == "description" {
			add("", []config.Field{f})
		}
	}
	for _, kind := range kindsOfModels() {
		for _, m := range kind.models {
			if s == nil || s.names(&kind, m.name) {
				add(kind.path()+".", config.Fields(m.options()))
			}
		}
	}
	for _, m := range methodsOf(s) {
		prefix := "methods." + config.Path{m.label}.String() + "."
		add(prefix, methodFields())
		if factory, ok := algorithms.Lookup(m.algorithm); ok {
			add(prefix+"options.", config.Fields(factory.Options()))
		}
	}
	if s == nil {
		return keys
	}
	for i := range s.designs {
		s.designs[i].keys(add)
	}
	return keys
}

// keys adds the keys that overrides of an experiment reach.
func (d *design) keys(add func(prefix string, fields []config.Field)) {
	prefix := "experiment." + config.Path{d.name}.String() + "."
	add(prefix,
		[]config.Field{{Key: "methods", Type: "list of strings", Doc: "labels of the methods that run, in this order",
			Choices: d.methods}})
	for k := range d.axes {
		if a := &d.axes[k]; a.sample != nil {
			add(prefix+"sample.", a.sample.fields())
		} else if a.swept == nil {
			add(prefix+"axis.",
				[]config.Field{{Key: a.name, Type: "string", Doc: "labels of points", Choices: a.labels()}})
		}
	}
	if len(d.tuned) > 0 {
		add(prefix+"tuning.", config.Fields(&d.tuning))
	}
	figure := results.DefaultFigure()
	add(prefix+"figure.", config.Fields(&figure))
}

type labeledMethod struct{ label, algorithm string }

// methodsOf returns the methods of a scenario, or one for every algorithm.
func methodsOf(s *Scenario) []labeledMethod {
	var all []labeledMethod
	if s == nil {
		for _, name := range algorithms.Names() {
			all = append(all, labeledMethod{name, name})
		}
		return all
	}
	for _, label := range s.Settings.labels() {
		all = append(all, labeledMethod{label, s.Settings.Methods[label].Algorithm})
	}
	return all
}
