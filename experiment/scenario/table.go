package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/rooms/crossval"
	"fedsim/mtl"
)

type tableTable struct {
	Name string `toml:"name" doc:"name of the table and of its files: letters, digits, -, _ and .; required"`
	crossval.Config
	Set []setTable `toml:"set" doc:"the data sets, one column each; at least one"`
}

type setTable struct {
	Label    string               `toml:"label" doc:"name of the data set; required"`
	Data     *config.Node         `toml:"data" doc:"keys of [data] for this set, over those of the file. A path is searched as data.path is"`
	Fallback *config.Node         `toml:"fallback" was:"otherwise" doc:"keys of [data], over those of data, for a generated set if the file of data is missing; the table marks the set as generated. Without fallback a missing file is an error"`
	Paper    map[string][]float64 `toml:"paper" doc:"published figures to print in the table: by model, the mean and its standard error"`
}

// tableDesign is a table before its sets are expanded.
type tableDesign struct {
	name   string
	config crossval.Config
	sets   []setDesign
}

// setDesign is a set of a table with its keys of [data].
type setDesign struct {
	label          string
	data, fallback []config.Assignment // by key of [data]
	hasFallback    bool                // the table fallback may be empty
	paper          map[string][]float64
}

// makeTables reads the tables and applies the overrides.
func makeTables(nodes []*config.Node, root *config.Node, over *overrides, problems *config.Errors) []tableDesign {
	var designs []tableDesign
	seen := map[string]bool{}
	for i, node := range nodes {
		key := fmt.Sprintf("table[%d]", i)
		table := tableTable{Config: crossval.Defaults()}
		if wrong := config.Decode(node, key, &table); len(wrong) > 0 {
			problems.Merge(wrong)
			continue
		}
		p := tableDesign{name: table.Name, config: table.Config}
		for k := range table.Set {
			p.sets = append(p.sets, newSetDesign(table.Set[k], over, problems))
		}
		c := config.NewChecker()
		p.check(c.In(key))
		c.In(key).Require(!seen[p.name], "name", p.name, "must name every table once")
		problems.AddFound(root, c)
		seen[p.name] = true
		designs = append(designs, p)
	}
	return designs
}

// check reports the problems of the table, except for the data of its sets.
func (p *tableDesign) check(c *config.Checker) {
	c.Require(config.IsName(p.name), "name", p.name, config.NameRule)
	p.config.Validate(c)
	c.Require(len(p.sets) > 0, "set", nil, "must hold at least one data set: [[table.set]]")
	seen := map[string]bool{}
	for i := range p.sets {
		s := &p.sets[i]
		c := c.In(fmt.Sprintf("set[%d]", i))
		c.Require(s.label != "", "label", s.label, "must name the data set")
		c.Require(!seen[s.label], "label", s.label, "must name every data set of a table once")
		seen[s.label] = true
		for _, model := range slices.Sorted(maps.Keys(s.paper)) {
			c.OneOf("paper", model, crossval.Models()...)
			c.Require(len(s.paper[model]) == 2, "paper."+model, s.paper[model], "must be a mean and its standard error")
		}
	}
}

// newSetDesign reads a set, without the keys that overrides set.
func newSetDesign(table setTable, over *overrides, problems *config.Errors) setDesign {
	s := setDesign{label: table.Label, hasFallback: table.Fallback != nil, paper: table.Paper}
	s.data = assignmentsOf(table.Data, problems)
	s.fallback = assignmentsOf(table.Fallback, problems)
	for _, a := range over.settings {
		if a.Path[0] == "data" {
			s.data, s.fallback = except(s.data, a.Path[1:]), except(s.fallback, a.Path[1:])
		}
	}
	return s
}

// expand makes the table over the base settings and checks its sets.
func (p *tableDesign) expand(base *config.Node) (crossval.TableSpec, config.Errors) {
	t := crossval.TableSpec{Name: p.name, Config: p.config}
	var problems config.Errors
	for i := range p.sets {
		d := &p.sets[i]
		set := crossval.Set{Label: d.label, Paper: map[string]crossval.Reference{}}
		for model, figures := range d.paper {
			set.Paper[model] = crossval.Reference{Mean: figures[0], StandardError: figures[1]}
		}
		tree := base.Clone()
		lay(tree, d.data, &problems)
		set.Data = p.settings(tree, &problems)
		if d.hasFallback {
			forgetFile(tree)
			lay(tree, d.fallback, &problems)
			fallback := p.settings(tree, &problems)
			set.Fallback = &fallback
		} else if set.Data.Fallback != "" {
			fallback := set.Data.Generated()
			set.Fallback = &fallback
		}
		t.Sets = append(t.Sets, set)
	}
	return t, problems
}

// settings decodes and checks the settings of a set and returns its data.
func (p *tableDesign) settings(tree *config.Node, problems *config.Errors) data.Config {
	settings, wrong := decodeSettings(tree)
	if len(wrong) == 0 {
		settings.Problem.Loss = cmp.Or(settings.Problem.Loss, mtl.LossHinge)
		wrong = settings.validate(tree)
		c := config.NewChecker()
		p.config.ValidateProblem(&settings.Problem, c.In("problem"))
		crossval.ValidateData(&settings.Data, c.In("data"))
		wrong.AddFound(tree, c)
	}
	problems.Merge(wrong)
	return settings.Data
}

// lay sets assignments by key of [data] in a tree.
func lay(tree *config.Node, assignments []config.Assignment, problems *config.Errors) {
	for _, a := range assignments {
		a.Path = slices.Concat(config.Path{"data"}, a.Path)
		assign(tree, []config.Assignment{a}, problems)
	}
}

// forgetFile removes the keys of a data file from a tree.
func forgetFile(tree *config.Node) {
	table := tree.Child("data")
	if table == nil || !table.IsTable() {
		return
	}
	for _, key := range data.FileKeys() {
		table.Delete(key)
	}
}

// resolvedTable and resolvedSet encode a table.
type resolvedTable struct {
	Name string `toml:"name"`
	crossval.Config
	Set []resolvedSet `toml:"set"`
}

type resolvedSet struct {
	Label    string               `toml:"label"`
	Data     config.InlineTable   `toml:"data,omitempty"`
	Fallback *config.InlineTable  `toml:"fallback,omitempty"`
	Paper    map[string][]float64 `toml:"paper,omitempty"`
}

func (p *tableDesign) resolved() resolvedTable {
	t := resolvedTable{Name: p.name, Config: p.config}
	for i := range p.sets {
		s := &p.sets[i]
		set := resolvedSet{Label: s.label, Data: s.data, Paper: s.paper}
		if s.hasFallback {
			set.Fallback = (*config.InlineTable)(&s.fallback)
		}
		t.Set = append(t.Set, set)
	}
	return t
}
