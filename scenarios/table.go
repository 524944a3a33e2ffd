package scenarios

import (
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/data"
	"fedsim/tables"
)

// tableTable is one [[table]].
type tableTable struct {
	Name string `toml:"name" doc:"name of the table and of its files: letters, digits, - and _; required"`
	tables.Config
	Set []setTable `toml:"set" doc:"the data sets, one column each; at least one"`
}

// setTable is one [[table.set]].
type setTable struct {
	Label     string               `toml:"label" doc:"name of the data set; required"`
	Data      *config.Node         `toml:"data" doc:"keys of [data] for this set, over those of the file. A path is looked up as it is, then in the folder that the environment variable FEDSIM_DATA names"`
	Otherwise *config.Node         `toml:"otherwise" doc:"keys of [data], over those of data, for the generated set that stands in, and is named as generated, when the file of data is in neither place; absent: a missing file is an error"`
	Paper     map[string][]float64 `toml:"paper" doc:"published figures to print beside one's own: by model, the mean and its standard error"`
}

// tablePlan is a table before its sets are expanded.
type tablePlan struct {
	name   string
	config tables.Config
	node   *config.Node
	sets   []setPlan
}

// setPlan is a set of a table with what it lays over [data].
type setPlan struct {
	label           string
	node            *config.Node
	data, otherwise []config.Assignment // by key of [data]
	standIn         bool                // there is a table otherwise, which may be empty
	paper           map[string][]float64
}

// makeTables reads the tables and lays the overrides over them.
func makeTables(nodes []*config.Node, over *overrides, problems *config.Errors) []tablePlan {
	var plans []tablePlan
	seen := map[string]bool{}
	for _, node := range nodes {
		table := tableTable{Config: tables.Defaults()}
		if wrong := config.Decode(node, "table", &table); len(wrong) > 0 {
			problems.Merge(wrong)
			continue
		}
		p := tablePlan{name: table.Name, config: table.Config, node: node}
		p.check(problems)
		if seen[p.name] {
			problems.Add(node.PlaceOf("name"), fmt.Sprintf("two tables are named %s", p.name))
		}
		seen[p.name] = true
		for i, set := range table.Set {
			p.sets = append(p.sets, newSetPlan(set, node.Child("set").Items()[i], over, problems))
		}
		p.checkSets(problems)
		plans = append(plans, p)
	}
	return plans
}

// check checks what the sets have in common.
func (p *tablePlan) check(problems *config.Errors) {
	c := config.NewChecker()
	under := c.In("table")
	under.Require(config.IsBare(p.name), "name", p.name, "must consist of letters, digits, - and _")
	p.config.Validate(under)
	addRelative(p.node, "table.", c, problems)
}

// addRelative reports what was found in a table under the place of its node.
func addRelative(node *config.Node, prefix string, c *config.Checker, problems *config.Errors) {
	for _, wrong := range c.Problems() {
		problems.AddProblem(node.PlaceOf(wrong.Key[len(prefix):]), wrong)
	}
}

func newSetPlan(table setTable, node *config.Node, over *overrides, problems *config.Errors) setPlan {
	s := setPlan{label: table.Label, node: node, standIn: table.Otherwise != nil, paper: table.Paper}
	s.data = assignmentsOf(table.Data, problems)
	s.otherwise = assignmentsOf(table.Otherwise, problems)
	for _, a := range over.settings {
		if a.Path[0] == "data" {
			s.data, s.otherwise = without(s.data, a.Path[1:]), without(s.otherwise, a.Path[1:])
		}
	}
	return s
}

// checkSets checks the sets' labels and published figures.
func (p *tablePlan) checkSets(problems *config.Errors) {
	if len(p.sets) == 0 {
		problems.Add(p.node.Place, fmt.Sprintf("table %s has no data set: add a [[table.set]]", p.name))
	}
	for i := range p.sets {
		s := &p.sets[i]
		c := config.NewChecker()
		under := c.In("table.set")
		under.Require(s.label != "", "label", s.label, "must name the data set")
		under.Require(!slices.ContainsFunc(p.sets[:i], func(other setPlan) bool { return other.label == s.label }), "label", s.label, "must name every data set of a table once")
		if paper := s.node.Child("paper"); paper != nil {
			for _, model := range paper.Keys() {
				under.In("paper").Require(slices.Contains(tables.Models(), model), model, s.paper[model], fmt.Sprintf("is of no model: models are %q", tables.Models()))
				under.In("paper").Require(len(s.paper[model]) == 2, model, s.paper[model], "must be a mean and its standard error")
			}
		}
		addRelative(s.node, "table.set.", c, problems)
	}
}

// expand makes the table over the base settings and checks all of its sets.
func (p *tablePlan) expand(base *config.Node) (tables.Table, config.Errors) {
	t := tables.Table{Name: p.name, Config: p.config}
	var problems config.Errors
	for i := range p.sets {
		plan := &p.sets[i]
		set := tables.Set{Label: plan.label, Paper: map[string]tables.Reference{}}
		for model, figures := range plan.paper {
			set.Paper[model] = tables.Reference{Mean: figures[0], StandardError: figures[1]}
		}
		tree := base.Clone()
		lay(tree, plan.data, &problems)
		set.Data = p.settings(tree, &problems)
		if plan.standIn {
			forgetFile(tree)
			lay(tree, plan.otherwise, &problems)
			otherwise := p.settings(tree, &problems)
			set.Otherwise = &otherwise
		}
		t.Sets = append(t.Sets, set)
	}
	return t, problems
}

// settings decodes and checks the settings of a set and returns its data.
func (p *tablePlan) settings(tree *config.Node, problems *config.Errors) data.Config {
	settings, wrong := decodeSettings(tree)
	if len(wrong) == 0 {
		wrong = settings.validate(tree)
		c := config.NewChecker()
		p.config.ValidateProblem(&settings.Problem, c.In("problem"))
		tables.ValidateData(&settings.Data, c.In("data"))
		wrong.AddFound(tree, c)
	}
	problems.Merge(wrong)
	return settings.Data
}

// lay puts assignments by key of [data] over the table data of a tree.
func lay(tree *config.Node, assignments []config.Assignment, problems *config.Errors) {
	for _, a := range assignments {
		a.Path = slices.Concat(config.Path{"data"}, a.Path)
		assign(tree, []config.Assignment{a}, problems)
	}
}

// forgetFile removes from the table data of a tree what belongs to a file.
func forgetFile(tree *config.Node) {
	table := tree.Child("data")
	if table == nil || !table.IsTable() {
		return
	}
	for _, key := range data.FileKeys() {
		table.Delete(key)
	}
}

// resolvedTable and resolvedSet are how a table is written back.
type resolvedTable struct {
	Name string `toml:"name"`
	tables.Config
	Set []resolvedSet `toml:"set"`
}

type resolvedSet struct {
	Label     string               `toml:"label"`
	Data      config.InlineTable   `toml:"data,omitempty"`
	Otherwise *config.InlineTable  `toml:"otherwise,omitempty"`
	Paper     map[string][]float64 `toml:"paper,omitempty"`
}

func (p *tablePlan) resolved() resolvedTable {
	t := resolvedTable{Name: p.name, Config: p.config}
	for i := range p.sets {
		s := &p.sets[i]
		set := resolvedSet{Label: s.label, Data: s.data, Paper: s.paper}
		if s.standIn {
			set.Otherwise = (*config.InlineTable)(&s.otherwise)
		}
		t.Set = append(t.Set, set)
	}
	return t
}
