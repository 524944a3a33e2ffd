package compare

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fedsim/results"
	"fedsim/results/rundir"
)

var (
	// errUnfinished is wrapped by errors for directories without all runs of their
	// scenario.
	errUnfinished = errors.New("is not finished")

	// errNothing is wrapped by errors for directories that have nothing in common.
	errNothing = errors.New("nothing to compare")
)

// Open reads a finished run directory.
func Open(dir string) (*rundir.Results, error) {
	found, err := rundir.Read(dir)
	switch {
	case err != nil:
		return nil, err
	case len(found.Manifest.Absent) > 0:
		return nil,
			fmt.Errorf("%s: %w (a partial merge without %s): merge again with fedsim plan merge when all runs are done",
				dir, errUnfinished, found.Manifest.Absent[0])
	case found.Manifest.State != rundir.Complete:
		return nil, fmt.Errorf("%s: %w (%s): resume it first with: fedsim run --resume %s",
			dir, errUnfinished, found.Manifest.State, dir)
	}
	return found, nil
}

// Comparison compares several run directories. Fields are added, and never renamed in JSON or
// removed (docs/reference/json.md).
type Comparison struct {
	Directories []string        `json:"directories"` // different names
	Targets     results.Targets `json:"-"`           // in the requested order
	Differing   []Difference    `json:"differing"`
	Cases       []Case          `json:"cases"` // in at least two directories, in the order of the first of them
	Unmatched   []Unmatched     `json:"alone"` // in one directory
	Files       []string        `json:"files"` // paths of the written files; the caller sets them

	runs [][][]results.Run // by case and row
}

// Label identifies runs independently of their directory.
type Label struct {
	Experiment string            `json:"experiment"`
	Method     string            `json:"method"`
	Point      []results.Setting `json:"point"`
}

// String returns "experiment: method, key = value".
func (l Label) String() string { return l.Experiment + ": " + l.short() }

// short returns String without the experiment.
func (l Label) short() string {
	if len(l.Point) == 0 {
		return l.Method
	}
	return l.Method + ", " + results.SettingsText(l.Point)
}

// key returns a unique key of a label, independent of the order of the point's settings.
func (l Label) key() string {
	parts := []string{strconv.Quote(l.Experiment), strconv.Quote(l.Method)}
	for _, s := range l.Point {
		parts = append(parts, strconv.Quote(s.Key)+"="+strconv.Quote(s.Value))
	}
	slices.Sort(parts[2:])
	return strings.Join(parts, " ")
}

// Unmatched identifies runs that only one directory has.
type Unmatched struct {
	Directory string `json:"directory"`
	Label
}

// Case compares the same runs in several directories.
type Case struct {
	Label
	Rows []Row `json:"rows"` // one for each directory that has the runs; the first is the baseline
}

// Row holds the runs of a case in one directory.
type Row struct {
	Directory string                `json:"directory"`
	Seeds     []uint64              `json:"seeds"`    // of the runs
	Relative  bool                  `json:"relative"` // times are in relative units, not seconds
	Cells     []Cell                `json:"targets"`  // one for each target
	Metrics   []results.MetricValue `json:"metrics"`  // statistics over clients at the end, mean over the seeds
}

// Cell is the mean cost of reaching one target, over all seeds of the row.
type Cell struct {
	results.Target
	results.MeanCost
	Ratio // to the times of the baseline; 1 in the first row
}

// Compare compares directories. Without targets, it uses those that all directories
// report, or if none has any the one that results.Chosen chooses of all runs. It fails if no two directories have the
// same runs, if they share no target, or if no run records the metric of a target.
func Compare(dirs []*rundir.Results, targets results.Targets) (*Comparison, error) {
	c := &Comparison{Targets: targets}
	for i := range dirs {
		c.Directories = append(c.Directories, dirs[i].Dir)
	}
	if len(targets) == 0 {
		if c.Targets = shared(dirs); len(c.Targets) == 0 &&
			!slices.ContainsFunc(dirs, func(d *rundir.Results) bool { return len(d.Manifest.Targets) > 0 }) {
			var all []results.Run
			for _, d := range dirs {
				all = append(all, d.Runs...)
			}
			c.Targets = results.Chosen(all)
		}
		if len(c.Targets) == 0 {
			return nil,
				fmt.Errorf(
					"%w: %s have no target in common: set one, such as --target 1e-2 or --target test_error=0.08",
					errNothing, strings.Join(c.Directories, ", "))
		}
	}
	var err error
	if c.Differing, err = differing(dirs); err != nil {
		return nil, err
	}
	c.match(dirs)
	c.addMetrics()
	if len(c.Cases) == 0 {
		return nil,
			fmt.Errorf("%w: no two directories have the same experiment, method and point; %s: use the same names",
				errNothing, c.examples())
	}
	if !c.measured() {
		return nil,
			fmt.Errorf("%w: no run of %s records %s: set run.mode = \"learning\", "+
				"and for suboptimality problem.optimum.when = \"auto\"", errNothing, strings.Join(c.Directories, ", "),
				strings.Join(c.metrics(), " or "))
	}
	return c, nil
}

// shared returns the targets that all directories report.
func shared(dirs []*rundir.Results) results.Targets {
	var all results.Targets
	for _, x := range dirs[0].Manifest.Targets {
		if !slices.ContainsFunc(dirs, func(d *rundir.Results) bool { return !slices.Contains(d.Manifest.Targets, x) }) {
			all = append(all, x)
		}
	}
	return all
}

// examples describes the first unmatched runs of each directory.
func (c *Comparison) examples() string {
	var texts []string
	for _, name := range c.Directories {
		if i := slices.IndexFunc(c.Unmatched, func(a Unmatched) bool { return a.Directory == name }); i >= 0 {
			texts = append(texts, fmt.Sprintf("%s has %s", name, c.Unmatched[i].Label))
		} else {
			texts = append(texts, name+" has no runs")
		}
	}
	return strings.Join(texts, ", ")
}

// metrics returns the distinct metrics of the targets.
func (c *Comparison) metrics() []string {
	var names []string
	for _, t := range c.Targets {
		if !slices.Contains(names, t.Metric) {
			names = append(names, t.Metric)
		}
	}
	return names
}

// measured reports whether a run of the cases records the metric of a target.
func (c *Comparison) measured() bool {
	runs := c.allRuns()
	return slices.ContainsFunc(c.metrics(), func(name string) bool {
		metric, _ := results.MetricOf(runs, name)
		return slices.ContainsFunc(runs, func(r results.Run) bool { return metric.Known(&r) })
	})
}
