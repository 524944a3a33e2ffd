package scenario

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/config"
)

// overrides are the arguments of --set by kind.
type overrides struct {
	settings []config.Assignment // over the base and every experiment
	chosen   []choice            // points of named axes
}

// choice selects points of an axis of an experiment.
type choice struct {
	experiment, axis string
	labels           []*config.Node
	at               config.Place
}

// applyOverrides applies the overrides to the document. It returns those that also apply
// to its experiments. A table as a value stands for its keys.
func applyOverrides(root *config.Node, arguments []string, problems *config.Errors) overrides {
	var o overrides
	for _, argument := range arguments {
		a, err := config.ParseOverride(argument)
		if err != nil {
			problems.Merge(err.(config.Errors))
			continue
		}
		if a.Value.IsAbsent() {
			requireKnown(a, problems)
		}
		for _, single := range singleKeys(a, problems) {
			o.apply(root, single, problems)
		}
	}
	return o
}

// requireKnown reports the key of an override without a value if there is no such key: nothing else would.
func requireKnown(a config.Assignment, problems *config.Errors) {
	probe := config.NewTable(a.Value.Place)
	if err := probe.Set(a.Path, config.NewScalar("", a.Value.Place)); err != nil {
		problems.Add(a.Value.Place, err.Error())
	}
	for _, l := range config.Decode(probe, "", &document{Settings: defaultSettings()}) {
		if strings.HasPrefix(l.Text, "unknown key ") {
			problems.Merge(config.Errors{l})
		}
	}
}

// singleKeys returns an override with a table as overrides of its keys.
func singleKeys(a config.Assignment, problems *config.Errors) []config.Assignment {
	if !a.Value.IsTable() {
		return wholes([]config.Assignment{a})
	}
	inner := assignmentsOf(a.Value, problems)
	if len(inner) == 0 {
		problems.Add(a.Value.Place, "an empty table sets nothing")
	}
	for i := range inner {
		inner[i].Path = slices.Concat(a.Path, inner[i].Path)
	}
	return wholes(inner)
}

func (o *overrides) apply(root *config.Node, a config.Assignment, problems *config.Errors) {
	at := a.Value.Place
	table, path := root, a.Path
	switch path[0] {
	case "experiment":
		if table, path = findNamed(root, a, problems); table == nil {
			return
		}
		if path[0] == "axis" {
			o.choose(a, path, problems)
			return
		}
	case "name", "description", "sweep":
	default:
		o.settings = slices.DeleteFunc(o.settings, func(b config.Assignment) bool { return b.Path.Equal(a.Path) })
		o.settings = append(o.settings, a)
		dropOwn(root, a.Path)
	}
	if err := table.Set(path, a.Value); err != nil {
		problems.Add(at, err.Error())
	}
}

// dropOwn removes a setting from the settings of single methods.
func dropOwn(root *config.Node, key config.Path) {
	methods := root.Child("methods")
	if methods == nil || !methods.IsTable() {
		return
	}
	for _, label := range methods.Keys() {
		set := methods.Child(label).Child("set")
		if set == nil || !set.IsTable() {
			continue
		}
		set.Delete(key.String())
		for _, name := range key[:len(key)-1] {
			if set = set.Child(name); set == nil || !set.IsTable() {
				break
			}
		}
		if set != nil && set.IsTable() {
			set.Delete(key[len(key)-1])
		}
	}
}

// findNamed returns the experiment that an override names, and the
// rest of the key. It returns nil after a problem.
func findNamed(root *config.Node, a config.Assignment, problems *config.Errors) (*config.Node, config.Path) {
	const kind = "experiment"
	if len(a.Path) < 3 {
		problems.Add(a.Value.Place, "must name an experiment and one of its keys: experiment.<name>.<key>=value")
		return nil, nil
	}
	var names []string
	if list := root.Child(kind); list != nil {
		for _, node := range list.Items() {
			name := node.Child("name")
			if name == nil {
				continue
			}
			if name.Value() == a.Path[1] {
				return node, a.Path[2:]
			}
			names = append(names, config.Path{config.Label(name.Value())}.String())
		}
	}
	problems.Add(a.Value.Place, config.UnknownName(kind, a.Path[1], a.Path[1], names))
	return nil, nil
}

// choose selects points of an axis: experiment.<name>.axis.<axis> with a label or a list
// of labels.
func (o *overrides) choose(a config.Assignment, path config.Path, problems *config.Errors) {
	c := choice{experiment: a.Path[1], at: a.Value.Place, labels: a.Value.Items()}
	if !a.Value.IsList() {
		c.labels = []*config.Node{a.Value}
	}
	if len(path) != 2 || len(c.labels) == 0 {
		problems.Add(c.at, "must name an axis and the labels of points: experiment.<name>.axis.<axis>=[\"label\"]")
		return
	}
	c.axis = path[1]
	o.chosen = append(o.chosen, c)
}

// fold applies the overrides to an experiment: they replace values that it sets, sweeps
// or tunes.
func (o *overrides) fold(p *design, problems *config.Errors) {
	for _, c := range o.chosen {
		if c.experiment == p.name {
			c.fold(p, problems)
		}
	}
	for _, a := range o.settings {
		p.set = except(p.set, a.Path)
		for i := range p.axes {
			axis := &p.axes[i]
			switch {
			case !axis.sets(a.Path):
			case axis.sample != nil: // dropSampled
			case axis.alone(a.Path):
				axis.collapse(a)
			default:
				problems.Add(a.Value.Place, fmt.Sprintf(
					"axis %s of experiment %s sets %s along with other keys: choose among its points with --set "+
						"experiment.%s.axis.%s='[\"label\"]'",
					axis.name, p.name, a.Path, p.name, axis.name))
			}
		}
		p.dropSampled(a.Path, a.Value.Place, problems)
		for i := range p.tuned {
			if k := p.tuned[i].find(a.Path); k >= 0 {
				axis := &p.tuned[i].axes[k]
				axis.collapse(config.Assignment{Path: axis.swept, Value: a.Value})
			}
		}
	}
	names := p.varied()
	for i := range p.figures { // an override may have removed a sampled key
		f := &p.figures[i]
		if !slices.Contains(names, f.Series) {
			f.Series = "method"
		}
		if f.Panel != "" && !slices.Contains(names, f.Panel) {
			f.Panel = ""
		}
	}
	for i := range p.figures {
		if f := &p.figures[i]; !slices.Contains(p.seriesLabels(f.Series), f.Emphasis) {
			f.Emphasis = "" // an override removed the emphasized value
		}
	}
}

// fold removes the other points from the axis of an experiment.
func (c *choice) fold(p *design, problems *config.Errors) {
	var names []string
	for i := range p.axes {
		axis := &p.axes[i]
		if axis.swept != nil {
			continue
		}
		names = append(names, axis.name)
		if axis.name != c.axis {
			continue
		}
		var labels []string
		for _, node := range c.labels {
			label := config.Label(node.Value())
			if axis.find(label) < 0 {
				problems.Add(c.at, config.UnknownName("point", label, label, axis.labels()))
				return
			}
			labels = append(labels, label)
		}
		axis.choose(labels)
		return
	}
	problems.Add(c.at, config.UnknownName("axis", c.axis, c.axis, names))
}
