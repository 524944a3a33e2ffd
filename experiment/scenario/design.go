package scenario

import (
	"fmt"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/mtl"
	"fedsim/results"
)

// design is an experiment before its expansion: its settings over the base settings, its
// grid and its tuning grids.
type design struct {
	name, description string
	at                config.Place
	methods           []string
	declares          bool // a method may declare metrics
	serves            bool // a program of an external model may
	set               []config.Assignment
	axes              []axis // named axes, the sample, then sweeps
	tuned             []tuned
	tuning            Tuning
	ranks             bool
	table             *gridTable // of errors; nil: none is written
	figures           []results.Figure
	notes             []string // see Scenario.Notes
}

// tuned is the tuning grid of one method.
type tuned struct {
	method string
	axes   []axis // by option key, relative to the method's table, or by settings key
}

// find returns the index of the axis of a settings key, -1 if the key is not tuned.
func (t *tuned) find(key config.Path) int {
	return slices.IndexFunc(t.axes, func(a axis) bool { return key.Equal(t.path(a.swept)) })
}

// path returns the settings key of one of the method's options, or of a setting.
func (t *tuned) path(key config.Path) config.Path {
	if key[0] != "options" {
		return key
	}
	return slices.Concat(config.Path{"methods", t.method}, key)
}

// newDesign reads an experiment from its table. The node has the places; the node methods has
// those of the scenario in the order of the file. fields returns the types of keys, which samples need.
func newDesign(base *Settings, table experimentTable, node, methods *config.Node, fields func() []config.Field,
	problems *config.Errors) design {
	all := methods.Keys()
	p := design{
		name: table.Name, description: table.Description, at: node.Place,
		methods: table.Methods, tuning: defaultTuning(), ranks: table.Ranks, table: table.Table,
	}
	if !config.IsName(p.name) {
		problems.AddProblem(node.PlaceOf("name"),
			config.Problem{Key: "experiment.name", Value: p.name, Want: config.NameRule})
	}
	p.readMethods(node, all, problems)
	p.declares = declares(methods,
		slices.DeleteFunc(slices.Clone(p.methods), func(label string) bool { return methods.Child(label) == nil }))
	p.set = assignmentsOf(table.Set, problems)
	for i, a := range table.Axis {
		p.axes = append(p.axes, namedAxis(a, node.PlaceOf(fmt.Sprintf("axis[%d]", i)), problems))
	}
	if table.Sample != nil {
		if a := newSample(table.Sample, fields(), problems); a != nil {
			p.axes = append(p.axes, *a)
		}
	}
	p.axes = append(p.axes, sweepAxes(table.Sweep, problems)...)
	p.serves = p.mayServe(base)
	p.readTuning(table, node, all, problems)
	p.readFigures(table, problems)
	p.checkNames(problems)
	p.checkOwners(problems)
	return p
}

// mayServe reports whether the model of a run may be external.
func (d *design) mayServe(base *Settings) bool {
	external := func(a config.Assignment) bool {
		return a.Path.Equal(config.Path{"problem", "model"}) && a.Value.Value() == mtl.ModelExternal
	}
	return base.Problem.Model == mtl.ModelExternal || slices.ContainsFunc(d.set, external) ||
		slices.ContainsFunc(d.axes, func(a axis) bool {
			return slices.ContainsFunc(a.points, func(at point) bool { return slices.ContainsFunc(at.set, external) })
		})
}

// readMethods checks the labels that the experiment lists.
func (d *design) readMethods(node *config.Node, all []string, problems *config.Errors) {
	listed := node.Child("methods")
	if listed == nil {
		d.methods = all
		return
	}
	if len(d.methods) == 0 {
		problems.Add(listed.Place, fmt.Sprintf("experiment %s: methods must name at least one method", d.name))
	}
	for i, label := range d.methods {
		at := node.PlaceOf(fmt.Sprintf("methods[%d]", i))
		if !slices.Contains(all, label) {
			problems.Add(at, config.UnknownName("method", label, label, all))
		}
		if slices.Contains(d.methods[:i], label) {
			problems.Add(at, fmt.Sprintf("experiment %s: method %s is listed twice", d.name, label))
		}
	}
}

