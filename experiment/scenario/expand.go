package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/rooms"
	"fedsim/internal/rooms/fit"
	"fedsim/mtl"
	"fedsim/results"
)

// maxRuns limits the combinations of an experiment without seeds. More are a mistake in
// a sweep.
const maxRuns = 10_000

// expand makes the runs of the experiment over the base settings and checks them all.
// Precedence: defaults < base < set < axes and sweeps < tuning grid. Overrides are
// already part of each.
func (d *design) expand(base *config.Node) (Experiment, config.Errors) {
	e := Experiment{
		Name: d.name, Description: d.description,
		Tuning: d.tuning, Ranks: d.ranks, Figures: d.figures,
	}
	for i := range d.axes {
		e.Axes = append(e.Axes, Axis{Name: d.axes[i].name, Keys: d.axes[i].sample.keys()})
	}
	var problems config.Errors
	if !d.bounded() {
		problems.Add(d.at,
			fmt.Sprintf("experiment %s has more than %d combinations of points, methods and tuned options: "+
				"shorten its lists, lower experiment.sample.size, or divide the experiment", d.name, maxRuns))
		return e, problems
	}
	tree := base.Clone()
	assign(tree, d.set, &problems)
	combinations(d.axes, func(at []results.Setting, set []config.Assignment) {
		tree := tree.Clone()
		assign(tree, set, &problems)
		settings, wrong := d.decode(tree)
		if problems.Merge(wrong); len(wrong) > 0 {
			return
		}
		d.noteRooms(&settings)
		d.noteStop(tree, &settings)
		before := len(e.Jobs)
		for _, method := range d.methods {
			e.Jobs = append(e.Jobs, d.job(&gridCell{at, tree, settings}, method, &problems))
		}
		d.noteTime(e.Jobs[before:])
	})
	if len(problems) == 0 {
		d.checkDeclared(&e, &problems)
	}
	if len(problems) == 0 {
		e.Table = d.gridSpec(&e)
	}
	problems = d.oncePerRange(problems)
	if len(problems) == 0 {
		d.checkRanks(&e, &problems)
	}
	for i := range d.figures {
		if len(problems) == 0 {
			d.checkShown(&e, &d.figures[i], &problems)
		}
	}
	return e, problems
}

// checkRanks reports ranks of runs that do not compare methods seed by seed.
func (d *design) checkRanks(e *Experiment, problems *config.Errors) {
	switch {
	case !d.ranks:
	case len(d.methods) < 2 || len(e.Jobs[0].Seeds) < 2:
		problems.Add(d.at,
			fmt.Sprintf("experiment %s: ranks must be false with fewer than two methods or two run.seeds: "+
				"it compares methods seed by seed", d.name))
	case Seeds(e.Jobs[0].Seeds).UntilCertain():
		problems.Add(d.at,
			fmt.Sprintf("experiment %s: ranks must be false with run.seeds = \"until-certain\": "+
				"tests that are repeated after each batch of seeds are wrong too often; "+
				"run.certain.order = true ranks all rows", d.name))
	}
}

// checkShown reports a figure that has nothing to show.
func (d *design) checkShown(e *Experiment, f *results.Figure, problems *config.Errors) {
	switch {
	case f.Kind == results.Distribution && !d.declares && !e.measures(f.Y):
		problems.Add(d.at,
			fmt.Sprintf("experiment %s: figure %s: y = %q: must be train_ or test_ and one of run.client_metrics",
				d.name, f.File, f.Y))
	case f.Kind == results.NewClients && !slices.ContainsFunc(e.Jobs, func(j Job) bool {
		return j.Candidates[0].Settings.Data.NewClients > 0
	}):
		problems.Add(d.at, fmt.Sprintf("experiment %s: figure %s: kind = %q has nothing to show: data.new_clients "+
			"must be positive", d.name, f.File, f.Kind))
	case f.Y == "theta" && !slices.ContainsFunc(e.Jobs, measuresTheta):
		problems.Add(d.at, fmt.Sprintf(
			"experiment %s: figure.y = \"theta\" has nothing to show: run.theta_every must be at least 1", d.name))
	}
}

// claimTables reports a table with the name of another one.
func (d *design) claimTables(names map[string]string, problems *config.Errors) {
	const ranks = "-ranks"
	if d.table != nil {
		if other, ok := names[d.name]; ok {
			problems.Add(d.at,
				fmt.Sprintf("experiment %s: its table has the name of the ranks of experiment %s: rename it", d.name,
					other))
		}
		names[d.name] = d.name
	}
	if d.ranks {
		if other, ok := names[d.name+ranks]; ok {
			problems.Add(d.at,
				fmt.Sprintf("experiment %s: its ranks have the name of the table of experiment %s: rename it", d.name,
					other))
		}
		names[d.name+ranks] = d.name
	}
}

