package scenario

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/mtl"
)

// Driven is the algorithm of a method that another program computes and drives, through
// fedsim engine. It has no options, is not registered, and cannot be run without that
// program.
const Driven = "driven"

// Program drives a run in place of the methods of a scenario.
type Program struct {
	Method string  // its label in results
	Seed   *uint64 // of the run; nil: that of the scenario
}

// LoadDriven reads a scenario like Load, for another program to drive. Its methods are
// replaced by one of algorithm Driven. It must have one experiment with one point, and one
// seed unless the program has one.
func LoadDriven(name string, overrides []string, by Program) (*Scenario, error) {
	return loadFor(name, overrides, &by)
}

// replaceMethods makes the program the only method of the document.
func (p *Program) replaceMethods(root *config.Node, problems *config.Errors) {
	at := config.Place{File: root.Place.File}
	set := func(value any, path ...string) {
		if err := root.Set(path, config.NewScalar(value, at)); err != nil {
			problems.Add(at, err.Error())
		}
	}
	root.Delete("methods")
	set(Driven, "methods", p.Method, "algorithm")
}

// drive makes the program the only method of the document and of its experiments.
func (p *Program) drive(root *config.Node, problems *config.Errors) {
	at := config.Place{File: root.Place.File}
	p.replaceMethods(root, problems)
	if p.Seed != nil {
		if *p.Seed > mostSeed {
			problems.Add(at, fmt.Sprintf("seed %d: must be at most %d", *p.Seed, uint64(mostSeed)))
			return
		}
		seeds := config.NewList([]*config.Node{config.NewScalar(int64(*p.Seed), at)}, at)
		if err := root.Set(config.Path{"run", "seeds"}, seeds); err != nil {
			problems.Add(at, err.Error())
		}
	}
	experiments := root.Child("experiment")
	if experiments == nil {
		return
	}
	if n := len(experiments.Items()); n > 1 {
		problems.Add(experiments.Place,
			fmt.Sprintf(
				"has %d experiments: a driven scenario must have one: remove the others from a copy of the file", n))
	}
	for _, node := range experiments.Items() {
		if !node.IsTable() {
			continue // Decode reports it
		}
		for _, key := range []string{"methods", "tune", "tuning"} {
			node.Delete(key)
		}
		if figure := node.Child("figure"); figure != nil {
			figure.Delete("emphasis") // it may name a method
		}
	}
}

// mostSeed is the largest seed that TOML can hold.
const mostSeed = 1<<63 - 1

// driveDesign removes the settings of methods from the experiment.
func driveDesign(p *design, problems *config.Errors) {
	ofMethods := func(a config.Assignment) bool { return len(a.Path) > 0 && a.Path[0] == "methods" }
	p.set = slices.DeleteFunc(p.set, ofMethods)
	for _, key := range sampledBy(p.axes, ofMethods) {
		p.dropSampled(key, p.at, problems)
	}
	for i := range p.axes {
		for k := range p.axes[i].points {
			point := &p.axes[i].points[k]
			point.set = slices.DeleteFunc(slices.Clone(point.set), ofMethods)
		}
	}
}

// requireOnePoint reports axes with several points, and several seeds.
func (s *Scenario) requireOnePoint(root *config.Node, problems *config.Errors) {
	for i := range s.designs {
		p := &s.designs[i]
		for _, a := range p.axes {
			if len(a.points) < 2 {
				continue
			}
			choice := fmt.Sprintf("--set experiment.%s.axis.%s='[%q]'", p.name, a.name, a.points[0].label)
			if a.swept != nil {
				choice = fmt.Sprintf("--set %s=%s", a.name, a.points[0].label)
			}
			problems.Add(p.at,
				fmt.Sprintf("has %d points on axis %s (%s): a driven scenario must have one: choose it, as with %s",
					len(a.points), a.name, strings.Join(a.labels(), ", "), choice))
		}
	}
	switch n := len(s.Settings.Run.Seeds); {
	case s.Settings.Run.Seeds.UntilCertain():
		problems.Add(root.PlaceOf("run.seeds"), "run.seeds = \"until-certain\": a driven scenario must have one seed: "+
			"name it in the op hello or with --set run.seeds=[1]")
	case n > 1:
		problems.Add(root.PlaceOf("run.seeds"),
			fmt.Sprintf(
				"has %d seeds: a driven scenario must have one: name it in the op hello or with --set run.seeds=[%d]",
				n, s.Settings.Run.Seeds[0]))
	}
}

// checkDriven reports settings that change messages, which are the program's.
func (s *Settings) checkDriven(c *config.Checker) {
	for t, value := range s.traits() {
		c.Require(t.AnyProgram, t.Key, value,
			fmt.Sprintf("must be %s: updates are the driver's: it %s", t.Off, t.Instead))
	}
}

// drivenFactory stands for the method of a program where settings are checked against
// the needs of methods. Asynchrony is up to the program.
var drivenFactory = algorithms.Factory{
	Describe: func(algorithms.Options, mtl.Shape) algorithms.Description {
		return algorithms.Description{
			Name: Driven, Model: algorithms.UnknownModel, Asynchronous: algorithms.NotKnown, Own: true,
			// the program says them for every round
			Evaluated: algorithms.ByMethod, Work: algorithms.Workload{Epochs: 2},
		}
	},
	Options: func() algorithms.Options { return &noOptions{} },
}

func lookup(algorithm string) (algorithms.Factory, bool) {
	if algorithm == Driven {
		return drivenFactory, true
	}
	return algorithms.Lookup(algorithm)
}

type noOptions struct{}

// Validate does nothing: there are no options.
func (*noOptions) Validate(*config.Checker) {}
