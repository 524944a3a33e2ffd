package scenarios

import (
	"fmt"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/network"
)

// model is what there is to know of a registered model of devices or links.
type model struct {
	name, summary string
	options       func() config.Options
}

// kindOfModel is a sort of models: the table that names one, and those there are.
type kindOfModel struct {
	table, what string
	models      []model
}

// kindsOfModels lists the models that are linked in.
func kindsOfModels() []kindOfModel {
	machines := kindOfModel{table: "devices", what: "device model"}
	for _, name := range devices.ModelNames() {
		f, _ := devices.LookupModel(name)
		machines.models = append(machines.models, model{name, f.Summary, f.Options})
	}
	links := kindOfModel{table: "network", what: "link model"}
	for _, name := range network.ModelNames() {
		f, _ := network.LookupModel(name)
		links.models = append(links.models, model{name, f.Summary, f.Options})
	}
	return []kindOfModel{machines, links}
}

// chosen returns the model and where in the settings its options are.
func (s *Settings) chosen(table string) (name string, options *any) {
	if table == "devices" {
		return s.Devices.Model, &s.Devices.Options
	}
	return s.Network.Model, &s.Network.Options
}

// resolveModels decodes the options of the models of devices and links strictly over
// the defaults of each. What names no model that there is is left to the tables' checks.
func (s *Settings) resolveModels(tree *config.Node) config.Errors {
	var problems config.Errors
	for _, kind := range kindsOfModels() {
		name, into := s.chosen(kind.table)
		var given *config.Node
		if table := tree.Child(kind.table); table != nil {
			given = table.Child("options")
		}
		if given != nil && name == "" {
			problems.Add(given.Key, fmt.Sprintf("%s.options has no effect without %s.model", kind.table, kind.table))
		}
		*into = nil
		for _, m := range kind.models {
			if m.name != name {
				continue
			}
			options := m.options()
			if given != nil {
				problems.Merge(config.Decode(given, kind.table+".options", options))
			}
			*into = options
		}
	}
	return problems
}

// names reports whether a model is in use: in the base settings or at a point of an
// experiment.
func (s *Scenario) names(table, model string) bool {
	if name, _ := s.Settings.chosen(table); name == model {
		return true
	}
	for i := range s.Experiments {
		for k := range s.Experiments[i].Jobs {
			if name, _ := s.Experiments[i].Jobs[k].Candidates[0].Settings.chosen(table); name == model {
				return true
			}
		}
	}
	return false
}
