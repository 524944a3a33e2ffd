package scenario

import (
	"fmt"
	"iter"
	"strings"

	"fedsim/algorithms"
	"fedsim/mtl"
	"fedsim/results"
)

// Experiment is an expanded grid of runs: the points of the axes, the first axis slowest,
// and at each point the methods in order.
type Experiment struct {
	Name        string
	Description string
	Axes        []Axis // in the order of the scenario: named axes, the sample, then swept keys
	Tuning      Tuning
	Ranks       bool              // whether its methods are ranked
	Table       *results.GridSpec // of errors at the end; nil: none is written
	Figures     []results.Figure  // empty: those of plots.Defaults
	Jobs        []Job
}

// Job is a method at a point of an experiment, for all seeds.
type Job struct {
	// Candidates are the runs of the tuning grid under the first seed, the first key
	// slowest. A method without a grid has one.
	Candidates []RunSpec
	// Seeds are the seeds of the repetitions, for Candidates[i].WithSeed.
	Seeds []uint64
	// Options are the tuned options in the order of the grid; nil without a grid.
	Options []Tunable

	key  string // ID of its runs without tuned options and seed
	make func(tuned []results.Setting) (RunSpec, error)
}

// Jobs returns the jobs of experiments, in their order.
func Jobs(experiments []Experiment) iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		for i := range experiments {
			for k := range experiments[i].Jobs {
				if !yield(&experiments[i].Jobs[k]) {
					return
				}
			}
		}
	}
}

// RunSpec is a run to execute: a method at a point of an experiment under a seed.
type RunSpec struct {
	ID         string // unique in the scenario: experiment/method/key=value/.../seed=n
	Experiment string
	Method     string // the method's label in the scenario
	Label      string // the method's name in figures
	Algorithm  string
	Options    algorithms.Options // the method's own, decoded and valid
	Point      []results.Setting  // where on the experiment's axes
	Tuned      []results.Setting  // where on the tuning grid; empty when the method is not tuned
	Seed       uint64             // of the repetition
	System     uint64             // seed of what devices, links, faults and methods draw
	Settings   Settings           // those of this seed
}

// Describe returns the description of the run's method before the run starts, for models of a
// shape; nothing of an algorithm that is not registered.
func (r *RunSpec) Describe(shape mtl.Shape) (d algorithms.Description) {
	if factory, ok := lookup(r.Algorithm); ok {
		d = factory.Describe(r.Options, shape)
	}
	return d
}

// firstSeed is the seed under which data.seed and data.split_seed have their own values.
const firstSeed = 1

// WithSeed returns the run under another seed, which changes the system, the data or
// both according to run.vary. Both runs share their options.
func (r RunSpec) WithSeed(seed uint64) RunSpec {
	s := &r.Settings
	r.System = seed
	switch s.Run.Vary {
	case results.VarySplit:
		r.System = s.Run.Seeds[0]
		s.Data.Shift += seed - r.Seed
	case results.VaryAll:
		s.Data.Seed += seed - r.Seed
		if s.Data.Split != 0 {
			s.Data.Shift += seed - r.Seed
		}
	}
	r.Seed = seed
	r.ID = r.id()
	return r
}

// id returns the ID of the run. Values are escaped, so different runs have different IDs.
func (r *RunSpec) id() string {
	return fmt.Sprintf("%s%s/seed=%d", r.place(), path(r.Tuned), r.Seed)
}

// place returns the part of the ID that the runs of a job share.
func (r *RunSpec) place() string { return r.Experiment + "/" + r.Method + path(r.Point) }

// path returns settings as parts of an ID.
func path(settings []results.Setting) string {
	var b strings.Builder
	for _, s := range settings {
		b.WriteString("/" + s.Key + "=" + escape(s.Value))
	}
	return b.String()
}

// escape returns a value with slashes, percent signs and control characters as %XX.
func escape(value string) string {
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; c == '/' || c == '%' || c < ' ' || c == 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(value[i])
	}
	return b.String()
}
