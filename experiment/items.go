package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/experiment/scenario"
)

// The kinds of an Item.
const (
	KindRuns    = "runs"    // runs that one process makes, since they share their computation: see recording
	KindOptimum = "optimum" // the reference optimum and the first coupling of a problem
	KindTuning  = "tuning"  // the tuning of jobs that share their computation
)

// Item is a piece of the work on a scenario. [Do] makes it. Optima and tunings are made for other
// items, which need them. A run whose need is not there makes it itself, so a process never depends on
// another one.
type Item struct {
	Kind string
	// Of has the IDs of runs without tuned options, the ID of a run with the problem of an optimum, keys
	// of the jobs of a tuning.
	Of     []string
	Runs   []int    // places of its runs, increasing
	Needs  []int    // indices of the items that must be made first, all of them before this one
	States []string // names of its states in Shared.Store: it is made when all are there. Runs have none
	Cost   Cost     // without that of Needs
}

// Items divides the work on a scenario into items, in an order in which all can be made: what several
// others need, then the runs, those of the first seed first. Short items are packed
// until they take a time in seconds, as estimated: see pack. It reads the sizes of the data. nil places are all runs;
// seeds that are added until results are certain require places.
func Items(ctx context.Context, s *scenario.Scenario, longest float64, places []int) ([]Item, error) {
	var o Options
	if places == nil {
		if err := requireSeeds(s.Experiments); err != nil {
			return nil, err
		}
	} else {
		o.only = func(place int) bool { return slices.Contains(places, place) }
	}
	g := newGrouping(newRunner(ctx, nil, o, mostRecorded))
	if err := g.addAll(g.jobs(s.Experiments)); err != nil {
		return nil, err
	}
	items := pack(g.needs, g.runs, longest)
	names := Names(s.Experiments)
	for i := range items {
		for _, place := range items[i].Runs {
			items[i].Of = append(items[i].Of, names[place])
		}
	}
	return items, nil
}

// grouping collects the items of runs and their prerequisites, with their indices by identity.
type grouping struct {
	*runner
	runs  []Item
	needs []Item
	costs [][]quantities // by item of runs: those of each run
	group map[string]int
	need  map[string]int
	tuned map[*job]int // needs of the tuning of jobs
}

func newGrouping(r *runner) *grouping {
	return &grouping{runner: r, group: map[string]int{}, need: map[string]int{}, tuned: map[*job]int{}}
}

// addAll adds the runs of jobs, those of the first seed first.
func (g *grouping) addAll(jobs []job) error {
	for seed, more := 0, true; more; seed++ {
		more = false
		for i := range jobs {
			if seed >= len(jobs[i].Seeds) {
				continue
			}
			if more = true; !slices.Contains(jobs[i].places, seed) {
				continue
			}
			if err := g.add(&jobs[i], seed); err != nil {
				return err
			}
		}
	}
	for i := range g.runs {
		g.runs[i].Cost = costOf(g.costs[i])
		slices.Sort(g.runs[i].Runs)
	}
	return nil
}

// add adds the run of a job under a seed.
func (g *grouping) add(j *job, seed int) error {
	key, err := g.sharing(j, seed)
	if err != nil {
		return err
	}
	at := place(g.group, key, func() int {
		g.runs, g.costs = append(g.runs, Item{Kind: KindRuns}), append(g.costs, nil)
		return len(g.runs) - 1
	})
	group := &g.runs[at]
	cost, err := g.quantitiesUnder(j, seed)
	if err != nil {
		return err
	}
	g.costs[at] = append(g.costs[at], cost)
	group.Runs = append(group.Runs, j.first+seed)
	if len(j.Candidates) == 1 {
		of, err := g.optimum(&j.Candidates[0], j.Seeds[seed])
		group.Needs = with(group.Needs, of...)
		return err
	}
	tuning, ok := g.tuned[j]
	if !ok {
		if tuning, err = g.tuning(j); err != nil {
			return err
		}
		g.tuned[j] = tuning
	}
	group.Needs = with(group.Needs, tuning)
	of, err := g.optima(j, j.Seeds[seed])
	if len(of) == 1 { // of every candidate: that of the winner
		group.Needs = with(group.Needs, of...)
	}
	return err
}

// sharing identifies the computation of a job under a seed: jobs with equal texts share it.
func (g *grouping) sharing(j *job, seed int) (string, error) {
	var b strings.Builder
	for i := range j.Candidates {
		run := j.Candidates[i].WithSeed(j.Seeds[seed])
		sized, err := g.prepare.sizesOf(&run.Settings)
		if err != nil {
			return "", fmt.Errorf("run %s: %w", run.ID, err)
		}
		if run.Settings.Run.Mode == scenario.Timing || run.Settings.Run.SaveModel || !g.recordable(&run,
			sized.clients) {
			return run.ID, nil
		}
		fmt.Fprintf(&b, "%+v;", recordingKeyOf(&run))
	}
	return b.String(), nil
}