// checkPublished reports published errors of a point or a method that the experiment does not have. Overrides may
// leave out some.
func (d *design) checkPublished(node *config.Node, methods []string, problems *config.Errors) {
	if d.table == nil || len(d.table.Published) == 0 || !d.bounded() {
		return
	}
	var points []string
	combinations(d.axes,
		func(at []results.Setting, _ []config.Assignment) { points = append(points, results.PointText(at)) })
	const key = "experiment.table.published"
	c := config.NewChecker()
	for _, point := range slices.Sorted(maps.Keys(d.table.Published)) {
		c.OneOf(key, point, points...)
		for _, method := range slices.Sorted(maps.Keys(d.table.Published[point])) {
			figures := d.table.Published[point][method]
			c.OneOf(key, method, methods...)
			c.Require(len(figures) == 2, key+"."+config.Path{point, method}.String(), figures,
				"must be a mean and its standard error")
		}
	}
	for _, wrong := range c.Problems() {
		problems.AddProblem(node.PlaceOf("table.published"), wrong)
	}
}

// gridSpec returns the table of errors of the experiment, with the published ones.
func (d *design) gridSpec(e *Experiment) *results.GridSpec {
	if d.table == nil {
		return nil
	}
	spec := &results.GridSpec{Name: d.name, Title: d.table.Title, Published: map[string]map[string]results.Estimate{}}
	for i := range e.Jobs {
		run, scale := &e.Jobs[i].Candidates[0], 1.0
		if m, ok := results.MetricNamed(run.Settings.Run.Metric); ok && m.Share &&
			run.Settings.Data.Target != data.TargetReal {
			scale = 100
		}
		point := results.PointText(run.Point)
		if figures := d.table.Published[point][run.Method]; len(figures) == 2 {
			if spec.Published[point] == nil {
				spec.Published[point] = map[string]results.Estimate{}
			}
			spec.Published[point][run.Label] = results.Estimate{Mean: figures[0] / scale, SE: figures[1] / scale, N: 2}
		}
	}
	return spec
}

func (d *design) decode(tree *config.Node) (settings Settings, wrong config.Errors) {
	if settings, wrong = decodeSettings(tree); len(wrong) == 0 {
		wrong = settings.validate(tree)
		d.overrideByFleet(&settings, &wrong)
		d.checkStatistics(&settings, &wrong)
	}
	return settings, wrong
}

// gridCell is a point of an experiment's grid with its settings and their tree. They are
// valid, except for the protocols and the tuned options of methods.
type gridCell struct {
	at       []results.Setting
	tree     *config.Node
	settings Settings
}

// job makes the runs of a method in a cell.
func (d *design) job(c *gridCell, method string, problems *config.Errors) Job {
	grid := d.grid(method)
	j := Job{key: (&RunSpec{Experiment: d.name, Method: method, Point: c.at}).place(), Seeds: c.settings.Run.Seeds}
	make := func(tuned []results.Setting, options []config.Assignment) (RunSpec, config.Errors) {
		run, wrong := d.run(c, method, options)
		run.Tuned = tuned
		return run.WithSeed(j.Seeds[0]), wrong
	}
	combinations(grid, func(tuned []results.Setting, options []config.Assignment) {
		run, wrong := make(tuned, options)
		problems.Merge(wrong)
		j.Candidates = append(j.Candidates, run)
	})
	if len(j.Candidates) > 1 {
		d.requireReference(&j, c.tree, problems)
		j.Options = tunable(grid, j.Candidates[0].Algorithm)
		j.make = func(tuned []results.Setting) (RunSpec, error) {
			options, err := assigned(grid, tuned)
			if err != nil {
				return RunSpec{}, err
			}
			run, wrong := make(tuned, options)
			return run, wrong.Err()
		}
	}
	return j
}

