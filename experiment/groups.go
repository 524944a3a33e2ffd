package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/experiment/scenario"
)

// Group is a set of runs that one process makes, since they share their computation: see
// recording. Runs that share nothing are groups of one.
type Group struct {
	Runs  []int // places of the runs, increasing
	Needs []int // indices of what must be made first
	Cost  Cost  // without that of Needs
}

// The kinds of a Need.
const (
	NeedOptimum = "optimum" // the reference optimum and the first coupling of a problem
	NeedTuning  = "tuning"  // the tuning of jobs that share their computation
)

// Need is a computation whose result several groups use. [Make] makes it. A run whose need is
// not there makes it itself, so a process never depends on another one.
type Need struct {
	Kind  string
	Of    []string // an optimum: the ID of a run; a tuning: keys of jobs
	Names []string // of the states in Options.Shared: it is made when all are there
	Needs []int    // indices of what must be made first
	Cost  Cost     // without that of Needs
}

// Groups divides the runs of experiments into groups, those of the first seed first, and lists
// what the groups need. It reads the sizes of the data.
func Groups(ctx context.Context, experiments []scenario.Experiment) ([]Group, []Need, error) {
	r := newRunner(ctx, nil, Options{}, mostRecorded)
	g := newGrouping(r)
	if err := g.addAll(r.jobs(experiments)); err != nil {
		return nil, nil, err
	}
	return g.groups, g.needs, nil
}

// grouping collects groups and needs, with their indices by what identifies them.
type grouping struct {
	*runner
	groups []Group
	needs  []Need
	costs  [][]quantities // by group: those of its runs
	group  map[string]int
	need   map[string]int
	tuned  map[*job]int // needs of the tuning of jobs
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
			more = true
			if err := g.add(&jobs[i], seed); err != nil {
				return err
			}
		}
	}
	for i := range g.groups {
		g.groups[i].Cost = costOf(g.costs[i])
		slices.Sort(g.groups[i].Runs)
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
		g.groups, g.costs = append(g.groups, Group{}), append(g.costs, nil)
		return len(g.groups) - 1
	})
	group := &g.groups[at]
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

// sharing returns what the computation of a job under a seed depends on: equal texts share it.
func (g *grouping) sharing(j *job, seed int) (string, error) {
	var b strings.Builder
	for i := range j.Candidates {
		run := j.Candidates[i].WithSeed(j.Seeds[seed])
		sized, err := g.prepare.sizesOf(run.Settings.Data)
		if err != nil {
			return "", fmt.Errorf("run %s: %w", run.ID, err)
		}
		if run.Settings.Run.Mode == scenario.Timing || run.Settings.Run.Model || !g.recordable(&run, len(sized.rows)) {
			return run.ID, nil
		}
		fmt.Fprintf(&b, "%+v;", recordingKey{keyOf(&run.Settings), run.Algorithm, fmt.Sprintf("%+v", run.Options), run.System})
	}
	return b.String(), nil
}

// optimum returns the need of the problem of a run under a seed, if it has one.
func (g *grouping) optimum(of *scenario.Run, seed uint64) ([]int, error) {
	run := of.WithSeed(seed)
	s := &run.Settings
	if s.Run.Mode == scenario.Timing || isExternal(&run) || !s.Problem.HasReference() && s.Problem.WarmOmega == 0 {
		return nil, nil
	}
	q, err := g.quantitiesOf(&run)
	name := keyOf(s).name()
	return []int{place(g.need, name, func() int {
		g.needs = append(g.needs, Need{Kind: NeedOptimum, Of: []string{run.ID}, Names: []string{name}, Cost: q.optimum(s)})
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
	for at := range j.under {
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
		g.needs = append(g.needs, Need{Kind: NeedTuning})
		return len(g.needs) - 1
	})
	n := &g.needs[at]
	n.Cost = n.Cost.tuning(&cost, j.trials())
	n.Of, n.Names = append(n.Of, j.Key()), append(n.Names, tuningName(j.Job))
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

// Make makes a need, by its Kind and Of, and stores its states in o.Shared.
func Make(ctx context.Context, experiments []scenario.Experiment, kind string, of []string, o Options) error {
	o.Only = placesOf(experiments, kind, of)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := newRunner(ctx, cancel, o, mostRecorded)
	defer r.endLearners()
	jobs := r.jobs(experiments)
	if kind == NeedOptimum {
		for i := range jobs {
			for k := range jobs[i].Candidates {
				for _, seed := range jobs[i].Seeds {
					if run := jobs[i].Candidates[k].WithSeed(seed); slices.Contains(of, run.ID) {
						_, err := r.prepare.prepare(&run.Settings)
						return err
					}
				}
			}
		}
		jobs = nil
	}
	if len(jobs) == 0 {
		return config.Problem{Key: "prerequisite", Value: strings.Join(of, " "), Want: "must be of a run or method of the scenario"}
	}
	r.total = 0
	for i := range jobs {
		r.total += len(jobs[i].Candidates)
	}
	r.choose(jobs)
	return context.Cause(ctx)
}

// placesOf reports which runs are the first of the jobs that a need is of: a tuning needs no
// other seed.
func placesOf(experiments []scenario.Experiment, kind string, of []string) func(place int) bool {
	keys := map[string]bool{}
	for _, name := range of {
		keys[name] = kind == NeedTuning
		for kind == NeedOptimum && strings.Contains(name, "/") { // the ID of a run begins with the key of its job
			name = name[:strings.LastIndexByte(name, '/')]
			keys[name] = true
		}
	}
	places, index := map[int]bool{}, 0
	for _, e := range experiments {
		for i := range e.Jobs {
			if keys[e.Jobs[i].Key()] {
				places[index] = true
			}
			index += len(e.Jobs[i].Seeds)
		}
	}
	return func(place int) bool { return places[place] }
}
