package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/input"
	"fedsim/results"
	"fedsim/scenarios"
)

// Scenario is a valid scenario: all runs have passed the checks of all tables.
type Scenario struct {
	Name        string
	Description string
	File        string   // the path of the file
	Settings    Settings // the base settings, overrides included
	Experiments []Experiment
	Notes       []string // valid settings with a surprising effect, one sentence each

	designs         []design
	protocolOptions any    // see Settings.protocolOptions
	recorded        []byte // see ParseRecorded
}

// Targets returns the targets of all runs, which experiments and axes may set. Results have
// each of them for every run.
func (s *Scenario) Targets() results.Targets {
	var targets results.Targets
	for j := range Jobs(s.Experiments) {
		targets = targets.With(j.Candidates[0].Settings.Run.Targets)
	}
	return targets
}

// Load reads a scenario and applies overrides ("key=value", see config.ParseOverride).
// The name is that of a file, or that of a shipped scenario without folder and extension
// .toml. The error is config.Errors with all problems.
func Load(name string, overrides []string) (*Scenario, error) { return loadFor(name, overrides, nil) }

// loadFor reads a scenario for another program; nil: fedsim runs its methods.
func loadFor(name string, overrides []string, by *Program) (*Scenario, error) {
	file, source, err := find(name)
	if err != nil {
		return nil, err
	}
	return parseFor(file, source, overrides, by)
}

// LoadData reads the table [data] of a scenario like Load. A scenario without methods, and
// one without a name, which is empty, have a method and a loss that accept any data.
func LoadData(name string, overrides []string) (data.Config, error) {
	file, source := "defaults"+scenarios.Extension, []byte(nil)
	if name != "" {
		var err error
		if file, source, err = find(name); err != nil {
			return data.Config{}, err
		}
	}
	root, err := config.Parse(file, source)
	if err != nil {
		return data.Config{}, err
	}
	if root.Child("methods") == nil && root.Child("experiment") == nil {
		source = append(source, "\n[methods.fedavg]\n"...)
		if root.Child("problem") == nil {
			source = append(source, "[problem]\nloss = \"squared\"\n"...)
		}
	}
	s, err := Parse(file, source, overrides)
	if err != nil {
		return data.Config{}, err
	}
	return s.Settings.Data, nil
}

// find reads the source of a scenario. Its file is the name that errors have.
func find(name string) (file string, source []byte, err error) {
	if !isFile(name) {
		source, ok := scenarios.Source(name)
		if !ok {
			return "", nil, config.Errors{{Place: config.Place{File: name},
				Text: config.UnknownName("scenario", name, name, scenarios.Names()) +
					" (the name of a file ends in .toml)"}}
		}
		return name + scenarios.Extension, source, nil
	}
	source, err = input.ReadFile(name, config.MaxSource)
	if err != nil {
		return "", nil, config.Errors{{Place: config.Place{File: name}, Text: unreadable(name, err)}}
	}
	return name, source, nil
}