// readTuning reads the tuning grids, in the order of the experiment's methods.
func (d *design) readTuning(table experimentTable, node *config.Node, all []string, problems *config.Errors) {
	if table.Tuning != nil {
		d.tuning = defaultTuning()
		problems.Merge(config.Decode(node.Child("tuning"), "experiment.tuning", &d.tuning))
		c := config.NewChecker()
		d.tuning.Validate(c)
		if !d.declares && !d.serves && !isByClient(d.tuning.Target.Metric) && !isOfRooms(d.tuning.Target.Metric) {
			d.tuning.Target.CheckColumn(c, "target")
		}
		for _, wrong := range c.Problems() {
			at := node.Child("tuning").PlaceOf(wrong.Key)
			wrong.Key = "experiment.tuning." + wrong.Key
			problems.AddProblem(at, wrong)
		}
		if len(table.Tune) == 0 {
			problems.Add(node.PlaceOf("tuning"),
				fmt.Sprintf("experiment %s: tuning has no effect without [experiment.tune.<method>]", d.name))
		}
	}
	tune := node.Child("tune")
	if tune == nil {
		return
	}
	// --set may have removed methods with a grid.
	methods := node.Child("methods")
	removed := methods != nil && methods.Place.Override != ""
	for _, label := range tune.Keys() {
		if !slices.Contains(d.methods, label) && !(slices.Contains(all, label) && removed) {
			problems.Add(tune.Child(label).Key, config.UnknownName("method", label, label, d.methods))
		}
	}
	for _, label := range d.methods {
		grid := table.Tune[label]
		if grid == nil {
			continue
		}
		axes := sweepAxes(grid, problems)
		for _, a := range axes {
			if len(a.swept) < 2 || !ownSetting(a.swept) {
				problems.Add(a.points[0].set[0].Value.Place,
					fmt.Sprintf("experiment %s: options of a method and its settings are tuned: "+
						"%s must be options.<name>, or a key such as problem.lambda", d.name, a.name))
			}
		}
		if len(axes) > 0 {
			d.tuned = append(d.tuned, tuned{method: label, axes: axes})
		}
	}
}

// grid returns the tuning grid of a method, nil when it is not tuned.
func (d *design) grid(method string) []axis {
	for _, t := range d.tuned {
		if t.method == method {
			return t.axes
		}
	}
	return nil
}

// readFigures reads how the experiment is drawn.
func (d *design) readFigures(table experimentTable, problems *config.Errors) {
	for i, place := range figurePlaces(table) {
		figure := results.DefaultFigure()
		if kind := place.node.Child("kind"); kind != nil && kind.Value() == results.Distribution {
			figure = results.DefaultDistribution()
		} else if kind != nil && kind.Value() == results.NewClients {
			figure = results.DefaultNewClients()
		}
		problems.Merge(config.Decode(place.node, place.key, &figure))
		if figure.File == "" {
			figure.File = d.name
			if i > 0 {
				figure.File = fmt.Sprintf("%s-%d", d.name, i+1)
			}
		}
		d.figures = append(d.figures, figure)
	}
}

// figurePlace is a table that describes a figure.
type figurePlace struct {
	key  string
	node *config.Node
}

func figurePlaces(table experimentTable) (list []figurePlace) {
	if table.Figure != nil {
		list = append(list, figurePlace{"experiment.figure", table.Figure})
	}
	for i, node := range table.Figures {
		list = append(list, figurePlace{fmt.Sprintf("experiment.figures[%d]", i), node})
	}
	return list
}

// checkFigures checks the figures, and that panel, series and emphasis name axes and labels
// of the experiment.
func (d *design) checkFigures(table experimentTable, problems *config.Errors) {
	if table.Sample != nil && !slices.ContainsFunc(d.axes, func(a axis) bool { return a.sample != nil }) {
		return // the sample has a problem, and a figure may name its keys
	}
	for i, place := range figurePlaces(table) {
		d.checkFigure(&d.figures[i], place, problems)
	}
}

func (d *design) checkFigure(figure *results.Figure, place figurePlace, problems *config.Errors) {
	own := config.NewChecker()
	c := own.In(place.key)
	figure.Validate(c)
	if !d.declares && !d.serves && figure.Kind == results.Lines && !isByClient(figure.Y) &&
		!isOfRooms(figure.Y) {
		figure.CheckColumn(c)
	}
	names := d.varied()
	if figure.Panel != "" {
		c.OneOf("panel", figure.Panel, names...)
	}
	if figure.Series != "" {
		c.OneOf("series", figure.Series, names...)
	}
	if figure.Emphasis != "" {
		c.OneOf("emphasis", figure.Emphasis, d.seriesLabels(figure.Series)...)
	}
	for _, wrong := range own.Problems() {
		problems.AddProblem(place.node.PlaceOf(strings.TrimPrefix(wrong.Key, place.key+".")), wrong)
	}
}