// noteTime notes a budget in rounds alone for methods with rounds and without, which are compared.
func (d *design) noteTime(compared []Job) {
	var with, without string
	limited := true
	for i := range compared {
		if len(compared[i].Candidates) == 0 {
			return
		}
		run := &compared[i].Candidates[0]
		limits := &run.Settings.Run
		switch {
		case run.Describe(mtl.Shape{}).Needs.Optimum: // which takes no time
			continue
		case run.Settings.Federation.Traits().Continuous:
			without = cmp.Or(without, run.Method)
		default:
			with = cmp.Or(with, run.Method)
		}
		limited = limited && (limits.MaxTimeS > 0 || run.Settings.MayEnd())
	}
	note := fmt.Sprintf("experiment %s: %s works in rounds and %s without, so that equal numbers of rounds are "+
		"unequal times: run.max_time_s gives both the same", d.name, with, without)
	if with != "" && without != "" && !limited && !slices.Contains(d.notes, note) {
		d.notes = append(d.notes, note)
	}
}

// requireReference reports candidates that are compared by a sub-optimality which they do
// not have.
func (d *design) requireReference(j *Job, tree *config.Node, problems *config.Errors) {
	problem := &j.Candidates[0].Settings.Problem
	if d.tuning.Folds > 0 || d.tuning.Target.Metric != results.Suboptimality || problem.HasReference() {
		return
	}
	key, value, want := "problem.optimum.when", problem.OptimumWhen, "must be \"auto\""
	if problem.Model != mtl.ModelLinear {
		key, value, want = "problem.model", problem.Model, "must be \"linear\""
	}
	at := tree.PlaceOf(key)
	for _, a := range j.Candidates[0].Settings.Methods[j.Candidates[0].Method].Set {
		if a.Path.String() == key {
			at = a.Value.Place
		}
	}
	problems.AddProblem(at, config.Problem{Key: key, Value: value, Want: fmt.Sprintf(
		"%s, or experiment.tuning.target of another metric: %s is tuned in experiment %s by its time to a "+
			"sub-optimality, which needs the reference optimum",
		want, j.Candidates[0].Method, d.name)})
}

func measuresTheta(j Job) bool { return j.Candidates[0].Settings.Run.ThetaEvery > 0 }

func (e *Experiment) measures(metric string) bool {
	split, name, _ := strings.Cut(metric, "_")
	return (split == "train" || split == "test") && slices.ContainsFunc(e.Jobs, func(j Job) bool {
		return slices.Contains(j.Candidates[0].Settings.Run.ClientMetrics, name)
	})
}

// run makes the run of a method in a cell with tuned options. The caller sets its seed.
func (d *design) run(c *gridCell, label string, tuned []config.Assignment) (RunSpec, config.Errors) {
	var problems config.Errors
	settings, tree := c.settings, c.tree
	options, own := divide(tuned)
	if own = over(settings.Methods[label].Set, own); len(own) > 0 {
		tree = tree.Clone()
		assign(tree, own, &problems)
		var wrong config.Errors
		settings, wrong = d.decode(tree)
		if problems.Merge(wrong); len(problems) > 0 {
			return RunSpec{Settings: settings}, problems
		}
	}
	if !settings.Run.endless() {
		settings.Run.Rounds = cmp.Or(settings.Run.Rounds, usualRounds)
	}
	method := settings.Methods[label]
	if len(options) > 0 {
		tree = tree.Clone()
		node := tree.Child("methods").Child(label)
		assign(node, options, &problems)
		if problems.Merge(method.resolve(label, node, tree)); len(problems) > 0 {
			return RunSpec{Settings: settings}, problems
		}
		settings.Methods = maps.Clone(settings.Methods)
		settings.Methods[label] = method
	}
	check := config.NewChecker()
	if protocol := method.protocol(&settings.Federation); protocol != settings.Federation.Protocol {
		tree = tree.Clone()
		own := tree.Child("methods").Child(label).Child("protocol")
		if own == nil {
			own = config.NewScalar(protocol, tree.Child("methods").Child(label).Key)
		}
		assign(tree, []config.Assignment{{Path: config.Path{"federation", "protocol"}, Value: own}}, &problems)
		all := settings.protocols()
		settings.Federation.Protocol = protocol
		problems.Merge(settings.resolveProtocol(all, tree))
		settings.Federation.Validate(check.In("federation"))
	}
	if len(options) > 0 {
		method.validate(check.In("methods").In(label))
	}
	settings.resolveLoss(d.methods)
	settings.validateMethod(check, label, &method)
	if d.tuning.Refit {
		settings.checkRefit(check)
	}
	if d.tuning.Folds > 0 && d.grid(label) != nil {
		settings.checkFolds(check, &method)
	}
	problems.AddFound(tree, check)
	return RunSpec{
		Experiment: d.name, Method: label, Label: method.Label,
		Algorithm: method.Algorithm, Options: method.options(),
		Point: c.at, Seed: firstSeed, System: firstSeed, Settings: settings,
	}, problems
}

