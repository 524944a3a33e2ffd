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
	// ErrUnfinished is wrapped by the error of Open for a run directory that does
	// not hold all runs of its scenario.
	ErrUnfinished = errors.New("is not finished")

	// ErrNothing is wrapped by the error of Compare for directories that cannot be
	// held against each other.
	ErrNothing = errors.New("nothing to compare")
)

// Directory is a run directory under the name that it is shown by.
type Directory struct {
	Name string
	*rundir.Results
}

// Open reads a finished run directory.
func Open(dir string) (Directory, error) {
	found, err := rundir.Read(dir)
	switch {
	case errors.Is(err, rundir.ErrForeign):
		return Directory{}, fmt.Errorf("%w: must be what fedsim run has left", err)
	case err != nil:
		return Directory{}, err
	case found.Manifest.State != rundir.Complete:
		return Directory{}, fmt.Errorf("%s: %w, its manifest.json says %s: go on with it before it is compared, fedsim run --resume %s", dir, ErrUnfinished, found.Manifest.State, dir)
	}
	return Directory{Name: dir, Results: found}, nil
}

// Comparison is what several run directories have in common and where they
// differ. Indices of directories are those of Directories.
type Comparison struct {
	Directories []string        // their names
	Targets     results.Targets // in the order asked for
	Differing   []Difference
	Cases       []Case  // what at least two directories have, in the order of the first that has it
	Alone       []Alone // what one of them has

	runs [][][]results.Run // by case and row
}

// Label says what runs are, whatever directory they are in.
type Label struct {
	Experiment string
	Method     string
	Point      []results.Setting
}

// String writes "experiment: method, key = value".
func (l Label) String() string { return l.Experiment + ": " + l.short() }

// short leaves the experiment out.
func (l Label) short() string {
	if len(l.Point) == 0 {
		return l.Method
	}
	return l.Method + ", " + l.point()
}

// point writes the place on the axes: "key = value, key = value".
func (l Label) point() string {
	var parts []string
	for _, s := range l.Point {
		parts = append(parts, s.Key+" = "+s.Value)
	}
	return strings.Join(parts, ", ")
}

// key tells labels apart, whatever is in their texts and in whatever order the
// point names its keys.
func (l Label) key() string {
	parts := []string{strconv.Quote(l.Experiment), strconv.Quote(l.Method)}
	for _, s := range l.Point {
		parts = append(parts, strconv.Quote(s.Key)+"="+strconv.Quote(s.Value))
	}
	slices.Sort(parts[2:])
	return strings.Join(parts, " ")
}

// Alone is what one directory alone has.
type Alone struct {
	Directory int
	Label     Label
}

// Case is the same runs in several directories.
type Case struct {
	Label
	Rows []Row // by directory, those that have it; the others are compared with the first
}

// Row is what a case came to in one directory.
type Row struct {
	Directory int
	Seeds     []uint64 // of its runs
	Relative  bool     // times are relative units, not seconds
	Cells     []Cell   // one per target
}

// Cell is the way to one target. Rounds, time, bytes and energy are means over all
// seeds of the row and NaN unless every one reached it.
type Cell struct {
	Reached int // how many seeds reached it
	Rounds  float64
	TimeS   float64 // virtual
	Bytes   float64 // both ways
	EnergyJ float64 // of all devices
	Ratio   Ratio   // of the times to those of the first row; 1 there
}

// Compare joins directories, the first of which the others are compared with.
// Without targets, those that all directories report are taken. It is an error that
// wraps ErrNothing when no two directories have runs of one case, when they share no
// target, or when no such run has a value of a target's metric.
func Compare(dirs []Directory, targets results.Targets) (*Comparison, error) {
	c := &Comparison{Targets: targets}
	for i := range dirs {
		c.Directories = append(c.Directories, dirs[i].Name)
	}
	if len(targets) == 0 {
		if c.Targets = shared(dirs); len(c.Targets) == 0 {
			return nil, fmt.Errorf("%w: no target is reported by all of %s: choose some, such as --target 1e-2 or --target test_error=0.08", ErrNothing, strings.Join(c.Directories, ", "))
		}
	}
	var err error
	if c.Differing, err = differing(dirs); err != nil {
		return nil, err
	}
	c.match(dirs)
	if len(c.Cases) == 0 {
		return nil, fmt.Errorf("%w: no two of the directories have an experiment, a method and a place on its axes in common; %s: give them the same names", ErrNothing, c.examples())
	}
	if !c.measured() {
		return nil, fmt.Errorf("%w: no run of %s has a value of %s, so that none has a time to a target: runs need run.mode = \"learning\", and a sub-optimality needs problem.optimum_sweeps above 0", ErrNothing, strings.Join(c.Directories, ", "), strings.Join(c.metrics(), " or "))
	}
	return c, nil
}

// shared returns the targets that all directories report.
func shared(dirs []Directory) results.Targets {
	var all results.Targets
	for _, x := range dirs[0].Manifest.Targets {
		if !slices.ContainsFunc(dirs, func(d Directory) bool { return !slices.Contains(d.Manifest.Targets, x) }) {
			all = append(all, x)
		}
	}
	return all
}

// examples says what the first lone case of each directory is.
func (c *Comparison) examples() string {
	var texts []string
	for d, name := range c.Directories {
		if i := slices.IndexFunc(c.Alone, func(a Alone) bool { return a.Directory == d }); i >= 0 {
			texts = append(texts, fmt.Sprintf("%s has %s", name, c.Alone[i].Label))
		} else {
			texts = append(texts, name+" has no run")
		}
	}
	return strings.Join(texts, ", ")
}

// metrics returns the names of the targets' metrics, each once.
func (c *Comparison) metrics() []string {
	var names []string
	for _, t := range c.Targets {
		if !slices.Contains(names, t.Metric) {
			names = append(names, t.Metric)
		}
	}
	return names
}

// measured reports whether a run of the cases has a value of a target's metric.
func (c *Comparison) measured() bool {
	for _, name := range c.metrics() {
		metric, _ := results.MetricNamed(name)
		for _, rows := range c.runs {
			for _, runs := range rows {
				for i := range runs {
					if metric.Known(&runs[i]) {
						return true
					}
				}
			}
		}
	}
	return false
}