// optimum returns the need of the problem of a run under a seed, if it has one.
func (g *grouping) optimum(of *scenario.RunSpec, seed uint64) ([]int, error) {
	run := of.WithSeed(seed)
	s := &run.Settings
	if s.Run.Mode == scenario.Timing || isExternal(&run) || !s.Problem.HasReference() && s.Problem.WarmOmega == 0 {
		return nil, nil
	}
	q, err := g.quantitiesOf(&run)
	name := keyOf(s).name()
	return []int{place(g.need, name, func() int {
		optimum := Item{Kind: KindOptimum, Of: []string{run.ID}, States: []string{name}, Cost: q.optimum(s)}
		g.needs = append(g.needs, optimum)
		return len(g.needs) - 1
	})}, err
}

// optima returns the needs of the problems of all candidates of a job under a seed.
func (g *grouping) optima(j *job, seed uint64) (all []int, err error) {
	for i := range j.Candidates {
		of, err := g.optimum(&j.Candidates[i], seed)
		if err != nil {
			return all, err
		}
		all = with(all, of...)
	}
	return all, nil
}

// tuning returns the need of the tuning of a job.
func (g *grouping) tuning(j *job) (int, error) {
	var key string
	var of []int
	for _, at := range j.tunedAt() {
		shared, err := g.sharing(j, at)
		if err != nil {
			return 0, err
		}
		needs, err := g.optima(j, j.Seeds[at])
		if err != nil {
			return 0, err
		}
		key, of = key+shared, with(of, needs...)
	}
	cost, err := g.quantitiesOfTrials(j)
	if err != nil {
		return 0, err
	}
	at := place(g.need, "tuning "+key, func() int {
		g.needs = append(g.needs, Item{Kind: KindTuning})
		return len(g.needs) - 1
	})
	n := &g.needs[at]
	n.Cost = n.Cost.tuning(&cost, j.trials())
	n.Of, n.States = append(n.Of, j.name()), append(n.States, j.tuningName())
	n.Needs = with(n.Needs, of...)
	return at, nil
}

// place returns the index under a key, which make_ makes for a new one.
func place(of map[string]int, key string, make_ func() int) int {
	at, ok := of[key]
	if !ok {
		at = make_()
		of[key] = at
	}
	return at
}

// with returns a list with further indices, each once.
func with(list []int, more ...int) []int {
	for _, i := range more {
		if !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}

// Do makes an item, by its Kind and Of. o.Recorder records the runs of one; the states of others are
// stored in shared.Store.
func Do(ctx context.Context, s *scenario.Scenario, kind string, of []string, o Options, shared Shared) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.only, o.shared = placesOf(s.Experiments, kind, of), shared
	r := newRunner(ctx, cancel, o, mostRecorded)
	defer r.endPrograms()
	jobs := r.jobs(s.Experiments)
	if len(jobs) == 0 {
		return noItem(of, "a run or method of the scenario")
	}
	switch kind {
	case KindRuns:
		r.simulate(jobs)
	case KindOptimum:
		r.makeOptimum(jobs, of[0])
	default:
		r.tuneOnly(jobs)
	}
	return context.Cause(ctx)
}

// makeOptimum makes the reference optimum of the problem of a run, which may be a candidate.
func (r *runner) makeOptimum(jobs []job, id string) {
	for i := range jobs {
		for k := range jobs[i].Candidates {
			for _, seed := range jobs[i].Seeds {
				if run := jobs[i].Candidates[k].WithSeed(seed); run.ID == id {
					if _, err := r.prepare.prepare(&run.Settings); err != nil {
						r.cancel(err)
					}
					return
				}
			}
		}
	}
	r.cancel(noItem([]string{id}, "a run of the scenario"))
}

// noItem returns the error of an item that the scenario does not have.
func noItem(of []string, want string) error {
	return config.Problem{Key: "item", Value: strings.Join(of, " "), Want: "must be of " + want}
}

// placesOf reports which runs an item is of: its own, those of the first jobs of an optimum, or
// the first ones of the jobs of a tuning, which needs no other seed.
func placesOf(experiments []scenario.Experiment, kind string, of []string) func(place int) bool {
	places := map[int]bool{}
	if kind == KindRuns {
		placeOf := Places(experiments)
		for _, id := range of {
			if at, ok := placeOf(id); ok {
				places[at] = true
			}
		}
		return func(place int) bool { return places[place] }
	}
	keys := map[string]bool{}
	for _, name := range of {
		keys[name] = kind == KindTuning
		for kind == KindOptimum && strings.Contains(name, "/") { // the ID of a run begins with the key of its job
			name = name[:strings.LastIndexByte(name, '/')]
			keys[name] = true
		}
	}
	index := 0
	for j := range scenario.Jobs(experiments) {
		for k, seed := range j.Seeds {
			if keys[j.Key()] && k == 0 || keys[fmt.Sprintf("%s/seed=%d", j.Key(), seed)] {
				places[index+k] = true
			}
		}
		index += len(j.Seeds)
	}
	return func(place int) bool { return places[place] }
}