// checkFiles reports figures that go to a file of another one. An experiment without figures
// has one, in a file with its name.
func (d *design) checkFiles(node *config.Node, table experimentTable, used map[string]bool, problems *config.Errors) {
	claim := func(file string, at config.Place) {
		if used[file] {
			problems.Add(at, fmt.Sprintf("two figures go to the file %s", file))
		}
		used[file] = true
	}
	for i, place := range figurePlaces(table) {
		claim(d.figures[i].File, place.node.PlaceOf("file"))
	}
	if len(d.figures) == 0 {
		claim(d.name, node.PlaceOf("figure.file"))
	}
}

// varied returns the possible panels and lines of a figure: the methods, axes and sampled keys.
func (d *design) varied() []string {
	names := []string{"method"}
	for i := range d.axes {
		if len(d.axes[i].points) == 0 {
			names = append(names, d.axes[i].name) // a problem that is reported
			continue
		}
		for _, s := range d.axes[i].settings(&d.axes[i].points[0]) {
			names = append(names, s.Key)
		}
	}
	return names
}

// seriesLabels returns the labels of the series of a figure.
func (d *design) seriesLabels(series string) []string {
	if series == "method" {
		return d.methods
	}
	var labels []string
	for i := range d.axes {
		for k := range d.axes[i].points {
			for _, s := range d.axes[i].settings(&d.axes[i].points[k]) {
				if s.Key == series {
					labels = append(labels, s.Value)
				}
			}
		}
	}
	return labels
}

// checkNames reports axes that share a name.
func (d *design) checkNames(problems *config.Errors) {
	seen := map[string]bool{}
	for _, a := range d.axes {
		if seen[a.name] {
			problems.Add(d.at, fmt.Sprintf("experiment %s: two axes are named %s", d.name, a.name))
		}
		seen[a.name] = true
	}
}

// checkOwners reports keys that several parts of the experiment set, since only one
// would have an effect, and keys that an experiment may not set.
func (d *design) checkOwners(problems *config.Errors) {
	owner := map[string]string{}
	claim := func(path config.Path, by string, at config.Place) {
		key := path.String()
		if owner[key] == by {
			return
		}
		if len(path) == 3 && path[0] == "methods" && path[2] == "algorithm" {
			problems.Add(at,
				fmt.Sprintf("experiment %s: %s cannot change from run to run: add another method", d.name, key))
		}
		if other, ok := owner[key]; ok {
			problems.Add(at, fmt.Sprintf("experiment %s: %s is set by %s and by %s", d.name, key, other, by))
			return
		}
		owner[key] = by
	}
	for _, a := range d.set {
		claim(a.Path, "set", a.Value.Key)
	}
	for _, a := range d.axes {
		by := "axis " + a.name
		if a.swept != nil {
			by = "sweep"
		} else if a.sample != nil {
			by = "sample"
		}
		for _, point := range a.points {
			for _, s := range point.set {
				claim(s.Path, by, s.Value.Place)
			}
		}
	}
	for _, t := range d.tuned {
		for _, a := range t.axes {
			if a.swept[0] == "options" {
				claim(t.path(a.swept), "tune."+t.method, a.points[0].set[0].Value.Place)
			} else if d.varies(a.swept) {
				problems.Add(a.points[0].set[0].Value.Place,
					fmt.Sprintf("experiment %s: %s is varied by an axis or a sweep: it cannot be tuned for method %s",
						d.name, a.name, t.method))
			}
		}
	}
}

// varies reports whether an axis or a sweep sets a key.
func (d *design) varies(key config.Path) bool {
	return slices.ContainsFunc(d.axes, func(a axis) bool { return a.sets(key) })
}

// checkMethods reports settings of a method that an axis or a sweep also sets, without effect
// on the method. It also reports those that are tuned.
func (d *design) checkMethods(s *Settings, problems *config.Errors) {
	for _, label := range d.methods {
		for _, a := range s.Methods[label].Set {
			if d.varies(a.Path) {
				problems.Add(a.Value.Place,
					fmt.Sprintf("methods.%s.set: experiment %s varies %s by an axis or a sweep, "+
						"which would have no effect on the method", label, d.name, a.Path))
			}
			for _, t := range d.tuned {
				if t.method == label && t.find(a.Path) >= 0 {
					problems.Add(a.Value.Place,
						fmt.Sprintf("methods.%s.set: %s is tuned in experiment %s", label, a.Path, d.name))
				}
			}
		}
	}
}

// inherit appends the sweeps of the scenario over keys that the experiment does not set.
func (d *design) inherit(sweeps []axis) {
	for _, sweep := range sweeps {
		taken := index(d.set, sweep.swept) >= 0 ||
			slices.ContainsFunc(d.axes, func(a axis) bool { return a.sets(sweep.swept) }) ||
			slices.ContainsFunc(d.tuned, func(t tuned) bool { return t.find(sweep.swept) >= 0 })
		if !taken {
			d.axes = append(d.axes, sweep)
		}
	}
}
