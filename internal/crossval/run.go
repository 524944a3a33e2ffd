package crossval

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"fedsim/data"
	"fedsim/internal/checkpoint"
	"fedsim/internal/parallel"
	"fedsim/mtl"
)

// Options control how a table is computed. They do not affect its numbers.
type Options struct {
	Workers  int            // 0: one per core
	Folder   string         // searched for data files that do not exist at their path; empty: none
	Progress func(Progress) // nil: none; calls do not overlap

	// Checkpoint saves the progress of each data set at intervals, when the set is complete
	// and when ctx ends. Run resumes from a checkpoint. It rejects one of other rows.
	Checkpoint checkpoint.Policy

	// Shared stores the complete data sets, each under its StateName, for several calls of
	// Run. Run computes none that is there.
	Shared checkpoint.Policy
}

// StateName returns the name of the state of a data set of a table.
func StateName(table, label string) string {
	return fmt.Sprintf("table %s, data set %q", table, label)
}

// Only returns the table with one of its data sets; ok = false: it has no such set.
func (t *Table) Only(label string) (only *Table, ok bool) {
	i := slices.IndexFunc(t.Sets, func(s Set) bool { return s.Label == label })
	if i < 0 {
		return nil, false
	}
	one := *t
	one.Sets = t.Sets[i : i+1]
	return &one, true
}

// Progress reports the progress of a table.
type Progress struct {
	Done, Total int // paths: one for each set, model, shuffle and fold or test
	Set, Model  string
}

// Run computes the table. All models share the loss, the loss scaling and the regularizer
// of the problem, but not its lambda. Run locates the data of every set before it loads
// any. If ctx ends first, Run returns its error.
func (t *Table) Run(ctx context.Context, problem mtl.Config, o Options) (*Result, error) {
	result := &Result{Name: t.Name, Config: t.Config}
	sources := make([]Source, len(t.Sets))
	for i := range t.Sets {
		var err error
		if sources[i], err = t.Sets[i].Locate(o.Folder); err != nil {
			return nil, err
		}
	}
	r := &runner{
		name: t.Name, table: &t.Config, problem: problem, checkpoint: o.Checkpoint, shared: o.Shared, pool: parallel.NewPool(o.Workers), report: o.Progress,
		total: len(t.Sets) * len(t.Models) * t.Shuffles * (t.Folds + 1),
	}
	for i := range t.Sets {
		column, err := r.column(ctx, &t.Sets[i], sources[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", StateName(t.Name, t.Sets[i].Label), err)
		}
		result.Columns = append(result.Columns, *column)
	}
	return result, nil
}

// runner computes the columns of a table.
type runner struct {
	name       string
	table      *Config
	problem    mtl.Config
	checkpoint checkpoint.Policy
	shared     checkpoint.Policy
	pool       *parallel.Pool

	mu     sync.Mutex
	report func(Progress)
	done   int
	total  int
}

// column computes the errors of all models on a set.
func (r *runner) column(ctx context.Context, s *Set, from Source) (*Column, error) {
	set, err := parallel.Await(ctx, func() (*data.Set, error) { return data.Load(from.Config) })
	if err != nil {
		return nil, err
	}
	c, err := newTrial(ctx, r, s.Label, from, set)
	if err != nil {
		return nil, err
	}
	shuffles, err := c.run()
	if err != nil {
		return nil, err
	}
	column := &Column{
		Label: s.Label, Source: from.Text, Generated: from.Generated || set.Generated,
		Tasks: len(set.Tasks), Real: set.Real,
	}
	for i, model := range r.table.Models {
		column.Models = append(column.Models, summarize(model, shuffles[i], s.Paper))
	}
	return column, nil
}

// advance counts a completed path and reports progress.
func (r *runner) advance(set, model string) {
	if r.report == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	r.report(Progress{Done: r.done, Total: r.total, Set: set, Model: model})
}

// skip counts a path that the checkpoint already holds. It does not report progress.
func (r *runner) skip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
}