// checkRefit reports settings that do not go with winners that run again on all rows.
func (s *Settings) checkRefit(check *config.Checker) {
	check.Require(s.Data.Validation > 0, "data.validation_fraction", s.Data.Validation,
		"must be positive with experiment.tuning.refit: there are no rows to train on beside")
	stop := s.Run.StopAt
	check.Require(!strings.HasPrefix(stop.Metric, "validation_"), "run.stop_at."+stop.Metric, stop.Value,
		"must be another metric, or experiment.tuning.refit false: runs of winners have no validation rows")
}

// validateMethod reports settings that do not fit a method.
func (s *Settings) validateMethod(check *config.Checker, label string, method *Method) {
	if method.Algorithm != Driven { // the program need not wait for all
		s.Federation.ValidateFaults(check, &s.Faults, &s.Network)
	}
	if _, ok := lookup(method.Algorithm); !ok {
		return
	}
	about, hubSize, learns := method.describe(), s.Network.HubSize, s.Run.Mode == Learning
	fit.Method(check.In("federation"), &s.Federation, &about,
		"methods."+config.Path{label}.String()+".protocol")
	if method.Algorithm == Driven {
		s.checkDriven(check)
	} else {
		codes, privacy := s.Coding(), s.Privacy()
		fit.Coding(check, &s.Federation, codes, privacy != nil && privacy.Noisy(), hubSize, learns, &about)
		check.Require(codes == nil || !about.Own || s.Data.Source != data.SourceExternal, "data.source", s.Data.Source,
			"must be another with compression: fedsim does not see the vectors of a learner with its own data")
		for _, room := range rooms.All() {
			if room.CheckRun != nil {
				room.CheckRun(check, s.ForRooms(), rooms.Run{Method: &about, HubSize: hubSize, Coded: codes != nil,
					Learns: learns})
			}
		}
	}
	check.Require(learns || !about.Needs.Continuous, "run.mode", s.Run.Mode,
		fmt.Sprintf("must be %q, or %s have options.stop = false: in a run without learning its steps, "+
			"by which it stops clients, are not known", Learning, about.Name))
	fit.Hubs(check, hubSize, &about)
	fit.Problem(check, s.Problem.Loss, s.Problem.Model, &about)
	if learns {
		fit.Tasks(check, &s.Problem, s.Data.Pool || s.Data.ClientsPerTask > 1, &about)
	}
	s.checkMethodData(check, label, method.Algorithm == Driven, &about)
}

// checkMethodData reports data that do not fit a method, and sets the vectors and numbers that a client keeps for it.
func (s *Settings) checkMethodData(check *config.Checker, label string, driven bool, about *algorithms.Description) {
	learns := s.Run.Mode == Learning
	if (about.Model == algorithms.PersonalModels || about.Learns.OwnTasks) && learns {
		s.checkPersonal(check.In("data"), about)
	}
	if s.Data.MemoryMB != (data.Megabytes{}) {
		here := learns && s.Problem.Model != mtl.ModelExternal && !about.Own && !driven
		check.Require(here && !s.Federation.Lazy(), "data.memory_mb", s.Data.MemoryMB,
			"must be empty for a learner, a driven federation, an external model, a lazy population and in timing "+
				"mode: rows and models are not here")
		work := &about.Work
		s.Data.Holds = data.Holding{Vectors: max(1, work.Vectors) + work.Kept - work.StoredEach + work.Working}
		if about.Needs.Dual {
			s.Data.Holds.PerRow = 2
		}
	}
	check.Require(s.Data.EncoderFLOPs == 0 || !driven && !about.Own && !s.Federation.Relative(),
		"data.encoder_flops", s.Data.EncoderFLOPs, "must be 0 for a learner, a driven federation and relative costs")
	if s.Data.NewClients > 0 {
		check.Require(learns && about.Evaluated == algorithms.ByRun && !driven, "data.new_clients",
			s.Data.NewClients, fmt.Sprintf("must be 0 for %s and in timing mode: no model is here", about.Name))
		check.Require(s.Problem.Model != mtl.ModelExternal, "data.new_clients", s.Data.NewClients,
			"must be 0 with problem.model \"external\": its program knows the rows of clients that take part alone")
	}
	if s.Data.Source == data.SourceSynthetic && s.Data.NewClients == 0 { // otherwise the data tell, when a run starts
		few := about.Learns.Fewer(s.Data.Resolve().Synthetic.Clients)
		if few, ok := few.(config.Problem); ok {
			check.In("methods."+config.Path{label}.String()).Require(false, few.Key, few.Value, few.Want)
		}
	}
}

