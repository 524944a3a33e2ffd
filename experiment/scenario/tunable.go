package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/results"
)

// Tunable is an option or a setting that is tuned.
type Tunable struct {
	Key     string // relative to the method's table, such as "options.theta", or of a setting
	Integer bool   // takes whole numbers alone
	// Values are the numbers of the grid in increasing order. It is nil for options
	// whose values have no order (names, booleans) and for options with a single value.
	// It omits a 0 beside positive numbers: at 0 the method chooses, so 0 has no
	// neighbors.
	Values []float64
	labels []string // of the grid's values
}

var settingFields = sync.OnceValue(func() []config.Field { s := defaultSettings(); return config.Fields(&s) })

// tunableFields are the settings, and the options of protocols, selections and others in their tables.
var tunableFields = sync.OnceValue(func() []config.Field {
	fields := slices.Clone(settingFields())
	for _, section := range sections() {
		fields = append(fields, section.fields...)
	}
	return fields
})

// tunable describes the options of a grid.
func tunable(grid []axis, algorithm string) []Tunable {
	var fields []config.Field
	free := false // a learner in another process knows its options
	if factory, ok := algorithms.Lookup(algorithm); ok {
		o := factory.Options()
		fields = config.Fields(o)
		_, free = o.(algorithms.Outside)
	}
	options := make([]Tunable, len(grid))
	for i := range grid {
		options[i].Key = grid[i].name
		key, isOption := strings.CutPrefix(grid[i].name, "options.")
		if isOption && free {
			options[i].tuneFree(&grid[i])
			continue
		}
		fields := fields
		if !isOption {
			fields = tunableFields()
		}
		at := slices.IndexFunc(fields, func(f config.Field) bool { return f.Key == key })
		if at < 0 || len(grid[i].points) == 1 {
			continue
		}
		kind, _, _ := strings.Cut(fields[at].Type, ` or "`)
		if options[i].Integer = kind == "integer"; !options[i].Integer && kind != "float" {
			continue
		}
		options[i].Values, options[i].labels = grid[i].numbers(), grid[i].labels()
	}
	return options
}

// tuneFree describes an option of a learner in another process by the values of the grid: the
// option takes whole numbers alone if all of them are.
func (t *Tunable) tuneFree(a *axis) {
	whole, number := true, len(a.points) > 1
	for _, p := range a.points {
		switch p.set[0].Value.Value().(type) {
		case int64:
		case float64:
			whole = false
		default:
			number = false
		}
	}
	if number {
		t.Integer, t.Values, t.labels = whole, a.numbers(), a.labels()
	}
}

// numbers returns the values of a swept axis of numbers in increasing order, without
// a 0 beside positive ones.
func (a *axis) numbers() []float64 {
	var values []float64
	for _, p := range a.points {
		x, err := strconv.ParseFloat(p.label, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		values = append(values, x)
	}
	slices.Sort(values)
	values = slices.Compact(values)
	if values[0] == 0 {
		values = values[1:]
	}
	return values
}

// Vary returns a run of the job with another value of one tuned option, which the grid
// need not list. The error is config.Errors if the method refuses the value.
func (j *Job) Vary(run *RunSpec, option int, value float64) (RunSpec, error) {
	tuned := slices.Clone(run.Tuned)
	tuned[option].Value = j.Options[option].label(value)
	return j.make(tuned)
}

// label returns the label of a number in the grid.
func (t *Tunable) label(value float64) string {
	for _, label := range t.labels {
		if x, err := strconv.ParseFloat(label, 64); err == nil && x == value {
			return label
		}
	}
	if t.Integer {
		return strconv.FormatInt(int64(value), 10)
	}
	return config.Label(value)
}

// Find returns the run of the job with an ID and tuned options, which the grid need not
// list.
func (j *Job) Find(id string, tuned []results.Setting, seed uint64) (RunSpec, error) {
	run := j.Candidates[0]
	if j.make != nil {
		var err error
		if run, err = j.make(tuned); err != nil {
			return run, err
		}
	}
	if run = run.WithSeed(seed); run.ID != id {
		return run, fmt.Errorf("run %q is not in its scenario", id)
	}
	return run, nil
}

// Key returns the ID of the runs of a job without tuned options and seed.
func (j *Job) Key() string { return j.key }

// JobOf returns a function that returns the index of the job of a run, by the ID of the
// run. The index counts the jobs of all experiments.
func JobOf(experiments []Experiment) func(id string) (place int, ok bool) {
	places := map[string]int{}
	for j := range Jobs(experiments) {
		places[j.key] = len(places)
	}
	return func(id string) (int, bool) {
		for cut := strings.LastIndexByte(id, '/'); cut >= 0; cut = strings.LastIndexByte(id, '/') {
			id = id[:cut]
			if place, ok := places[id]; ok {
				return place, true
			}
		}
		return 0, false
	}
}

// assigned returns the assignments for tuned options.
func assigned(grid []axis, tuned []results.Setting) ([]config.Assignment, error) {
	if len(tuned) != len(grid) {
		return nil, fmt.Errorf("%d options are tuned, not %d", len(grid), len(tuned))
	}
	var options []config.Assignment
	for i, s := range tuned {
		a := &grid[i]
		if a.name != s.Key {
			return nil, fmt.Errorf("%s is tuned, not %s", a.name, s.Key)
		}
		if k := a.find(s.Value); k >= 0 {
			options = append(options, a.points[k].set...)
			continue
		}
		value, err := number(s.Value)
		if err != nil {
			return nil, fmt.Errorf("%s = %s: %w", s.Key, s.Value, err)
		}
		options = append(options,
			config.Assignment{Path: a.swept, Value: config.NewScalar(value, a.points[0].set[0].Value.Place)})
	}
	return options, nil
}

// number returns the TOML value of a number's label.
func number(label string) (any, error) {
	if n, err := strconv.ParseInt(label, 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseFloat(label, 64)
}
