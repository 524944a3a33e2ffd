// Package settle says how many seeds a comparison needs: seeds are added until one row is faster by a margin, the
// other is, or no difference above it exists (docs/results.md, internal/tools/certainty). A row is a method, or a
// value of a swept key. It must not know files, and how runs are made.
package settle

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/internal/tools/certainty"
	"fedsim/results"
)

// Job is the runs of a method at a point, that differ in their seeds.
type Job struct {
	results.Run        // any of them, or one that has only what identifies them
	Tuned       uint64 // the seeds that chose its options: 1 to Tuned
	TunedTo     results.Target
	Folds       int    // of the training rows of each seed, which choose the options of that seed alone; 0: none
	Name        string // of the method in the scenario
	Given       bool   // the data are given, so that seeds that vary them are splits of the same rows
}

// Block is rows that are compared, each the runs of a job. It settles alone.
type Block struct {
	Experiment string            `json:"experiment"`
	Point      []results.Setting `json:"point"`
	Jobs       []int             `json:"-"` // of each row: index into the jobs
	labels     []string
	tuned      uint64         // seeds that do not count
	tunedTo    results.Target // unset: no row is tuned, or by folds
	folds      bool           // each seed chooses its own options
}

// Blocks groups the jobs of a scenario into blocks, with the rows that are named; without names, those of tables.
func Blocks(jobs []Job, names []string) ([]Block, error) {
	var all []results.Run
	for i := range jobs {
		all = append(all, jobs[i].Run)
	}
	var blocks []Block
	for _, runs := range results.ByExperiment(all) {
		key, err := rowKey(runs, jobs, names)
		if err != nil {
			return nil, err
		}
		at, wanted := map[string]int{}, names
		if len(names) == 0 {
			wanted = []string{""}
		}
		for _, name := range wanted { // a is the first
			for i := range jobs {
				j := &jobs[i]
				label := j.ValueOf(key)
				named := name == "" || name == label || key == "method" && name == j.Name
				if j.Experiment != runs[0].Experiment || !named {
					continue
				}
				point := slices.DeleteFunc(slices.Clone(j.Point), func(s results.Setting) bool { return s.Key == key })
				if key != "method" && several(runs) {
					point = append(point, results.Setting{Key: "method", Value: j.Method})
				}
				text := results.SettingsText(point)
				b, ok := at[text]
				if !ok {
					b = len(blocks)
					at[text], blocks = b, append(blocks, Block{Experiment: j.Experiment, Point: point})
				}
				blocks[b].add(i, label, j)
			}
		}
	}
	for i := range blocks {
		if len(blocks[i].Jobs) < 2 {
			return nil, config.Problem{Key: "run.certain.rows", Value: strings.Join(blocks[i].labels, ", "),
				Want: fmt.Sprintf("must be two rows at least: experiment %s has one%s", blocks[i].Experiment,
					at(blocks[i].Point))}
		}
	}
	return blocks, nil
}

func at(point []results.Setting) string {
	if len(point) == 0 {
		return ""
	}
	return " at " + results.SettingsText(point)
}

func (b *Block) add(job int, label string, j *Job) {
	b.Jobs, b.labels, b.folds = append(b.Jobs, job), append(b.labels, label), b.folds || j.Folds > 0
	if j.TunedTo.IsSet() {
		b.tuned, b.tunedTo = max(b.tuned, j.Tuned), j.TunedTo
	}
}

func several(runs []results.Run) bool {
	return slices.ContainsFunc(runs, func(r results.Run) bool { return r.Method != runs[0].Method })
}

// rowKey returns the key whose values are the rows.
func rowKey(runs []results.Run, jobs []Job, names []string) (string, error) {
	if len(names) == 0 {
		return results.RowKey(runs), nil
	}
	known := []string{}
	for _, key := range append([]string{"method"}, results.SweptKeys(runs)...) {
		var values []string
		for i := range jobs {
			if j := &jobs[i]; j.Experiment == runs[0].Experiment {
				values = append(values, j.ValueOf(key))
				if key == "method" {
					values = append(values, j.Name)
				}
			}
		}
		if !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(values, name) }) {
			return key, nil
		}
		known = append(known, values...)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			slices.Sort(known)
			return "", config.Problem{Key: "run.certain.rows", Value: name,
				Want: "must be a method, or a value of a swept key: one of " +
					strings.Join(slices.Compact(known), ", ")}
		}
	}
	return "", config.Problem{Key: "run.certain.rows", Value: strings.Join(names, ", "),
		Want: "must all be methods, or all be values of one swept key"}
}

// has returns the row of a run; ok is false for one of another block.
func (b *Block) has(r *results.Run, jobs []Job) (row int, ok bool) {
	row = slices.IndexFunc(b.Jobs, func(job int) bool {
		j := &jobs[job]
		return j.Experiment == r.Experiment && j.Method == r.Method && slices.Equal(j.Point, r.Point)
	})
	return row, row >= 0
}

// races returns the values of the rows under the seeds that count, as long as all rows have one, and those runs.
func (b *Block) races(c *Config, jobs []Job, runs []results.Run) (values [][]certainty.Bounds, of [][]*results.Run) {
	values, of = make([][]certainty.Bounds, len(b.Jobs)), make([][]*results.Run, len(b.Jobs))
	bySeed := map[uint64][]*results.Run{}
	for i := range runs {
		finished := runs[i].Status == results.Done || runs[i].Status == results.Stalled
		if row, ok := b.has(&runs[i], jobs); ok && finished {
			if bySeed[runs[i].Seed] == nil {
				bySeed[runs[i].Seed] = make([]*results.Run, len(b.Jobs))
			}
			bySeed[runs[i].Seed][row] = &runs[i]
		}
	}
	for seed := b.tuned + 1; ; seed++ {
		if len(bySeed[seed]) == 0 || slices.Contains(bySeed[seed], nil) {
			return values, of
		}
		for row, r := range bySeed[seed] {
			values[row], of[row] = append(values[row], c.value(r)), append(of[row], r)
		}
	}
}

// value returns what is known of the measure of a run.
func (c *Config) value(r *results.Run) certainty.Bounds {
	if c.By == byError {
		m := results.Main([]results.Run{*r})
		x := r.AtEnd(&m).Mean
		if m.Higher {
			x = -x
		}
		if math.IsNaN(x) {
			return certainty.Bounds{Low: math.Inf(-1), High: math.Inf(1)}
		}
		return certainty.Bounds{Low: x, High: x}
	}
	spent, state := r.Spent(c.Target)
	cost := map[string]float64{byTime: spent.TimeS, byBytes: spent.Bytes, byJoules: spent.EnergyJ}[c.By]
	switch state {
	case results.Reached, results.Never:
		return certainty.Bounds{Low: cost, High: cost}
	case results.Ended:
		return certainty.Bounds{Low: cost, High: math.Inf(1)}
	default: // the metric is not recorded
		return certainty.Bounds{High: math.Inf(1)}
	}
}
