package scenarios

import (
	"fmt"
	"strings"

	"fedsim/algorithms"
	"fedsim/results"
)

// Experiment is a grid of runs that belong together, expanded: the points of
// the axes, the first axis slowest, and at each point the methods in order.
type Experiment struct {
	Name        string
	Description string
	Axes        []Axis   // in the order of the scenario: named axes, then swept keys
	Methods     []string // labels in the order of the figures
	Tuning      Tuning
	Figure      *results.Figure // nil: not drawn
	Jobs        []Job
}

// Job is one method at one point of an experiment, to be run under every seed.
type Job struct {
	// Candidates are the runs to choose from, under the first seed, in the order
	// of the tuning grid, the first key slowest. A method that is not tuned has
	// one.
	Candidates []Run
	// Seeds are those of the repetitions; Candidates[i].WithSeed makes them.
	Seeds []uint64
	// Options are those that are tuned, in the order of the grid; nil when none is.
	Options []Tunable

	key  string // its runs' ID without what is tuned and without the seed
	make func(tuned []results.Setting) (Run, error)
}

// Run is one concrete run: a method at a point of an experiment under a seed.
type Run struct {
	ID         string // unique in the scenario: experiment/method/key=value/.../seed=n
	Experiment string
	Method     string // the method's label in the scenario
	Label      string // the method's name in figures
	Algorithm  string
	Options    algorithms.Options // the method's own, decoded and valid
	Protocol   string             // also in Settings.Federation.Protocol
	Point      []results.Setting  // where on the experiment's axes
	Tuned      []results.Setting  // where on the tuning grid; empty when the method is not tuned
	Seed       uint64             // of the repetition
	System     uint64             // seed of what devices, links, faults and methods draw
	Settings   Settings           // those of this seed
}

// firstSeed is the seed that varies nothing: under it the data are those that [data]
// says.
const firstSeed = 1

// WithSeed returns the same run under another seed, which is that of the system, of
// the data, or of both, as run.vary says. Options are shared.
func (r Run) WithSeed(seed uint64) Run {
	s := &r.Settings
	r.System = seed
	switch s.Run.Vary {
	case results.VarySplit:
		r.System = s.Run.Seeds[0]
		s.Data.Split += seed - r.Seed
	case results.VaryAll:
		s.Data.Seed += seed - r.Seed
	}
	r.Seed = seed
	r.ID = r.id()
	return r
}

// id renders the run's name. Values are escaped where they would be taken for
// the structure of the name, so that names are as distinct as what they name.
func (r *Run) id() string {
	return fmt.Sprintf("%s%s/seed=%d", r.place(), path(r.Tuned), r.Seed)
}

// place is the part of the name that the runs of a job share.
func (r *Run) place() string { return r.Experiment + "/" + r.Method + path(r.Point) }

// path renders settings as parts of a name.
func path(settings []results.Setting) string {
	var b strings.Builder
	for _, s := range settings {
		b.WriteString("/" + s.Key + "=" + escape(s.Value))
	}
	return b.String()
}

// escape writes slashes, percent signs and control characters as %XX.
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