// isFile reports whether a name is that of a file and not of a shipped scenario.
func isFile(name string) bool {
	return strings.HasSuffix(name, scenarios.Extension) || strings.ContainsAny(name, `/\`)
}

// unreadable returns why a file cannot be read, with a suggestion.
func unreadable(name string, err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return fmt.Sprintf("cannot be read: %v", err)
	}
	bare := strings.TrimSuffix(filepath.Base(name), scenarios.Extension)
	if near := config.Nearest(bare, scenarios.Names()); near != "" {
		return fmt.Sprintf(
			"no such file: did you mean the shipped scenario %s? It goes by its name alone, without folder and %s",
			near, scenarios.Extension)
	}
	return fmt.Sprintf("no such file; shipped scenarios go by their name alone: %s",
		strings.Join(scenarios.Names(), ", "))
}

// Parse reads a scenario from its source. Errors name the file; it is also the default
// name of the scenario.
func Parse(file string, source []byte, arguments []string) (*Scenario, error) {
	return parseFor(file, source, arguments, nil)
}

func parseFor(file string, source []byte, arguments []string, by *Program) (*Scenario, error) {
	s, err := read(file, source, arguments, by)
	if problems, ok := err.(config.Errors); ok {
		retire(problems)
	}
	return s, err
}

// read reads a scenario for another program, whose errors do not know the keys of former versions.
func read(file string, source []byte, arguments []string, by *Program) (*Scenario, error) {
	root, err := config.Parse(file, source)
	if err != nil {
		return nil, err
	}
	var problems config.Errors
	if by != nil {
		by.replaceMethods(root, &problems) // else a file without methods runs nothing
	}
	if err := nameExperiments(root, file); err != nil {
		return nil, err
	}
	besideScenario(root, file, nil)
	over := applyOverrides(root, arguments, &problems)
	if by != nil {
		by.drive(root, &problems)
	}

	doc := document{Settings: defaultSettings()}
	problems.Merge(config.Decode(root, "", &doc))
	problems.Merge(doc.resolve(root))
	if len(problems) > 0 {
		return nil, problems
	}
	s := &Scenario{Name: doc.Name, Description: doc.Description, File: file, Settings: doc.Settings,
		protocolOptions: doc.protocolOptions(root)}
	if !config.IsName(s.Name) {
		problems.AddProblem(root.PlaceOf("name"), config.Problem{Key: "name", Value: s.Name,
			Want: config.NameRule + " (it is the file's name unless it is set)"})
	}
	s.designs = makeDesigns(&doc, root, &over, &problems)
	if by != nil {
		for i := range s.designs {
			driveDesign(&s.designs[i], &problems)
		}
		s.requireOnePoint(root, &problems)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	if s.expand(root, &problems); len(problems) > 0 {
		return nil, problems
	}
	s.noteIdle(root)
	s.noteDeprecated()
	return s, nil
}

// expand makes the experiments of their designs, each with the settings in root.
func (s *Scenario) expand(root *config.Node, problems *config.Errors) {
	for _, key := range []string{"name", "description", "sweep", "experiment"} {
		root.Delete(key)
	}
	for i := range s.designs {
		experiment, wrong := s.designs[i].expand(root)
		s.Experiments = append(s.Experiments, experiment)
		s.Notes = append(s.Notes, s.designs[i].notes...)
		problems.Merge(wrong)
	}
}

// nameExperiments sets the default name, and adds an experiment if there are methods
// only, so that overrides can set keys of both.
func nameExperiments(root *config.Node, file string) error {
	at := config.Place{File: file}
	if root.Child("name") == nil {
		name := config.NewScalar(strings.TrimSuffix(filepath.Base(file), scenarios.Extension), at)
		if err := root.Set(config.Path{"name"}, name); err != nil {
			return err
		}
	}
	if root.Child("experiment") != nil {
		return nil
	}
	only := config.NewTable(at)
	if err := only.Set(config.Path{"name"}, root.Child("name")); err != nil {
		return err
	}
	return root.Set(config.Path{"experiment"}, config.NewList([]*config.Node{only}, at))
}

// makeDesigns reads the experiments and applies the overrides.
func makeDesigns(doc *document, root *config.Node, over *overrides, problems *config.Errors) []design {
	methods := root.Child("methods")
	if methods == nil || len(methods.Keys()) == 0 {
		problems.Add(config.Place{File: root.Place.File},
			"there is no method to run: add a table such as [methods.mocha]")
		return nil
	}
	if len(doc.Experiment) == 0 {
		problems.Add(root.PlaceOf("experiment"),
			"experiment must hold at least one experiment; without the key the base settings are one")
	}
	sweeps := sweepAxes(doc.Sweep, problems)
	fields := func() []config.Field { return Keys(&Scenario{Settings: doc.Settings}) }
	var designs []design
	names, files, tables := map[string]bool{}, map[string]bool{}, map[string]string{}
	for i, table := range doc.Experiment {
		node := root.Child("experiment").Items()[i]
		p := newDesign(&doc.Settings, table, node, methods, fields, problems)
		if names[p.name] {
			problems.Add(node.PlaceOf("name"), fmt.Sprintf("two experiments are named %s", p.name))
		}
		p.inherit(sweeps)
		p.checkNames(problems)
		p.checkMethods(&doc.Settings, problems)
		p.checkFigures(table, problems)
		if !names[p.name] {
			p.checkFiles(node, table, files, problems)
		}
		names[p.name] = true
		p.claimTables(tables, problems)
		p.checkPublished(node, methods.Keys(), problems)
		over.fold(&p, problems)
		designs = append(designs, p)
	}
	return designs
}