// checkFolds reports settings that a method tuned on folds of its training rows excludes.
func (s *Settings) checkFolds(check *config.Checker, method *Method) {
	const with = " with experiment.tuning.folds"
	check.Require(s.Data.Validation == 0, "data.validation_fraction", s.Data.Validation,
		"must be 0"+with+", which hold out rows of their own")
	check.Require(s.Data.ClientsPerTask == 1, "data.clients_per_task", s.Data.ClientsPerTask, "must be 1"+with)
	check.Require(s.Data.Resident, "data.resident", s.Data.Resident, "must be true"+with)
	check.Require(s.Data.Source != data.SourceExternal, "data.source", s.Data.Source,
		"must not be the data of a learner"+with)
	check.Require(s.Run.Mode == Learning, "run.mode", s.Run.Mode, fmt.Sprintf("must be %q%s", Learning, with))
	check.Require(s.Run.EvalClients == 0, "run.eval_clients", s.Run.EvalClients, "must be 0"+with)
	check.Require(s.Problem.Model != mtl.ModelExternal, "problem.model", s.Problem.Model, "must not be external"+with)
	if _, ok := lookup(method.Algorithm); ok {
		about := method.describe()
		check.Require(!about.Own && about.Evaluated == algorithms.ByRun, "methods."+method.Label+".algorithm",
			method.Algorithm,
			"must be a method whose model the run evaluates"+with)
	}
}

// divide divides tuned values into options of the method and settings.
func divide(tuned []config.Assignment) (options, settings []config.Assignment) {
	for _, a := range tuned {
		if a.Path[0] == "options" {
			options = append(options, a)
		} else {
			settings = append(settings, a)
		}
	}
	return options, settings
}

// over returns assignments with others that replace those of the same key.
func over(under, upper []config.Assignment) []config.Assignment {
	all := slices.Clone(under)
	for _, a := range upper {
		all = append(except(all, a.Path), a)
	}
	return all
}

// overrideByFleet makes the fleet override network.profile, with a note. A sweep over
// network.profile is a problem, since it has no effect.
func (d *design) overrideByFleet(s *Settings, problems *config.Errors) {
	profile := s.Fleet.Override(&s.Network)
	if profile == "" {
		return
	}
	key := config.Path{"network", "profile"}
	for i := range d.axes {
		if d.axes[i].sets(key) {
			problems.Add(d.at,
				fmt.Sprintf(
					"experiment %s: axis %s sets network.profile, which has no effect: "+
						"the fleet sets the links, so leave out [fleet], or set fleet.name = \"none\"",
					d.name, d.axes[i].name))
		}
	}
	note := fmt.Sprintf("experiment %s: the fleet sets the links, so network.profile = %q has no effect", d.name,
		profile)
	if !slices.Contains(d.notes, note) {
		d.notes = append(d.notes, note)
	}
}

func assign(tree *config.Node, assignments []config.Assignment, problems *config.Errors) {
	for _, a := range assignments {
		if err := tree.Set(a.Path, a.Value); err != nil {
			problems.Add(a.Value.Place, err.Error())
		}
	}
}

// bounded reports whether the experiment has at most maxRuns combinations.
func (d *design) bounded() bool {
	candidates := 0
	for _, method := range d.methods {
		candidates += size(d.grid(method))
		if candidates > maxRuns {
			return false
		}
	}
	return size(d.axes)*candidates <= maxRuns
}

// size returns the number of points of the grid, at most maxRuns + 1.
func size(axes []axis) int {
	n := 1
	for i := range axes {
		n = min(n*len(axes[i].points), maxRuns+1)
	}
	return n
}

// combinations calls visit for every point of the grid of the axes, the first axis
// slowest, with the labels and the assignments of the point. Both slices are new.
func combinations(axes []axis, visit func(at []results.Setting, set []config.Assignment)) {
	digits := make([]int, len(axes))
	for {
		var at []results.Setting
		var set []config.Assignment
		for i, digit := range digits {
			point := &axes[i].points[digit]
			at = append(at, axes[i].settings(point)...)
			set = append(set, point.set...)
		}
		visit(at, set)
		i := len(digits) - 1
		for ; i >= 0; i-- {
			if digits[i]++; digits[i] < len(axes[i].points) {
				break
			}
			digits[i] = 0
		}
		if i < 0 {
			return
		}
	}
}
